"""Covariance matrices of the clusters' features. Diagonal matrices are stored as vectors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clusterproof.common import InvalidArgument


@dataclass(frozen=True, eq=False)
class Covariances:
    """One positive definite matrix per cluster.

    Attributes
    ----------
    matrices
        Symmetric positive definite matrices (P, d, d), in squared units of the features.
    """

    matrices: np.ndarray

    @classmethod
    def from_argument(cls, given: np.ndarray, clusters: int, dimension: int) -> Covariances:
        """Convert a diagonal (d,), one matrix (d, d) or one matrix per cluster (P, d, d) to ``Covariances``.

        Raises
        ------
        InvalidArgument
            If the shape is not one of these, or a matrix is not symmetric positive definite.
        """
        shapes = {
            (dimension,): lambda: np.broadcast_to(np.diag(given), (clusters, dimension, dimension)),
            (dimension, dimension): lambda: np.broadcast_to(given, (clusters, dimension, dimension)),
            (clusters, dimension, dimension): lambda: given,
        }
        if given.shape not in shapes:
            raise InvalidArgument(
                "covariance",
                given.shape,
                f"must have one of the shapes {', '.join(map(str, shapes))}",
                "give the variances, one matrix, or one matrix per cluster",
            )
        matrices = np.array(shapes[given.shape]())
        symmetric = np.array_equal(matrices, np.swapaxes(matrices, -1, -2))
        if not (np.isfinite(matrices).all() and symmetric and np.linalg.eigvalsh(matrices).min() > 0):
            raise InvalidArgument(
                "covariance",
                ...,
                "must be finite, symmetric and positive definite",
                "symmetrise it, and add a multiple of the identity if it is singular",
            )
        return cls(matrices)

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of each matrix in ascending order, (P, d)."""
        if self.diagonals is not None:
            return np.sort(self.diagonals, axis=-1)
        return np.linalg.eigvalsh(self.matrices)

    @cached_property
    def diagonals(self) -> np.ndarray | None:
        """The diagonals (P, d) if every matrix is diagonal, otherwise None."""
        diagonals = np.einsum("pii->pi", self.matrices)
        is_diagonal = np.count_nonzero(self.matrices) == np.count_nonzero(diagonals)
        return diagonals if is_diagonal else None

    @cached_property
    def roots(self) -> np.ndarray:
        """Symmetric square roots of the matrices, (P, d, d), or of the diagonals, (P, d)."""
        if self.diagonals is not None:
            return np.asarray(np.sqrt(self.diagonals))
        values, vectors = np.linalg.eigh(self.matrices)
        return np.asarray((vectors * np.sqrt(values)[:, None, :]) @ np.swapaxes(vectors, -1, -2))

    def root_times(self, vectors: np.ndarray, cluster: int) -> np.ndarray:
        """Multiply vectors (..., d) by the square root of one cluster's matrix."""
        root = self.roots[cluster]
        return np.asarray(vectors * root if root.ndim == 1 else vectors @ root)

    def times(self, vectors: np.ndarray, cluster: int) -> np.ndarray:
        """Multiply vectors (..., d) by one cluster's matrix."""
        if self.diagonals is not None:
            return np.asarray(vectors * self.diagonals[cluster])
        return np.asarray(vectors @ self.matrices[cluster])

    def root_times_by_label(self, vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Multiply row i of vectors (..., k, d) by the square root of the matrix of cluster labels[..., i]."""
        if self.diagonals is not None:
            return np.asarray(vectors * self.roots[labels])
        result = self.root_times(vectors, 0)
        for cluster in range(1, len(self.matrices)):
            np.copyto(result, self.root_times(vectors, cluster), where=(labels == cluster)[..., None])
        return result
