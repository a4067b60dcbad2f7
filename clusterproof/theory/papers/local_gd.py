"""Local gradient descent: Khaled, Mishchenko and Richtarik, "First Analysis of Local GD" (arXiv 1909.04715).

One-dimensional quadratics f_m(x) = a_m (x - b_m)^2 / 2, a_m >= 0: everything is a rational number, nothing random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from clusterproof.theory.claims import Sides, at_most, choice, claim, rationals, suppose

Q = Fraction


def average(values: Sequence[Fraction]) -> Fraction:
    """Mean."""
    return sum(values, Fraction(0)) / len(values)


@dataclass(frozen=True)
class Clients:
    """Two clients, L = 1: a = (1, a_2), b = (0, b_2)."""

    curvature: Annotated[Fraction, rationals(0, 1, 3)]
    center: Annotated[Fraction, choice(Q(0), Q(1), Q(2), Q(4))]

    @property
    def optimum(self) -> Fraction:
        """x*."""
        return self.curvature * self.center / (1 + self.curvature)

    @property
    def spread(self) -> Fraction:
        """sigma^2, the mean squared gradient at x*."""
        return average([gradient**2 for gradient in self.gradients([self.optimum] * 2)])

    def gradients(self, points: list[Fraction]) -> list[Fraction]:
        """Each client's gradient at its point."""
        return [points[0], self.curvature * (points[1] - self.center)]

    def gap(self, x: Fraction) -> Fraction:
        """f(x) - f*."""
        return (1 + self.curvature) / 4 * (x - self.optimum) ** 2

    def run(self, start: Fraction, step: Fraction, steps: int, gap: int) -> list[list[Fraction]]:
        """Points of both clients at each time; they are averaged every ``gap`` steps."""
        points, found = [start, start], []
        for t in range(steps):
            found.append(points)
            points = [x - step * s for x, s in zip(points, self.gradients(points), strict=True)]
            points = [average(points)] * 2 if (t + 1) % gap == 0 else points
        return found


def variance(points: list[Fraction]) -> Fraction:
    """V_t."""
    return average([(x - average(points)) ** 2 for x in points])


@claim("local-gd/lemma-1", label="Lemma 1", evaluations=200)
def lemma_1(
    clients: Clients,
    x: Annotated[Fraction, rationals(-2, 2, 1)],
    y: Annotated[Fraction, rationals(-2, 2, 2)],
    step: Annotated[Fraction, rationals(0, 1, 3)],
) -> Sides:
    """A step brings the mean point nearer, up to the variance of the points.

    Hypotheses
        Convex L-smooth clients; any step gamma >= 0 and any points.

    Statement
        |x_(t+1) - x*|^2 <= |x_t - x*|^2 + gamma L (1 + 2 gamma L) V_t - 2 gamma (1 - 2 gamma L) (f(x_t) - f*).

    Source
        Khaled et al. (2019): the paper's text, without its proofs.

    Symbols
        V_t the variance of the points, H steps between two averagings of M clients, sigma^2 the mean squared gradient
        at x*.
    """
    before = average([x, y])
    after = before - step * average(clients.gradients([x, y]))
    return at_most(
        (after - clients.optimum) ** 2,
        before=(before - clients.optimum) ** 2,
        variance=step * (1 + 2 * step) * variance([x, y]),
        descent=-2 * step * (1 - 2 * step) * clients.gap(before),
    )


Start = Annotated[Fraction, choice(Q(0), Q(1), Q(-3))]
Gap = Annotated[int, choice(1, 2, 3, 5)]
Pace = Annotated[Fraction, rationals(Q(1, 3), 1, 3)]


@claim("local-gd/lemma-2", label="Lemma 2", evaluations=200)
def lemma_2(clients: Clients, start: Start, gap: Gap, pace: Pace) -> Sides:
    """Between two averagings the points stay together.

    Hypotheses
        gamma <= 1 / (4 L H); one epoch of H steps.

    Statement
        sum V_t <= 5 L gamma^2 H^2 sum (f(x_t) - f*) + sum 8 gamma^2 H^2 sigma^2.

    Source
        Khaled et al. (2019): the paper's text, without its proofs.
    """
    step = pace / (4 * gap)
    path = clients.run(start, step, gap, gap)
    return at_most(
        sum(map(variance, path), Q(0)),
        descent=5 * step**2 * gap**2 * sum(clients.gap(average(points)) for points in path),
        spread=8 * step**2 * gap**3 * clients.spread,
    )


@claim("local-gd/theorem-1", label="Theorem 1, (5)", evaluations=200)
def theorem_1(
    clients: Clients, start: Start, gap: Gap, pace: Pace, epochs: Annotated[int, choice(1, 2, 5)]
) -> Sides:
    """Local gradient descent converges to a floor.

    Hypotheses
        Constant gamma <= 1 / (4 L H).

    Statement
        f(mean of x_0 .. x_(T-1)) - f* <= 2 |x_0 - x*|^2 / (gamma T) + 24 gamma^2 sigma^2 H^2 L.

    Source
        Khaled et al. (2019): the paper's text, without its proofs. At H = 1, and for equal Hessians, the true floor
        is 0.
    """
    step, steps = pace / (4 * gap), gap * epochs
    centre = average([average(points) for points in clients.run(start, step, steps, gap)])
    return at_most(
        clients.gap(centre),
        start=2 * (start - clients.optimum) ** 2 / (step * steps),
        floor=24 * step**2 * clients.spread * gap**2,
    )


@claim("local-gd/corollary-1", label="Corollary 1", evaluations=200)
def corollary_1(clients: Clients, start: Start, gap: Gap, root: Annotated[int, choice(2, 4, 6, 10)]) -> Sides:
    """The rate 1 / sqrt(M T), here with M = 4 clients, two of each kind, and T = root^2.

    Hypotheses
        H <= sqrt(T / M), gamma = sqrt(M) / (4 L sqrt(T)).

    Statement
        f(x) - f* <= 8 L |x_0 - x*|^2 / sqrt(M T) + 3 M sigma^2 H^2 / (2 L T).

    Source
        Khaled et al. (2019): the paper's text, without its proofs.
    """
    suppose("H <= sqrt(T / M)", 2 * gap <= root)
    path = clients.run(start, Q(1, 2 * root), root**2, gap)
    return at_most(
        clients.gap(average([average(points) for points in path])),
        start=8 * (start - clients.optimum) ** 2 / (2 * root),
        floor=6 * clients.spread * gap**2 / Q(root**2),
    )
