"""Lines 2, 7, 8 and 15 of Algorithm 1: which gradient enters a round."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.theory.claims import Sides, at_most, claim, equal, integers, rationals, suppose
from clusterproof.theory.exact.two_clusters import exact_path, run_two_clusters

Momentum = Annotated[Fraction, rationals(0, Fraction(9, 10), 10)]
SHARE, START = Fraction(1, 2), Fraction(1, 4)


def delayed_path(momentum: Fraction, rounds: int) -> list[Fraction]:
    """Errors where chi^t moves by the gradient at chi^(t-2), in exact arithmetic."""
    path = [START, START]
    while len(path) <= rounds:
        path.append(path[-1] + momentum * (path[-1] - path[-2]) - SHARE * path[-2])
    return path[: rounds + 1]


def suppose_right_choices(path: list[Fraction]) -> None:
    """Suppose that the errors are so small that no client changes its cluster."""
    suppose(
        "every client goes on choosing the model of its own cluster", max(map(abs, path)) < Fraction(3, 4)
    )


def run_last_error(momentum: Fraction, rounds: int, order: str) -> float:
    """|e_T| of the algorithm."""
    algorithm = CFLMGD(step_size=1.0, momentum=float(momentum), update_order=order)
    return float(np.asarray(run_two_clusters(2, 1, algorithm, float(START), rounds).errors)[-1, 0])


def run_delayed(momentum: Fraction, rounds: int) -> float:
    """|e_T| of the algorithm with the delayed gradient."""
    return run_last_error(momentum, rounds, "as-printed")


def run_both(momentum: Fraction, rounds: int) -> float:
    """Return the difference of |e_T| between the two readings, by runs of the algorithm."""
    return abs(run_last_error(momentum, rounds, "momentum-first") - run_delayed(momentum, rounds))


@claim(
    "cfl-mgd/algorithm-line-8",
    label="Algorithm 1, lines 2, 7, 8 and 15",
    confirm=run_both,
    repaired_by="cfl-mgd/equation-3",
    ill_posed=True,
)
def algorithm_line_8(momentum: Momentum, rounds: Annotated[int, integers(2, 14)]) -> Sides:
    """Round t of option I uses the gradient at the model that it broadcasts.

    Hypotheses
        Option I, no noise, full participation.

    Statement
        Round t broadcasts chi_p^t (line 2); g_i^t = grad phi_i(chi_p^t) (line 7); u_i^t = beta u_i^(t-1) + g_i^(t-1)
        (line 8); chi_p^t = chi_p^(t-1) - (eta / m) sum u_i^t (line 15).

    Symbols
        eta ``step_size``, beta ``momentum``, u the momentum buffer.

    Source
        Zhao et al. (2023), Algorithm 1. Lines 7, 8 and 15 as equations are (3), (9) and (32). Line 2, "broadcast
        chi_p^(t)", has no meaning beside them, since line 15 of the same round computes chi_p^(t). Read: round t
        broadcasts chi^(t-1), ``cfl-mgd/equation-3``, ``update_order="momentum-first"``. With the newest model for
        chi^(t) in line 2 the gradient comes a round late: ``cfl-mgd/algorithm-line-8-delayed``.
    """
    indexed, delayed = exact_path(SHARE, momentum, START, rounds), delayed_path(momentum, rounds)
    suppose_right_choices(indexed + delayed)
    ends = abs(indexed[rounds]), abs(delayed[rounds])
    words = (
        f"two equal scalar clusters, beta = {momentum}, from 1/4: after {rounds} rounds the error is {ends[0]} by the "
        f"indices of lines 7, 8 and 15, and {ends[1]} where line 2 broadcasts the newest model as chi^t; read: the "
        "first"
    )
    return equal(ends, words=words)


@claim(
    "cfl-mgd/algorithm-line-8-delayed",
    label="Algorithm 1, line 2",
    judges="reading",
    failure="misprint",
    confirm=run_delayed,
    repaired_by="cfl-mgd/lemma-h",
)
def algorithm_line_8_delayed(momentum: Momentum, rounds: Annotated[int, integers(10, 14)]) -> Sides:
    """Where line 2 broadcasts the newest model as chi^t, option I does not raise the error, for any momentum.

    Hypotheses
        No noise, eta = 1/L, 10 or more rounds.

    Statement
        chi^t = chi^(t-1) - (eta / m) sum u_i^t, u_i^t = beta u_i^(t-1) + g_i^(t-1), where g_i^t is the gradient at the
        model that line 15 of the round before computed: after the rounds ||chi - chi*|| is at most its start.

    Symbols
        eta ``step_size``, beta ``momentum``; this reading is ``update_order="as-printed"``.

    Source
        Zhao et al. (2023), Algorithm 1, line 2: "broadcast chi_p^(t)", see ``cfl-mgd/algorithm-line-8``. That chi^(t)
        is the newest model there is the reading's; (3), (9) and (32) exclude it. So is the bound: the paper prints
        none for Algorithm 1 with a delay.
    """
    path = delayed_path(momentum, rounds)
    suppose_right_choices(path)
    return at_most(abs(path[-1]), start=path[0])
