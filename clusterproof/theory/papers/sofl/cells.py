"""Rows of neurons whose cells are known: frozen ones, and intervals of the uniform density."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import self_organising_map as som

TOGETHER = 1000
"""Number of updates whose shares are computed at once."""


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

    @property
    def offsets(self) -> np.ndarray:
        """x - m_j for every neuron and sample, (C, n, d)."""
        return np.asarray(self.samples[None] - self.centres[:, None])

    def shares(self, rate: float | np.ndarray, radius: float | np.ndarray) -> np.ndarray:
        """How far each neuron moves towards each sample, eta g, (..., C, n) for rates and radii (...)."""
        distance = np.abs(np.arange(len(self.start))[:, None] - self.cells[None])
        step_rate, width = (np.asarray(number)[..., None, None] for number in (rate, radius))
        with np.errstate(under="ignore"):
            return np.asarray(step_rate * np.exp(-(distance**2) / np.maximum(2 * width**2, 1e-300)))


def errors_after(
    row: FrozenRow, updates: int, *, learning_rate: float, radius: float, schedule: str
) -> np.ndarray:
    """E||w_j - m_j||^2 after a run of T updates with independent samples, (C,)."""
    offsets = row.offsets
    squares = (offsets**2).sum(axis=2)
    mean = row.start - row.centres
    second = (mean**2).sum(axis=1)
    for begin in range(0, updates, TOGETHER):
        times = range(begin, min(begin + TOGETHER, updates))
        rate, width = (
            np.array([som.decayed(first, update, updates, schedule) for update in times])
            for first in (learning_rate, radius)
        )
        mean, second = _advance(row.shares(rate, width), offsets, squares, mean, second)
    return np.asarray(second)


def floor(row: FrozenRow, *, rate: float, radius: float) -> np.ndarray:
    """The limit of E||w_j - m_j||^2 at a constant rate and radius, (C,).

    It is also the limit of the run's end if the rate and the radius end at these values for every length of the
    run, since the recursion forgets its start at the speed of the rate.
    """
    shares, offsets = row.shares(rate, radius), row.offsets
    push = (shares[..., None] * offsets).mean(axis=1)
    mean = push / shares.mean(axis=1)[:, None]
    decay = 1 - ((1 - shares) ** 2).mean(axis=1)
    cross = (((1 - shares) * shares)[..., None] * offsets).mean(axis=1)
    constant = (shares**2 * (offsets**2).sum(axis=2)).mean(axis=1)
    return np.asarray((2 * (cross * mean).sum(axis=1) + constant) / decay)


def mean_over_orders(
    row: FrozenRow, updates: int, *, learning_rate: float, radius: float, schedule: str
) -> np.ndarray:
    """Return ``errors_after`` by another route: the mean of the algorithm's own results over all n^T orders.

    Raises
    ------
    ArithmeticError
        If a sample does not have the best matching unit of its cell before and after each run.
    """
    start = row.start[None]
    total = np.zeros(len(row.start))
    orders = list(itertools.product(range(len(row.samples)), repeat=updates))
    for order in orders:
        neurons = som.train(
            start, row.samples, np.array(order), learning_rate=learning_rate, radius=radius, schedule=schedule
        )
        for state in (start, neurons):
            if (som.best_matching_units(state, row.samples) != row.cells).any():
                raise ArithmeticError("a sample has left its cell: the recursion does not apply")
        total += ((neurons[0] - row.centres) ** 2).sum(axis=1)
    return total / len(orders)


def _advance(
    shares: np.ndarray, offsets: np.ndarray, squares: np.ndarray, mean: np.ndarray, second: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Update E(w - m), (C, d), and E||w - m||^2, (C,), with shares (U, C, n); only the sums are sequential."""
    factors = 1 - shares
    cross = ((factors * shares)[..., None] * offsets).mean(axis=2)
    remaining, push = factors.mean(axis=2)[..., None], (shares[..., None] * offsets).mean(axis=2)
    means = np.empty(push.shape)
    for update, (factor, step) in enumerate(zip(remaining, push, strict=True)):
        means[update] = mean
        mean = factor * mean + step
    mixed = 2 * (cross * means).sum(axis=2)
    shrunk, noise = (factors**2).mean(axis=2), (shares**2 * squares).mean(axis=2)
    for factor, between, step in zip(shrunk, mixed, noise, strict=True):
        second = factor * second + between + step
    return mean, second


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
