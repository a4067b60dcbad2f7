"""A sweep's one table: a row for each run, round and replicate; a column for each setting and measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterproof.experiments.runner import Execution
from clusterproof.experiments.store import Unit
from clusterproof.experiments.sweeps.plan import Plan

if TYPE_CHECKING:
    from polars import DataFrame


def sweep_frame(plan: Plan, found: Execution) -> DataFrame:
    """Put the finished runs together, in the plan's order, whatever the order in which they ended.

    Returns
    -------
    polars.DataFrame
        Columns ``algorithm``, ``task``, the options that some run was given, ``seed``, ``round``, ``replicate`` and
        the measures. A setting that a run does not have is null, a measure that is not a finite number too.
    """
    import polars

    frames = []
    for number, unit in enumerate(plan.units):
        if number in found.outcomes:
            measured = found.outcomes[number].result
            size = len(measured["round"])
            settings = {name: [value] * size for name, value in settings_of(unit).items()}
            floats = {name: polars.Series(measured[name], dtype=polars.Float64) for name in plan.measures}
            own = {name: measured[name] for name in ("round", "replicate")}
            frames.append(polars.DataFrame({**settings, **own, **floats}))
    if not frames:
        return polars.DataFrame()
    names = list(dict.fromkeys(name for frame in frames for name in frame.columns))
    last = ["seed", "round", "replicate", *plan.measures]
    ordered = [*(name for name in names if name not in last), *last]
    return polars.concat(frames, how="diagonal_relaxed").select(ordered)


def settings_of(unit: Unit) -> dict[str, Any]:
    """All settings of a run, one per column; lists are written as text."""
    options = {
        name: ",".join(map(str, value)) if isinstance(value, list) else value
        for name, value in unit.settings["options"].items()
    }
    task = {"task": unit.settings["task"]} if "task" in unit.settings else {}
    return {"algorithm": unit.method, **task, **options, "seed": unit.seed}


def describe(unit: Unit) -> str:
    """Return the settings of a run in a line, for messages."""
    shown = {**settings_of(unit), "rounds": unit.settings["rounds"]}
    return ", ".join(f"{name.replace('_', '-')} {value}" for name, value in shown.items())
