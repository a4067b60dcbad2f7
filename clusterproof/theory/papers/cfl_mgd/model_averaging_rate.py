"""The rate O(1 / T) that the paper concludes for model averaging."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from clusterproof.theory.claims import Sides, at_most, choice, claim, integers, rationals

Curvatures = tuple[Fraction, ...]


def exact_model(
    curvatures: Curvatures, centers: Curvatures, momentum: Fraction, steps: int, rounds: int, start: Fraction
) -> Fraction:
    """Return chi after ``rounds`` of option II with eta = 1 on scalar quadratics, in exact arithmetic.

    Parameters
    ----------
    curvatures, centers
        lambda_i and c_i.
    momentum, steps, rounds, start
        beta, H, T and chi^0.
    """
    model, buffer = start, Fraction(0)
    for _ in range(rounds):
        ends = []
        for curvature, center in zip(curvatures, centers, strict=True):
            chi, u = model, buffer
            for _ in range(steps):
                u = momentum * u + curvature * (chi - center)
                chi = chi - u
            ends.append((chi, u))
        model = sum((chi for chi, _ in ends), Fraction(0)) / len(ends)
        buffer = sum((u for _, u in ends), Fraction(0)) / len(ends)
    return model


def clients(flat: Fraction, center: Fraction) -> tuple[Curvatures, Curvatures]:
    """Return curvatures and centres: a flat client at ``center`` and a steep one, lambda = 1, at 0."""
    return (flat, Fraction(1)), (center, Fraction(0))


def order_of_error(
    flat: Fraction, center: Fraction, momentum: Fraction, local_steps: int, rounds: int, constant: Fraction
) -> Sides:
    """Compare |chi^T - chi*| with C |chi^0 - chi*| / T, for a start at distance 1/2."""
    curvatures, centers = clients(flat, center)
    optimum = sum((a * c for a, c in zip(curvatures, centers, strict=True)), Fraction(0)) / sum(curvatures)
    model = exact_model(curvatures, centers, momentum, local_steps, rounds, optimum + Fraction(1, 2))
    return at_most(abs(model - optimum), order=constant / 2 / rounds)


@claim(
    "cfl-mgd/model-averaging-rate",
    label="Section 7, O(1/T)",
    judges="reading",
    repaired_by="cfl-mgd/model-averaging-recursion",
)
def model_averaging_rate(
    flat: Annotated[Fraction, choice(Fraction(1, 100))],
    center: Annotated[Fraction, choice(Fraction(0))],
    momentum: Annotated[Fraction, choice(*(Fraction(k, 10) for k in (0, 5, 8, 9)))],
    local_steps: Annotated[int, integers(1, 6)],
    rounds: Annotated[int, choice(40)],
    constant: Annotated[Fraction, choice(Fraction(1000))],
) -> Sides:
    """The error of model averaging is of the order 1 / T.

    Hypotheses
        L-smooth strongly convex clients with the same minimiser, eta = 1/L, beta in [0, 1), H local steps.

    Statement
        ||chi_p^T - chi*_p|| <= (C / T) ||chi_p^0 - chi*_p|| for a constant C, up to logarithms. Checked for C = 1000,
        and with it for every smaller one. Tried at T = 40, without a logarithm.

    Source
        Zhao et al. (2023), Section 7: "For the gradient averaging and model averaging methods [...], we show that their
        convergence rates are [...] and O~(1/T), respectively", by (20), which bounds eps_0. That eps_T is bounded, for
        H > 1 and client losses that differ within a cluster, is the reading's; (12) has one local step, with which, or
        with equal losses, it is true of quadratics. The truth is linear convergence, to a biased limit
        where Hessians and minimisers differ, or divergence: ``cfl-mgd/model-averaging-recursion``.
    """
    return order_of_error(flat, center, momentum, local_steps, rounds, constant)


AT_REST = {
    "flat": Fraction(1, 2),
    "center": Fraction(2),
    "momentum": Fraction(1, 2),
    "local_steps": 2,
    "rounds": 30,
    "constant": Fraction(1),
}
"""Two local steps, and enough rounds to reach the limit."""


@claim(
    "cfl-mgd/model-averaging-limit",
    label="Section 7, limit",
    judges="reading",
    repaired_by="cfl-mgd/model-averaging-drift",
    example=(AT_REST,),
)
def model_averaging_limit(
    flat: Annotated[Fraction, choice(Fraction(1, 2), Fraction(1, 10))],
    center: Annotated[Fraction, choice(Fraction(1), Fraction(2))],
    momentum: Annotated[Fraction, rationals(Fraction(1, 4), Fraction(1, 2), 4)],
    local_steps: Annotated[int, integers(1, 5)],
    rounds: Annotated[int, integers(1, 30)],
    constant: Annotated[Fraction, choice(Fraction(1))],
) -> Sides:
    """Model averaging converges to the minimiser of the cluster's loss, at the order 1 / T.

    Hypotheses
        L-smooth strongly convex clients, eta = 1/L, 0 < beta < 1, as (19) and (20) divide by beta, H local steps;
        the clients' minimisers may differ, as with finite data they do, and chi*_p minimises their mean loss.

    Statement
        ||chi_p^T - chi*_p|| <= (C / T) ||chi_p^0 - chi*_p||. Checked for C = 1, and since the error stays
        away from 0, no C helps for all T.

    Source
        Zhao et al. (2023), Section 7, quoted in ``cfl-mgd/model-averaging-rate``. H > 1 and minimisers that differ
        within a cluster are the reading's. H >= 2 local steps with different Hessians move the limit; H = 1 does not.
    """
    return order_of_error(flat, center, momentum, local_steps, rounds, constant)
