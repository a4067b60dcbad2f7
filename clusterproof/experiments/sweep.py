"""Sweeps: run all combinations of settings and seeds in a file, as units, and collect the results in one table."""

from __future__ import annotations

import difflib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from msgspec import Meta

from clusterproof.algorithms.base import own_name
from clusterproof.common import InvalidArgument
from clusterproof.common.validation import brief, check_count, check_name, check_seed
from clusterproof.experiments import synthetic_runs
from clusterproof.experiments.training import train_network
from clusterproof.experiments.units import Unit
from clusterproof.neural.configuration import (
    DEFAULTS,
    KNOWN,
    configuration_from,
    names_from,
    places,
    read_configuration_file,
    sections_from,
)
from clusterproof.neural.custom.references import code_sums, is_own, is_reference, own_algorithm
from clusterproof.neural.metrics import COLUMNS
from clusterproof.running import Trace, metrics
from clusterproof.running import run as run_algorithm
from clusterproof.settings import converted, from_settings

if TYPE_CHECKING:
    from polars import DataFrame

MOST_RUNS = 1_000_000


def _errors(trace: Trace, done: int) -> np.ndarray:
    """Return the errors after the given number of rounds, (R, P)."""
    if trace.errors is None:
        raise InvalidArgument("measure", "error", "needs a task with known optima", "choose another measure")
    return np.atleast_2d(trace.errors[done])


def _of_assignments(measure: Callable[..., Any]) -> Callable[[Trace, int], np.ndarray]:
    """Compute a measure of the clusters that the clients chose last, (R,)."""

    def measured(trace: Trace, done: int) -> np.ndarray:
        last = replace(trace, assignments=trace.assignments[:done]).last_assignments
        return np.array([float(measure(assignments, trace.labels)) for assignments in np.atleast_2d(last)])

    return measured


MEASURES: dict[str, Callable[[Trace, int], np.ndarray]] = {
    "error": lambda trace, done: _errors(trace, done).max(axis=-1),
    "mean_error": lambda trace, done: _errors(trace, done).mean(axis=-1),
    "purity": _of_assignments(metrics.purity),
    "adjusted_rand_index": _of_assignments(metrics.adjusted_rand_index),
    "clusters": _of_assignments(lambda assignments, _: metrics.cluster_count(assignments)),
}
"""Measures for ``run``. Each measure is a function of a trace and a number of finished rounds that returns (R,).

Two measures are the largest and the mean distance between a model and its optimum. Three others describe the clients'
last choices: the purity, the adjusted Rand index and the number of clusters.
"""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A sweep, as described in a file.

    Parameters
    ----------
    measure
        Names of ``MEASURES``, or columns of the metrics of ``train``.
    command
        Command to sweep, run or train. The settings are options of this command.
    rounds
        Number of communication rounds.
    seeds
        Number of seeds (0, 1, ...), or a list of seeds.
    replicates
        Number of replicates of each run. It is not allowed for training.
    every
        Number of rounds between two measurements. The last round is always measured. With null, only the last round
        is measured.
    settings
        Options with one value in all runs.
    grid
        Options with a list of values each. The sweep runs all combinations.
    """

    measure: tuple[str, ...]
    command: Literal["run", "train"] = "run"
    rounds: Annotated[int, Meta(ge=0, le=10**9)] = 50
    seeds: int | list[int] = 1
    replicates: Annotated[int, Meta(ge=1, le=10**9)] | None = None
    every: Annotated[int, Meta(ge=1)] | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, list[Any]] = field(default_factory=dict)


class Run(NamedTuple):
    """A run of a sweep: its settings, for the columns of the table, and the unit that computes it."""

    settings: dict[str, Any]
    unit: Unit


def read_sweep(path: Path, values: Mapping[str, Any]) -> Sweep:
    """Read a sweep from a file.

    Parameters
    ----------
    path
        Path of the file.
    values
        Values that replace values in the file, at the top level or for a setting. Such a setting is removed from the
        grid.

    Raises
    ------
    InvalidArgument
        If the file cannot be read, or an entry is unknown, of another type or out of range.
    """
    content = read_configuration_file(path, "file", "see docs/how-to/sweeps.md")
    top = {name: value for name, value in values.items() if name in Sweep.__dataclass_fields__}
    sweep = from_settings(Sweep, {**content, **top})
    tables = []
    for name, table in (("settings", sweep.settings), ("grid", sweep.grid)):
        tables.append({key.replace("-", "_"): value for key, value in table.items()})
        if len(tables[-1]) < len(table):
            remedy = "if a setting is written both with - and with _, keep one spelling"
            raise InvalidArgument(name, list(table), "must name each setting once", remedy)
    settings, grid = tables
    settings |= {name: value for name, value in values.items() if name not in top}
    grid = {name: value for name, value in grid.items() if name not in values}
    for name in sorted(set(settings) & set(grid)):
        rule = "must be in only one of the tables settings and grid"
        raise InvalidArgument(name, brief(settings[name]), rule, "remove it from settings or from grid")
    seeds = sweep.seeds
    if isinstance(seeds, int) and seeds <= MOST_RUNS:
        seeds = list(range(seeds))
    if not isinstance(seeds, list) or not seeds or len(set(seeds)) < len(seeds):
        rule = "must be a number of seeds, or a list of different seeds"
        raise InvalidArgument("seeds", sweep.seeds, rule, "write, for example, 3")
    for seed in seeds:
        check_seed(seed)
    known = list(MEASURES) if sweep.command == "run" else list(COLUMNS[1:])
    for name in sweep.measure:
        check_name("measure", name, known)
    if not sweep.measure or len(set(sweep.measure)) < len(sweep.measure):
        rule = "must be a list of different names"
        raise InvalidArgument("measure", list(sweep.measure), rule, f"write, for example, {known[:1]}")
    return replace(sweep, settings=settings, grid=grid, seeds=seeds)


def runs_of(sweep: Sweep, code: Collection[str] = ()) -> list[Run]:
    """Return the runs of a sweep, without duplicates.

    If an algorithm, task, partition or network in the grid does not have a setting, its runs omit the setting.

    Parameters
    ----------
    sweep
        The sweep.
    code
        User-supplied code that the sweep may name, for example ``"mine.py:Mine"``. A sweep file alone must not cause
        an import of code.

    Raises
    ------
    InvalidArgument
        If no run has a setting, or a value has another type or is out of range.
    """
    assert isinstance(sweep.seeds, list)
    size = math.prod(map(len, sweep.grid.values())) * len(sweep.seeds)
    check_count("grid", size, at_least=1, at_most=MOST_RUNS, remedy="give every list at least one value")
    make = _synthetic_run if sweep.command == "run" else _training_run
    runs: dict[str, Run] = {}
    used: set[str] = set()
    for combination in itertools.product(*sweep.grid.values()):
        chosen = {**sweep.settings, **dict(zip(sweep.grid, combination, strict=True))}
        for seed in sweep.seeds:
            run = make(sweep, chosen, seed, code)
            used |= set(run.settings)
            runs.setdefault(repr(run.unit.settings), run)
    for name in (*sweep.settings, *sweep.grid):
        if name not in used:
            rule = "is not an option of any run of the sweep"
            nearest = difflib.get_close_matches(name, _options(sweep.command), n=1)
            remedy = f"write {nearest[0]}" if nearest and nearest != [name] else "leave it out"
            raise InvalidArgument(name, brief({**sweep.grid, **sweep.settings}[name]), rule, remedy)
    return _with_names(list(runs.values()))


def _with_names(runs: Sequence[Run]) -> list[Run]:
    """In the runs' settings, replace references to users' algorithms by their names, unless two names are equal."""
    places = dict.fromkeys(str(run.settings["algorithm"]) for run in runs)
    names = {place: own_name(own_algorithm(place)) if is_reference(place) else place for place in places}
    counts = Counter(names.values())
    names = {place: name if counts[name] == 1 else place for place, name in names.items()}
    shown = [{**run.settings, "algorithm": names[str(run.settings["algorithm"])]} for run in runs]
    return [Run(each, replace(run.unit, name=_words(each))) for each, run in zip(shown, runs, strict=True)]


def _options(command: str) -> Iterable[str]:
    """Return the names of all options of a command."""
    if command == "run":
        return synthetic_runs.owners()
    return {name for section, kinds in KNOWN.items() for kind in kinds for name in places({section: kind})}


def _synthetic_run(sweep: Sweep, chosen: Mapping[str, Any], seed: int, code: Collection[str]) -> Run:
    algorithm, task = str(chosen.get("algorithm", "cfl-mgd")), str(chosen.get("task", "regression"))
    _check_choice("algorithm", algorithm, code)
    synthetic_runs.check_options(algorithm, task, {})
    kinds = {**synthetic_runs.task_parameters(task), **synthetic_runs.algorithm_parameters(algorithm)}
    options = {name: converted(name, value, kinds[name]) for name, value in chosen.items() if name in kinds}
    common = {name: getattr(sweep, name) for name in ("rounds", "replicates", "every")}
    settings = {"algorithm": algorithm, "task": task, "options": options, "measure": list(sweep.measure)}
    settings["code"] = code_sums({"algorithm": algorithm})
    shown = {"algorithm": algorithm, "task": task, **options, "seed": seed}
    return Run(shown, Unit(_words(shown), measure_run, {**settings, **common, "seed": seed}))


def measure_run(
    *,
    algorithm: str,
    task: str,
    options: Mapping[str, Any],
    measure: Sequence[str],
    rounds: int,
    replicates: int | None,
    every: int | None,
    seed: int,
    code: Mapping[str, Mapping[str, str]] | None = None,
) -> dict[str, list[Any]]:
    """Run an algorithm on a synthetic task, and return measures as columns, with None for infinity and NaN.

    ``code`` contains digests of user-supplied code. If the code changes, the unit is computed again.
    """
    synthetic_runs.check_memory(algorithm, task, options, rounds, replicates)
    with np.errstate(all="ignore"):
        made = synthetic_runs.make_task(task, options, seed)
        method = synthetic_runs.make_algorithm(algorithm, options, made)
        trace = run_algorithm(method, made, rounds=rounds, seed=seed, replicates=replicates)
    columns: dict[str, list[Any]] = {name: [] for name in ("round", "replicate", *measure)}
    for done in sorted({*range(0, rounds, every), rounds}) if every else [rounds]:
        columns["round"] += [done] * (replicates or 1)
        columns["replicate"] += range(replicates or 1)
        for name in measure:
            columns[name] += [float(v) if np.isfinite(v) else None for v in MEASURES[name](trace, done)]
    return columns


def _training_run(sweep: Sweep, chosen: Mapping[str, Any], seed: int, code: Collection[str]) -> Run:
    if sweep.replicates is not None:
        raise InvalidArgument(
            "replicates",
            sweep.replicates,
            "must be left out for training, which repeats runs with seeds",
            "use more seeds instead",
        )
    for section in DEFAULTS:
        _check_choice(section, str(chosen.get(section, "")), code)
    names = names_from(chosen)
    known = places(names)
    options = {name: value for name, value in {**chosen, **names}.items() if name in known}
    common = {"rounds": sweep.rounds, "seed": seed, "evaluate_every": sweep.every or max(1, sweep.rounds)}
    if clash := sorted(set(common) & set(options)):
        raise InvalidArgument(
            clash[0],
            options[clash[0]],
            "must not be among the settings",
            "write rounds, seeds and every at the top of the file",
        )
    sections = sections_from({"threads": 1, **options, **common})
    configuration = configuration_from(sections)
    sections = configuration.sections
    typed = {name: sections[known[name][0]].get(known[name][1], value) for name, value in options.items()}
    shown = {"algorithm": names["algorithm"], **typed, "seed": seed}
    settings = {"sections": sections, "code": code_sums(configuration.user_code)}
    return Run(shown, Unit(_words(shown), train_network, settings, resumes=True))


def _check_choice(section: str, name: str, code: Collection[str]) -> None:
    if is_own(section, name) and name not in code:
        rule = "is code, which runs when it is imported; a file alone may not request this"
        raise InvalidArgument(section, name, rule, f"look at the code, then add --code {name}")


def _words(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', '-')} {value}" for name, value in settings.items())


def sweep_frame(sweep: Sweep, runs: Sequence[Run], results: Sequence[Any]) -> DataFrame:
    """Collect the results of finished runs: one row per run, round and replicate.

    Returns
    -------
    polars.DataFrame
        Columns ``algorithm``, all options of the runs (lists as text), ``seed``, ``round``, ``replicate`` and the
        measures. Settings that a run does not have, and measures that are not finite, are null.
    """
    import polars

    frames = []
    for (settings, _), found in zip(runs, results, strict=True):
        if found is not None:
            size = len(found["round"])
            shown = {
                name: ",".join(map(str, value)) if isinstance(value, list) else value
                for name, value in settings.items()
            }
            columns: dict[str, Any] = {name: [value] * size for name, value in shown.items()}
            columns |= {"round": found["round"], "replicate": found.get("replicate", [0] * size)}
            columns |= {name: polars.Series(found[name], dtype=polars.Float64) for name in sweep.measure}
            frames.append(polars.DataFrame(columns))
    if not frames:
        return polars.DataFrame()
    names = list(dict.fromkeys(name for frame in frames for name in frame.columns))
    last = ["seed", "round", "replicate", *sweep.measure]
    return polars.concat(frames, how="diagonal_relaxed").select(
        *(name for name in names if name not in last), *last
    )


def observations(frame: DataFrame) -> str:
    """Describe the numbers of seeds and replicates, or return "" if both are 1."""
    numbers = {"seeds": frame["seed"].n_unique(), "replicates": frame["replicate"].n_unique()}
    return " and ".join(f"{number} {name}" for name, number in numbers.items() if number > 1)


def summarise(frame: DataFrame, by: Sequence[str], measures: Sequence[str]) -> list[list[str]]:
    """Summarise a frame in rows of text with the values of the given columns, and median and range of each measure.

    Parameters
    ----------
    frame
        One row per observation, for example per seed.
    by
        Columns that identify a row of the result. Rows are in order of appearance.
    measures
        Columns with numbers. Null values are ignored.
    """
    rows = []
    for key, group in frame.group_by(by, maintain_order=True):
        row = ["-" if value is None else str(value) for value in key]
        rows.append([*row, *(_middle_in_words(group[name].drop_nulls()) for name in measures)])
    return rows


def median_and_range(values: Collection[float]) -> tuple[float, float, float]:
    """Return the median, the smallest and the largest of one or more values."""
    return median(values), min(values), max(values)


def _middle_in_words(values: Collection[float]) -> str:
    """Write median and range of values, a single value without a range, and a dash if there is no value."""
    if not len(values):
        return "-"
    middle, least, largest = median_and_range(values)
    return f"{middle:.4g} [{least:.4g}, {largest:.4g}]" if len(values) > 1 else f"{middle:.4g}"
