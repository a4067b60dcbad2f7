"""The law of Gaussian regression: covariances of the features, and exact draws of losses and gradients."""

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


def residual_covariance(
    models: np.ndarray, optima: np.ndarray, covariances: Covariances, noise: float
) -> np.ndarray:
    """Return for each cluster the covariance K of all models' residuals on one sample, (..., Q, P, P).

    ``models`` has the shape (..., P, d), ``optima`` contains the true parameters (Q, d), and ``noise`` is the standard
    deviation s.
    """
    roots = [covariances.root_times(models - optimum, cluster) for cluster, optimum in enumerate(optima)]
    stacked = np.stack(roots, axis=-3)
    return np.asarray(stacked @ np.swapaxes(stacked, -1, -2) + noise**2)


def semidefinite_cholesky(matrix: np.ndarray) -> np.ndarray:
    """Return the lower triangular matrix R with R R' = matrix; the matrix may be singular.

    ``matrix`` (..., P, P) is positive semidefinite. If a pivot is as small as rounding errors, it is set to zero
    together with its column: both are zero in exact arithmetic.
    """
    size = matrix.shape[-1]
    root = np.zeros_like(matrix)
    diagonal = np.einsum("...ii->...i", matrix)
    for j in range(size):
        column = matrix[..., j:, j] - (root[..., j:, :j] @ root[..., j, :j, None])[..., 0]
        pivot = column[..., 0]
        positive = pivot > 8 * size * np.finfo(float).eps * diagonal[..., j]
        scale = np.sqrt(np.where(positive, pivot, 1.0))
        root[..., j:, j] = np.where(positive[..., None], column / scale[..., None], 0.0)
    return root


def draw_triangle(
    shape: tuple[int, ...], size: int, samples: int, generator: np.random.Generator
) -> list[list[np.ndarray]]:
    """Draw Bartlett's lower trapezoidal factor A of a Wishart matrix, A A' ~ Wishart(n, I).

    In column j, the diagonal entry is a chi variable with n - j degrees of freedom, and all entries below are standard
    normal. If n < P, there are only n columns, where P is the number of models and n the number of samples. In the
    result, ``entries[j][i - j]`` is A_ij for i >= j, an array of the given shape.
    """
    return [
        [
            np.sqrt(2 * generator.standard_gamma((samples - j) / 2, shape)),
            *(generator.standard_normal(shape) for _ in range(j + 1, size)),
        ]
        for j in range(min(size, samples))
    ]


def draw_losses(
    covariance: np.ndarray, labels: np.ndarray, samples: int, generator: np.random.Generator
) -> np.ndarray:
    """Draw the losses (half mean squared residuals) of all models on a fresh batch per client, (..., k, P).

    ``covariance`` (..., Q, P, P) contains the residual covariances of the true clusters, and ``labels`` (..., k)
    contains the clients' clusters. A batch has n samples.
    """
    size = covariance.shape[-1]
    root = semidefinite_cholesky(covariance)
    shape = (*covariance.shape[:-3], labels.shape[-1])
    triangle = draw_triangle(shape, size, samples, generator)
    losses = np.empty((*shape, size))
    for i in range(size):
        weights = [_by_label(root[..., i, j], labels) for j in range(i + 1)]
        total = np.zeros(shape)
        for j in range(min(i + 1, len(triangle))):
            entry = weights[j] * triangle[j][0]
            for below in range(j + 1, i + 1):
                entry += weights[below] * triangle[j][below - j]
            total += entry * entry
        losses[..., i] = total / (2 * samples)
    return losses


def draw_gradients(
    root_displacements: np.ndarray,
    noise: float,
    samples: int,
    batches: np.ndarray | int,
    generator: np.random.Generator,
) -> np.ndarray:
    """Draw sums of gradients over fresh batches, (..., d); the caller multiplies the result by Sigma^(1/2).

    Parameters
    ----------
    root_displacements
        w = Sigma^(1/2) (chi - theta), (..., d).
    noise, samples
        Standard deviation s of the noise, and number of samples in a batch (n).
    batches
        Number of clients in each sum of gradients, integers (...) or one integer.
    """
    lead = root_displacements.shape[:-1]
    residual = np.sqrt(noise**2 + np.einsum("...d,...d->...", root_displacements, root_displacements))
    chi_square = 2 * generator.standard_gamma(np.asarray(batches) * (samples / 2), lead)
    chi = np.sqrt(chi_square)
    normal = generator.standard_normal(root_displacements.shape)
    along = np.einsum("...d,...d->...", root_displacements, normal)
    scale = residual + noise
    along /= np.where(scale > 0, scale, 1.0)
    normal *= (residual * chi / samples)[..., None]
    normal += ((chi_square - chi * along) / samples)[..., None] * root_displacements
    return normal


def draw_moments(
    shape: tuple[int, ...], dimension: int, samples: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw Z'Z/n, Z'e/n and e'e/n for n standard normal samples (z, e), by Bartlett's method for any n.

    All losses and gradients of one batch, at any number of models, are functions of these moments. The results have the
    shapes (*shape, d, d), (*shape, d) and (*shape,).
    """
    triangle = _draw_matrix(shape, dimension + 1, samples, generator)
    moments = triangle @ np.swapaxes(triangle, -1, -2) / samples
    return moments[..., :-1, :-1], moments[..., :-1, -1], moments[..., -1, -1]


def _draw_matrix(
    shape: tuple[int, ...], size: int, samples: int, generator: np.random.Generator
) -> np.ndarray:
    """Draw the factor A of ``draw_triangle`` as one array (*shape, size, min(size, samples))."""
    triangle = np.zeros((*shape, size, min(size, samples)))
    for j, column in enumerate(draw_triangle(shape, size, samples, generator)):
        for i, entry in enumerate(column, start=j):
            triangle[..., i, j] = entry
    return triangle


def _by_label(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return entry ``labels[..., i]`` of ``values`` (..., Q) for every client i."""
    if labels.ndim == 1:
        return np.asarray(values[..., labels])
    return np.take_along_axis(
        np.broadcast_to(values, (*labels.shape[:-1], values.shape[-1])), labels, axis=-1
    )
