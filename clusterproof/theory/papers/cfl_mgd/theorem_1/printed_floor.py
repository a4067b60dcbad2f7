"""The paper's floor rho_0, (A36), with the constants that its own proof gives."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clusterproof.theory.bounds.setting import Setting


@dataclass(frozen=True)
class FloorConstants:
    """c_1 .. c_6 as they follow from (A17), (A27) and (A33).

    Attributes
    ----------
    c1, c2, c3, c4, c5, c6
        Dimensionless; c4 belongs to a term in l alone, which no amount of data removes.
    """

    c1: float = 384.0
    c2: float = math.sqrt(128.0)
    c3: float = 0.5
    c4: float = 0.25
    c5: float = 384.0
    c6: float = math.sqrt(128.0)


def printed_floor(
    setting: Setting,
    *,
    round_number: int,
    gradient_deviation: float,
    loss_deviation: float,
    failure: float = 0.01,
    constants: FloorConstants = FloorConstants(),
) -> float:
    """rho_0 of (A36), in the literal units of the paper.

    Parameters
    ----------
    setting
        Clients, samples, L, mu, Delta, momentum and proportions.
    round_number
        t of the factor sqrt(t) that Theorem 1 drops.
    gradient_deviation, loss_deviation
        v and sigma of Assumption 3.
    failure
        lambda_0 = ... = lambda_4.
    constants
        c_1 .. c_6.
    """
    share, beta = min(setting.proportions), setting.momentum
    m, n, p = setting.clients, setting.samples, setting.clusters
    smooth, strong, separation = setting.smoothness, setting.strong_convexity, setting.separation
    v, sigma = gradient_deviation, loss_deviation
    wrong = sigma**2 / (strong**2 * failure * separation**4 * n)
    cross = (
        v * sigma * math.sqrt(p) / (failure * strong * smooth * separation**2 * n * math.sqrt(m * failure))
    )
    return (
        2 * v / (failure * smooth * math.sqrt(share * m * n))
        + constants.c1 * wrong
        + constants.c2 * cross
        + constants.c3
        * beta
        * v
        * math.sqrt(share * round_number)
        / (failure * (1 - beta) * smooth * math.sqrt(m * n))
        + constants.c4 * share
        + constants.c5 * beta * wrong
        + constants.c6 * beta * math.sqrt(round_number) / (1 - beta) * cross
    )


def printed_conclusion(setting: Setting, floor: float) -> float:
    """rho = (16 L / mu l) rho_0, (A42): Theorem 1 prints p for l."""
    return 16 * setting.smoothness / (setting.strong_convexity * min(setting.proportions)) * floor
