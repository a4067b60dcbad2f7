"""Match models to clusters, according to the initial models or to the clients' choices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clusterproof.running.trace import Trace, distances


def matched(costs: np.ndarray) -> np.ndarray:
    """Return the cluster of each model, (P,), that minimises the total cost.

    In a tie, model i is matched to cluster i.

    Parameters
    ----------
    costs
        Cost of a match of model i with cluster j, (P, P).
    """
    same = np.arange(len(costs))
    if (costs[same, same] == costs.min(axis=-1)).all():
        return same
    from scipy.optimize import linear_sum_assignment  # this import takes 0.3 s, and most runs do not need it

    _, found = linear_sum_assignment(costs)
    least, kept = costs[same, found].sum(), costs[same, same].sum()
    return same if kept <= least + 1e-9 * abs(least) else np.asarray(found)


def in_order_of_clusters(trace: Trace, optima: np.ndarray) -> Trace:
    """Reorder the models of a run such that the initial model p is matched to the optimum of cluster p.

    The order depends only on the initial models. So the errors still show whether a cluster is lost during the run.

    Parameters
    ----------
    trace
        A run with as many models as clusters, and with finite initial models.
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
    """Return the cluster whose clients mostly chose each model, (R, P).

    If this is no matching, model p has cluster p.

    Parameters
    ----------
    last
        Last choice of each client in each run, (R, m), or -1 for a client that has never chosen.
    labels, clusters
        The true cluster of each client, (m,), and the number of clusters (P).
    """
    found = np.tile(np.arange(clusters), (len(last), 1))
    for run, choices in enumerate(last):
        known = choices >= 0
        chosen = np.zeros((clusters, clusters))  # number of clients per cluster and chosen model
        np.add.at(chosen, (labels[known], choices[known]), 1)
        favourite = chosen.argmax(axis=1)
        if (2 * chosen.max(axis=1) > chosen.sum(axis=1)).all() and len({*favourite.tolist()}) == clusters:
            found[run, favourite] = np.arange(clusters)
    return found
