"""Theorems for every value of their parameters, with multipliers that were found by hand."""

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import (
    Function,
    Q,
    Sides,
    Z,
    at_most,
    functions,
    iterate,
    rationals,
    suppose,
)

Share = Annotated[Fraction, rationals(0, 1, 12)]
Smooth, Convex = Annotated[Function, functions(smoothness=1)], Annotated[Function, functions()]
Curved = Annotated[Function, functions(smoothness=1, strong_convexity=lambda mu: mu)]
Step = Annotated[Fraction, rationals(0, lambda mu: 2 / (1 + mu), 12)]


def contraction(mu: Share, step: Step, f: Curved) -> Sides:
    suppose("mu < L", mu < 1)
    apart = f.start - step * f.gradient(f.start) - f.minimiser
    return at_most(apart @ apart, rate=(1 - step * mu) ** 2 * f.distance**2)


def gradient_descent(f: Smooth, rounds: int = Z[1:]) -> Sides:
    def potential(x, n):
        gap, apart = f(x) - f.minimum, x - f.minimiser
        return n * gap + apart @ apart / 2 <= f.distance**2 / 2

    x = iterate(lambda x: x - f.gradient(x), f.start, rounds, invariant=potential)
    return at_most(f(x) - f.minimum, bound=f.distance**2 / (2 * rounds))


def proximal_point(f: Convex, step: Fraction = Q[0:8:8], rounds: int = Z[1:]) -> Sides:
    suppose("step > 0", step > 0)

    def potential(x, n):
        gap, apart = f(x) - f.minimum, x - f.minimiser
        return 2 * n * step * gap + apart @ apart <= f.distance**2

    x = iterate(lambda x: f.prox(x, step), f.start, rounds, invariant=potential)
    return at_most(f(x) - f.minimum, bound=f.distance**2 / (2 * step * rounds))


def over(top: Any, bottom: Any) -> Any:
    """Return a quotient of terms, each (coefficient, exponent, ...)."""
    return [[[list(powers), value] for value, *powers in terms] for terms in (top, bottom)]


def member(*points: Any) -> dict[str, Any]:
    """Return |x|^2 / 2 from 1, which is known at 0, at 1 and at further points."""
    triplets = [[[x], [x], str(Fraction(x) ** 2 / 2)] for x in ("0", "1", *points)]
    names = ("start", "solution", "minimum", "further", "triplets")
    return dict(zip(names, (["1"], ["0"], 0, [], [triplets]), strict=True))


TWICE = over([(2, 0, 1), (-2, 1, 2)], [(1, 0, 0)])
"""2 s (1 - s mu)."""
CONTRACTION = {
    "rule": "family",
    "proofs": [{"multipliers": {"0:0,1:0": TWICE, "0:1,0:0": TWICE}}],
    "witness": {"mu": "1/2", "step": 1, "f": member()},
}
GRADIENT_DESCENT = {
    "rule": "family",
    "states": 1,
    "proofs": [
        {"multipliers": {}},
        {
            "multipliers": {
                "hypothesis 0": 1,
                "0:0,1:0": 1,
                "0:1,2:0": over([(1, 0, 1), (1, 0, 0)], [(1, 0, 0)]),
            }
        },
        {"multipliers": {"hypothesis 0": over([(1, 0, 0)], [(1, 1, 0)])}},
    ],
    "witness": {"f": member(), "rounds": 1},
}
PROXIMAL_POINT = {
    "rule": "family",
    "states": 1,
    "proofs": [
        {"multipliers": {}},
        {
            "multipliers": {
                "hypothesis 0": 1,
                "0:0,2:0": over([(2, 1, 0, 0)], [(1, 0, 0, 0)]),
                "0:1,2:0": over([(2, 1, 0, 1)], [(1, 0, 0, 0)]),
                "0:2,3:0": over([(2, 1, 0, 1), (2, 1, 0, 0)], [(1, 0, 0, 0)]),
            }
        },
        {"multipliers": {"hypothesis 0": over([(1, 0, 0, 0)], [(2, 1, 1, 0)])}},
    ],
    "witness": {"f": member("1/2"), "step": 1, "rounds": 1},
}


def wrong_potential(f: Smooth, rounds: int = Z[1:]) -> Sides:
    """Gradient descent, with n + 1 in place of n in its potential."""

    def potential(x, n):
        gap, apart = f(x) - f.minimum, x - f.minimiser
        return (n + 1) * gap + apart @ apart / 2 <= f.distance**2 / 2

    x = iterate(lambda x: x - f.gradient(x), f.start, rounds, invariant=potential)
    return at_most(f(x) - f.minimum, bound=f.distance**2 / (2 * rounds))


def gaps_and_distances(function: dict[str, Any], rounds: int) -> list[tuple[Fraction, Fraction]]:
    """Return f(x_n) - f* and |x_n - x*|^2 / 2 of gradient descent with step 1, by a function's triplets."""
    points = {tuple(map(Fraction, x)): (g, f) for x, g, f in function["triplets"][0]}
    x, found = tuple(map(Fraction, function["start"])), []
    for _ in range(rounds + 1):
        gradient, value = points[x]
        apart = sum((a - Fraction(b)) ** 2 for a, b in zip(x, function["solution"], strict=True))
        found.append((Fraction(value) - Fraction(function["minimum"]), apart / 2))
        x = tuple(a - Fraction(b) for a, b in zip(x, gradient, strict=True))
    return found


BY_HAND = {
    contraction: CONTRACTION,
    gradient_descent: GRADIENT_DESCENT,
    proximal_point: PROXIMAL_POINT,
}
WRONG_POTENTIAL = {"rule": "potential", "line": "potential", "instance": {"f": member(), "rounds": 1}}


# ---- false neighbours, with the evidence of the theorems


def contraction_less(
    mu: Share, step: Step, f: Annotated[Function, functions(smoothness=1, strong_convexity=lambda mu: mu)]
) -> Sides:
    suppose("mu < L", mu < 1)
    apart = f.start - step * f.gradient(f.start) - f.minimiser
    return at_most(apart @ apart, rate=Fraction(99, 100) * (1 - step * mu) ** 2 * f.distance**2)


def contraction_long(
    mu: Share,
    step: Annotated[Fraction, rationals(0, 2, 12)],
    f: Annotated[Function, functions(smoothness=1, strong_convexity=lambda mu: mu)],
) -> Sides:
    suppose("mu < L", mu < 1)
    apart = f.start - step * f.gradient(f.start) - f.minimiser
    return at_most(apart @ apart, rate=(1 - step * mu) ** 2 * f.distance**2)


def descent_of(share: Fraction, weight: Fraction, step: int, more: int) -> Callable[..., Sides]:
    """Return gradient descent with a bound, a potential, a step or a start that is other than in the theorem."""

    def statement(f: Smooth, rounds: int = Z[1:]) -> Sides:
        def potential(x, n):
            gap, apart = f(x) - f.minimum, x - f.minimiser
            return (n + more) * gap + weight * (apart @ apart) <= weight * f.distance**2

        x = iterate(lambda x: x - step * f.gradient(x), f.start, rounds, invariant=potential)
        return at_most(f(x) - f.minimum, bound=share * f.distance**2 / (2 * rounds))

    return statement


HALF = Fraction(1, 2)
FALSE = {
    "a smaller rate": (contraction_less, CONTRACTION),
    "longer steps": (contraction_long, CONTRACTION),
    "a smaller bound": (descent_of(Fraction(99, 100), HALF, 1, 0), GRADIENT_DESCENT),
    "a smaller weight": (descent_of(Fraction(1), Fraction(99, 200), 1, 0), GRADIENT_DESCENT),
    "a step of 2 / L": (descent_of(Fraction(1), HALF, 2, 0), GRADIENT_DESCENT),
    "a potential that fails at the start": (descent_of(Fraction(1), HALF, 1, 1), GRADIENT_DESCENT),
}
"""By name, a false statement and evidence of the true one next to it."""
