"""Polynomials as coefficients by powers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TypeAlias

Powers: TypeAlias = tuple[int, ...]
Terms: TypeAlias = Mapping[Powers, Fraction]
"""Coefficient, not zero, for the powers of each variable."""


def product(first: Terms, second: Terms) -> dict[Powers, Fraction]:
    """Multiply two polynomials."""
    total: dict[Powers, Fraction] = {}
    for left, a in first.items():
        for right, b in second.items():
            powers = tuple(p + q for p, q in zip(left, right, strict=True))
            total[powers] = total.get(powers, Fraction(0)) + a * b
    return {powers: value for powers, value in total.items() if value}


def product_of(factors: Iterable[Terms], variables: int) -> dict[Powers, Fraction]:
    """Multiply polynomials; 1 if there is none."""
    result = {(0,) * variables: Fraction(1)}
    for each in factors:
        result = product(result, each)
    return result


def combination(coefficients: Iterable[Fraction], polynomials: Iterable[Terms]) -> dict[Powers, Fraction]:
    """Add multiples of polynomials."""
    total: dict[Powers, Fraction] = {}
    for factor, polynomial in zip(coefficients, polynomials, strict=True):
        for powers, value in polynomial.items():
            total[powers] = total.get(powers, Fraction(0)) + factor * value
    return {powers: value for powers, value in total.items() if value}


def degree(polynomial: Terms) -> int:
    """Largest sum of powers."""
    return max(map(sum, polynomial), default=0)
