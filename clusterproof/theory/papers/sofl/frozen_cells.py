"""A row of neurons whose cells do not change: mean-square distance to the cells' means, exactly.

While every sample keeps its best matching unit c(x), the update (10) of neuron j with a drawn sample x is
w <- (1 - a_x) w + a_x x, a_x = eta g(j, c(x)): the first two moments of w - m_j obey a closed linear
recursion. ``mean_over_orders`` is the independent route: the algorithm itself on every order of samples.
"""

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
