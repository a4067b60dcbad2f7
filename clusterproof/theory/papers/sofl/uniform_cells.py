"""A row of neurons on the uniform density on [0, 1], whose cells are intervals known in closed form."""

from __future__ import annotations

import numpy as np


def cell_bounds(neurons: np.ndarray) -> np.ndarray:
    """Ends of the neurons' intervals, midpoints between neighbours, for sorted neurons (C,): (C + 1,)."""
    return np.concatenate([[0.0], (neurons[1:] + neurons[:-1]) / 2, [1.0]])


def cell_error(neurons: np.ndarray) -> float:
    """Mean of (w_c - m_c)^2 over the mean of the cells' variances, for neurons (C,) in [0, 1]."""
    ordered = np.sort(neurons)
    bounds = cell_bounds(ordered)
    widths, centres = np.diff(bounds), (bounds[1:] + bounds[:-1]) / 2
    return float(((ordered - centres) ** 2).mean() / (widths**2 / 12).mean())


def mean_field_fixed_point(
    neurons: int, radius: float, *, tolerance: float = 1e-14, most: int = 20_000
) -> np.ndarray:
    """Return the zero of the mean update, w_j = sum_k g_jk P_k m_k / sum_k g_jk P_k, (C,).

    Iterated from equal cells; radius 0 gives g = identity.

    Raises
    ------
    ArithmeticError
        If the iteration does not converge.
    """
    grid = np.arange(neurons)
    distance = (grid[:, None] - grid[None]) ** 2
    with np.errstate(under="ignore"):
        near = np.exp(-distance / max(2 * radius**2, 1e-300))
    points = (grid + 0.5) / neurons * 0.9 + 0.02
    for _ in range(most):
        bounds = cell_bounds(points)
        weights = near * np.diff(bounds)
        new_points = weights @ ((bounds[1:] + bounds[:-1]) / 2) / weights.sum(axis=1)
        if np.abs(new_points - points).max() <= tolerance:
            return np.asarray(new_points)
        points = new_points
    raise ArithmeticError(f"no fixed point for {neurons} neurons and radius {radius} in {most} iterations")
