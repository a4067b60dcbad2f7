"""The record that ``run --json`` writes."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterproof.running import Trace
from clusterproof.running.matching import in_order_of_clusters
from clusterproof.synthetic import Mixture
from clusterproof.theory.pages.page import Page
from clusterproof.theory.runs.bound import sharpest_bounds


def record_of(task: Mixture, trace: Trace, seconds: float, target: str, page: Page) -> dict[str, Any]:
    """Summarise a run of an algorithm on a task whose optima are known.

    Parameters
    ----------
    task, trace
        The run.
    seconds
        Duration of the rounds.
    target
        What the algorithm learns a model for, such as a cluster.
    page
        The page of the run.

    Returns
    -------
    dict
        The record has these entries. ``settings`` holds algorithm, task, rounds, seed and replicates, and ``seconds``
        the duration. ``rows`` states what each row of errors belongs to: a cluster, a model, the pooled model, or the
        clients of a cluster. ``first_errors`` and ``last_errors`` have one number per row: the median, over replicates
        (and a cluster's clients), of the distance to the optimum. They are None if the optima of the task are unknown.
        ``bound`` is the bound of ``bound_claim`` on the last errors, one per row, with probability 1 -
        ``failure_probability``. It is the tightest bound whose hypotheses hold, or None if no claim applies to the run.
        ``purity``, ``adjusted_rand_index`` and ``cluster_count`` are medians over replicates, for the final
        assignments. ``recovered`` is the number of replicates in which all clients are assigned to their true clusters.
        ``page`` holds the facts of the page, named as in ``theory.pages.facts``: ``task``, ``run``, ``results``,
        ``theorems``, ``others`` and ``next``. JSON has null for numbers that are not finite.
    """
    count = 0 if trace.errors is None else trace.errors.shape[-1]
    if target == "clusters" and trace.errors is not None and count == task.clusters:
        trace = in_order_of_clusters(trace, np.asarray(task.optima))
    if target == "clients":
        rows = "clients of cluster"
        groups = [np.flatnonzero(task.labels == cluster) for cluster in range(task.clusters)]
    else:
        names = {"clusters": "cluster" if count == task.clusters else "model", "pooled": "pooled model"}
        rows, groups = names[target], [np.array([column]) for column in range(count)]
    bound, claim, probability = _bound(task, trace)
    all_assigned = (trace.last_assignments >= 0).all(axis=-1)
    with np.errstate(all="ignore"):
        medians = {
            name: None
            if trace.errors is None
            else [float(np.median(trace.errors[step][..., group])) for group in groups]
            for name, step in (("first_errors", 0), ("last_errors", -1))
        }
        return {
            "settings": dict(trace.settings),
            "seconds": seconds,
            "rows": rows,
            **medians,
            "bound": bound,
            "bound_claim": claim,
            "failure_probability": probability,
            "purity": float(np.median(trace.purity)),
            "adjusted_rand_index": float(np.median(trace.adjusted_rand_index)),
            "cluster_count": float(np.median(trace.cluster_count)),
            "recovered": int(np.sum(all_assigned & (trace.adjusted_rand_index == 1))),
            "page": page.to_dict(),
        }


def _bound(task: Mixture, trace: Trace) -> tuple[list[float] | None, str | None, float | None]:
    """Return the tightest bound on the last errors, one per model, with its claim and failure probability, or None."""
    if trace.errors is None:
        return None, None, None
    try:
        claim, allowed, last = sharpest_bounds(task, trace)[0]
    except Exception:  # no claim applies, or a claim has an error, which must not discard the run
        return None, None, None
    if allowed.measured is not None:
        return None, None, None
    return last.reshape(-1, last.shape[-1]).max(axis=0).tolist(), claim, float(allowed.failure_probability)
