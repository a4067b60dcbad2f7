"""Numbers in claims that are proved with symbols: their ranges, and bounds of exp(-x)."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import rationals

Number = Annotated[Any, rationals(-2, 2, 2, upwards=True, downwards=True)]
"""Any number, which is a symbol in a proof."""
NotNegative = Annotated[Any, rationals(0, 2, 2, upwards=True)]
Positive = Annotated[Any, rationals(Fraction(1, 2), 2, 2, upwards=True)]
"""A number that can represent any positive number, because no expression divides by it, or because units are free."""
Share = Annotated[Any, rationals(0, 1, 4)]
AtLeastOne = Annotated[Any, rationals(1, 3, 2, upwards=True)]


def exponential_bounds(exponent: Fraction, terms: int = 40) -> tuple[Fraction, Fraction]:
    """Return a fraction below and a fraction above exp(-exponent), which agree to 30 digits.

    Parameters
    ----------
    exponent
        The exponent, at least 0.
    terms
        Number of terms in the series of exp(-exponent / n), where n is the smallest integer with exponent / n at most
        1. The terms alternate and decrease, so two consecutive partial sums enclose the value.
    """
    power = max(1, -(-exponent.numerator // exponent.denominator))
    base = exponent / power
    term = total = Fraction(1)
    sums = [total]
    for k in range(1, terms):
        term *= -base / k
        total += term
        sums.append(total)
    low, high = sorted(sums[-2:])
    # round outwards to 30 digits, because powers of long fractions are slow
    scale = 10**30
    below = Fraction(low.numerator * scale // low.denominator, scale)
    above = Fraction(-(-high.numerator * scale // high.denominator), scale)
    return below**power, above**power
