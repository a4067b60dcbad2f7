"""The probability with which Theorem 1 holds, as printed and as meant."""

from __future__ import annotations

import math
from typing import Annotated

from clusterproof.theory.claims import Sides, at_least, choice, claim, integers


def printed(failure: float, clusters: int, tail: float) -> float:
    """1 - lambda with the printed lambda = 1 - lambda_0 - P lambda_1 - ... - 4 exp(-clm)."""
    return (4 + 2 * clusters) * failure + 4 * tail


@claim(
    "cfl-mgd/theorem-1-probability",
    label="Theorem 1, probability",
    repaired_by=("cfl-mgd/theorem-d", "cfl-mgd/theorem-a"),
    ill_posed=True,
)
def theorem_1_probability(
    clusters: Annotated[int, integers(2, 4, upwards=True)],
    rounds: Annotated[int, choice(1, 50)],
    failure: Annotated[float, choice(0.01)],
) -> Sides:
    """Theorem 1 holds with probability at least 1 - lambda.

    Hypotheses
        As Theorem 1; (A38), the appendix's condition, plays no part.

    Statement
        lambda = 1 - lambda_0 - P lambda_1 - 2 lambda_2 - lambda_3 - P lambda_4 - 4 exp(-clm), for
        any lambda in (0, 1).

    Symbols
        lambda_0 .. lambda_4 the failure probabilities of the appendix, c = 1/8 (Hoeffding), l m the
        smallest cluster's clients.

    Source
        Zhao et al. (2023), Theorem 1 and (A37). Theorem D carries delta_1, delta_2, delta_3 through
        all rounds and clusters.
    """
    guarantee = printed(failure, clusters, math.exp(-100 / 8))
    meant = 1 - rounds * clusters * guarantee
    half = printed(failure / 2, clusters, math.exp(-100 / 8))
    return at_least(
        guarantee,
        meant=meant,
        words=lambda: (
            f"at lambda_i = {failure:g}, P = {clusters}, lm = 100, T = {rounds} the printed guarantee is "
            f"{guarantee:.3f}, and falls to {half:.3f} when the lambda_i are halved; (A37) means {meant:.3f}"
        ),
    )
