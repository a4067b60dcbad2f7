"""A polynomial inequality, its box and its hypotheses, as a question for sums of squares."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from clusterproof.theory.claims.polynomial_signs import Bounds, is_positive
from clusterproof.theory.claims.symbols import Condition, Polynomial, Powers, Symbol
from clusterproof.theory.search.squares import find_blocks


def is_certified(excess: Any, bounds: Sequence[Bounds], hypotheses: Sequence[Condition]) -> bool:
    """Return whether sums of squares show that a quotient of polynomials is nonnegative.

    Parameters
    ----------
    excess
        What must be nonnegative.
    bounds
        Least and largest value of each symbol.
    hypotheses
        Comparisons of symbols that hold wherever the statement speaks.
    """
    if not isinstance(excess, Symbol):
        return False
    count = len(bounds)
    generators = [
        each.terms
        for each in (*_of_box(bounds), *(_of_hypothesis(condition, bounds) for condition in hypotheses))
        if each is not None and each.terms
    ]

    def is_nonnegative(polynomial: Polynomial) -> bool:
        return find_blocks(polynomial.terms, generators) is not None

    def is_above_0(polynomial: Polynomial) -> bool:
        """Return whether a polynomial is shown to be at least a hundredth of its value at 0, a positive one."""
        constant = polynomial.terms.get((0,) * count, Fraction(0))
        return constant > 0 and is_nonnegative(polynomial + Polynomial({(0,) * count: -constant / 100}))

    for top, bottom in ((excess.top, excess.bottom), (-excess.top, -excess.bottom)):
        positive = is_positive(bottom, bounds) or _is_positive_monomial(bottom, bounds, hypotheses)
        if positive or is_above_0(bottom):
            return is_nonnegative(top)
    return False


def _is_positive_monomial(
    bottom: Polynomial, bounds: Sequence[Bounds], hypotheses: Sequence[Condition]
) -> bool:
    """Return whether a polynomial is a positive multiple of symbols that are supposed to be positive."""
    if len(bottom.terms) != 1:
        return False
    ((powers, value),) = bottom.terms.items()
    positive = {
        next(i for i, power in enumerate(only) if power)
        for condition in hypotheses
        if condition.strict and not condition.of_line and condition.excess is not None
        for generator in [_as_polynomial(-condition.excess)]
        if generator is not None and len(generator.terms) == 1
        for only, factor in generator.terms.items()
        if sum(only) == 1 and factor > 0
    }
    return value > 0 and all(
        power == 0 or i in positive or _is_above_0(bounds[i]) for i, power in enumerate(powers)
    )


def _is_above_0(bounds: Bounds) -> bool:
    return type(bounds[0]) in (int, Fraction) and bounds[0] > 0


def _of_box(bounds: Sequence[Bounds]) -> list[Polynomial | None]:
    """Return what the ends of the ranges say is nonnegative."""
    count = len(bounds)
    one = Polynomial({(0,) * count: Fraction(1)})
    generators = []
    for index, (low, high) in enumerate(bounds):
        symbol = Symbol(Polynomial({_unit(index, count): Fraction(1)}), one)
        for end, sign in ((low, 1), (high, -1)):
            if isinstance(end, Symbol) or type(end) in (int, Fraction):
                generators.append(_as_polynomial(symbol - end if sign > 0 else end - symbol))
    return generators


def _unit(index: int, count: int) -> Powers:
    return tuple(int(i == index) for i in range(count))


def _of_hypothesis(condition: Condition, bounds: Sequence[Bounds]) -> Polynomial | None:
    """Return a polynomial that is nonnegative where a hypothesis of all lines holds; None if there is none."""
    if condition.excess is None or condition.of_line:
        return None
    gap = -condition.excess
    if (polynomial := _as_polynomial(gap)) is not None:
        return polynomial
    for sign in (1, -1):
        bottom = gap.bottom if sign > 0 else -gap.bottom
        if is_positive(bottom, bounds):
            return gap.top if sign > 0 else -gap.top
    return gap.top * gap.bottom  # the quotient times the square of its denominator


def _as_polynomial(quotient: Symbol) -> Polynomial | None:
    """Return a quotient whose denominator is a number as a polynomial."""
    if len(quotient.bottom.terms) != 1:
        return None
    ((powers, scale),) = quotient.bottom.terms.items()
    if any(powers):
        return None
    return Polynomial({each: value / scale for each, value in quotient.top.terms.items()})
