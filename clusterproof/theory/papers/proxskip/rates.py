"""The rate of ProxSkip: as printed, and the sharp one of a single iteration."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from clusterproof.theory.checker import Sides, at_most, choice, integers, largest, suppose
from clusterproof.theory.exact.planar_clients import PlanarClients
from clusterproof.theory.papers.proxskip.setting import PAPER, Start, Step, one_step

Branch = Annotated[str, choice("models", "controls")]
"""Which part of the Lyapunov function decides the rate."""
Iterations = Annotated[int, integers(1, 3)]


def sharp_rate(clients: PlanarClients, start: Start) -> tuple[Fraction, str]:
    """max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2}, and the branch that decides it."""
    flat = 1 - start.step_length * clients.strong_convexity / clients.smoothness
    return largest(models=max(flat**2, (1 - start.step_length) ** 2), controls=1 - start.probability**2)


@PAPER.claim("sharp", label="One-step rate", judges="ours", kind="tight", budget=60)
def sharp(clients: PlanarClients, start: Start) -> dict[str, Sides]:
    """One iteration contracts by max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2}, and by no less.

    Hypotheses
        f_i L-smooth and mu-strongly convex, exact gradients; any gamma > 0, p in (0, 1] and N >= 1; sum of h_i = 0.

    Statement
        E Psi+ <= max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2} Psi.

    Source
        Ours; for gamma <= 2 / (L + mu) the rate is that of RandProx (Condat and Richtarik), recalled. Upper bound of
        one step, attained by f_i = mu ||.||^2 / 2 or L ||.||^2 / 2 with h_i = g_i*, and, for N >= 2, by x_i = x*;
        asymptotic rates are smaller. With it Psi_T <= rate^T Psi_0 in expectation.
    """
    rate, branch = sharp_rate(clients, start)
    return {branch: at_most(start.psi(clients, 1), start=rate * start.psi(clients))}


def sharp_numbers(clients: PlanarClients, start: Start) -> dict[str, Any]:
    """Return the iteration as numbers, with the sharp rate."""
    rate, branch = sharp_rate(clients, start)
    return {"branch": branch, "step": one_step(clients, start, rate)}


@sharp.proof("contraction", at=sharp_numbers)
def contraction(branch: Branch, step: Step) -> dict[str, Sides]:
    """(P), and the interpolation inequality of every client."""
    return {branch: step.contracts()}


def printed_rate(clients: PlanarClients, start: Start) -> tuple[Fraction, str]:
    """max{1 - gamma mu, 1 - p^2}, and the branch that decides it."""
    suppose("gamma <= 1 / L", start.step_length <= 1)
    models = 1 - start.step_length * clients.strong_convexity / clients.smoothness
    return largest(models=models, controls=1 - start.probability**2)


@PAPER.claim("theorem-6", label="Theorem 6, as transcribed", judges="reading", kind="upper", budget=50)
def theorem_6(clients: PlanarClients, start: Start, iterations: Iterations) -> dict[str, Sides]:
    """ProxSkip converges linearly, at max{1 - gamma mu, 1 - p^2}.

    Hypotheses
        f_i L-smooth and mu-strongly convex, exact gradients; 0 < gamma <= 1 / L, p in (0, 1]; sum of h_i = 0.

    Statement
        E Psi_T <= max{(1 - gamma mu)^T, (1 - p^2)^T} Psi_0.

    Source
        Variance Reduced ProxSkip (2022), Theorem 6, read in a transcription. Upper bound; where the first branch
        decides it is loose by 2 in the exponent, ``proxskip/sharp`` has its square.
    """
    rate, branch = printed_rate(clients, start)
    return {branch: at_most(start.psi(clients, iterations), start=rate**iterations * start.psi(clients))}


def last_iteration(clients: PlanarClients, start: Start, iterations: int) -> dict[str, Any]:
    """Return the last iteration as numbers, of which the ones before it are the induction's hypothesis."""
    rate, branch = printed_rate(clients, start)
    return {"branch": branch, "step": one_step(clients, start, rate, iterations)}


@theorem_6.proof("induction", at=last_iteration)
def induction(branch: Branch, step: Step) -> dict[str, Sides]:
    """Step T - 1 to T: (1 - gamma mu)^2 <= 1 - gamma mu, and ``proxskip/sharp``."""
    return {branch: step.contracts()}
