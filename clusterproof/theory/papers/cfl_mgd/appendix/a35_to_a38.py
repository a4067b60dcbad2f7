"""(A35)-(A38): the contraction in one round, its floor, and the condition on it."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.theory.bounds.audit_settings import experiment
from clusterproof.theory.bounds.setting import Setting
from clusterproof.theory.claims import (
    Excluded,
    Sides,
    at_most,
    claim,
    drawn,
    equal,
    given,
    integers,
    rationals,
    reals,
    suppose,
)
from clusterproof.theory.exact.two_clusters import has_positive_probability
from clusterproof.theory.papers.cfl_mgd.lemma_2 import BY_HAND, TwoClusters
from clusterproof.theory.papers.cfl_mgd.theorem_1 import FloorConstants, printed_floor

Root = Annotated[Fraction, rationals(1, 5, 2, upwards=True)]
"""sqrt(L / mu)."""
Share = Annotated[Fraction, rationals(Fraction(1, 100), Fraction(1, 2), 10)]
"""l."""
Separation = Annotated[Fraction, rationals(Fraction(1, 10), 2, 4)]
"""Delta."""
Part = Annotated[Fraction, rationals(0, 1, 4)]
"""A share of the radius, or of the floor, that (A38) allows."""
Positive = Annotated[float, reals(Fraction(1, 100), 1, upwards=True)]


def random_setting(stream: np.random.Generator) -> Setting:
    """Draw clients, rows, curvatures, separation and momentum."""
    return replace(
        experiment("S2", 0.5).setting,
        clients=int(stream.integers(10, 1000)),
        samples=int(10 ** stream.uniform(0, 5)),
        momentum=float(stream.uniform(0, 0.99)),
        smoothness=float(stream.uniform(0.5, 3)),
        strong_convexity=float(stream.uniform(0.01, 0.5)),
        separation=float(stream.uniform(0.1, 3)),
    )


@claim(
    "cfl-mgd/appendix-a35",
    label="(A35)-(A37)",
    repaired_by=("cfl-mgd/theorem-d", "cfl-mgd/theorem-a"),
    example=({"pair": replace(BY_HAND, clients=24, own=12)}, {"pair": BY_HAND}),
    evaluations=300,
)
def one_round(pair: TwoClusters) -> dict[str, Sides | Excluded]:
    """In a round every cluster's error shrinks by 1 - l mu / 8L, up to rho_0.

    Hypotheses
        As (A8), (A17) and (A34). The printed probability is positive, with c = 1/8 (A5). The appendix's constants:
        c_1 = c_5 = 384, c_2 = c_6 = sqrt(128), c_3 = 1/2, c_4 = 1/4.

    Statement
        ||chi_p^(t+1) - chi*_p|| <= (1 - l mu / 8L) ||chi_p^t - chi*_p|| + rho_0, l = min l_p ``proportions``.

    Lines
        (A35)
            For p = 1, with the floors of (A8), (A17) and (A34) and probability at least 1 - lambda_0 - P lambda_1 - 2
            lambda_2 - lambda_3 - P lambda_4 - 4 exp(-clm), which is positive from l m = 12 on. False: it inherits
            (A34). The union counts the event of (A6) twice.
        (A37) = (31) of Lemma 2
            For all p, with probability at least 1 - P lambda_5, positive for two clusters from l m = 17 on.
        (A36)
            rho_0 = 2 v / (lambda_0 L sqrt(l m n')) + c_1 sigma^2 / (mu^2 lambda_2 Delta^4 n') + c_2 v sigma sqrt(P) /
            (lambda_1 mu L Delta^2 n' sqrt(m lambda_2)) + c_3 beta v sqrt(l t) / (lambda_3 (1 - beta) L sqrt(m n')) +
            c_4 l + c_5 beta sigma^2 / (mu^2 lambda_2 Delta^4 n') + c_6 beta sigma v sqrt(P t) / (lambda_4 mu L Delta^2
            n' (1 - beta) sqrt(m lambda_2)). A definition: the sum of the three floors. It grows with t, which (A37),
            (A39) and Theorem 1 forget, and its term c_4 l is a length only in units of (A10).

    Source
        Zhao et al. (2023), (A35)-(A37). "For any lambda_5 in (0, 1)" needs l m > 8 log 4, and a positive probability
        l m > 8 log 4P.
    """
    return {
        "(A35)": given("1 - ... - 4 exp(-clm) > 0", has_positive_probability(4, pair.fewest), pair.sides),
        "(A37) = (31) of Lemma 2": given(
            "1 - P lambda_5 > 0", has_positive_probability(2 * 4, pair.fewest), pair.sides
        ),
    }


def floor_of_descent(setting: Setting, deviation: float, level: float) -> float:
    """Last term of (A8)."""
    root = math.sqrt(min(setting.proportions) * setting.clients * setting.samples)
    return 2 * deviation / (level * setting.smoothness * root)


def floor_of_false_members(
    setting: Setting, deviation: float, spread: float, level: float, scale: float
) -> float:
    """Bound of (A17) for scale = 1; of (A33) for scale = beta and v replaced by v sqrt(t) / (1 - beta)."""
    gap = setting.strong_convexity * setting.separation**2
    share = spread**2 / (gap**2 * setting.samples)
    noise = deviation * math.sqrt(setting.clusters / setting.samples) / (level * setting.smoothness)
    return scale * (384 * share / level + noise * math.sqrt(128 * share / (setting.clients * level)))


def floor_of_momentum(setting: Setting, deviation: float, spread: float, level: float, t: int) -> float:
    """Bound of (A34)."""
    beta, share = setting.momentum, min(setting.proportions)
    carried = deviation * math.sqrt(t) / (1 - beta)
    root = math.sqrt(share / (setting.clients * setting.samples))
    own_momentum = beta * carried * root / (2 * level * setting.smoothness) + share / 4
    return own_momentum + floor_of_false_members(setting, carried, spread, level, beta)


@one_round.line("(A36)", evaluations=200)
def floor_of_a_round(
    setting: Annotated[Setting, drawn(random_setting, write=asdict, read=lambda code: Setting(**code))],
    gradient_deviation: Positive,
    loss_deviation: Positive,
    level: Annotated[float, reals(Fraction(1, 100), 1)],
    round_: Annotated[int, integers(1, 100, upwards=True)],
) -> Sides:
    """The floor that Theorem 1 uses is the sum of those of (A8), (A17) and (A34)."""
    curvatures = (setting.strong_convexity, setting.smoothness, setting.separation)
    suppose("mu, L, Delta > 0 and 0 <= beta < 1", min(curvatures) > 0 and 0 <= setting.momentum < 1)
    v, sigma = gradient_deviation, loss_deviation
    whole = printed_floor(
        setting,
        round_number=round_,
        gradient_deviation=v,
        loss_deviation=sigma,
        failure=level,
        constants=FloorConstants(),
    )
    parts = (
        floor_of_descent(setting, v, level)
        + floor_of_false_members(setting, v, sigma, level, 1.0)
        + floor_of_momentum(setting, v, sigma, level, round_)
    )
    return equal((whole / parts, 1.0), rounding=1e-10)


C_4 = Fraction(1, 4)
"""The appendix' constant of the mismatch in (A36)."""


@claim("cfl-mgd/appendix-a38", label="(A38)", repaired_by="cfl-mgd/theorem-d")
def small_floor(
    root: Root,
    share: Share,
    separation: Separation,
    other_terms: Annotated[Fraction, rationals(0, 1, 2, upwards=True)],
) -> dict[str, Sides | Excluded]:
    """The floor is so small that the iterates stay in the basin.

    Hypotheses
        (A36) with c_4 = 1/4, max ||chi*|| <= 1 and so Delta <= 2.

    Statement
        rho_0 <= (l / 32) (mu / L)^(3/2) Delta, and ||chi_p^t - chi*_p|| <= sqrt(mu / L) Delta / 4 for all t.

    Lines
        (A38)
            rho_0, which is c_4 l and other terms, is that small, and a model on the rim of the basin stays in it.
            Vacuous: c_4 l alone is more, at best l / 4 against l / 16.
        after (A38)
            Under (A37) and (A38), were they true, the basin is never left. An equality on the rim, and in (A38).

    Source
        Zhao et al. (2023), (A38) and the line after it.
    """
    radius, floor = separation / (4 * root), C_4 * share + other_terms
    small = floor <= allowed_floor(root, share, separation)
    next_error = (1 - share / (8 * root**2)) * radius + floor
    return {"(A38)": given("(A38)", small, lambda: at_most(next_error, radius=radius))}


@small_floor.line("after (A38)")
def staying_in_the_basin(
    root: Root, share: Share, separation: Separation, part_of_radius: Part, part_of_floor: Part
) -> Sides:
    """One round of (A37) from within the basin, with a floor that (A38) allows."""
    radius, floor = separation / (4 * root), part_of_floor * allowed_floor(root, share, separation)
    return at_most((1 - share / (8 * root**2)) * part_of_radius * radius + floor, radius=radius)


def allowed_floor(root: Fraction, share: Fraction, separation: Fraction) -> Fraction:
    """The right side of (A38), (l / 32) (mu / L)^(3/2) Delta."""
    return share * separation / (32 * root**3)
