"""The rate of ProxSkip: as printed, and the sharp one of a single iteration."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from clusterproof.theory.claims import Sides, at_most, claim, integers, suppose
from clusterproof.theory.exact.planar_clients import PlanarClients
from clusterproof.theory.papers.proxskip.setting import Start, Step, one_step

Iterations = Annotated[int, integers(1, 3)]


def sharp_rate(clients: PlanarClients, start: Start) -> Fraction:
    """max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2}."""
    flat = 1 - start.step_length * clients.strong_convexity / clients.smoothness
    return max(flat**2, (1 - start.step_length) ** 2, 1 - start.probability**2)


@claim("proxskip/sharp", label="One-step rate", judges="ours", tight=True, evaluations=60)
def sharp(clients: PlanarClients, start: Start) -> Sides:
    """One iteration contracts by max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2}, and by no less.

    Hypotheses
        f_i L-smooth and mu-strongly convex, exact gradients; any gamma > 0, p in (0, 1] and N >= 1; sum of h_i = 0.

    Statement
        E Psi+ <= max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2} Psi.

    Source
        Ours; for gamma <= 2 / (L + mu) the rate is that of RandProx (Condat and Richtarik), recalled. Upper bound of
        one step, attained by f_i = mu ||.||^2 / 2 or L ||.||^2 / 2 with h_i = g_i*, and, for N >= 2, by x_i = x*;
        asymptotic rates are smaller. With it Psi_T <= rate^T Psi_0 in expectation.

    Symbols
        Psi as in ``proxskip/identity``.
    """
    before = start.psi(clients)
    return at_most(start.psi(clients, 1), start=sharp_rate(clients, start) * before, decrease_from=before)


def sharp_numbers(clients: PlanarClients, start: Start) -> dict[str, Any]:
    """Return the iteration as numbers, with the sharp rate."""
    return {"step": one_step(clients, start, sharp_rate(clients, start))}


@sharp.proof("contraction", at=sharp_numbers)
def contraction(step: Step) -> Sides:
    """(P), and the interpolation inequality of every client."""
    return step.contracts()


def printed_rate(clients: PlanarClients, start: Start) -> Fraction:
    """max{1 - gamma mu, 1 - p^2}."""
    suppose("gamma <= 1 / L", start.step_length <= 1)
    models = 1 - start.step_length * clients.strong_convexity / clients.smoothness
    return max(models, 1 - start.probability**2)


@claim("proxskip/theorem-6", label="Theorem 6, as transcribed", judges="reading", evaluations=50)
def theorem_6(clients: PlanarClients, start: Start, iterations: Iterations) -> Sides:
    """ProxSkip converges linearly, at max{1 - gamma mu, 1 - p^2}.

    Hypotheses
        f_i L-smooth and mu-strongly convex, exact gradients; 0 < gamma <= 1 / L, p in (0, 1]; sum of h_i = 0.

    Statement
        E Psi_T <= max{(1 - gamma mu)^T, (1 - p^2)^T} Psi_0.

    Source
        Variance Reduced ProxSkip (2022), Theorem 6, read in a transcription. Upper bound; where the first branch
        decides it is loose by 2 in the exponent, ``proxskip/sharp`` has its square.

    Symbols
        Psi as in ``proxskip/identity``.
    """
    rate = printed_rate(clients, start)
    before = start.psi(clients)
    return at_most(start.psi(clients, iterations), start=rate**iterations * before, decrease_from=before)


def last_iteration(clients: PlanarClients, start: Start, iterations: int) -> dict[str, Any]:
    """Return the last iteration as numbers, of which the ones before it are the induction's hypothesis."""
    return {"step": one_step(clients, start, printed_rate(clients, start), iterations)}


@theorem_6.proof("induction", at=last_iteration)
def induction(step: Step) -> Sides:
    """Step T - 1 to T: (1 - gamma mu)^2 <= 1 - gamma mu, and ``proxskip/sharp``."""
    return step.contracts()
