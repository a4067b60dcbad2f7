"""What a sweep measures on a run, by name: numbers of each round and replicate, and what computes a unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace, metrics, run
from clusterproof.commands import experiment
from clusterproof.tables.machine.store import Unit

PACKAGES = (
    "clusterproof.algorithms",
    "clusterproof.synthetic",
    "clusterproof.commands.experiment",
    "clusterproof.sweeps.measures",
)
"""All of ours that ``compute`` runs: the digest of it is part of what a unit is."""


def _errors(trace: Trace, number: int) -> np.ndarray:
    """Errors after a round, (R, P)."""
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
    "mean-error": lambda trace, number: _errors(trace, number).mean(axis=-1),
    "purity": _of_assignments(metrics.purity),
    "adjusted-rand-index": _of_assignments(metrics.adjusted_rand_index),
    "cluster-count": _of_assignments(lambda own, _: metrics.cluster_count(own)),
}
"""Largest and mean distance of a model to its optimum; purity, adjusted Rand index and number of clusters, as the
clients last chose. Each of a trace and a number of rounds done, (R,)."""


def compute(unit: Unit) -> dict[str, list[Any]]:
    """Carry out a run and measure it.

    Returns
    -------
    dict
        Columns of equal length: ``round``, ``replicate``, and one a measure, with None where it is not a number.
    """
    options, wanted = unit.settings["options"], unit.settings["measure"]
    rounds, replicates, every = (unit.settings[name] for name in ("rounds", "replicates", "every"))
    experiment.check_options(unit.method, unit.settings["task"], options)
    experiment.check_memory(unit.method, unit.settings["task"], options, rounds, replicates)
    with np.errstate(all="ignore"):
        task = experiment.make_task(unit.settings["task"], options, unit.seed)
        method = experiment.make_algorithm(unit.method, options, task)
        trace = run(method, task, rounds=rounds, seed=unit.seed, replicates=replicates)
    columns: dict[str, list[Any]] = {name: [] for name in ("round", "replicate", *wanted)}
    for number in sorted({*range(0, rounds, every), rounds}) if every else [rounds]:
        columns["round"] += [number] * (replicates or 1)
        columns["replicate"] += range(replicates or 1)
        for name in wanted:
            columns[name] += [float(v) if np.isfinite(v) else None for v in MEASURES[name](trace, number)]
    return columns
