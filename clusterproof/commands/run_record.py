"""The record of a run that ``run --json`` writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.algorithms import Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.runs.bound import sharpest_bounds


@dataclass(frozen=True)
class RunRecord:
    """A run of an algorithm on a task whose optima are known.

    Attributes
    ----------
    settings
        Algorithm, task, rounds, seed and replicates.
    seconds
        Duration of the rounds.
    rows
        Meaning of a row of errors: a cluster, a model, the pooled model, or the clients of a cluster.
    first_errors, last_errors
        Median distance to the optimum over replicates (and a cluster's clients), one per row; None if the optima of
        the task are unknown. JSON has null for numbers that are not finite.
    bound
        Bound of ``bound_claim``, the sharpest whose hypotheses hold, on the last errors, one per row, which holds with
        probability 1 - ``failure_probability``; None if no claim applies to the run.
    purity, adjusted_rand_index, cluster_count
        Medians over replicates, for the final assignments.
    recovered
        Number of replicates in which all clients are assigned to their true clusters.
    """

    settings: dict[str, Any]
    seconds: float
    rows: str
    first_errors: list[float] | None
    last_errors: list[float] | None
    bound: list[float] | None
    bound_claim: str | None
    failure_probability: float | None
    purity: float
    adjusted_rand_index: float
    cluster_count: float
    recovered: int


def record_of(task: Mixture, trace: Trace, seconds: float, target: str) -> RunRecord:
    """Summarise a run.

    Parameters
    ----------
    task
        Task of the run.
    trace
        Trace of the run.
    seconds
        Duration of the run.
    """
    heading, groups = _rows(task, trace, target)
    first, last = (_medians(trace, groups, step) for step in (0, -1))
    bound, claim, probability = _bound(task, trace)
    all_assigned = (trace.last_assignments >= 0).all(axis=-1)
    with np.errstate(all="ignore"):
        return RunRecord(
            settings=dict(trace.settings),
            seconds=seconds,
            rows=heading,
            first_errors=first,
            last_errors=last,
            bound=None if bound is None else bound.tolist(),
            bound_claim=claim,
            failure_probability=probability,
            purity=float(np.median(trace.purity)),
            adjusted_rand_index=float(np.median(trace.adjusted_rand_index)),
            cluster_count=float(np.median(trace.cluster_count)),
            recovered=int(np.sum(all_assigned & (trace.adjusted_rand_index == 1))),
        )


def _rows(task: Mixture, trace: Trace, target: str) -> tuple[str, list[np.ndarray]]:
    """Return the heading of the rows of errors and the model indices of each row."""
    count = 0 if trace.errors is None else trace.errors.shape[-1]
    if target == "clients":
        groups = [np.flatnonzero(task.labels == cluster) for cluster in range(task.clusters)]
        return "clients of cluster", groups
    names = {"clusters": "cluster" if count == task.clusters else "model", "pooled": "pooled model"}
    return names[target], [np.array([column]) for column in range(count)]


def _medians(trace: Trace, groups: list[np.ndarray], step: int) -> list[float] | None:
    """Return the median error of each row over replicates and models, after a round."""
    if trace.errors is None:
        return None
    errors = trace.errors if trace.errors.ndim == 3 else trace.errors[:, None, :]
    with np.errstate(all="ignore"):
        return [float(np.median(errors[step][:, group])) for group in groups]


def _bound(task: Mixture, trace: Trace) -> tuple[np.ndarray | None, str | None, float | None]:
    """Return the sharpest bound on the last errors, one per model, its claim and failure probability; None without."""
    if trace.errors is None:
        return None, None, None
    try:
        claim, allowed, last = sharpest_bounds(task, trace)[0]
    except Exception:  # none applies, or an error in a claim, which must not discard the run
        return None, None, None
    if allowed.measured is not None:
        return None, None, None
    return last.reshape(-1, last.shape[-1]).max(axis=0), claim, float(allowed.failure_probability)
