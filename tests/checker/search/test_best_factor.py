"""The best factor of a bound, as a formula that theory gives by another way."""

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import pytest
from families_by_hand import Curved, Share, Smooth
from kernel_statements import executed, frozen_of

from clusterproof.checker.freeze import freeze
from clusterproof.checker.search.best_factor import best_factor
from clusterproof.theorem import Function, Sides, Z, at_least, at_most, claim, functions, iterate, suppose

Strong = Annotated[Function, functions(strong_convexity=lambda mu: mu)]
Rough = Annotated[Function, functions(smoothness=1, convex=False)]
POINTS = [(Fraction(1, 3), Fraction(2, 5)), (Fraction(1, 7), Fraction(9, 10))]


def gradient_step(mu: Share, step: Share, f: Curved) -> Sides:
    """A step contracts by (1 - s mu)^2, s <= 1: as on mu |x|^2 / 2."""
    suppose("mu < L", mu < 1)
    apart = f.start - step * f.gradient(f.start) - f.minimiser
    return at_most(apart @ apart, f.distance**2)


def proximal_step(mu: Share, step: Share, f: Strong) -> Sides:
    """A proximal step contracts by 1 / (1 + s mu)^2: as on mu |x|^2 / 2."""
    suppose("step > 0", step > 0)
    apart = f.prox(f.start, step) - f.minimiser
    return at_most(apart @ apart, f.distance**2)


def descent(step: Share, f: Rough) -> Sides:
    """f(x - s g) <= f(x) - s (1 - s / 2) |g|^2: s / 4 times 4 - 2 s."""
    g = f.gradient(f.start)
    return at_most(f(f.start - step * g), value=f(f.start), gain=-step / 4 * (g @ g))


def compressed(alpha: Share, step: Share, f: Smooth) -> Sides:
    """|(1 - C)(e + s g)|^2 <= (1 - a / 2)|e|^2 + (1 - a)(2 - a) / a |s g|^2, by Young, where e and g are parallel."""
    suppose("0 < alpha < 1", 0 < alpha < 1)
    error, g, missed = f.point() - f.minimiser, f.gradient(f.start), f.point() - f.minimiser
    v = error + step * g
    suppose("compressor", missed @ missed <= (1 - alpha) * (v @ v))
    memory = (1 - alpha / 2) * (error @ error)
    return at_most(missed @ missed, memory=memory, gradient=step**2 / alpha * (g @ g))


def steep(mu: Share, f: Curved) -> Sides:
    """|grad f(x)|^2 >= mu^2 |x - x*|^2: as on mu |x|^2 / 2."""
    suppose("mu < L", mu < 1)
    return at_least(f.gradient(f.start) @ f.gradient(f.start), f.distance**2)


def every_round(f: Smooth, rounds: int = Z[1:]) -> Sides:
    """The potential and f(x_N) - f* <= |x_N - x*|^2 / 2 together give |x_0 - x*|^2 / (2 (N + 1))."""

    def potential(x: Any, n: Any) -> Any:
        apart = x - f.minimiser
        return n * (f(x) - f.minimum) + apart @ apart / 2 <= f.distance**2 / 2

    x = iterate(lambda x: x - f.gradient(x), f.start, rounds, invariant=potential)
    return at_most(f(x) - f.minimum, bound=f.distance**2)


@pytest.mark.parametrize(
    ("statement", "of", "least", "expected"),
    [
        (gradient_step, "", True, lambda mu, step: (1 - step * mu) ** 2),
        (proximal_step, "", True, lambda mu, step: 1 / (1 + step * mu) ** 2),
        (descent, "gain", False, lambda _, step: 4 - 2 * step),
        (compressed, "gradient", True, lambda alpha, _: (1 - alpha) * (2 - alpha)),
        (steep, "", False, lambda mu, _: mu**2),
        (every_round, "", True, lambda rounds, _: 1 / (2 * (rounds + 1))),
    ],
)
def test_the_best_factor_is_known(
    statement: Callable[..., Sides], of: str, least: bool, expected: Callable[..., Fraction]
) -> None:
    formula = best_factor(frozen_of(statement), of, least=least)
    assert formula is not None
    value = executed(f"def value(mu, alpha, rounds, step): return {formula}", "formula")["value"]
    for first, step in POINTS:
        assert value(first, first, first, step) == expected(first, step)


def below(f: Smooth) -> Sides:
    """f(x) - f* <= |x - x*|^2 / 2."""
    return at_most(f(f.start) - f.minimum, distance=f.distance**2 / 2)


def above(step: Share, f: Smooth) -> Sides:
    """s |g|^2 <= 2 s (f(x) - f*)."""
    g = f.gradient(f.start)
    return at_most(step * (g @ g), gap=f(f.start) - f.minimum)


@pytest.mark.usefixtures("registry")
def test_a_term_of_one_line_gets_its_factor() -> None:
    stated = claim("toy/two-lines")(below)
    stated.line("above")(above)
    assert best_factor(freeze(stated, compared=False), "gap", least=True) == "2*step"
    assert best_factor(freeze(stated, compared=False), "", least=True) is None


def attained(mu: Share, f: Curved) -> Sides:
    """Its best factor is 1 for every mu, which is no formula."""
    suppose("mu < L", mu < 1)
    g = f.gradient(f.start)
    return at_most(g @ g, f.distance**2)


def many_rounds(f: Smooth, rounds: int = Z[1:]) -> Sides:
    x = iterate(lambda x: x - f.gradient(x), f.start, rounds, invariant=lambda x, n: n >= 0)
    return at_most(f(x) - f.minimum, f.distance**2)


def power_of_a_rate(mu: Share, f: Curved, rounds: int = Z[1:]) -> Sides:
    """Its best factor is (1 - mu)^(2 N), a number of the loop."""
    suppose("mu < L", mu < 1)

    def potential(state: Any, n: Any) -> Any:
        apart = state[0] - f.minimiser
        return state[1] >= 0, apart @ apart <= state[1] * f.distance**2

    start = f.start, 1
    x, _ = iterate(
        lambda s: (s[0] - f.gradient(s[0]), (1 - mu) ** 2 * s[1]), start, rounds, invariant=potential
    )
    return at_most((x - f.minimiser) @ (x - f.minimiser), f.distance**2)


def other_way(mu: Share, f: Curved) -> Sides:
    suppose("mu < L", mu < 1)
    return at_least(f.gradient(f.start) @ f.gradient(f.start), mu**2 * f.distance**2)


def no_bound(f: Smooth) -> Sides:
    return at_most(f.minimum - f(f.start), bound=0 * f.minimum)


@pytest.mark.parametrize("statement", [attained, many_rounds, power_of_a_rate, other_way, no_bound])
def test_no_formula_is_guessed(statement: Callable[..., Sides]) -> None:
    assert best_factor(frozen_of(statement), "", least=True) is None
