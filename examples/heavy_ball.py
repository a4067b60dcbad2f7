"""Heavy ball: a rate without prefactor that fails, the tuned rate that holds, and Polyak's exact 3-cycle.

Ghadimi, Feyzmahdavian and Johansson (arXiv 1412.7457); Lessard, Recht and Packard (2016).
Run with: clusterproof check examples/heavy_ball.py
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

from clusterproof.theorem import Q, Sides, among, at_most, claim, equal, integers, suppose

STEP = Q[Fraction(1, 4) : Fraction(7, 4) : 4]
MOMENTUM = Q[0 : Fraction(19, 20) : 20]
ROUNDS = integers(1, 8, upwards=True)
Number = TypeVar("Number", Fraction, float)


def values(step: Number, momentum: Number, curvature: Number, rounds: int) -> list[Number]:
    """Return f(x_0), f(x_1), ... for f = curvature x^2 / 2 and x_-1 = x_0 = 1, exact for fractions."""
    before = now = 0 * step + 1
    found = [curvature / 2]
    for _ in range(rounds):
        before, now = now, now - step * curvature * now + momentum * (now - before)
        found.append(curvature * now**2 / 2)
    return found


@claim("heavy-ball/linear-rate", label="Theorem 4, general", repaired_by="heavy-ball/lyapunov")
def linear_rate(step: Fraction = STEP, momentum: Fraction = MOMENTUM, rounds: int = ROUNDS) -> Sides:
    """Within the printed range there is a rate q < 1 with f(x_k) - f* <= q^k (f(x_0) - f*).

    Hypotheses
        f is mu-strongly convex and L-smooth, here L = mu = 1; 0 < alpha < 2 / L and
        0 <= beta < (mu alpha / 2 + sqrt(mu^2 alpha^2 / 4 + 4 (1 - alpha L / 2))) / 2; x_-1 = x_0.

    Statement
        f(x_k) - f* <= q^k (f(x_0) - f*) for some q in [0, 1). For every such q, the right side is at most f(x_0) - f*.

    Source
        RESTATED: lecture slides of an optimisation course and a performance-estimation library's
        documentation. The paper's own initialisation was not read.
    """
    away = 2 * momentum - step / 2
    suppose("beta is in the printed range", away < 0 or away**2 < step**2 / 4 + 4 * (1 - step / 2))
    found = values(step, momentum, Fraction(1), rounds)
    return at_most(found[-1], start=found[0])


@claim("heavy-ball/lyapunov", label="repair", source="ours")
def lyapunov(
    step: Fraction = Q[0:2:3],
    momentum: Fraction = Q[0:1:3],
    before: Fraction = Q[-2:2:2],
    now: Fraction = Q[-2:2:2],
) -> Sides:
    """A quadratic form in two successive points falls by the factor beta exactly.

    Hypotheses
        f = x^2 / 2, any step and momentum.

    Statement
        V(x_k+1, x_k) = beta V(x_k, x_k-1) with V(x, y) = x^2 - (1 + beta - alpha) x y + beta y^2. Where V is
        positive definite, |1 + beta - alpha| < 2 sqrt(beta), f falls like C beta^k with a prefactor C > 1.

    Source
        Ours.
    """
    trace = 1 + momentum - step
    after = trace * now - momentum * before

    def form(x: Fraction, y: Fraction) -> Fraction:
        return x**2 - trace * x * y + momentum * y**2

    return equal((form(after, now), momentum * form(now, before)))


@claim("heavy-ball/tuned-rate", label="Theorem 4, tuned", tight=True)
def tuned_rate(
    least: Fraction = Q[Fraction(1, 4) : 1 : 4],
    curvature: Fraction = Q[(lambda least: least) : 1 : 4],
    step: Fraction = Q[Fraction(1, 5) : 1 : 5],
    rounds: int = ROUNDS,
) -> Sides:
    """With beta = sqrt((1 - alpha mu)(1 - alpha L)) the rate is 1 - alpha mu.

    Hypotheses
        0 < alpha <= 1 / L, L = 1, x_-1 = x_0; on quadratics, direction by direction.

    Statement
        f(x_k) - f* <= (1 - alpha mu)^k (f(x_0) - f*).

    Source
        RESTATED: a performance-estimation library's documentation, there "Theorem 4".
    """
    momentum = (float(1 - step * least) * float(1 - step)) ** 0.5
    found = values(float(step), momentum, float(curvature), rounds)
    return at_most(found[-1], contraction=float(1 - step * least) ** rounds * found[0])


CYCLE = (Fraction(-2208, 1225), Fraction(2592, 1225), Fraction(792, 1225))
PLACE = among(0, 1, 2)


def polyak(now: Fraction, before: Fraction) -> Fraction:
    """Run a step with alpha = 1/9, beta = 4/9 on f' = 25 x (x < 1), x + 24 (x < 2), 25 x - 24."""
    gradient = 25 * now if now < 1 else now + 24 if now < 2 else 25 * now - 24
    return now - gradient / 9 + Fraction(4, 9) * (now - before)


@claim("heavy-ball/three-cycle", label="counterexample of Lessard et al.")
def three_cycle(place: int = PLACE) -> Sides:
    """Polyak's tuning has a 3-cycle on a function with mu = 1 and L = 25.

    Statement
        The three points -2208/1225, 2592/1225, 792/1225 follow each other for ever.

    Source
        RESTATED: a course exercise with its solution; checked here in rational arithmetic.
    """
    return equal((polyak(CYCLE[place], CYCLE[place - 1]), CYCLE[(place + 1) % 3]))


@claim("heavy-ball/quadratic-rate-beyond", label="Polyak's rate off quadratics")
def quadratic_rate_beyond(place: int = PLACE, prefactor: int = integers(1, 5, upwards=True)) -> Sides:
    """The rate sqrt(beta) that Polyak's tuning has on quadratics holds on every smooth strongly convex f.

    Statement
        |x_k| <= C (2/3)^k max(|x_0|, |x_-1|) with a prefactor C, here at k = 12.

    Source
        The conjecture that the exercise refutes, RESTATED as above.
    """
    before, now = CYCLE[place - 1], CYCLE[place]
    start = max(abs(before), abs(now))
    for _ in range(12):
        before, now = now, polyak(now, before)
    return at_most(abs(now), rate=prefactor * Fraction(2, 3) ** 12 * start)
