"""The additive error rho_0 of Lemma 2, (A36), its constants c_1 .. c_6, and the final error rho of Theorem 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

C_4 = Fraction(1, 4)
"""The constant c_4 of (A27).

The term c_4 l of rho_0 depends only on the shares of the clusters. More data does not decrease it.
"""


@dataclass(frozen=True)
class FloorConstants:
    """The dimensionless constants c_1 .. c_6, as they follow from (A17), (A27) and (A33).

    The paper states only that they exist.
    """

    c1: float = 384.0
    c2: float = math.sqrt(128.0)
    c3: float = 0.5
    c4: float = float(C_4)
    c5: float = 384.0
    c6: float = math.sqrt(128.0)


def printed_floor(
    *,
    share: float,
    clusters: int,
    clients: int,
    samples: int,
    smoothness: float,
    strong_convexity: float,
    separation: float,
    momentum: float,
    gradient_deviation: float,
    loss_deviation: float,
    round_number: int = 1,
    failure: float = 0.01,
    constants: FloorConstants = FloorConstants(),
) -> float:
    """Return rho_0 of (A36), in the units of the paper.

    Parameters
    ----------
    share, clusters, clients, samples
        l = min l_p, P, m and n'.
    smoothness, strong_convexity, separation
        L, mu and Delta.
    momentum
        Momentum beta, below 1.
    gradient_deviation, loss_deviation
        v and sigma of Assumption 3.
    round_number
        Round number t in the factor sqrt(t), which Theorem 1 omits.
    failure
        Common value of lambda_0, ..., lambda_4.
    constants
        Constants c_1 .. c_6.
    """
    gap = strong_convexity * separation**2
    wrong = loss_deviation**2 / (gap**2 * failure * samples)
    cross = gradient_deviation * loss_deviation * math.sqrt(clusters / (clients * failure))
    cross /= failure * gap * smoothness * samples
    noise = gradient_deviation / (failure * smoothness * math.sqrt(clients * samples))
    carried = momentum * math.sqrt(round_number) / (1 - momentum)
    return (
        2 * noise / math.sqrt(share)
        + constants.c1 * wrong
        + constants.c2 * cross
        + constants.c3 * carried * noise * math.sqrt(share)
        + constants.c4 * share
        + constants.c5 * momentum * wrong
        + constants.c6 * carried * cross
    )


def printed_conclusion(condition_number: float, share: float, floor: float) -> float:
    """Return rho = (16 L / mu l) rho_0, (A42). Theorem 1 prints p instead of l."""
    return 16 * condition_number / share * floor
