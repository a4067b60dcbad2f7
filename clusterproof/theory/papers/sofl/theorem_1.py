"""Claims on Theorem 1: the convergence of neurons to the means of constant cells, and the end of a finite run."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.algorithms import self_organising_map as som
from clusterproof.checker.claims import Q, Sides, Stream, among, at_most, claim, equal, suppose


@dataclass(frozen=True)
class FrozenRow:
    """Equally likely samples, and neurons in a row with unit distances.

    Attributes
    ----------
    samples
        The samples, of shape (n, d).
    cells
        The neuron that wins each sample, of shape (n,).
    start
        The neurons before the first update, of shape (C, d).
    """

    samples: np.ndarray
    cells: np.ndarray
    start: np.ndarray

    @property
    def centres(self) -> np.ndarray:
        """Mean m_c = E[x | X_c] of each neuron's cell, of shape (C, d)."""
        return np.stack([self.samples[self.cells == c].mean(axis=0) for c in range(len(self.start))])


def errors_after(
    row: FrozenRow, updates: int, *, learning_rate: float, radius: float, schedule: str
) -> np.ndarray:
    """Return E||w_j - m_j||^2 after a run of T updates with independent samples, (C,)."""
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
    """Compute ``errors_after`` in another way, as the mean of the algorithm's results over all n^T orders.

    Raises
    ------
    ArithmeticError
        If, before or after some run, the best matching unit of a sample is not the neuron of its cell.
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


RATE = among(Fraction(1, 10), Fraction(1, 2), Fraction(1))


@claim(
    "sofl/theorem-1",
    label="Theorem 1",
    ill_posed=True,
    repaired_by="sofl/theorem-1-robbins-monro",
    expected="ill-posed",
    headline=(
        "Theorem 1 states that each neuron (prototype) of SoFL's self-organising map converges to "
        "the mean of its samples, but names no learning rate. At the rate 1/n it does. At the rate "
        "1/10 it keeps 1/19 of their variance."
    ),
    rank=1,
)
def theorem_1(rate: Fraction = RATE) -> Sides:
    """The neurons of a self-organising map converge in mean square to the means of their cells.

    Hypotheses
        The inputs have a density f. The theorem makes no assumption on the rate eta, the neighbourhood or the metric.

    Statement
        w_c(n) -> m_c = (1 / P(X_c)) int_(X_c) x f(x) dx as n -> infinity, for all c in Y. The check compares eta / (2 -
        eta) with 0. At a constant rate eta, this is the limit of Var w_c(n), divided by the variance of the cell.

    Source
        Zhang and Qiao (2024), Theorem 1, on "the SOM algorithm", after Yin and Allinson (1995). They assume eta -> 0
        with sum eta = infinity and sum eta^2 finite, and a neighbourhood that shrinks until it contains only the
        winner. Without hypotheses on eta the theorem is true for some rates and false for others. At a constant rate,
        the variance of a neuron tends to eta / (2 - eta) times the variance of its cell, see
        ``sofl/frozen-cell-variance``. For a neuron that wins no sample, m_c is 0 / 0. The paper's phrase
        "approximated as a Gaussian-distributed stochastic process" is not a statement that can be checked. Our
        reading adds the assumptions of Yin and Allinson, see ``sofl/theorem-1-robbins-monro``. (12) and (13) satisfy
        them if the run continues after T_max. ``sofl/theorem-1-at-the-end`` treats the end of a run of T_max updates.
    """
    return equal(
        (rate / (2 - rate), 0),
        words="the theorem names no rate: at a constant one a neuron keeps a share of its cell's variance for ever, at "
        "the rate 1 / n none; and m_c is 0 / 0 for a neuron without samples; read: a rate whose sum diverges and whose "
        "squares have a finite sum",
    )


SAMPLES = ((1, 0), (Fraction(3, 2), 0), (0, 1), (0, Fraction(3, 2)))
"""Two samples for each of two neurons. The initial neurons are the means of their cells, (5/4, 0) and (0, 5/4)."""


def end_of_long_runs(rate: Fraction, near: Fraction) -> Any:
    """Return the limit of E||w_c - m_c||^2 at a constant rate, which is ``near`` times as large for the other cell.

    If the rate and g have the same final values for every length of the run, this is also the limit of the error at
    the end of long runs.
    """
    shares = [rate, rate, near * rate, near * rate]
    offsets = [(x - Fraction(5, 4), y) for x, y in SAMPLES]
    mean = [sum(s * o[i] for s, o in zip(shares, offsets, strict=True)) / sum(shares) for i in range(2)]
    cross = [sum((1 - s) * s * o[i] for s, o in zip(shares, offsets, strict=True)) for i in range(2)]
    noise = sum(s**2 * (o[0] ** 2 + o[1] ** 2) for s, o in zip(shares, offsets, strict=True))
    return (2 * (cross[0] * mean[0] + cross[1] * mean[1]) + noise) / sum(1 - (1 - s) ** 2 for s in shares)


@claim(
    "sofl/theorem-1-at-the-end",
    label="Section 4.1, centre of mass at the end",
    source="reading",
    repaired_by="sofl/theorem-1-robbins-monro",
    expected="violated",
    headline=True,
)
def theorem_1_at_the_end(learning_rate: Fraction = RATE, near: Fraction = Q[0:1]) -> Sides:
    """At the end of long runs of SoFL, the neurons converge to the centres of mass of their cells.

    Hypotheses
        The schedule of SoFL, (12) and (13), over a run of T_max updates with independent samples. The neighbourhood N
        contains only the winner or all neurons, and the check uses the case with the smaller final error. The winner
        has the largest cosine (9). There are two neurons, and two equally likely samples in each cell. ``near`` is
        the value of g for the other neuron at the end of the run, exp(-9 / 2 sigma_0^2) for sigma_0 / 3.

    Statement
        E||w_c - m_c||^2 after T_max updates tends to 0 as T_max -> infinity.

    Source
        Zhang and Qiao (2024), Section 4.1: "the corresponding neurons will be located at the center-of-mass position
        of the client subset". The reading applies the sentence to the end of a run, in mean square and in the limit
        of long runs. The paper does not define the distance there, and writes "usually located" in Step 5. The
        schedule ends at eta_0 / 3 and sigma_0 / 3, for every T_max. Theorem 1 is about n -> infinity, see
        ``sofl/theorem-1``. If a run continues after T_max, the distance tends to 0.

    Proof
        No sample changes its winner. Let (a, b) and (c, d) be the neurons. The inequalities d >= g b and a >= g c
        remain true after every update, because g <= 1 does not increase, and the lengths of samples differ by less
        than a factor of 2. Hence also a d > b c. For constant cells, E(w - m) and E||w - m||^2 satisfy a linear
        recursion. As T -> infinity, the final error tends to the fixed point of this recursion for eta(T) and
        sigma(T). If N contains only the winner, the fixed point is eta / (2 - eta) times the variance of the cell,
        see ``sofl/frozen-cell-variance``. If N contains all neurons, it is larger.
    """
    alone, everything = (end_of_long_runs(learning_rate / 3, g) for g in (Fraction(0), near))
    return equal((min(alone, everything), 0))


def clustered_row(stream: np.random.Generator, spread: float) -> FrozenRow:
    """Return samples and neurons: two samples near each of two or three directions; one of the two is a neuron."""
    cells = int(stream.integers(2, 4))
    around = spread * stream.standard_normal((cells, cells))
    samples = np.concatenate([np.eye(cells) + around, np.eye(cells) - around])
    return FrozenRow(samples=samples, cells=np.tile(np.arange(cells), 2), start=samples[:cells])


@claim(
    "sofl/theorem-1-robbins-monro",
    label="Theorem 1, repaired",
    source="ours",
    evaluations=30,
    expected="consistent, tight within 2",
    headline=True,
)
def theorem_1_robbins_monro(
    stream: Stream, spread: Fraction = Q[Fraction(1, 20) : Fraction(1, 10) : 100]
) -> dict[str, Sides]:
    """With a Robbins-Monro rate and a radius that tends to 0, the neurons converge to the means of their cells.

    Hypotheses
        Cells do not change, eta(t) = eta_0 / (1 + t / 60), sigma(t) = sigma_0 / (1 + t / 60), 60 eta_0 P(X_c) >= 1.

    Statement
        E||w_c - m_c||^2 = O(1 / t): it is at most 60 eta_0 v / t plus a term for the initial error. Here v is the
        largest variance of a cell.

    Source
        Yin and Allinson (1995), with our repair for constant cells. If the run continues after T_max, (12) and (13)
        have this form with T_max / 2 instead of 60.

    Proof
        g decreases faster than any power of t. When g is negligible, the bias tends to 0, because sum eta = infinity.
        For the winner, E||w - m||^2 changes by -2 eta P E||w - m||^2 + eta^2 P v. For eta = c / t the solution is c v
        / ((2 - 1 / (c P)) t) to first order, at most c v / t for c P >= 1.
    """
    row, eta = clustered_row(stream, float(spread)), 0.1
    suppose("60 eta_0 P(X_c) >= 1", 60 * eta * np.bincount(row.cells).min() >= len(row.cells))
    settings: dict[str, Any] = {"learning_rate": eta, "radius": 1.5, "schedule": "robbins-monro"}
    moments, runs = errors_after(row, 3, **settings), mean_over_orders(row, 3, **settings)
    early, late = (float(errors_after(row, updates, **settings).max()) for updates in (500, 5000))
    squares = ((row.samples - row.centres[row.cells]) ** 2).sum(axis=1)
    variance = float((np.bincount(row.cells, squares) / np.bincount(row.cells)).max())
    return {
        "bound": at_most(late, noise=60 * eta * variance / 5000),
        "decay": at_most(late, fifth=0.2 * early),
        "runs": equal((runs, moments), rounding=1e-10),
    }
