"""Format numbers for pages."""

from __future__ import annotations

import math

from clusterproof.checker.report.sentences import digits_apart


def many(count: int, noun: str) -> str:
    """Return a count with its noun, for example "1 round" or "3 rounds"."""
    return f"{count} {noun}{'s' * (count != 1)}"


def apart(first: float, second: float) -> tuple[str, str]:
    """Format two numbers with three digits, or with enough digits to distinguish them."""
    digits = digits_apart(first, second, 3)
    return short(first, digits), short(second, digits)


def short(number: float, digits: int = 3) -> str:
    """Format a number with the given number of digits, and without leading zeros in the exponent."""
    if 1e-3 <= abs(number) < 1e6:
        return f"{float(f'{number:.{digits}g}'):.15g}"
    mantissa, mark, exponent = f"{number:.{digits - 1}e}".partition("e")
    return f"{float(mantissa):.15g}e{int(exponent)}" if mark and number else f"{number:g}"


def power_of_ten(log: float) -> str:
    """Format a probability, given its logarithm, rounded up to a power of ten."""
    return f"1e{math.ceil(log / math.log(10))}"
