"""Lines 7, 8 and 15 of Algorithm 1 in the order in which they are printed."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.theory.checker import Family, Sides, at_most, integers, rationals, suppose
from clusterproof.theory.exact.two_clusters import run_two_clusters

PAPER = Family("cfl-mgd")
Momentum = Annotated[Fraction, rationals(0, Fraction(9, 10), 10)]
Rounds = Annotated[int, integers(10, 14)]


def delayed_path(curvature: Fraction, momentum: Fraction, start: Fraction, rounds: int) -> list[Fraction]:
    """Errors under the printed order: chi^t moves by the gradient at chi^(t-2), in exact arithmetic."""
    path = [start, start]
    while len(path) <= rounds:
        path.append(path[-1] + momentum * (path[-1] - path[-2]) - curvature * path[-2])
    return path[: rounds + 1]


def run_in_printed_order(momentum: Fraction, rounds: int) -> float:
    """|e_T| of the algorithm."""
    algorithm = CFLMGD(step_size=1.0, momentum=float(momentum), update_order="as-printed")
    return float(np.asarray(run_two_clusters(2, 1, algorithm, 0.25, rounds).errors)[-1, 0])


@PAPER.claim(
    "algorithm-line-8",
    label="Algorithm 1, lines 7-8, 15",
    kind="upper",
    confirm=run_in_printed_order,
    repaired_by="cfl-mgd/lemma-h",
)
def algorithm_line_8(momentum: Momentum, rounds: Rounds) -> Sides:
    """Option I in the printed order of its lines brings the error down, for every momentum.

    Hypotheses
        No noise, eta = 1/L, 10 or more rounds.

    Statement
        u^t = beta u^(t-1) + g^(t-1) with g^t = grad phi(chi^t) computed in line 7 and chi^t updated
        in line 15, to the letter: after the rounds ||chi - chi*|| is at most its start.

    Symbols
        eta ``step_size``, beta ``momentum``; this order is ``update_order="as-printed"``.

    Source
        Zhao et al. (2023), Algorithm 1, lines 2, 7, 8 and 15, whose indices contradict (3), (4)
        and (32). Read as (32), ``update_order="momentum-first"``. Upper bound.

    Checked
        The letter makes e^(t+1) = e^t + beta (e^t - e^(t-1)) - eta l_p lambda e^(t-1), stable iff
        beta + eta l_p lambda < 1. On two equal scalar clusters the simplest momentum and number of
        rounds, at least 10, in rational arithmetic, and the algorithm is run in that order.
    """
    path = [abs(error) for error in delayed_path(Fraction(1, 2), momentum, Fraction(1, 4), rounds)]
    suppose("every client goes on choosing the model of its own cluster", max(path) < Fraction(3, 4))
    return at_most(path[-1], start=path[0])
