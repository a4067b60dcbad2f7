"""Lemma 2 and (A39) on every smooth strongly convex expected loss: refuted by an explicit function."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from clusterproof.theory.claims import Function, Sides, at_most, choice, claim, functions, integers, suppose
from clusterproof.theory.exact.clients_of_a_class import MU, square

SHARE = Fraction(1, 2)
"""l: two clusters with equally many clients."""
Loss = Annotated[Function, functions(smoothness=1, strong_convexity=MU)]


def last_two_models(f: Function, momentum: Fraction, rounds: int) -> tuple[Any, Any]:
    """Return the last model of a cluster and the one before it, without noise and wrong assignments, eta = 1/L."""
    model = before = f.start
    for _ in range(rounds):
        model, before = model - SHARE * f.gradient(model) + momentum * (model - before), model
    return model, before


@claim(
    "cfl-mgd/lemma-2-every-loss",
    label="Lemma 2, every loss",
    judges="ours",
    repaired_by=("cfl-mgd/theorem-d", "cfl-mgd/theorem-a"),
)
def lemma_2_every_loss(
    f: Loss,
    momentum: Annotated[Fraction, choice(Fraction(0), Fraction(2, 3))],
    error: Annotated[Fraction, choice(Fraction(5, 64), Fraction(1, 4))],
    rounds: Annotated[int, integers(1, 3)],
) -> Sides:
    """In every round the error shrinks by 1 - l mu / 8L, up to l / 4, on every loss.

    Hypotheses
        F_p L-smooth and mu-strongly convex with L = 1 and mu = 1/10, l = 1/2, no noise, no client misassigned, eta =
        1/L, all models start at rest within 1/2.

    Statement
        ||chi^t - chi*|| <= s implies ||chi^(t+1) - chi*|| <= (1 - l mu / 8L) s + l / 4, squared, for every s.

    Source
        Ours on Lemma 2 of Zhao et al. (2023): ``cfl-mgd/lemma-2`` has the printed hypotheses, on quadratics. Momentum
        0 meets it.
    """
    suppose("||chi^0 - chi*|| <= 1/2", f.distance**2 <= Fraction(1, 4))
    model, before = last_two_models(f, momentum, rounds)
    suppose("||chi^t - chi*|| <= error", square(before - f.minimiser) <= error**2)
    allowed = (1 - SHARE * MU / 8) * error + SHARE / 4
    return at_most(square(model - f.minimiser), allowed=allowed**2)


@claim(
    "cfl-mgd/asymptotic-rate-every-loss",
    label="(A39) without its floor, every loss",
    judges="ours",
    repaired_by="cfl-mgd/momentum-certified",
)
def asymptotic_rate_every_loss(
    f: Loss,
    momentum: Annotated[Fraction, choice(Fraction(9, 10))],
    rounds: Annotated[int, integers(1, 8)],
) -> Sides:
    """After T rounds the error is at most (1 - l mu / 8L)^T of the first, on every loss, with the paper's momentum.

    Hypotheses
        F_p L-smooth and mu-strongly convex with L = 1 and mu = 1/10, l = 1/2, no noise, no client misassigned, eta =
        1/L, all models start at rest.

    Statement
        ||chi^T - chi*||^2 <= (1 - l mu / 8L)^(2T) ||chi^0 - chi*||^2.

    Source
        Ours. (A39) of Zhao et al. (2023) adds (8L / l mu) rho_0, which this error never exceeds.
    """
    model, _ = last_two_models(f, momentum, rounds)
    return at_most(square(model - f.minimiser), rate=(1 - SHARE * MU / 8) ** (2 * rounds) * f.distance**2)
