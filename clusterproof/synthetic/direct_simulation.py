"""Losses and gradients of Gaussian linear regression, computed from random samples as a reference for ``exact_law``.

Cost and memory grow with the number of samples. ``exact_law`` draws losses and gradients from the same distribution
without drawing samples.
"""

from __future__ import annotations

import numpy as np

from clusterproof.synthetic.exact_law import Covariances


def draw_data(
    labels: np.ndarray,
    covariances: Covariances,
    noise: float,
    samples: int,
    generator: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw features (..., k, n, d) and noise terms s eps (..., k, n), one batch per client with label (..., k)."""
    dimension = covariances.matrices.shape[-1]
    normals = generator.standard_normal((*labels.shape, samples, dimension))
    features = covariances.root_times_by_label(normals, labels[..., None])
    return features, noise * generator.standard_normal((*labels.shape, samples))


def losses(models: np.ndarray, optima: np.ndarray, features: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return half the mean squared residuals of models (..., P, d) on each client's batch, (..., k, P).

    ``optima`` contains the clients' true parameters (..., k, d); ``features`` and ``errors`` are outputs of
    ``draw_data``.
    """
    displacements = optima[..., :, None, :] - models[..., None, :, :]
    residuals = features @ np.swapaxes(displacements, -1, -2) + errors[..., None]
    return np.asarray(0.5 * np.mean(residuals**2, axis=-2))


def gradients(points: np.ndarray, optima: np.ndarray, features: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return the gradient of half the mean squared residual at each client's point, (..., k, d).

    ``points`` and the true parameters ``optima`` have the shape (..., k, d); ``features`` and ``errors`` are outputs of
    ``draw_data``.
    """
    residuals = (features @ (points - optima)[..., None])[..., 0] - errors
    return np.asarray(np.einsum("...nd,...n->...d", features, residuals) / features.shape[-2])


def moments(features: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X'X/n (..., d, d), X'e/n (..., d) and e'e/n (...) for batches from ``draw_data``."""
    samples = features.shape[-2]
    transposed = np.swapaxes(features, -1, -2)
    return (
        transposed @ features / samples,
        (transposed @ errors[..., None])[..., 0] / samples,
        (errors**2).sum(axis=-1) / samples,
    )
