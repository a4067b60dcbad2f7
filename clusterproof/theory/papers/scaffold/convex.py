"""Claims on SCAFFOLD for convex losses: how much a round decreases Psi, with proof steps for every K and N."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import Sides, at_least, at_most, claim, rationals
from clusterproof.theory.exact.algebra import AtLeastOne, NotNegative
from clusterproof.theory.exact.planar_clients import PlanarClients
from clusterproof.theory.papers.scaffold.option_1 import (
    both,
    curvature,
    summed_shares,
    weights,
)
from clusterproof.theory.papers.scaffold.rounds import Start, gaps, psi_and_next, step_size_of

QUARTER = Fraction(1, 4)
UpToQuarter = Annotated[Any, rationals(0, QUARTER, 8)]
UpToHalf = Annotated[Any, rationals(0, Fraction(1, 2), 8)]


@claim(
    "scaffold/convex",
    label="SCAFFOLD, convex clients",
    source="ours",
    evaluations=60,
    expected="consistent, tight within 2",
    headline=True,
)
def convex(clients: PlanarClients, start: Start) -> dict[str, Sides]:
    """On convex losses, a round of SCAFFOLD decreases Psi by loss gaps at x (I) or at all local points (II).

    Hypotheses
        The f_i are convex and L-smooth, eta_g = 1, and eta L K <= 1. Any number of clients take part, all in every
        round, with exact gradients. c = mean c_i, and x* is any minimiser of f = mean f_i.

    Statement
        I: Psi+ <= Psi - (1/4) eta K (f(x) - f*) with Psi = ||x - x*||^2 + (1/4) (K eta)^2 mean ||c_i - c - g_i*||^2.
        II: Psi+ <= Psi - 2 eta sum over k of mean D_i(y_i^k) with Psi = ||x - x*||^2 + (K eta)^2 mean ||c_i - c -
        g_i*||^2 and D_i(y) = f_i(y) - f_i(x*) - <g_i*, y - x*>, where y_i^0 = x, ..., y_i^(K-1) are the client's
        points.

    Proof
        I: the proof is as for ``scaffold/sharp-option-1`` with mu = 0, where p = s = 1, m = 0 and C_k = k. It has 1/4
        instead of 1/3, and uses the steps "one local step", "curvature" and "share" of that claim. It uses the
        multiplier lambda_{0*} - K / 4 instead of lambda_{0*}. So a round decreases Psi by K / 4 times mean h(x - x*)
        = eta (f(x) - f*), and A_0 = B_0 - K^2 / 4 is at least K (K + 4) / 8, the step "first local step". The sum of
        xi_k^2 / A_k is at most 1/4, the step "sum"; for K = 1, xi_0 = 0.

        II: with d_k, q and w_k as in ``scaffold/sharp``, y_k = d_k - (k / K) q satisfies y_(k+1) = y_k - w_k, y_0 = x
        - x* and Psi+ = mean ||y_K||^2. By interpolation <d_k, w_k> >= h(d_k) + ||w_k||^2 / (2 eta L), where h is the
        client's D_i times eta. This is the step "one local step of II", in which k ||w_k - q / K||^2 >= 0. The sum of
        k / K^2 over k < K is below 1/2.

    Source
        Ours. For I the claim implies that the mean of f - f* over R rounds is at most 4 Psi_0 / (eta K R). SCAFFOLD
        is Algorithm 1 of Karimireddy et al. (2020).
    """
    first, second = psi_and_next(clients, start, "I", QUARTER), psi_and_next(clients, start, "II")
    eta, gains = step_size_of(clients, start.pace, start.local_steps), gaps(clients, start)
    return {
        "I": at_most(first[1], before=first[0], gained=-start.local_steps * eta * gains[0] / 4),
        "II": at_most(second[1], before=second[0], gained=-2 * eta * sum(gains)),
    }


@convex.step("round", needed=False)
def whole_round(
    distance: NotNegative,
    controls: NotNegative,
    used: UpToQuarter,
    lost: NotNegative,
    gained: NotNegative,
    used_of_2: UpToHalf,
    lost_of_2: NotNegative,
    losses: NotNegative,
) -> dict[str, Sides]:
    """Sum the inequalities of all local steps.

    This is the step "round" of ``scaffold/sharp-option-1``. ``gained`` is the decrease of Psi for I, ``losses`` is the
    sum over k of mean h(d_k), and ``used_of_2`` is the sum of k / K^2.
    """
    first, second = distance + used * controls - lost - gained, distance + used_of_2 * controls - lost_of_2
    return {
        "I": at_most(first, before=distance + QUARTER * controls, gained=-gained),
        "II": at_most(second - 2 * losses, before=distance + controls, gained=-2 * losses),
    }


@convex.step("first local step", evaluations=30)
def first_local_step(later: NotNegative, larger: NotNegative) -> dict[str, Sides]:
    """Check A_0 >= K (K + 4) / 8 for b = K + ``larger`` and n = ``later``."""
    count = later + 1
    every = weights(0, later, 1, 1, count / 4)
    a_0 = curvature(every, 1, count + larger) - QUARTER * count**2
    return {"A_0": at_least(a_0, least=count * (count + 4) / 8), **both(every)}


@convex.step("sum", evaluations=30)
def shares_together(last: AtLeastOne) -> Sides:
    """Sum the shares of all local steps, with K - 1 = ``last`` and xi_0 = -(K - 1) / (2K)."""
    count = last + 1
    first = (last / (2 * count)) ** 2 / (count * (count + 4) / 8)
    return at_most(2 * summed_shares(last, last, 1) / (3 * last**2 * count**2) + first, quarter=QUARTER)


@convex.step("one local step of II", evaluations=30)
def one_local_step(
    k: NotNegative,
    later: NotNegative,
    larger: NotNegative,
    before: NotNegative,
    w: NotNegative,
    q: NotNegative,
    apart: NotNegative,
    loss: NotNegative,
    slack: NotNegative,
) -> Sides:
    """Check ||y - w||^2 <= ||y||^2 - 2 h(d) + (k / K^2) ||q||^2, with y = d - (k / K) q.

    ``w``, ``q`` and ``apart`` are ||w||^2, ||q||^2 and ||w - q / K||^2, ``loss`` is h(d), ``slack`` is the slack of
    the interpolation inequality, and 1 / (eta L) is K + ``larger``.
    """
    count = k + 1 + later
    path, product = (
        loss + (count + larger) * w / 2 + slack,
        (w - apart + q / count**2) / 2,
    )  # the products <d, w> and <q, w> / K
    return at_most(
        before - 2 * (path - k * product) + w, before=before, gained=-2 * loss, used=k / count**2 * q
    )
