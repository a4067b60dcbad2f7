"""One round of FedAvg on every smooth strongly convex loss of two clients."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from clusterproof.theory.claims import Function, Sides, at_most, choice, claim, functions
from clusterproof.theory.exact.clients_of_a_class import MU, local_steps, mean, square


@claim("fedavg/every-loss", label="Drift bound, squared, every loss", judges="ours")
def every_loss(
    f: Annotated[Function, functions(smoothness=1, strong_convexity=MU, count=2)],
    step_size: Annotated[Fraction, choice(Fraction(1, 4), Fraction(1, 2), Fraction(1))],
    steps: Annotated[int, choice(1, 2, 3)],
    share: Annotated[Fraction, choice(Fraction(1, 4), Fraction(1))],
) -> Sides:
    """A round of FedAvg contracts to within the drift that its clients have at the optimum.

    Hypotheses
        N = 2, f_i L-smooth and mu-strongly convex with L = 1 and mu = 1/10, exact gradients, eta <= 2 / (L + mu).

    Statement
        ||x+ - x*||^2 <= (1 + t) r^2 ||x - x*||^2 + (1 + 1/t) (eta^2 L K (K - 1) / 2)^2 zeta*^2 for every t > 0, with
        r = (1 - eta mu)^K and zeta*^2 = mean ||grad f_i(x*)||^2.

    Source
        Ours: the square of ``fedavg/drift``, which is tried on quadratics, by Young's inequality.
    """
    end = mean([local_steps(client, f.start, step_size, steps) for client in f.parts])
    zeta = mean([square(client.gradient(f.minimiser)) for client in f.parts])
    drift = step_size**2 * Fraction(steps * (steps - 1), 2)
    return at_most(
        square(end - f.minimiser),
        contraction=(1 + share) * (1 - step_size * MU) ** (2 * steps) * f.distance**2,
        drift=(1 + 1 / share) * drift**2 * zeta,
    )
