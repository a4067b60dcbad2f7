"""Runs of ``clusterproof run`` in a sweep: their options, units and measurements."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from clusterproof.algorithms import ALGORITHMS, InvalidArgument, Trace, metrics, run
from clusterproof.algorithms.validation import check_name
from clusterproof.experiments import synthetic_options
from clusterproof.experiments.store import Unit
from clusterproof.synthetic import TASKS


def _errors(trace: Trace, number: int) -> np.ndarray:
    """Return the errors after a round, (R, P)."""
    if trace.errors is None:
        raise InvalidArgument("measure", "error", "asks for a task that knows its optima", "choose another")
    return np.atleast_2d(trace.errors[number])


def _of_assignments(measure: Callable[..., Any]) -> Callable[[Trace, int], np.ndarray]:
    """Make a number of the clusters that the clients chose when they last took part, (R,)."""

    def measured(trace: Trace, number: int) -> np.ndarray:
        last = replace(trace, assignments=trace.assignments[:number]).last_assignments
        return np.array([float(measure(own, trace.labels)) for own in np.atleast_2d(last)])

    return measured


MEASURES: dict[str, Callable[[Trace, int], np.ndarray]] = {
    "error": lambda trace, number: _errors(trace, number).max(axis=-1),
    "mean_error": lambda trace, number: _errors(trace, number).mean(axis=-1),
    "purity": _of_assignments(metrics.purity),
    "adjusted_rand_index": _of_assignments(metrics.adjusted_rand_index),
    "clusters": _of_assignments(lambda own, _: metrics.cluster_count(own)),
}
"""Largest and mean distance of a model to its optimum; purity, adjusted Rand index and number of clusters, as the
clients last chose. Each of a trace and a number of rounds done, (R,)."""


def owners() -> dict[str, tuple[str, ...]]:
    """Return the names of the tasks or algorithms that have each option of ``run``."""
    return synthetic_options.owners() | {"algorithm": (), "task": ()}


def make_unit(chosen: Mapping[str, Any], *, code: Collection[str], **common: Any) -> Unit:
    """Make a run's unit with seed 0 from options by their names; those that it has no use for are left out.

    Raises
    ------
    InvalidArgument
        If an option has another type, or the algorithm or task is unknown.
    """
    algorithm, task = chosen.get("algorithm", "cfl-mgd"), chosen.get("task", "regression")
    check_name("algorithm", algorithm, list(ALGORITHMS))
    check_name("task", task, list(TASKS))
    kinds = {**synthetic_options.task_parameters(task), **synthetic_options.algorithm_parameters(algorithm)}
    options = {name: _typed(name, value, kinds) for name, value in chosen.items() if name in kinds}
    return Unit(algorithm, 0, {**common, "task": task, "options": options})


def compute(unit: Unit) -> dict[str, list[Any]]:
    """Carry out a run and measure it.

    Returns
    -------
    dict
        Columns of equal length: ``round``, ``replicate``, and one per measure; None if not finite.
    """
    options, wanted = unit.settings["options"], unit.settings["measure"]
    rounds, replicates, every = (unit.settings[name] for name in ("rounds", "replicates", "every"))
    synthetic_options.check_memory(unit.method, unit.settings["task"], options, rounds, replicates)
    with np.errstate(all="ignore"):
        task = synthetic_options.make_task(unit.settings["task"], options, unit.seed)
        method = synthetic_options.make_algorithm(unit.method, options, task)
        trace = run(method, task, rounds=rounds, seed=unit.seed, replicates=replicates)
    columns: dict[str, list[Any]] = {name: [] for name in ("round", "replicate", *wanted)}
    for number in sorted({*range(0, rounds, every), rounds}) if every else [rounds]:
        columns["round"] += [number] * (replicates or 1)
        columns["replicate"] += range(replicates or 1)
        for name in wanted:
            columns[name] += [float(v) if np.isfinite(v) else None for v in MEASURES[name](trace, number)]
    return columns


def _typed(name: str, value: Any, kinds: Mapping[str, Any]) -> Any:
    """Convert a value to the type of its option, so that 1 and 1.0 give the same unit for a float."""
    if name == "proportions":
        return [str(float(share)) for share in value] if isinstance(value, list) else [value]
    try:
        return msgspec.convert(value, kinds[name])
    except msgspec.ValidationError as error:
        raise InvalidArgument(
            name, value, f"has another type ({error})", "write it as its option asks"
        ) from error
