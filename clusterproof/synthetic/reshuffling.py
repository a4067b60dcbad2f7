"""Passes over each client's samples in random order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def reshuffled_descent(
    sample_gradients: Callable[[np.ndarray, np.ndarray], np.ndarray],
    points: np.ndarray,
    samples: int,
    generator: np.random.Generator,
    *,
    step_size: float,
    passes: int,
) -> np.ndarray:
    """Run passes of w <- w - step_size * gradient of one sample(w), each over all samples in a new order.

    Parameters
    ----------
    sample_gradients
        Takes points (..., k, d) and the sample of each, integers (..., k), and returns gradients (..., k, d).
    points
        Where clients start, (..., k, d).
    samples
        Samples of every client (n).
    generator
        Draws an independent uniform order for every client and pass.
    step_size, passes
        gamma, and how often all samples are taken.
    """
    for _ in range(passes):
        orders = generator.permuted(
            np.broadcast_to(np.arange(samples), (*points.shape[:-1], samples)), axis=-1
        )
        for position in range(samples):
            points = points - step_size * sample_gradients(points, orders[..., position])
    return points
