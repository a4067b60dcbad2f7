"""The exact worst case over several rounds, the value of a semidefinite program."""

from __future__ import annotations

from clusterproof.theory.leaderboard.quadratics import attainable
from clusterproof.theory.leaderboard.setting import Setting, TaskClass
from clusterproof.theory.rates.round_search import MAX_SCALE, Search
from clusterproof.theory.rates.rounds import Algorithm, Round
from clusterproof.theory.rates.traced_rounds import trace_rounds

STEPS, MORE_STEPS = 24, 40
"""Largest total number of local gradients in a program, and the largest on request."""


def exact_worst_case(
    setting: Setting, round_: Round, rounds: int, *, more: bool = False
) -> tuple[float | None, str | None]:
    """Return sup E|x_R - x*|^2 over the strongly convex class and every N >= 2, or None and the reason.

    Parameters
    ----------
    setting, round_
        The class, the start and the algorithm.
    rounds
        R.
    more
        Whether ``MORE_STEPS`` are allowed.
    """
    if setting.client_class == TaskClass.CONVEX:
        return None, "class convex: the semidefinite program is a relaxation"
    if setting.client_class == TaskClass.QUADRATIC:
        return None, "class quadratic: the program is of the larger class strong"
    if not attainable(round_.sampling, 1):
        return None, "no number of clients has this sampling"
    if round_.sampling > 0 and rounds > 1:
        return None, "more than one round with sampling is not computed"
    skip = round_.algorithm is Algorithm.PROXSKIP
    steps = 2 ** min(rounds, 64) - 1 if skip else rounds * round_.local_steps
    limit = MORE_STEPS if more else STEPS
    if steps > limit:
        offer = f"; --exact computes up to {MORE_STEPS}" if not more and steps <= MORE_STEPS else ""
        return None, f"more than {limit} local gradients in all{offer}"
    unit, noise, squared = float(round_.unit**2), float(setting.heterogeneity**2), float(setting.distance**2)
    scale = min(max(squared / (unit * noise), 1 / MAX_SCALE), MAX_SCALE) if noise else MAX_SCALE
    # rate D^2 + constant eta^2 zeta*^2 with rate = 1 + gain / scale
    goal = (squared / scale, unit * noise)
    best = Search(trace_rounds(round_, rounds), scale).least((goal[0] / max(goal), goal[1] / max(goal)))
    if best is None:
        return None, "the solver gave no value"
    return squared + best[0] * goal[0] + best[1] * goal[1], "value of a solver, not certified"
