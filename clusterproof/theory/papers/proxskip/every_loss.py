"""One iteration of ProxSkip on every smooth strongly convex loss of two clients: the sharp rate, by multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.theory.claims import Function, Sides, at_most, choice, claim, functions
from clusterproof.theory.exact.clients_of_a_class import MU, mean, square


@claim("proxskip/every-loss", label="One-step rate, every loss", judges="ours", tight=True)
def every_loss(
    f: Annotated[Function, functions(smoothness=1, strong_convexity=MU, count=2)],
    step_size: Annotated[Fraction, choice(Fraction(1, 2), Fraction(1), Fraction(3, 2))],
    probability: Annotated[Fraction, choice(Fraction(1, 4), Fraction(1, 2), Fraction(1))],
) -> Sides:
    """One iteration contracts by max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2} on every pair of losses.

    Hypotheses
        N = 2, f_i L-smooth and mu-strongly convex with L = 1 and mu = 1/10, exact gradients; sum of h_i = 0.

    Statement
        E Psi+ <= max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2} Psi with Psi = mean ||x_i - x*||^2 + (gamma / p)^2
        mean ||h_i - grad f_i(x*)||^2.

    Source
        Ours: ``proxskip/sharp`` is proved on symbols for any N, and tried on quadratics.
    """
    goals = [client.gradient(f.minimiser) for client in f.parts]
    models, control = [f.point() for _ in f.parts], f.point() - f.minimiser
    controls = [control, -control]

    def psi(models: Sequence[Any], controls: Sequence[Any]) -> Any:
        distances = mean([square(x - f.minimiser) for x in models])
        apart = mean([square(h - goal) for h, goal in zip(controls, goals, strict=True)])
        return distances + (step_size / probability) ** 2 * apart

    moved = [
        x - step_size * (client.gradient(x) - h)
        for x, client, h in zip(models, f.parts, controls, strict=True)
    ]
    average = mean([x - step_size / probability * h for x, h in zip(moved, controls, strict=True)])
    shared = [h + probability / step_size * (average - x) for h, x in zip(controls, moved, strict=True)]
    expected = probability * psi([average, average], shared) + (1 - probability) * psi(moved, controls)
    rate = max((1 - step_size * MU) ** 2, (1 - step_size) ** 2, 1 - probability**2)
    before = psi(models, controls)
    return at_most(expected, start=rate * before)
