"""Sums of squares: eight lemmas that are proved, their false neighbours, and proofs that must be refused."""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest

from clusterproof.algorithms import generator
from clusterproof.theorem import (
    Sides,
    at_least,
    at_most,
    psd,
    rationals,
    reals,
    sequences,
    suppose,
    vectors,
)
from clusterproof.theory.kernel.polynomials import Polynomial
from clusterproof.theory.kernel.positivity import is_sum_of_squares
from clusterproof.theory.search.squares import find_blocks
from tests.theory.claims.attempts import verdict_on

Real = Annotated[Fraction, rationals(-2, 2, 4, upwards=True, downwards=True)]
Positive = Annotated[Fraction, rationals(0, 2, 4, upwards=True)]
Plane = Annotated[np.ndarray, vectors(2)]
Triple = Annotated[tuple[Fraction, ...], sequences(rationals(-2, 2, 4, upwards=True, downwards=True), 3)]
Factor = int | Fraction


def inner(x: Sequence[Fraction], y: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def young(c: Factor) -> Callable[..., Sides]:
    def state(
        a: Real, b: Real, e: Annotated[Fraction, rationals(Fraction(1, 4), 2, 4, upwards=True)]
    ) -> Sides:
        return at_most(a * b, first=c * a * a / (2 * e), second=c * e * b * b / 2)

    return state


def cauchy_schwarz(c: Factor) -> Callable[..., Sides]:
    def state(x: Triple, y: Triple) -> Sides:
        return at_most(inner(x, y) ** 2, bound=c * inner(x, x) * inner(y, y))

    return state


def jensen(c: Factor) -> Callable[..., Sides]:
    def state(w: Positive, u: Positive, v: Positive, x: Triple) -> Sides:
        weights, total = (w, u, v), w + u + v
        return at_most(
            inner(weights, x) ** 2, bound=c * total * sum(a * b * b for a, b in zip(weights, x, strict=True))
        )

    return state


def means(c: Factor) -> Callable[..., Sides]:
    def state(x: Positive, y: Positive, z: Positive) -> Sides:
        return at_most(x * y * z, bound=c * ((x + y + z) / 3) ** 3)

    return state


def cocoercivity(c: Factor) -> Callable[..., Sides]:
    def state(
        L: Positive, curvature: Annotated[Fraction, rationals(0, lambda L: L, 8)], x: Real, y: Real
    ) -> Sides:
        gap = curvature * (x - y)
        return at_most(gap**2, bound=c * L * gap * (x - y))

    return state


def descent(c: Factor) -> Callable[..., Sides]:
    def state(
        L: Positive, curvature: Annotated[Fraction, rationals(0, lambda L: L, 8)], x: Real, y: Real
    ) -> Sides:
        here, there = curvature * x * x / 2, curvature * y * y / 2
        return at_most(there, value=here, slope=curvature * x * (y - x), quadratic=c * L * (y - x) ** 2 / 2)

    return state


def contraction(c: Factor) -> Callable[..., Sides]:
    def state(mu: Positive, curvature: Positive, L: Positive, s: Positive) -> Sides:
        suppose("mu <= curvature <= L", mu <= curvature)
        suppose("curvature <= L", curvature <= L)
        suppose("s <= 2 / (mu + L)", s * (mu + L) <= 2)
        return at_most((1 - s * curvature) ** 2, bound=c * (1 - s * mu) ** 2)

    return state


def stochastic_gradient(c: Factor) -> Callable[..., Sides]:
    def state(mu: Positive, curvature: Positive, L: Positive, s: Positive, x: Real, noise: Real) -> Sides:
        suppose("mu <= curvature", mu <= curvature)
        suppose("curvature <= L", curvature <= L)
        suppose("s L <= 1", s * L <= 1)
        squares = [(x - s * (curvature * x + sign * noise)) ** 2 for sign in (1, -1)]
        return at_most(sum(squares) / 2, contraction=(1 - s * mu) * x * x, noise=c * s * s * noise * noise)

    return state


LEMMAS = {
    "Young": young,
    "Cauchy-Schwarz": cauchy_schwarz,
    "Jensen": jensen,
    "means of three": means,
    "co-coercivity": cocoercivity,
    "descent": descent,
    "contraction": contraction,
    "stochastic gradient": stochastic_gradient,
}


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("name", LEMMAS)
def test_a_lemma_is_certified_and_with_one_percent_less_it_is_violated(name: str) -> None:
    true, false = LEMMAS[name](1), LEMMAS[name](Fraction(99, 100))
    verdict = verdict_on(true, evaluations=50)
    assert (verdict.verdict, verdict.proof, verdict.exhausted) == ("certified", "squares", True)
    assert "sums of squares" in verdict.reason
    assert verdict_on(false).verdict == "violated"


def test_arrays_are_not_of_the_language() -> None:
    """They are sums of squares, and the kernel reads no NumPy: they are tried."""
    Short = Annotated[np.ndarray, vectors(2, reals(-1, 1))]

    def norms(x: Short, y: Short) -> Sides:
        return at_most((x - y) @ (x - y), bound=2 * (x @ x) + 2 * (y @ y))

    def schur(A: Annotated[np.ndarray, psd(2)], x: Plane, y: Plane) -> Sides:
        return at_most((x @ A @ y) ** 2, bound=(x @ A @ x) * (y @ A @ y))

    def entries(x: Plane, y: Plane) -> Sides:
        return at_most(2 * x * y, squares=x * x + y * y)

    found = [verdict_on(each, evaluations=50) for each in (norms, schur, entries)]
    assert {(each.verdict, each.proof) for each in found} == {("consistent", None)}
    assert all("NumPy" in each.outside for each in found)


# ---- hypotheses are used in their direction only, and by the lines that have them


def quadratic(c: tuple[int, ...], x: Fraction, y: Fraction) -> Fraction:
    return c[0] + c[1] * x + c[2] * y + c[3] * x * x + c[4] * x * y + c[5] * y * y


@pytest.mark.slow(reason="several seconds")
def test_what_is_certified_is_nowhere_negative() -> None:
    """Random quadratics under random hypotheses, compared with their values on a grid."""
    stream = generator(0, "random polynomials")
    grid = itertools.product([Fraction(each, 4) for each in range(-8, 9, 2)], repeat=2)
    points = [(x, y) for x, y in grid if y >= 0]
    certified = 0
    for _ in range(40):
        target, left, right = (tuple(map(int, stream.integers(-2, 4, size=6))) for _ in range(3))

        def state(x: Real, y: Positive) -> Sides:
            suppose("left <= right", quadratic(left, x, y) <= quadratic(right, x, y))  # noqa: B023 - used at once
            return at_least(quadratic(target, x, y), nothing=0)  # noqa: B023 - used at once

        if verdict_on(state, evaluations=40).verdict == "certified":
            certified += 1
            for x, y in points:
                assert quadratic(left, x, y) > quadratic(right, x, y) or quadratic(target, x, y) >= 0
    assert certified > 3


def test_a_found_proof_is_refused_with_another_target() -> None:
    target: dict[tuple[int, ...], Fraction] = {
        (2, 0): Fraction(1),
        (1, 1): Fraction(-2),
        (0, 2): Fraction(1),
    }  # (x - y)^2
    blocks = find_blocks(target, [])
    assert blocks is not None
    assert is_sum_of_squares(target, [], blocks, 2)
    less: Polynomial = target | {(0, 2): Fraction(999, 1000)}
    assert not is_sum_of_squares(less, [], blocks, 2)
    assert find_blocks(less, []) is None


def test_the_least_constant_is_that_of_a_program_stated_in_cvxpy() -> None:
    """x^4 + y^4 + c >= 3 x^2 y + 2 x y: the least c of a Gram matrix, and what is proved above and below it."""
    import cvxpy

    monomials = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
    target: dict[tuple[int, ...], int] = {(4, 0): 1, (0, 4): 1, (2, 1): -3, (1, 1): -2}
    matrix, constant = cvxpy.Variable((6, 6), PSD=True), cvxpy.Variable()
    sums: dict[tuple[int, ...], Any] = {}
    for (i, a), (j, b) in itertools.product(enumerate(monomials), repeat=2):
        total = (a[0] + b[0], a[1] + b[1])
        sums[total] = sums.get(total, 0) + matrix[i, j]
    equations = [
        side == (constant if powers == (0, 0) else target.get(powers, 0)) for powers, side in sums.items()
    ]
    program: Any = cvxpy.Problem(cvxpy.Minimize(constant), equations)
    least = Fraction(float(program.solve(solver=cvxpy.CLARABEL))).limit_denominator(10**9)

    def found(c: Fraction) -> bool:
        return find_blocks({**{p: Fraction(v) for p, v in target.items()}, (0, 0): c}, []) is not None

    assert found(least + Fraction(1, 10**4))
    assert not found(least - Fraction(1, 10**4))
