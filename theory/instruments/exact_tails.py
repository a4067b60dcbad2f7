"""Tails of dyadic binomial laws as exact fractions, and rational bounds on exponentials."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import comb


@lru_cache(maxsize=512)
def exponential_bounds(exponent: Fraction, terms: int = 40) -> tuple[Fraction, Fraction]:
    """Give rationals below and above exp(-exponent).

    Parameters
    ----------
    exponent
        At least 0.
    terms
        Of the series of exp(-1/n), n the power that brings the exponent to at most 1; alternating with
        decreasing terms, so that two consecutive partial sums enclose it.
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
    # rounded outwards to 30 digits: powers of long fractions are slow
    scale = 10**30
    below = Fraction(low.numerator * scale // low.denominator, scale)
    above = Fraction(-(-high.numerator * scale // high.denominator), scale)
    return below**power, above**power


def quarter_tail(count: int, sixteenths: int) -> Fraction:
    """P(Bin(count, p) <= count / 4) with p = sixteenths / 16."""
    other = 16 - sixteenths
    weights = (comb(count, k) * sixteenths**k * other ** (count - k) for k in range(count // 4 + 1))
    return Fraction(sum(weights), 16**count)


def quarter_deviation(count: int, sixteenths: int) -> Fraction:
    """P(|Bin(count, p) - count p| >= count / 4) with p = sixteenths / 16."""
    other = 16 - sixteenths
    weights = (
        comb(count, k) * sixteenths**k * other ** (count - k)
        for k in range(count + 1)
        if abs(16 * k - count * sixteenths) >= 4 * count
    )
    return Fraction(sum(weights), 16**count)
