"""The record of a run: numpy arrays on the host, whatever library the run used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.algorithms.metrics import adjusted_rand_index, cluster_count, purity


@dataclass(frozen=True)
class Trace:
    """Everything that a run went through. Without replicates, that axis is missing.

    Attributes
    ----------
    models
        Server models before each round and after the last, (rounds + 1, replicates, P, d).
    assignments
        Cluster that each client chose in each round, (rounds, replicates, m); -1 for a client
        that did not take part.
    errors
        Distance of each model to the minimiser that it aims at, (rounds + 1, replicates, P), in
        the model's units: ||chi_p - chi*_p|| for clustered algorithms with as many models as
        clusters, the distance to the nearest cluster's minimiser where the numbers differ. None
        where the task does not know its minimisers.
    labels
        The true cluster of each client, (m,).
    settings
        Algorithm, task, rounds, seed and replicates, as plain JSON values; ``dynamics`` where the algorithm
        declares those of another.
    """

    models: np.ndarray
    assignments: np.ndarray
    errors: np.ndarray | None
    labels: np.ndarray
    settings: Mapping[str, Any]

    @property
    def rounds(self) -> int:
        """Number of communication rounds."""
        return len(self.assignments)

    @property
    def last_assignments(self) -> np.ndarray:
        """The cluster each client chose when it last took part, (replicates, m); -1 if never."""
        last = np.full(self.assignments.shape[1:], -1, dtype=np.int64)
        for chosen in self.assignments:
            last = np.where(chosen >= 0, chosen, last)
        return last

    @property
    def purity(self) -> np.ndarray:
        """Purity of the last assignments, one number a replicate."""
        return np.apply_along_axis(purity, -1, self.last_assignments, self.labels)

    @property
    def adjusted_rand_index(self) -> np.ndarray:
        """Adjusted Rand index of the last assignments, one number a replicate."""
        return np.apply_along_axis(adjusted_rand_index, -1, self.last_assignments, self.labels)

    @property
    def cluster_count(self) -> np.ndarray:
        """Number of clusters that have clients in the last assignments, one number a replicate."""
        return np.apply_along_axis(cluster_count, -1, self.last_assignments)


def distances(models: np.ndarray, references: np.ndarray) -> np.ndarray:
    """Distance of each model to its reference, or to the nearest where their numbers differ.

    Parameters
    ----------
    models
        (..., P, d).
    references
        (Q, d).

    Returns
    -------
    numpy.ndarray
        (..., P).
    """
    if models.shape[-2] == len(references):
        return np.asarray(np.linalg.norm(models - references, axis=-1))
    to_each = [np.linalg.norm(models - reference, axis=-1) for reference in references]
    return np.asarray(np.min(to_each, axis=0))
