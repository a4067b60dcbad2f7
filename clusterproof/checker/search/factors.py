"""Factorisation and common divisors of the kernel's polynomials, computed by python-flint."""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import Any

from clusterproof.checker.kernel.polynomials import Polynomial, divided


def irreducible(p: Polynomial) -> list[Polynomial]:
    """Return the distinct irreducible factors of a polynomial, except constants."""
    return [factor for factor, _ in factors_of(p)[1]] if p.places else []


def factors_of(p: Polynomial) -> tuple[Fraction, list[tuple[Polynomial, int]]]:
    """Factor a polynomial into a number and powers of irreducible polynomials."""
    number, found = _of_flint(p).factor()
    common = lcm(*(Fraction(value).denominator for value in p.values()))
    return Fraction(int(number), common), [
        (_polynomial(factor, p.width), int(power)) for factor, power in found
    ]


def lowest_terms(top: Polynomial, bottom: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Reduce a quotient of polynomials to lowest terms."""
    factor = _polynomial(_of_flint(top).gcd(_of_flint(bottom)), top.width)
    reduced = divided(top, factor), divided(bottom, factor)
    assert reduced[0] is not None
    assert reduced[1] is not None
    return reduced[0], reduced[1]


def _of_flint(p: Polynomial) -> Any:
    """Convert a polynomial to python-flint, multiplied by a number that makes all coefficients integers."""
    from flint import Ordering, fmpz_mpoly_ctx

    common = lcm(*(Fraction(value).denominator for value in p.values()))
    context = fmpz_mpoly_ctx.get([f"x{place}" for place in range(p.width)], Ordering.lex)
    return context.from_dict({tuple(powers): int(value * common) for powers, value in p.items()})


def _polynomial(p: Any, width: int) -> Polynomial:
    """Convert a polynomial of python-flint to a polynomial of the kernel."""
    return Polynomial.of({tuple(map(int, each)): int(value) for each, value in p.to_dict().items()}, width)
