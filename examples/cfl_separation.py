"""Clustered federated learning by gradients' angles: the separation theorem of Sattler, Mueller and Samek, k = 2.

Mean estimation (arXiv 1910.01991): a client's empirical gradient g_i lies within asin gamma_i of its cluster's
true gradient G. Run with: clusterproof check examples/cfl_separation.py
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import asin, cos, pi, sin
from typing import Annotated, Any

from clusterproof.theorem import Sides, at_least, at_most, claim, integers, rationals, reals, suppose

Vector = tuple[Fraction, Fraction]


def dot(one: Vector, other: Vector) -> Fraction:
    """Inner product."""
    return one[0] * other[0] + one[1] * other[1]


def cuts(cosines: list[list[Any]]) -> list[tuple[Any, set[int]]]:
    """Every bipartition, as the side without the last client, with its largest cosine across the cut."""
    count = len(cosines)
    found = []
    for size in range(1, count):
        for side in map(set, combinations(range(count - 1), size)):
            others = set(range(count)) - side
            found.append((max(cosines[i][j] for i in side for j in others), side))
    return found


@dataclass(frozen=True)
class Inward:
    """Two clusters of ``size`` clients; one of each is turned by alpha to the other cluster, the rest away.

    tan(alpha / 2) = ``half``. All coordinates and cosines are rational; client 0 and 2 are the ones turned in,
    1 and 3 stand for all others of their clusters. The empirical gradients add up to zero exactly.
    """

    size: Annotated[int, integers(3, 40, upwards=True)]
    half: Annotated[Fraction, rationals(Fraction(1, 10), Fraction(9, 10), 10)]

    @property
    def sine(self) -> Fraction:
        """gamma = sin alpha."""
        return 2 * self.half / (1 + self.half**2)

    @property
    def gradients(self) -> list[Vector]:
        """Of the clients 0, 1, 2, 3; G_1 is (1, 0), G_2 is turned by pi - 2 delta."""
        c, s = (1 - self.half**2) / (1 + self.half**2), self.sine
        tangent = Fraction(self.size - 2, self.size) * s / c
        x, y = (tangent**2 - 1) / (1 + tangent**2), 2 * tangent / (1 + tangent**2)
        turned = [(c, s), (c, -s), (c, -s), (c, s)]
        true = [(Fraction(1), Fraction(0))] * 2 + [(x, y)] * 2
        return [
            (c * (a * u - b * v), c * (a * v + b * u)) for (a, b), (u, v) in zip(true, turned, strict=True)
        ]

    @property
    def cosines(self) -> list[list[Fraction]]:
        """Between the clients; all gradients have the length cos alpha."""
        ones, square = self.gradients, 1 - self.sine**2
        return [[dot(one, two) / square for two in ones] for one in ones]

    def suppose_stationary(self) -> None:
        """Theta* is stationary for the empirical risk: the gradients add up to zero."""
        one, rest, two, others = self.gradients
        total = [one[i] + two[i] + (self.size - 1) * (rest[i] + others[i]) for i in (0, 1)]
        suppose("the empirical gradients add up to zero", total == [0, 0])


@claim("cfl/separation-empirical", label="Theorem 1, k = 2", repaired_by="cfl/separation-repaired")
def separation_empirical(two: Inward) -> Sides:
    """Across the best cut all gradients are far apart, at a stationary point of the empirical risk.

    Hypotheses
        |grad R - grad r_i| = gamma |grad R| with gamma < 1; sum of the empirical gradients = 0.

    Statement
        alpha_cross <= -H, H = -gamma^2 + (1 - gamma^2) = 1 - 2 gamma^2.

    Source
        RESTATED: a public study note that goes through the paper formula by formula. There theta* is
        stationary for F, the empirical objective; the opening sentence of the theorem is not quoted.
    """
    two.suppose_stationary()
    return at_most(min(cut for cut, _ in cuts(two.cosines)), claimed=2 * two.sine**2 - 1)


@claim("cfl/right-cut", label="Corollary 1, k = 2", repaired_by="cfl/right-cut-repaired")
def right_cut(two: Inward) -> Sides:
    """The best cut separates the clusters wherever gamma < 1 / sqrt(2).

    Statement
        The bipartition that attains alpha_cross never separates two clients of one cluster: the true cut has
        no larger cosine than the best one.

    Source
        RESTATED, as for the theorem, whose two bounds promise alpha_intra > alpha_cross there.
    """
    two.suppose_stationary()
    suppose("gamma < 1 / sqrt(2)", 2 * two.sine**2 < 1)
    found = cuts(two.cosines)
    return at_most(next(cut for cut, side in found if side == {0, 1}), best=min(cut for cut, _ in found))


@claim("cfl/right-cut-repaired", label="repair", judges="ours", evaluations=500)
def right_cut_repaired(two: Inward) -> Sides:
    """The best cut is the right one where gamma < 1 / 2.

    Statement
        As Corollary 1 with gamma < 1 / 2, that is alpha < pi / 6.

    Source
        Ours.
    """
    two.suppose_stationary()
    suppose("gamma < 1 / 2", 2 * two.sine < 1)
    return right_cut(two)


Turn = Annotated[float, reals(-1, 1)]
Length = Annotated[float, reals(0.25, 4)]


@dataclass(frozen=True)
class FourClients:
    """True gradients (1, 0) and ``length`` at pi - ``bend``; each client's own is gamma away, at any angle."""

    length: Length
    bend: Annotated[float, reals(-0.5, 0.5)]
    share: Annotated[float, reals(0, 1)]
    turn_1: Turn
    turn_2: Turn
    turn_3: Turn
    turn_4: Turn

    @property
    def true(self) -> list[complex]:
        """grad R of each client."""
        return [1 + 0j] * 2 + [self.length * complex(-cos(self.bend), sin(self.bend))] * 2

    def gradients(self) -> list[complex]:
        """Empirical ones, within ``share`` of the true ones' lengths."""
        turns = (self.turn_1, self.turn_2, self.turn_3, self.turn_4)
        return [
            g * (1 + 0.95 * self.share * complex(cos(pi * t), sin(pi * t)))
            for g, t in zip(self.true, turns, strict=True)
        ]


def between(ones: list[complex]) -> list[list[float]]:
    """Cosines."""
    return [[(a.conjugate() * b).real / (abs(a) * abs(b)) for b in ones] for a in ones]


def worst_sum(true: list[complex], ones: list[complex]) -> float:
    """Largest asin gamma_i + asin gamma_j over the true cut."""
    angles = [asin(min(1.0, abs(g - r) / abs(g))) for g, r in zip(true, ones, strict=True)]
    return max(angles[:2]) + max(angles[2:])


@claim("cfl/separation-population", label="Theorem 1, k = 2, other reading", evaluations=200)
def separation_population(four: FourClients) -> Sides:
    """The same bound at a stationary point of the true risk.

    Hypotheses
        grad R_1 + a grad R_2 = 0 for a weight a > 0: the true gradients are opposite.

    Statement
        alpha_cross <= max -H_ij, H_ij = cos(asin gamma_i + asin gamma_j), the largest over the cut's pairs.

    Source
        RESTATED, as for the theorem; the reading is ours.
    """
    opposite = FourClients(four.length, 0.0, four.share, four.turn_1, four.turn_2, four.turn_3, four.turn_4)
    ones = opposite.gradients()
    total = worst_sum(opposite.true, ones)
    suppose("asin gamma_i + asin gamma_j <= pi", total <= pi)
    return at_least(1 - min(cut for cut, _ in cuts(between(ones))), claimed=1 + cos(total))


@claim("cfl/intra", label="Theorem 1, alpha_intra", evaluations=200)
def intra(four: FourClients) -> Sides:
    """Inside a cluster gradients are close together, stationary or not.

    Statement
        alpha_intra >= min H_ij over the pairs inside.

    Source
        RESTATED, as for the theorem.
    """
    ones = four.gradients()[:2]
    alphas = [asin(min(1.0, abs(1 - one))) for one in ones]
    return at_least(1 + between(ones)[0][1], claimed=1 + cos(sum(alphas)))


@claim("cfl/separation-repaired", label="repair", judges="ours", evaluations=500)
def separation_repaired(two: Inward) -> Sides:
    """With an empirical theta* the best cut loses four alphas instead of two.

    Hypotheses
        4 alpha <= pi; sum of the empirical gradients = 0.

    Statement
        alpha_cross <= -cos(4 alpha); attained as the clusters grow.

    Source
        Ours.
    """
    two.suppose_stationary()
    suppose("4 alpha <= pi", 2 * two.sine**2 <= 1)
    twice = 1 - 2 * two.sine**2
    return at_least(1 - min(cut for cut, _ in cuts(two.cosines)), repaired=2 * twice**2)


@separation_repaired.line("three clients and a fourth", evaluations=200)
def any_stationary(four: FourClients, ratio: Length) -> Sides:
    """The same for gradients of any direction: the fourth makes them add up to zero."""
    ones = four.gradients()
    ones[3] = -(ones[0] + ones[1] + ratio * ones[2]) / ratio
    total = max(worst_sum([g] * 2 + [g] * 2, [r] * 4) for g, r in zip(four.true, ones, strict=True))
    suppose("gamma < 1", all(abs(g - r) < abs(g) for g, r in zip(four.true, ones, strict=True)))
    suppose("4 alpha <= pi", 2 * total <= pi)
    return at_least(1 - min(cut for cut, _ in cuts(between(ones))), repaired=1 + cos(2 * total))
