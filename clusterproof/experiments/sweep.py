"""Sweeps run all combinations of a file's settings and seeds, as units, and collect the results in one table."""

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
    """Return the errors after some rounds, (R, P)."""
    if trace.errors is None:
        raise InvalidArgument("measure", "error", "asks for a task that knows its optima", "choose another")
    return np.atleast_2d(trace.errors[done])


def _of_assignments(measure: Callable[..., Any]) -> Callable[[Trace, int], np.ndarray]:
    """Return a measure of the clusters that the clients last chose, (R,)."""

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
"""Measures of ``run``; each is a function of a trace and a number of finished rounds, (R,).

They are the largest and mean distance of a model to its optimum, and purity, adjusted Rand index and number of clusters
of the clients' last choices.
"""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A sweep as in its file.

    Parameters
    ----------
    measure
        Names of ``MEASURES``, or columns of the metrics of ``train``.
    command
        Command whose options are the settings: run or train.
    rounds
        Communication rounds.
    seeds
        Number of seeds, from 0, or a list of seeds.
    replicates
        Replicates of each run; not for training.
    every
        Number of rounds between two measurements; the last round is always measured. With null, only the last round is
        measured.
    settings
        Options with one value in all runs.
    grid
        A list of values for each option; all combinations are run.
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
    """A run of a sweep: its settings, for the table's columns, and its unit."""

    settings: dict[str, Any]
    unit: Unit


def read_sweep(path: Path, values: Mapping[str, Any]) -> Sweep:
    """Read a sweep's file.

    Parameters
    ----------
    path
        The file.
    values
        Values that replace values of the file, at its top level or for a setting. Such a setting leaves the grid.

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
        rule = "must stand in only one of the tables settings and grid"
        raise InvalidArgument(name, brief(settings[name]), rule, "remove it from settings or from grid")
    seeds = sweep.seeds
    if isinstance(seeds, int) and seeds <= MOST_RUNS:
        seeds = list(range(seeds))
    if not isinstance(seeds, list) or not seeds or len(set(seeds)) < len(seeds):
        rule = "must be a number of seeds, or seeds, none twice"
        raise InvalidArgument("seeds", sweep.seeds, rule, "write, for example, 3")
    for seed in seeds:
        check_seed(seed)
    known = list(MEASURES) if sweep.command == "run" else list(COLUMNS[1:])
    for name in sweep.measure:
        check_name("measure", name, known)
    if not sweep.measure or len(set(sweep.measure)) < len(sweep.measure):
        rule = "must be names, none twice"
        raise InvalidArgument("measure", list(sweep.measure), rule, f"write, for example, {known[:1]}")
    return replace(sweep, settings=settings, grid=grid, seeds=seeds)


def runs_of(sweep: Sweep, code: Collection[str] = ()) -> list[Run]:
    """Return the runs of a sweep, without duplicates.

    If an algorithm, task, partition or network of the grid lacks a setting, its runs omit the setting.

    Parameters
    ----------
    sweep
        The sweep.
    code
        User-supplied code that the sweep may name, such as ``"mine.py:Mine"``; a file alone must not cause an import of
        code.

    Raises
    ------
    InvalidArgument
        If no run has a setting, or a value has another type or is out of range.
    """
    assert isinstance(sweep.seeds, list)
    size = math.prod(map(len, sweep.grid.values())) * len(sweep.seeds)
    check_count("grid", size, at_least=1, at_most=MOST_RUNS, remedy="give every list a value")
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
    """Return runs in which a user's algorithm is called by its name instead of its place, unless two share a name."""
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
    """Run an algorithm on a synthetic task; return measures as equal columns, with None for infinite or NaN.

    ``code`` holds digests of user-supplied code, so that changed code makes a new unit.
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
            "must be left out for training runs, which have seeds",
            "give more seeds",
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
        rule = "is code, which runs when it is imported, and a file alone may not ask for that"
        raise InvalidArgument(section, name, rule, f"look at the code, then add --code {name}")


def _words(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', '-')} {value}" for name, value in settings.items())


def sweep_frame(sweep: Sweep, runs: Sequence[Run], results: Sequence[Any]) -> DataFrame:
    """Collect the finished runs: one row for each run, round and replicate.

    Returns
    -------
    polars.DataFrame
        Columns ``algorithm``, all options of the runs (lists as text), ``seed``, ``round``, ``replicate`` and the
        measures. Settings that a run lacks, and measures that are not finite, are null.
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
    """Write the numbers of seeds and replicates; empty if there is one of each."""
    numbers = {"seeds": frame["seed"].n_unique(), "replicates": frame["replicate"].n_unique()}
    return " and ".join(f"{number} {name}" for name, number in numbers.items() if number > 1)


def summarise(frame: DataFrame, by: Sequence[str], measures: Sequence[str]) -> list[list[str]]:
    """Return rows of text: the values of the given columns, and the median and the range of each measure.

    Parameters
    ----------
    frame
        One row per observation, such as a seed.
    by
        Columns whose values identify a row of the result, in order of appearance.
    measures
        Columns of numbers; null is not counted.
    """
    rows = []
    for key, group in frame.group_by(by, maintain_order=True):
        row = ["-" if value is None else str(value) for value in key]
        rows.append([*row, *(_middle_in_words(group[name].drop_nulls()) for name in measures)])
    return rows


def median_and_range(values: Collection[float]) -> tuple[float, float, float]:
    """Return the median, the least and the largest of at least one value."""
    return median(values), min(values), max(values)


def _middle_in_words(values: Collection[float]) -> str:
    """Write median and range; write a single value alone, and a dash if there is no value."""
    if not len(values):
        return "-"
    middle, least, largest = median_and_range(values)
    return f"{middle:.4g} [{least:.4g}, {largest:.4g}]" if len(values) > 1 else f"{middle:.4g}"
