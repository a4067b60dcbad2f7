"""A quadratic form whose coefficients are quotients of symbols, as a sum of squares times nonnegative factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import combinations
from math import lcm
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.multipliers import Need
from clusterproof.checker.kernel.polynomials import Polynomial, constant, divided, plus, times
from clusterproof.checker.kernel.quotients import Quotient

TRIED = 400
"""Largest number of eliminations to try."""


class Ratios:
    """Reduced quotients of polynomials, as pairs of flint's polynomials with integer coefficients."""

    def __init__(self, width: int) -> None:
        from flint import Ordering, fmpz_mpoly_ctx

        self._context: Any = fmpz_mpoly_ctx.get([f"x{place}" for place in range(width)], Ordering.lex)
        self._width = width
        self.one = self._context.constant(1)

    def of(self, value: Any) -> tuple[Any, Any]:
        """Return a number or quotient as such a pair."""
        if type(value) is Quotient:
            (top, below), (bottom, above) = self._whole(value.top), self._whole(value.bottom)
            return self.reduced(top * above, bottom * below)
        exact = Fraction(value)
        return self._context.constant(exact.numerator), self._context.constant(exact.denominator)

    def _whole(self, p: Polynomial) -> tuple[Any, int]:
        common = lcm(*(Fraction(value).denominator for value in p.values()))
        terms = {tuple(powers): int(value * common) for powers, value in p.items()}
        return self._context.from_dict(terms), common

    def reduced(self, top: Any, bottom: Any) -> tuple[Any, Any]:
        """Return a quotient without common factors."""
        common = top.gcd(bottom) if top else bottom
        return top // common, bottom // common

    def polynomial(self, p: Any) -> Polynomial:
        """Convert a polynomial of flint to the kernel's form."""
        terms = {tuple(map(int, powers)): int(value) for powers, value in p.to_dict().items()}
        return Polynomial.of(terms, self._width)


Factors = dict[str, tuple[Any, int, Any]]
"""Positive polynomials of flint, indexed by their strings (flint's polynomials have no hash), with powers and positive
lower bounds.

The lower bound is the polynomial itself, or a share of a product of polynomials that are positive by hypothesis.
"""
SHARES = tuple(Fraction(1, 2**k) for k in range(5))
"""Shares of products of strict hypotheses to try, as lower bounds."""
STRICT = 5
"""Largest number of strict hypotheses whose products are tried."""


@dataclass(frozen=True)
class Square:
    """A term: ``top``, divided by powers of positive factors, times the square of a combination of vectors."""

    top: Any
    bottom: Factors
    direction: Mapping[int, Any]


def squares_of(need: Need, entries: Mapping[tuple[int, int], Any], ratios: Ratios) -> list[Square]:
    """Write a form as a sum of squares, by elimination in some order.

    Parameters
    ----------
    need
        The need whose hypotheses determine signs.
    entries
        Coefficients of the products of two vectors, by their indices i <= j.
    ratios
        The arithmetic of quotients with as many symbols as the need has.

    Raises
    ------
    Refused
        If no tried order gives factors with known signs.
    """
    rest: dict[tuple[int, int], Any] = {}
    for (i, j), value in entries.items():
        top, bottom = ratios.of(value)
        rest[i, j] = rest[j, i] = ratios.reduced(top, bottom * (1 if i == j else 2))
    found = _Search(need, ratios).squares({k: v for k, v in rest.items() if v[0]})
    if found is None:
        raise Refused("no Rocq file: the search found no squares with divisors of a known sign")
    return found


class _Search:
    def __init__(self, need: Need, ratios: Ratios) -> None:
        self._need, self._ratios, self._tried = need, ratios, 0
        self._signs: dict[str, tuple[int, Any]] = {}

    def squares(self, rest: Mapping[tuple[int, int], Any]) -> list[Square] | None:
        self._tried += 1
        left = {i for i, _ in rest}
        if not left:
            return []
        if self._tried > TRIED or any((i, i) not in rest for i in left):
            return None
        for i in sorted(left, key=lambda i: len(str(rest[i, i]))):
            square = self._square(i, rest)
            if square is None:
                continue
            others = self.squares(self._without(i, rest))
            if others is not None:
                return [square, *others]
        return None

    def _square(self, i: int, rest: Mapping[tuple[int, int], Any]) -> Square | None:
        """Return the square that eliminates a vector, if the sign of the square's factor can be proved."""
        reduced, (top, bottom) = self._ratios.reduced, rest[i, i]
        row = {j: reduced(a * bottom, b * top) for (k, j), (a, b) in rest.items() if k == i}
        common = self._ratios.one
        for _, b in row.values():
            common = common * (b // common.gcd(b))
        direction = {j: a * (common // b) for j, (a, b) in row.items()}
        top, bottom = reduced(top, bottom * common * common)
        factors = self.positive_factors(bottom)
        if factors is None:
            return None
        sign, positive = factors
        p = self._ratios.polynomial(top * sign)
        return Square(top * sign, positive, direction) if self._need.is_nonnegative(p) else None

    def positive_factors(self, p: Any) -> tuple[int, Factors] | None:
        """Return the sign of a polynomial, and its factors with signs for which each one is proved positive."""
        content, factors = p.factor()
        sign, found = (1 if content > 0 else -1), Factors()
        if abs(int(content)) != 1:
            whole = self._ratios.one * abs(int(content))
            found[str(whole)] = whole, 1, whole
        for factor, power in factors:
            own, least = self._sign(factor)
            if not own:
                return None
            sign *= own ** int(power)
            found[str(factor * own)] = factor * own, int(power), least
        return sign, found

    def _sign(self, p: Any) -> tuple[int, Any]:
        """Return the sign of a polynomial (0 if unproved), and a positive lower bound of the absolute value."""
        key = str(p)
        if key not in self._signs:
            self._signs[key] = self._found_sign(p)
        return self._signs[key]

    def _found_sign(self, p: Any) -> tuple[int, Any]:
        own = self._ratios.polynomial(p)
        known = [fact for fact in self._need.facts if fact.strict and _are_multiples(own, fact.slack.top)]
        if sign := replace(self._need, facts=known).sign(own):
            return sign, p * sign
        strict = [fact.slack.top for fact in self._need.facts if fact.strict]
        strict = [each for each in strict if self._need.sign(each) == 1][:STRICT]
        for sign in (1, -1):
            signed = plus(constant(0, self._need.width), own, sign)
            for count in range(1, len(strict) + 1):
                for factors in combinations(strict, count):
                    least = reduce(times, factors)
                    for share in SHARES:
                        if self._need.is_nonnegative(plus(signed, least, -share)):
                            return sign, (factors, share)
        return 0, None

    def _without(self, i: int, rest: Mapping[tuple[int, int], Any]) -> dict[tuple[int, int], Any]:
        top, bottom = rest[i, i]
        row: Sequence[tuple[int, Any]] = [(j, value) for (k, j), value in rest.items() if k == i and j != i]
        found = {key: value for key, value in rest.items() if i not in key}
        for j, (a, b) in row:
            for k, (c, d) in row:
                e, f = found.get((j, k), (self._ratios.one * 0, self._ratios.one))
                minus_top, minus_bottom = a * c * bottom, b * d * top
                value = self._ratios.reduced(e * minus_bottom - minus_top * f, f * minus_bottom)
                if value[0]:
                    found[j, k] = value
                else:
                    found.pop((j, k), None)
        return found


def _are_multiples(p: Polynomial, q: Polynomial) -> bool:
    ratio = divided(p, q) if q else None
    return ratio is not None and not ratio.places


def positive_factors(need: Need, p: Any, ratios: Ratios) -> tuple[int, Factors]:
    """Return the sign and the positive factors of a polynomial of flint.

    Raises
    ------
    Refused
        If no proof shows that the factors are positive.
    """
    found = _Search(need, ratios).positive_factors(p)
    if found is None:
        raise Refused("no Rocq file: the search did not show that a divisor is positive")
    return found
