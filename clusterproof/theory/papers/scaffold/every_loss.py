"""One round of SCAFFOLD II on every smooth strongly convex loss of two clients."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.theory.claims import Function, Sides, at_most, choice, claim, functions
from clusterproof.theory.exact.clients_of_a_class import MU, local_steps, mean, square


@claim("scaffold/every-loss", label="SCAFFOLD II, one round, every loss", judges="ours", tight=True)
def every_loss(
    f: Annotated[Function, functions(smoothness=1, strong_convexity=MU, count=2)],
    steps: Annotated[int, choice(1, 2, 3)],
) -> Sides:
    """A round of SCAFFOLD II contracts by (1 - eta mu)^(2K) on every pair of losses.

    Hypotheses
        N = 2, f_i L-smooth and mu-strongly convex with L = 1 and mu = 1/10, exact gradients, eta = 1 / (L K), eta_g =
        1; c = mean c_i.

    Statement
        Psi+ <= (1 - eta mu)^(2K) Psi with Psi = ||x - x*||^2 + (K eta)^2 mean ||c_i - c - grad f_i(x*)||^2.

    Source
        Ours: ``scaffold/sharp`` is proved on symbols for any N and K, and tried on quadratics.
    """
    step_size, star = Fraction(1, steps), f.minimiser
    control = f.point() - star
    before = [control, -control]  # c_i - c
    ends = [
        local_steps(client, f.start, step_size, steps, -own)
        for client, own in zip(f.parts, before, strict=True)
    ]
    sent = [own + (f.start - end) / (steps * step_size) for own, end in zip(before, ends, strict=True)]
    after = [own - mean(sent) for own in sent]

    def psi(model: Any, controls: Sequence[Any]) -> Any:
        apart = [square(c - part.gradient(star)) for c, part in zip(controls, f.parts, strict=True)]
        return square(model - star) + (steps * step_size) ** 2 * mean(apart)

    return at_most(psi(mean(ends), after), rate=(1 - step_size * MU) ** (2 * steps) * psi(f.start, before))
