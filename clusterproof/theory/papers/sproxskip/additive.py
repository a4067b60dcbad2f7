"""SProxSkip with additive gradient noise: the rate without noise and the sum of the noise."""

from __future__ import annotations

from fractions import Fraction

from clusterproof.theory.claims import Sides, at_most, claim
from clusterproof.theory.exact.planar_clients import Coordinate, PlanarClients, squares
from clusterproof.theory.papers.proxskip.rates import Iterations, Start, Step, one_step, sharp_rate


@claim("sproxskip/additive", label="Additive noise", judges="ours", tight=True, evaluations=40)
def additive(
    clients: PlanarClients, start: Start, noise_x: Coordinate, noise_y: Coordinate, iterations: Iterations
) -> Sides:
    """With additive noise the floor is gamma^2 V over 1 - rate, with the rate of ``proxskip/sharp``.

    Hypotheses
        f_i L-smooth and mu-strongly convex; the gradients are grad f_i(x_i) + xi_i with xi independent of the past,
        of mean 0 and total variance V = E sum ||xi_i||^2; any gamma > 0, p in (0, 1]; sum of h_i = 0.

    Statement
        E Psi_T <= rho^T Psi_0 + gamma^2 V (1 + rho + ... + rho^(T-1)), rho = max{(1 - gamma mu)^2, (1 - gamma L)^2, 1
        - p^2}.

    Source
        Ours: ``proxskip/identity``, in which the noise adds gamma^2 V. Upper bound, attained at each T by
        f_i = mu ||.||^2 / 2 with p = 1. Compared with the floor of ``sproxskip/repaired`` it is smaller.

    Symbols
        Psi as in ``proxskip/identity``.
    """
    rate = sharp_rate(clients, start)
    noise = clients.deviations(noise_x, noise_y) + noise_y
    added = (start.weight(clients) * start.probability) ** 2 * squares(noise).sum()
    total = sum((rate**k for k in range(iterations)), start=Fraction(0))
    after = start.psi(clients, iterations, (noise, -noise))
    return at_most(after, start=rate**iterations * start.psi(clients), noise=added * total)


def last_iteration(
    clients: PlanarClients, start: Start, noise_x: Fraction, noise_y: Fraction, iterations: int
) -> dict[str, Step]:
    """Return the last iteration as numbers, of which the ones before it are the induction's hypothesis."""
    rate = sharp_rate(clients, start)
    noise = clients.deviations(noise_x, noise_y) + noise_y
    return {"step": one_step(clients, start, rate, iterations, (noise, -noise))}


@additive.proof("induction", at=last_iteration)
def induction(step: Step) -> Sides:
    """Step T - 1 to T: the noise adds gamma^2 V to ``proxskip/identity``, and the rest is ``proxskip/sharp``."""
    return at_most(step.expected(), **step.terms())
