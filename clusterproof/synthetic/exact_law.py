"""Losses and gradients of Gaussian linear regression, drawn from their exact distribution instead of from samples.

A client of cluster q has n samples (x, y) with x ~ N(0, Sigma) and y = x . theta_q + s eps. The residuals of the models
chi_1, ..., chi_P on one sample are jointly Gaussian with covariance

    K = s^2 11' + D Sigma D',          where row p of D is theta_q - chi_p.

The matrix of inner products of the residuals, over the n samples, is therefore Wishart(n, K). The losses are the
diagonal of this matrix, divided by 2n. Take a model with displacement delta = chi - theta_q and residual variance tau^2
= s^2 + delta' Sigma delta. The gradient of a fresh batch is

    g = (1/n) Sigma^(1/2) [ tau sqrt(c) z + w (c - sqrt(c) w.z / (tau + s)) ],   w = Sigma^(1/2) delta

with c ~ chi^2_n and z ~ N(0, I). One draw takes O(d) operations for every n. The sum over k clients at one model has
the same distribution with k n degrees of freedom, so a cluster of any size needs only one draw. Derivation: the
residuals r_j are N(0, tau^2). Given the residuals, x_j has mean Sigma delta r_j / tau^2 and covariance Sigma - Sigma
delta delta' Sigma / tau^2. The root of this covariance is Sigma^(1/2) times a rank-one change of the identity.
"""

from __future__ import annotations

import numpy as np

from clusterproof.synthetic.covariance import Covariances


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
