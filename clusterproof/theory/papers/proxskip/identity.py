"""The identity (P): what one iteration of ProxSkip does to its Lyapunov function, for every loss."""

from __future__ import annotations

from typing import Any

from clusterproof.theory.claims import Sides, claim, equal
from clusterproof.theory.exact.planar_clients import PlanarClients, squares
from clusterproof.theory.papers.proxskip.setting import Start, Step, one_step


@claim("proxskip/identity", label="(P)", judges="ours", evaluations=40)
def identity(clients: PlanarClients, start: Start) -> Sides:
    """An iteration changes E Psi exactly as independent gradient steps and 1 - p^2 do.

    Hypotheses
        Any differentiable f_i, not necessarily convex; any gamma > 0, p in (0, 1] and N >= 1; sum of h_i = 0.

    Statement
        E Psi+ = sum ||(x_i - gamma grad f_i(x_i)) - (x* - gamma g_i*)||^2
        + (1 - p^2) (gamma^2 / p^2) sum ||h_i - g_i*||^2.

    Source
        Ours; ProxSkip is Algorithm 1 of Variance Reduced ProxSkip (2022). Identity.

    Symbols
        Psi = sum over i of ||x_i - x*||^2 + (gamma^2 / p^2) ||h_i - g_i*||^2, + is after one iteration, 0 at the
        start, E over the coins; gamma ``step_size``, p ``probability``, mu ``strong_convexity``, L ``smoothness``, N
        ``clients``; g_i* = grad f_i(x*).
    """
    ((_, models, controls),) = start.states(clients)
    weight = start.weight(clients)
    moved = squares(models - weight * start.probability * clients.gradients(models)).sum()
    kept = (1 - start.probability**2) * weight**2 * squares(controls).sum()
    return equal((start.psi(clients, 1), moved + kept))


def numbers(clients: PlanarClients, start: Start) -> dict[str, Step]:
    """Return the iteration as numbers; the rate has no part in them."""
    return {"step": one_step(clients, start, 1 + start.step_length**2)}


@identity.proof("coin", at=numbers)
def coin(step: Step) -> Sides:
    """Both outcomes of the coin, where h_i and the mean of all points are orthogonal: sum of h_i = 0."""
    kept: Any = (1 - step.probability**2) * step.weight**2 * step.controls
    return equal((step.expected(), step.moved + kept))
