"""Theorem 1: neurons converge to the means of their cells; with the paper's schedule they do not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from theory.claim import Context, register
from theory.counterexample import Instance, Number, confirm_equal, encode, replay_with, seek
from theory.sofl.frozen_cells import FrozenRow, errors_after, floor, mean_over_orders
from theory.sofl.uniform_cells import relative_error
from theory.verdict import Finding, Kind

PAPER = {"learning_rate": Fraction(1, 10), "radius": Fraction(3, 2)}
"""Section 5.2.2: eta = 0.1 and sigma = 1.5."""

LONG = 20_000
"""Updates after which the exact mean-square distance must be within three hundredths of its limit."""


def two_clients() -> FrozenRow:
    """Two neurons that start at the two samples (1, 0) and (0, 1): cells without variance."""
    return FrozenRow(samples=np.eye(2), cells=np.arange(2), start=np.eye(2))


def evaluate(instance: Instance) -> tuple[Number, Number]:
    """Limit of E||w_c - m_c||^2 at the end of a run of T updates as T grows, and Theorem 1's limit 0.

    By (12) and (13) eta(T) = eta_0 / 3 and sigma(T) = sigma_0 / 3, whatever T.
    """
    rate, radius = float(instance["learning_rate"]) / 3, float(instance["radius"]) / 3
    return float(floor(two_clients(), rate=rate, radius=radius).max()), 0.0


def confirm(instance: Instance, measured: float) -> None:
    """Compare the algorithm with the exact moments over all short runs, and those with their limit."""
    parameters = {name: float(value) for name, value in instance.items()}
    for updates in (1, 4, 7):
        orders = mean_over_orders(two_clients(), updates, schedule="as-printed", **parameters)
        moments = errors_after(two_clients(), updates, schedule="as-printed", **parameters)
        confirm_equal(f"{updates} updates", float(orders.max()), float(moments.max()))
    end = float(errors_after(two_clients(), LONG, schedule="as-printed", **parameters).max())
    if not abs(end - measured) <= 0.03 * measured:
        raise ArithmeticError(f"after {LONG} updates the distance is {end!r}, its limit {measured!r}")


def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Spell the instance out."""
    return (
        f"two neurons at the samples (1, 0) and (0, 1), eta_0 = {encode(instance['learning_rate'])}, sigma_0 = "
        f"{encode(instance['radius'])}: E||w_c - m_c||^2 after T updates tends to {float(measured):.4g}, not to 0, as "
        "T grows, since the schedule ends at eta_0 / 3 and sigma_0 / 3 for every T"
    )


def parameters() -> Any:
    """Learning rates in (0, 1], radii from 1/2 to 3."""
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "learning_rate": st.sampled_from([Fraction(1, 10), Fraction(1, 2), 1]),
            "radius": st.sampled_from([Fraction(3, 2), 1, 2, 3, Fraction(1, 2)]),
        }
    )


@register("sofl/theorem-1", label="Theorem 1", kind="identity", replay=replay_with(evaluate),
          repaired_by="sofl/theorem-1-robbins-monro")  # fmt: skip
def theorem_1(context: Context) -> Finding:
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
        confirmed by the exact recursion at T = 20 000, and that by the very algorithm on all orders
        of up to 7 samples. Runs of the algorithm on U[0, 1] with 10 neurons: measured floor.
    """
    finding = seek(
        context,
        parameters(),
        evaluate,
        violated=sentence,
        consistent="the limit is 0",
        budget=50,
        confirm=confirm,
    )
    measured = [
        relative_error(
            updates,
            context.generator("runs", updates),
            learning_rate=float(PAPER["learning_rate"]),
            radius=float(PAPER["radius"]),
        )
        for updates in (300, 3000, 20_000)
    ]
    runs = ", ".join(f"{error:.3f}" for error in measured)
    return Finding(
        verdict=finding.verdict,
        reason=f"{finding.reason}; runs on U[0, 1], 10 neurons, T = 300, 3000, 20 000: squared distance over the "
        f"cells' variance {runs}",
        measured=finding.measured,
        bound=finding.bound,
        slack=finding.slack,
        trials=finding.trials,
        failures=finding.failures,
        counterexample=finding.counterexample,
    )


def clustered_row(stream: np.random.Generator) -> FrozenRow:
    """Two or three well separated directions, two samples around each, a neuron at a sample of each."""
    cells = int(stream.integers(2, 4))
    around = 0.1 * stream.standard_normal((cells, cells))
    samples = np.concatenate([np.eye(cells) + around, np.eye(cells) - around])
    return FrozenRow(samples=samples, cells=np.tile(np.arange(cells), 2), start=samples[:cells])


@register("sofl/theorem-1-robbins-monro", label="Theorem 1, repaired (ours)", kind="upper")
def theorem_1_robbins_monro(context: Context) -> Finding:
    """With a Robbins-Monro rate and a radius that vanishes the neurons do converge to their cells' means.

    Hypotheses
        Cells do not change; eta(t) = eta_0 / (1 + t / 60), sigma(t) = sigma_0 / (1 + t / 60),
        60 eta_0 P(X_c) >= 1.

    Statement
        E||w_c - m_c||^2 = O(1 / t): it is at most 60 eta_0 v / t plus what is left of the start, v the
        cells' variance.

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
        very algorithm agrees with the moments to 1e-10.
    """
    stream = context.generator("rows")
    trials = context.number_of_trials(2)
    ratios, decay, gaps = [], [], []
    for _ in range(trials):
        row = clustered_row(stream)
        settings: dict[str, Any] = {"learning_rate": 0.1, "radius": 1.5, "schedule": "robbins-monro"}
        short = errors_after(row, 3, **settings) - mean_over_orders(row, 3, **settings)
        gaps.append(float(np.abs(short).max()))
        early, late = (float(errors_after(row, updates, **settings).max()) for updates in (2000, 20_000))
        spread = float(((row.samples - row.centres[row.cells]) ** 2).sum(axis=1).max())
        ratios.append(late / (60 * 0.1 * spread / 20_000))
        decay.append(late / early)
    failures = sum(
        not (ratio <= 1 and rest <= 0.2 and gap <= 1e-10)
        for ratio, rest, gap in zip(ratios, decay, gaps, strict=True)
    )
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"at T = 20 000 the largest E||w_c - m_c||^2 is {max(ratios):.3g} of 60 eta_0 v / T and "
        f"{max(decay):.3g} of its value at T = 2000, over {trials} sets of samples; the algorithm differs from the "
        f"moments by {max(gaps):.1g}",
        measured=max(ratios),
        bound=1.0,
        slack=1 / max(ratios),
        trials=trials,
        failures=failures,
    )
