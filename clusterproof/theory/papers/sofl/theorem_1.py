"""Theorem 1: neurons converge to the means of their cells; with the paper's schedule they do not."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.theory.checker import Family, Sides, at_most, choice, drawn, equal, suppose
from clusterproof.theory.checker.counterexample import confirm_equal
from clusterproof.theory.papers.sofl.frozen_cells import FrozenRow, errors_after, floor, mean_over_orders

PAPER = Family("sofl")

LONG = 20_000
"""Updates after which the exact mean-square distance must be within three hundredths of its limit."""

Rate = Annotated[Fraction, choice(Fraction(1, 10), Fraction(1, 2), Fraction(1))]
Radius = Annotated[Fraction, choice(Fraction(3, 2), Fraction(1), Fraction(2), Fraction(3), Fraction(1, 2))]
"""Section 5.2.2 has eta_0 = 0.1 and sigma_0 = 1.5."""


def two_clients() -> FrozenRow:
    """Two neurons that start at the two samples (1, 0) and (0, 1): cells without variance."""
    return FrozenRow(samples=np.eye(2), cells=np.arange(2), start=np.eye(2))


def compare_with_runs(learning_rate: Rate, radius: Radius) -> float:
    """Compare the algorithm with the exact moments over all short runs, and the moments with their given limit.

    Raises
    ------
    ArithmeticError
        If they disagree.
    """
    schedule: dict[str, Any] = {
        "learning_rate": float(learning_rate),
        "radius": float(radius),
        "schedule": "as-printed",
    }
    for updates in (1, 4, 7):
        orders = mean_over_orders(two_clients(), updates, **schedule)
        moments = errors_after(two_clients(), updates, **schedule)
        confirm_equal(f"{updates} updates", float(orders.max()), float(moments.max()))
    end, limit = (
        float(errors_after(two_clients(), LONG, **schedule).max()),
        last_distance(learning_rate, radius),
    )
    if not abs(end - limit) <= 0.03 * limit:
        raise ArithmeticError(f"after {LONG} updates the distance is {end!r}, its limit {limit!r}")
    return limit


def last_distance(learning_rate: Fraction, radius: Fraction) -> float:
    """Return the limit of E||w_c - m_c||^2 at the end of a run of T updates as T grows.

    By (12) and (13) eta(T) = eta_0 / 3 and sigma(T) = sigma_0 / 3, for every T.
    """
    return float(floor(two_clients(), rate=float(learning_rate) / 3, radius=float(radius) / 3).max())


@PAPER.claim(
    "theorem-1",
    label="Theorem 1",
    kind="identity",
    confirm=compare_with_runs,
    repaired_by="sofl/theorem-1-robbins-monro",
)
def theorem_1(learning_rate: Rate, radius: Radius) -> Sides:
    """The neurons of SoFL's map converge in mean square to the means of their cells.

    Hypotheses
        The schedule of SoFL, (12) and (13), over a run of T_max updates. Yin and Allinson (1995), from
        whom the theorem is taken, assume eta -> 0 with sum eta = infinity and sum eta^2 finite, and a
        neighbourhood that shrinks to the winner alone; the SoFL paper states no hypotheses.

    Statement
        w_c(n) -> m_c = (1 / P(X_c)) int_(X_c) x f(x) dx in mean square as n -> infinity, for all c in Y.

    Symbols
        w_c ``neurons``, m_c ``centres``, n the updates, Y the neurons; eta_0 ``learning_rate``,
        sigma_0 ``radius``.

    Source
        Zhang and Qiao (2024), Theorem 1 with (10)-(13). "Approximated as a Gaussian-distributed
        stochastic process" has no quantity and is not checked. The schedule stops at eta_0 / 3 and
        sigma_0 / 3 after T_max updates, whatever T_max: the hypotheses fail. With a schedule that meets
        them it is true: ``sofl/theorem-1-robbins-monro``.

    Proof
        With frozen cells E(w - m) and E||w - m||^2 obey a linear recursion that forgets its start at the
        rate eta. Over T -> infinity updates it follows its fixed point at (eta(T), sigma(T)), which is
        bias^2 + variance: the neighbour's weight g = exp(-1 / 2 sigma^2) pulls w_c off m_c by g / (1 + g)
        of the neighbour's distance, and the rate keeps the variance of ``sofl/frozen-cell-variance``.

    Checked
        The limit in closed form for two samples and two neurons, with cosine best matching units; it is
        confirmed by the exact recursion at T = 20 000, and that by the algorithm itself on all orders
        of up to 7 samples.
    """
    end = last_distance(learning_rate, radius)
    return equal(
        (end, 0.0),
        words=lambda: (
            f"two neurons at the samples (1, 0) and (0, 1), eta_0 = {learning_rate}, sigma_0 = {radius}: E||w_c - "
            f"m_c||^2 after T updates tends to {end:.4g}, not to 0, as T grows, since the schedule ends at eta_0 / 3 "
            "and sigma_0 / 3 for every T"
        ),
    )


def clustered_row(stream: np.random.Generator) -> FrozenRow:
    """Two or three well separated directions, two samples around each, a neuron at a sample of each."""
    cells = int(stream.integers(2, 4))
    around = 0.1 * stream.standard_normal((cells, cells))
    samples = np.concatenate([np.eye(cells) + around, np.eye(cells) - around])
    return FrozenRow(samples=samples, cells=np.tile(np.arange(cells), 2), start=samples[:cells])


def write_row(row: FrozenRow) -> dict[str, Any]:
    """Return samples, cells and first neurons as JSON."""
    return {name: getattr(row, name).tolist() for name in ("samples", "cells", "start")}


def read_row(written: dict[str, Any]) -> FrozenRow:
    """Read samples, cells and first neurons from the JSON of ``write_row``."""
    row = FrozenRow(**{name: np.array(values) for name, values in written.items()})
    if row.samples.shape != (len(row.cells), row.start.shape[1]) or row.cells.dtype.kind != "i":
        raise ValueError("samples, their cells and neurons must go together")
    return row


@PAPER.claim("theorem-1-robbins-monro", label="Theorem 1, repaired (ours)", kind="upper", budget=2)
def theorem_1_robbins_monro(
    row: Annotated[FrozenRow, drawn(clustered_row, write=write_row, read=read_row)],
) -> dict[str, Sides]:
    """With a Robbins-Monro rate and a radius that vanishes the neurons do converge to their cells' means.

    Hypotheses
        Cells do not change; eta(t) = eta_0 / (1 + t / 60), sigma(t) = sigma_0 / (1 + t / 60),
        60 eta_0 P(X_c) >= 1.

    Statement
        E||w_c - m_c||^2 = O(1 / t): it is at most 60 eta_0 v / t plus what is left of the start, v the
        largest variance of a cell.

    Symbols
        ``schedule="robbins-monro"``; v ``variance``.

    Source
        Yin and Allinson (1995) as repaired for frozen cells (ours). Upper bound. Continued past T_max,
        (12) and (13) have this form with T_max / 2 for 60.

    Proof
        sum eta = infinity makes the bias vanish once g does, which falls faster than any power of t. For
        the winner E||w - m||^2 changes by -2 eta P E||w - m||^2 + eta^2 P v in the mean; with eta = c / t the
        solution is c v / ((2 - 1 / (c P)) t) to first order, at most c v / t for c P >= 1.

    Checked
        The exact moments on random clustered samples at T = 2000 and 20 000, eta_0 = 0.1: below the
        bound, and a tenth, within a factor of two; on the runs of all orders of three samples the
        algorithm itself agrees with the moments to 1e-10.
    """
    shares = np.bincount(row.cells, minlength=len(row.start)) / len(row.cells)
    suppose("60 eta_0 P(X_c) >= 1", 60 * 0.1 * shares.min() >= 1)
    settings: dict[str, Any] = {"learning_rate": 0.1, "radius": 1.5, "schedule": "robbins-monro"}
    moments, runs = errors_after(row, 3, **settings), mean_over_orders(row, 3, **settings)
    early, late = (float(errors_after(row, updates, **settings).max()) for updates in (2000, 20_000))
    squares = ((row.samples - row.centres[row.cells]) ** 2).sum(axis=1)
    variance = max(float(squares[row.cells == cell].mean()) for cell in range(len(row.start)))
    return {
        "bound": at_most(late, noise=60 * 0.1 * variance / 20_000),
        "decay": at_most(late, fifth=0.2 * early),
        "runs": equal((runs, moments), rounding=1e-10),
    }
