"""Signs of polynomials on a box, from their coefficients in variables that run from 0 to infinity.

x in [low, high] is (low + high s) / (1 + s), x >= low is low + s, with s >= 0. Where no coefficient
in the s is negative, neither is the polynomial: on a box this is Bernstein's test. It is sufficient only.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from clusterproof.theory.claims.symbols import Polynomial, Symbol

Bounds = tuple[Any, Any]
"""Least and largest value, numbers or symbols of earlier quantities; None where there is none."""


def expand(polynomial: Polynomial, bounds: Sequence[Bounds]) -> tuple[Polynomial, tuple[int, ...]] | None:
    """Rewrite a polynomial in the variables s; None where a quantity without any bound occurs in it.

    The last quantity goes first, since its bounds may name those before it. The result is the polynomial times 1 + s to
    the powers that stand beside it, one for each quantity: on the face of the box where it is largest, that power of s
    decides. 0 for quantities without a largest value, or that do not occur.
    """
    count = len(bounds)
    one = Polynomial({(0,) * count: Fraction(1)})
    degrees = [0] * count
    for variable in reversed(range(count)):
        low, high = bounds[variable]
        degree = polynomial.degree(variable)
        if degree == 0:
            continue
        if low is None and high is None:
            return None
        s = Polynomial({tuple(int(i == variable) for i in range(count)): Fraction(1)})
        if low is not None and high is not None:
            inner, outer = _polynomial(low, count) + _polynomial(high, count) * s, one + s
            degrees[variable] = degree
        else:
            inner = _polynomial(low, count) + s if low is not None else _polynomial(high, count) + -s
            outer = one
        total = Polynomial({})
        for power in range(degree + 1):
            part = {
                tuple(0 if i == variable else p for i, p in enumerate(powers)): coefficient
                for powers, coefficient in polynomial.terms.items()
                if powers[variable] == power
            }
            if part:
                total = total + Polynomial(part) * inner**power * outer ** (degree - power)
        polynomial = total
    return polynomial, tuple(degrees)


def is_nonnegative(polynomial: Polynomial, bounds: Sequence[Bounds]) -> bool:
    """Whether the coefficients show that a polynomial is never negative; False decides nothing."""
    expanded = expand(polynomial, bounds)
    return expanded is not None and all(value >= 0 for value in expanded[0].terms.values())


def is_positive(polynomial: Polynomial, bounds: Sequence[Bounds]) -> bool:
    """Whether the coefficients show that a polynomial is positive, on the ends of the ranges too.

    On the face of the box where some s are 0 and others infinite the polynomial is at least the
    coefficient of that corner, so that those must be positive.
    """
    expanded = expand(polynomial, bounds)
    if expanded is None:
        return False
    terms = expanded[0].terms
    corners = itertools.product(*({0, degree} for degree in expanded[1]))
    return all(value >= 0 for value in terms.values()) and all(terms.get(corner, 0) > 0 for corner in corners)


def _polynomial(end: Any, count: int) -> Polynomial:
    """Read a bound as a polynomial.

    Raises
    ------
    TypeError
        If it is a quotient, or not exact.
    """
    if isinstance(end, Symbol):
        if list(end.bottom.terms) != [(0,) * count]:
            raise TypeError("the end of a range must be a polynomial in earlier quantities")
        (scale,) = end.bottom.terms.values()
        return Polynomial({powers: value / scale for powers, value in end.top.terms.items()})
    if isinstance(end, float):
        raise TypeError("a proof needs ranges with exact ends")
    return Polynomial({(0,) * count: Fraction(end)} if end else {})
