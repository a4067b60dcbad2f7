"""Sums of squares: eight lemmas that are proved, their false neighbours, and proofs that must be refused."""

import itertools
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest

from clusterproof.checker.kernel.polynomials import Polynomial
from clusterproof.checker.kernel.positivity import is_sum_of_squares
from clusterproof.checker.search.squares import find_blocks
from clusterproof.common import generator
from clusterproof.theorem import (
    Sides,
    at_least,
    at_most,
    matrices,
    rationals,
    reals,
    suppose,
    vectors,
)
from tests.checker.claims.attempts import verdict_on

Real = Annotated[Fraction, rationals(-2, 2, 4, upwards=True, downwards=True)]
Positive = Annotated[Fraction, rationals(0, 2, 4, upwards=True)]
Plane = Annotated[np.ndarray, vectors(2)]


def test_arrays_are_not_of_the_language() -> None:
    """They are sums of squares, and the kernel reads no NumPy: they are tried."""
    Short = Annotated[np.ndarray, vectors(2, reals(-1, 1))]

    def norms(x: Short, y: Short) -> Sides:
        return at_most((x - y) @ (x - y), bound=2 * (x @ x) + 2 * (y @ y))

    def schur(B: Annotated[np.ndarray, matrices(2, 2)], x: Plane, y: Plane) -> Sides:
        A = B @ B.T
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
    """Random quadratics under random hypotheses, each in both directions, compared with their values on a grid."""
    stream = generator(0, "random polynomials")
    grid = itertools.product([Fraction(each, 4) for each in range(-8, 9, 2)], repeat=2)
    points = [(x, y) for x, y in grid if y >= 0]
    certified = 0
    for _ in range(8):
        target, *sides = (tuple(map(int, stream.integers(-2, 4, size=6))) for _ in range(3))
        for left, right in itertools.permutations(sides):

            def state(x: Real, y: Positive) -> Sides:
                suppose("left <= right", quadratic(left, x, y) <= quadratic(right, x, y))  # noqa: B023 - used at once
                return at_least(quadratic(target, x, y), nothing=0)  # noqa: B023 - used at once

            there = [(x, y) for x, y in points if quadratic(left, x, y) <= quadratic(right, x, y)]
            if there and verdict_on(state, evaluations=40).verdict == "certified":
                certified += 1
                assert all(quadratic(target, x, y) >= 0 for x, y in there)
    assert certified > 1


def test_a_found_proof_is_refused_with_another_target() -> None:
    target = Polynomial.of({(2, 0): 1, (1, 1): -2, (0, 2): 1}, 2)  # (x - y)^2
    blocks = find_blocks(target, [])
    assert blocks is not None
    assert is_sum_of_squares(target, [], blocks, 2)
    less = Polynomial.of({**target, (0, 2): Fraction(999, 1000)}, 2)
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
        return find_blocks(Polynomial.of({**target, (0, 0): c}, 2), []) is not None

    assert found(least + Fraction(1, 10**4))
    assert not found(least - Fraction(1, 10**4))


def test_a_proof_of_a_claim_does_not_depend_on_claims_with_fewer_quantities() -> None:
    """The same polynomial in x, once with x alone and once with a further quantity, in one process."""

    def alone(x: Real) -> Sides:
        return at_least(x * x * x * x - 2 * x * x * x + 5 * x * x - 4 * x + 1, 0 * x)

    def beside(x: Real, y: Real) -> Sides:
        return at_least(x * x * x * x - 2 * x * x * x + 5 * x * x - 4 * x + 1, 0 * x + 0 * y)

    for function in (alone, beside, alone):
        assert verdict_on(function).verdict == "certified"
