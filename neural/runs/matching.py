"""Which of the server's models belongs to which true cluster."""

from __future__ import annotations

import numpy as np


def match_models(assignments: np.ndarray, labels: np.ndarray, models: int, clusters: int) -> np.ndarray:
    """Match models to true clusters one to one so that most clients are right.

    Parameters
    ----------
    assignments, labels
        Chosen model and true cluster of each client, integers (m,); -1 for a client that never chose.
    models, clusters
        Numbers of the server's models and of true clusters.

    Returns
    -------
    numpy.ndarray
        The model of each cluster, integers (clusters,); -1 for a cluster that is left without.

    Notes
    -----
    Hungarian algorithm: of all matchings, one with the largest number of clients on its pairs.
    """
    from scipy.optimize import linear_sum_assignment

    table = np.zeros((clusters, models), dtype=np.int64)
    present = assignments >= 0
    np.add.at(table, (labels[present], assignments[present]), 1)
    found = np.full(clusters, -1)
    rows, columns = linear_sum_assignment(table, maximize=True)
    found[rows] = columns
    return found
