"""Rows of neurons with known cells: frozen cells, and intervals of the uniform density."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import self_organising_map as som


@dataclass(frozen=True)
class FrozenRow:
    """Samples drawn with equal probability, and neurons in a row of unit spacing.

    Attributes
    ----------
    samples
        (n, d).
    cells
        Neuron that wins each sample, (n,).
    start
        Neurons before the first update, (C, d).
    """

    samples: np.ndarray
    cells: np.ndarray
    start: np.ndarray

    @property
    def centres(self) -> np.ndarray:
        """Mean of each neuron's cell, m_c = E[x | X_c], (C, d)."""
        return np.stack([self.samples[self.cells == c].mean(axis=0) for c in range(len(self.start))])


def errors_after(
    row: FrozenRow, updates: int, *, learning_rate: float, radius: float, schedule: str
) -> np.ndarray:
    """E||w_j - m_j||^2 after a run of T updates with independent samples, (C,)."""
    offsets = row.samples[None] - row.centres[:, None]
    squares, mean = (offsets**2).sum(axis=2), row.start - row.centres
    distance = (np.arange(len(row.start))[:, None] - row.cells[None]) ** 2
    second = (mean**2).sum(axis=1)
    for update in range(updates):
        rate, width = (som.decayed(first, update, updates, schedule) for first in (learning_rate, radius))
        with np.errstate(under="ignore"):
            share = rate * np.exp(-distance / max(2 * width**2, 1e-300))
        cross = (((1 - share) * share)[..., None] * offsets).mean(axis=1)
        second = ((1 - share) ** 2).mean(axis=1) * second + (share**2 * squares).mean(axis=1)
        second += 2 * (cross * mean).sum(axis=1)
        mean = (1 - share).mean(axis=1)[:, None] * mean + (share[..., None] * offsets).mean(axis=1)
    return np.asarray(second)


def mean_over_orders(
    row: FrozenRow, updates: int, *, learning_rate: float, radius: float, schedule: str
) -> np.ndarray:
    """Return ``errors_after`` by another route: the mean of the algorithm's results over all n^T orders.

    Raises
    ------
    ArithmeticError
        If a sample does not have the best matching unit of its cell before and after each run.
    """
    start, squares = row.start[None], []
    for order in itertools.product(range(len(row.samples)), repeat=updates):
        neurons = som.train(
            start, row.samples, np.array(order), learning_rate=learning_rate, radius=radius, schedule=schedule
        )
        for state in (start, neurons):
            if (som.best_matching_units(state, row.samples) != row.cells).any():
                raise ArithmeticError("a sample has left its cell: the recursion does not apply")
        squares.append(((neurons[0] - row.centres) ** 2).sum(axis=1))
    return np.asarray(np.mean(squares, axis=0))


def intervals(neurons: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return widths and means of the neurons' cells in [0, 1], which end midway between sorted neurons, (C,) each."""
    ends = np.concatenate([[0.0], (neurons[1:] + neurons[:-1]) / 2, [1.0]])
    return np.diff(ends), (ends[1:] + ends[:-1]) / 2


def mean_field_fixed_point(
    neurons: int, radius: float, *, most: int = 20_000
) -> tuple[np.ndarray, np.ndarray]:
    """Return the zero of the mean update, w_j = sum_k g_jk P_k m_k / sum_k g_jk P_k, (C,), and g_jk P_k there, (C, C).

    Iterated from equal cells; radius 0 gives g = identity.

    Raises
    ------
    ArithmeticError
        If the iteration does not converge.
    """
    grid = np.arange(neurons)
    with np.errstate(under="ignore"):
        near = np.exp(-((grid[:, None] - grid[None]) ** 2) / max(2 * radius**2, 1e-300))
    points = (grid + 0.5) / neurons * 0.9 + 0.02
    for _ in range(most):
        widths, centres = intervals(points)
        weights = near * widths
        before, points = points, weights @ centres / weights.sum(axis=1)
        if np.abs(points - before).max() <= 1e-14:
            return points, near * intervals(points)[0]
    raise ArithmeticError(f"no fixed point for {neurons} neurons and radius {radius} in {most} iterations")
