"""Claims on Khaled, Mishchenko and Richtarik, "First Analysis of Local GD" (arXiv 1909.04715).

There are two clients f_m(x) = a_m (x - b_m)^2 / 2 with a = (1, a_2), b = (0, b_2) and L = 1. All numbers are
rational, and nothing is random. V_t is the variance of the clients' points, H is the number of steps between two
averagings, and sigma^2 is the mean squared gradient at x*.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from clusterproof.checker.claims import Q, Sides, among, at_most, claim, suppose
from clusterproof.methods.averaging import fedavg
from clusterproof.methods.exact import Functions, descend, exact_clients, mean

F = Fraction
CURVATURE, CENTER, START = Q[0:1], among(F(0), F(1), F(2), F(4)), among(F(0), F(1), F(-3))
GAP, PACE = among(1, 2, 3, 5), Q[F(1, 3) : 1]
"""The values of H and of gamma divided by the largest allowed step size."""


def gradients_of(curvature: Fraction, center: Fraction) -> Functions:
    """Return each client's gradient."""
    return [lambda x: x, lambda x: curvature * (x - center)]


def optimum_and_spread(curvature: F, center: F) -> tuple[Any, Any]:
    """Return x* and sigma^2."""
    optimum = curvature * center / (1 + curvature)
    return optimum, mean([gradient(optimum) ** 2 for gradient in gradients_of(curvature, center)])


def gap_at(x: Any, curvature: F, center: F) -> Any:
    """Return f(x) - f*."""
    return (1 + curvature) / 4 * (x - curvature * center / (1 + curvature)) ** 2


def variance(points: Sequence[Any]) -> Any:
    """Return the variance V_t of the clients' points."""
    return mean([(x - mean(points)) ** 2 for x in points])


def path_of(gradients: Functions, start: Any, step: Any, rounds: int, steps: int) -> list[Any]:
    """Return the points of both clients after each step, for the given number of rounds."""
    path, model = [], start
    for _ in range(rounds):
        path += [[descend(each, model, step, k) for each in gradients] for k in range(steps)]
        model = fedavg(exact_clients(gradients, [steps] * 2), model, step_size=step)
    return path


@claim("local-gd/lemma-1", label="Lemma 1", evaluations=200, expected="consistent, tight within 2")
def lemma_1(
    curvature: F = CURVATURE, center: F = CENTER, x: F = Q[-2:2:1], y: F = Q[-2:2:2], step: F = Q[0:1]
) -> Sides:
    """A step decreases the distance of the mean point from x*, except for terms with the variance of the points.

    Statement
        |x_(t+1) - x*|^2 <= |x_t - x*|^2 + gamma L (1 + 2 gamma L) V_t - 2 gamma (1 - 2 gamma L) (f(x_t) - f*), for
        convex L-smooth clients, any step gamma >= 0 and any points.

    Source
        Khaled et al. (2019): the paper's text, without its proofs.
    """
    before, (optimum, _) = mean([x, y]), optimum_and_spread(curvature, center)
    first, second = gradients_of(curvature, center)
    after = mean([descend(first, x, step, 1), descend(second, y, step, 1)])
    return at_most(
        (after - optimum) ** 2,
        before=(before - optimum) ** 2,
        variance=step * (1 + 2 * step) * variance([x, y]),
        descent=-2 * step * (1 - 2 * step) * gap_at(before, curvature, center),
    )


@claim("local-gd/lemma-2", label="Lemma 2", evaluations=200, expected="certified")
def lemma_2(
    curvature: F = CURVATURE, center: F = CENTER, start: F = START, gap: int = GAP, pace: F = PACE
) -> Sides:
    """Between two averagings, the variance of the clients' points is bounded by gamma^2 H^2 times an explicit sum.

    Statement
        sum V_t <= 5 L gamma^2 H^2 sum (f(x_t) - f*) + sum 8 gamma^2 H^2 sigma^2, over one epoch of H steps, gamma <=
        1 / (4 L H).

    Proved for
        Two clients with the losses x^2 / 2 and a_2 (x - b_2)^2 / 2. Here 0 <= a_2 <= 1, b_2 = 0, 1, 2 or 4, the
        initial point is 0, 1 or -3, H = 1, 2, 3 or 5, and gamma is between a third of the largest allowed step size
        and this step size.

    Source
        Khaled et al. (2019): the paper's text, without its proofs.
    """
    step, (_, spread) = pace / (4 * gap), optimum_and_spread(curvature, center)
    path = path_of(gradients_of(curvature, center), start, step, 1, gap)
    return at_most(
        sum(map(variance, path)),
        descent=5 * step**2 * gap**2 * sum(gap_at(mean(points), curvature, center) for points in path),
        spread=8 * step**2 * gap**3 * spread,
    )


@claim(
    "local-gd/theorem-1", label="Theorem 1, (5)", evaluations=200, expected="consistent, loose", headline=True
)
def theorem_1(
    curvature: F = CURVATURE,
    center: F = CENTER,
    start: F = START,
    gap: int = GAP,
    pace: F = PACE,
    epochs: int = among(1, 2, 5),
) -> Sides:
    """Local gradient descent converges to a neighbourhood of the optimum.

    Statement
        f(mean of x_0 .. x_(T-1)) - f* <= 2 |x_0 - x*|^2 / (gamma T) + 24 gamma^2 sigma^2 H^2 L for constant gamma <=
        1 / (4 L H).

    Source
        Khaled et al. (2019): the paper's text, without its proofs. For H = 1 or equal Hessians, it even converges to
        the optimum.
    """
    step, (optimum, spread) = pace / (4 * gap), optimum_and_spread(curvature, center)
    path = path_of(gradients_of(curvature, center), start, step, epochs, gap)
    return at_most(
        gap_at(mean([mean(points) for points in path]), curvature, center),
        start=2 * (start - optimum) ** 2 / (step * gap * epochs),
        floor=24 * step**2 * spread * gap**2,
    )


@claim(
    "local-gd/corollary-1", label="Corollary 1", evaluations=200, expected="consistent, loose", headline=True
)
def corollary_1(
    curvature: F = CURVATURE,
    center: F = CENTER,
    start: F = START,
    gap: int = GAP,
    root: int = among(2, 4, 6, 10),
) -> Sides:
    """The mean iterate has an error of order 1 / sqrt(M T), for M = 4 clients, two of each kind, and T = ``root``^2.

    Statement
        f(x) - f* <= 8 L |x_0 - x*|^2 / sqrt(M T) + 3 M sigma^2 H^2 / (2 L T), with x as in Theorem 1, H <= sqrt(T / M)
        and gamma = sqrt(M) / (4 L sqrt(T)).

    Source
        Khaled et al. (2019): the paper's text, without its proofs.
    """
    suppose("H <= sqrt(T / M)", 2 * gap <= root)
    optimum, spread = optimum_and_spread(curvature, center)
    path = path_of(gradients_of(curvature, center), start, F(1, 2 * root), -(-(root**2) // gap), gap)
    return at_most(
        gap_at(mean([mean(points) for points in path[: root**2]]), curvature, center),
        start=8 * (start - optimum) ** 2 / (2 * root),
        floor=6 * spread * gap**2 / F(root**2),
    )
