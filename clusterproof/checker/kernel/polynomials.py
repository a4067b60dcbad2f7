"""Polynomials in symbols: integer coefficients with a common denominator, and exponents packed into one integer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from heapq import heapify, heappop, heappush
from math import gcd
from operator import or_
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused, spend

BITS = 16
"""Number of bits of a packed exponent. The highest bit is always 0, so sums do not overflow into the next exponent."""
LARGEST = 1 << (BITS - 2)
"""Every exponent of a factor must be smaller than this number."""
ONE = {0: 1}
"""Numerators of the polynomial 1."""


class Polynomial(Mapping[tuple[int, ...], Fraction]):
    """A polynomial, which is also a mapping from exponents to nonzero coefficients.

    Parameters
    ----------
    numerators
        Nonzero integers, indexed by packed exponents.
    denominator
        A positive integer.
    width
        Number of symbols.
    """

    __slots__ = ("denominator", "numerators", "width")

    def __init__(self, numerators: dict[int, int], denominator: int, width: int) -> None:
        if denominator != 1:
            spend(len(numerators) * (denominator.bit_length() >> 6) ** 2 >> 9)
        if denominator != 1 and (common := gcd(denominator, *numerators.values())) != 1:
            numerators = {powers: value // common for powers, value in numerators.items()}
            denominator //= common
        self.numerators, self.denominator, self.width = numerators, denominator, width

    @classmethod
    def of(cls, terms: Mapping[tuple[int, ...], int | Fraction], width: int) -> Polynomial:
        """Build a polynomial from its coefficients, indexed by exponents."""
        return of_terms(terms.items(), width)

    def __getitem__(self, powers: tuple[int, ...]) -> Fraction:
        packed = sum(power << BITS * place for place, power in enumerate(powers))
        return Fraction(self.numerators[packed], self.denominator)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return (tuple(_power(packed, place) for place in range(self.width)) for packed in self.numerators)

    def __len__(self) -> int:
        return len(self.numerators)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Polynomial:
            return NotImplemented
        return self.numerators == other.numerators and self.denominator == other.denominator

    def __hash__(self) -> int:
        return hash((frozenset(self.numerators.items()), self.denominator))

    def __neg__(self) -> Polynomial:
        return plus(constant(0, self.width), self, -1)

    @property
    def places(self) -> set[int]:
        """Indices of the symbols that occur in the polynomial."""
        spend((len(self) >> 3) + (self.width >> 2))
        used = reduce(or_, self.numerators, 0).to_bytes(self.width * BITS // 8, "little")
        return {place // (BITS // 8) for place, byte in enumerate(used) if byte}

    def parts(self, place: int) -> dict[int, Polynomial]:
        """Return the coefficient of each power of a symbol, as polynomials in the other symbols."""
        spend((len(self) >> 3) + len(self) * (self.width >> 8))
        found: dict[int, dict[int, int]] = {}
        for packed, value in self.numerators.items():
            power = _power(packed, place)
            found.setdefault(power, {})[packed - (power << BITS * place)] = value
        return {power: Polynomial(each, self.denominator, self.width) for power, each in found.items()}

    def solved(self, place: int) -> tuple[Fraction, Polynomial] | None:
        """Return a number c and r such that the polynomial equals c (x - r), or None if this is impossible."""
        parts = self.parts(place)
        factor = parts.get(1)
        if factor is None or parts.keys() - {0, 1} or factor.places:
            return None
        exact = Fraction(factor.numerators[0], factor.denominator)
        nothing = constant(0, self.width)
        return exact, plus(nothing, parts.get(0, nothing), -1 / exact)


def _power(packed: int, place: int) -> int:
    return packed >> BITS * place & (1 << BITS) - 1


@lru_cache
def _mask(bit: int, width: int) -> int:
    """Return the integer in which only the given bit of every packed exponent is set."""
    return sum(1 << BITS * place + bit for place in range(width))


def _words(p: Polynomial) -> int:
    """Return the length of the longest coefficient in 64-bit words, rounded down."""
    return max(p.denominator.bit_length(), *map(int.bit_length, p.numerators.values()), 0) >> 6


def of_terms(terms: Iterable[tuple[Sequence[int], Any]], width: int) -> Polynomial:
    """Build a polynomial from pairs of exponents and coefficients."""
    total = constant(0, width)
    for powers, value in terms:
        if len(powers) != width or not all(0 <= power < LARGEST for power in powers):
            raise Refused("a polynomial in other symbols, or with an exponent that is too large")
        exact = Fraction(value)
        packed = sum(power << BITS * place for place, power in enumerate(powers))
        total = plus(total, Polynomial({packed: exact.numerator} if exact else {}, exact.denominator, width))
    return total


def constant(value: int | Fraction, width: int) -> Polynomial:
    """Convert a number to a polynomial."""
    spend(1 + width // 8)
    exact = Fraction(value)
    return Polynomial({0: exact.numerator} if exact else {}, exact.denominator, width)


def plus(p: Polynomial, q: Polynomial, factor: int | Fraction = 1) -> Polynomial:
    """Return p + factor q."""
    above, below = factor.numerator, factor.denominator * q.denominator
    common = gcd(p.denominator, below)
    left, right = below // common, above * (p.denominator // common)
    longest = 1 + max(_words(p), _words(q)) + (left.bit_length() + right.bit_length() >> 6)
    spend(1 + (len(p) // 8 + len(q) if left == 1 else len(p) + len(q)) + (len(p) + len(q)) * longest**2 // 64)
    total = dict(p.numerators) if left == 1 else {k: v * left for k, v in p.numerators.items()}
    for powers, value in q.numerators.items():
        if entry := total.get(powers, 0) + right * value:
            total[powers] = entry
        else:
            total.pop(powers, None)
    return Polynomial(total, p.denominator * left, p.width)


def times(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return p q."""
    for one, other in ((p, q), (q, p)):
        if one.denominator == 1 and one.numerators == ONE:
            spend(1)
            return other
    spend((len(p) + len(q)) >> 3)
    cost = (1 + p.width // 8) + (1 + _words(p)) * (1 + _words(q))
    spend(2 + len(p) * len(q) * cost // 4)
    if reduce(or_, p.numerators, reduce(or_, q.numerators, 0)) & _mask(BITS - 2, p.width):
        raise Refused(f"an exponent of {LARGEST} or more")
    total: dict[int, int] = {}
    get, others = total.get, list(q.numerators.items())
    for a, u in p.numerators.items():
        for b, v in others:
            total[a + b] = get(a + b, 0) + u * v
    kept = {powers: value for powers, value in total.items() if value}
    return Polynomial(kept, p.denominator * q.denominator, p.width)


def divided(p: Polynomial, q: Polynomial) -> Polynomial | None:
    """Return p / q (q != 0) if it is a polynomial, otherwise None.

    The division uses leading terms. If the coefficients of q have no common divisor, the quotient has integer
    coefficients (Gauss's lemma). If the quotient is a polynomial, its exponents are at most the exponents of p. If the
    highest bit of an exponent occurs, the quotient is therefore not a polynomial.
    """
    spend(len(q) * _words(q) ** 2 >> 9)
    content = gcd(*q.numerators.values())
    lead, guard = max(q.numerators), _mask(BITS - 1, p.width)
    first, *others = sorted(((k, v // content) for k, v in q.numerators.items()), reverse=True)
    rest, found = dict(p.numerators), dict[int, int]()
    waiting = [-powers for powers in rest]
    heapify(waiting)
    cost = 2 + len(q) * (1 + p.width // 8 + (1 + _words(q)) * (1 + _words(p))) // 4
    while rest:
        spend(cost)
        top = -heappop(waiting)
        if (value := rest.pop(top, 0)) == 0:
            continue
        factor, left = divmod(value, first[1])
        if left or ((top | guard) - lead) & guard != guard:
            return None
        powers = top - lead
        found[powers] = factor
        for k, v in others:
            if (k + powers) & guard:
                return None
            if k + powers not in rest:
                heappush(waiting, -(k + powers))
                rest[k + powers] = -factor * v
            elif entry := rest[k + powers] - factor * v:
                rest[k + powers] = entry
            else:
                del rest[k + powers]
    scaled = Polynomial(found, p.denominator * content, p.width)
    return plus(constant(0, p.width), scaled, q.denominator)


def raised(p: Polynomial, n: int, width: int) -> Polynomial:
    """Return p^n for n >= 0."""
    result = constant(1, width)
    while n:
        result = times(result, p) if n & 1 else result
        p, n = (times(p, p) if n > 1 else p), n >> 1
    return result
