"""Rounds of FedLin on every smooth strongly convex loss of two clients: the sharp rate, and the recalled one."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from clusterproof.theory.claims import Function, Sides, at_most, choice, claim, functions
from clusterproof.theory.exact.clients_of_a_class import MU, local_steps, mean, square

Losses = Annotated[Function, functions(smoothness=1, strong_convexity=MU, count=2)]


def fedlin_round(f: Function, model: Any, step_size: Fraction, steps: int) -> Any:
    """Return the mean of the clients' models after K corrected steps."""
    whole = f.gradient(model)
    return mean(
        [local_steps(client, model, step_size, steps, whole - client.gradient(model)) for client in f.parts]
    )


@claim("fedlin/every-loss", label="FedLin, one round, every loss", judges="ours", tight=True)
def every_loss(f: Losses, steps: Annotated[int, choice(1, 2, 3)]) -> Sides:
    """A round of FedLin contracts by (1 - eta mu)^(2K) on every pair of losses, with a share of disagreement to spare.

    Hypotheses
        N = 2, f_i L-smooth and mu-strongly convex with L = 1 and mu = 1/10, exact gradients, eta = 1 / (L K).

    Statement
        ||x+ - x*||^2 <= rho ||x - x*||^2 - (1/3) (eta K)^2 (1 - rho) mean ||grad f_i(x) - grad f(x) - g_i*||^2 with
        rho = (1 - eta mu)^(2K) and g_i* = grad f_i(x*).

    Source
        Ours: ``fedlin/sharp`` is proved on symbols for any N and K, and tried on quadratics.
    """
    step_size = Fraction(1, steps)
    rate, whole = (1 - step_size * MU) ** (2 * steps), f.gradient(f.start)
    apart = [square(part.gradient(f.start) - whole - part.gradient(f.minimiser)) for part in f.parts]
    return at_most(
        square(fedlin_round(f, f.start, step_size, steps) - f.minimiser),
        contraction=rate * f.distance**2,
        spared=-Fraction(1, 3) * (step_size * steps) ** 2 * (1 - rate) * mean(apart),
    )


@claim("fedlin/every-gap", label="FedLin's rate (recalled), every loss")
def every_gap(f: Losses, steps: Annotated[int, choice(1, 2)], rounds: Annotated[int, choice(1, 2)]) -> Sides:
    """FedLin's gap contracts by 1 - 1 / (6 kappa) in a round, on every pair of losses.

    Hypotheses
        N = 2, f_i L-smooth and mu-strongly convex with L = 1 and mu = 1/10, exact gradients, eta = 1 / (6 L K).

    Statement
        f(x_T) - f* <= (1 - mu / (6 L))^T (f(x_0) - f*).

    Source
        Mitra, Jaafar, Pappas and Hassani (2021), recalled, as ``fedlin/rate``, which is tried on quadratics.
    """
    model = f.start
    for _ in range(rounds):
        model = fedlin_round(f, model, Fraction(1, 6 * steps), steps)
    return at_most(f(model) - f.minimum, rate=(1 - MU / 6) ** rounds * (f(f.start) - f.minimum))
