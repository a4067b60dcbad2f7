"""Matching of models to clusters: clusters have no names, so starts or choices decide which model belongs to which."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clusterproof.running.trace import Trace, distances


def matched(costs: np.ndarray) -> np.ndarray:
    """Return the cluster of each model, (P,), with least total cost; models keep their places in a tie.

    Parameters
    ----------
    costs
        Cost of giving model i to cluster j, (P, P).
    """
    same = np.arange(len(costs))
    if (costs[same, same] == costs.min(axis=-1)).all():
        return same
    from scipy.optimize import linear_sum_assignment  # takes 0.3 s, which other runs do not need

    _, found = linear_sum_assignment(costs)
    least, kept = costs[same, found].sum(), costs[same, same].sum()
    return same if kept <= least + 1e-9 * abs(least) else np.asarray(found)


def in_order_of_clusters(trace: Trace, optima: np.ndarray) -> Trace:
    """Return a run with its models in the order of the clusters whose optima are nearest to their starts.

    Only the start decides, so that a run that loses a cluster does not hide it.

    Parameters
    ----------
    trace
        A run with as many models as clusters, at finite starts.
    optima
        Optima of the clusters, (P, d).
    """
    starts = trace.models[0].reshape(-1, *optima.shape)
    orders = np.array([matched(np.linalg.norm(start[:, None] - optima, axis=-1)) for start in starts])
    if (orders == np.arange(len(optima))).all():
        return trace
    models = trace.models.reshape(len(trace.models), *starts.shape)
    chosen = trace.assignments.reshape(trace.rounds, len(starts), -1)
    models = np.take_along_axis(models, np.argsort(orders, axis=-1)[None, :, :, None], axis=2)
    assignments = np.where(
        chosen < 0, chosen, np.take_along_axis(orders[None], np.maximum(chosen, 0), axis=2)
    )
    models = models.reshape(trace.models.shape)
    return replace(
        trace,
        models=models,
        assignments=assignments.reshape(trace.assignments.shape),
        errors=None if trace.errors is None else distances(models, optima),
    )


def models_of(last: np.ndarray, labels: np.ndarray, clusters: int) -> np.ndarray:
    """Return the cluster of each model, (R, P): its own number, unless every cluster mostly chose its own model.

    Parameters
    ----------
    last
        Last choices, (R, m); -1 if there was none.
    labels, clusters
        The true cluster of each client, (m,), and the number of clusters (P).
    """
    found = np.tile(np.arange(clusters), (len(last), 1))
    for run, choices in enumerate(last):
        known = choices >= 0
        chosen = np.zeros((clusters, clusters))  # how many of a cluster chose a model
        np.add.at(chosen, (labels[known], choices[known]), 1)
        favourite = chosen.argmax(axis=1)
        if (2 * chosen.max(axis=1) > chosen.sum(axis=1)).all() and len({*favourite.tolist()}) == clusters:
            found[run, favourite] = np.arange(clusters)
    return found
