"""The simplest quotient of polynomials that lies between two numbers at every point of a grid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from clusterproof.checker.kernel.evaluation import limited
from clusterproof.checker.kernel.multipliers import Need
from clusterproof.checker.kernel.polynomials import Polynomial, constant, plus, raised, times
from clusterproof.checker.kernel.quotients import Quotient, joined
from clusterproof.checker.search.exact_algebra import irreducible, lowest_terms
from clusterproof.checker.search.family_programs import Point, polynomial_at
from clusterproof.checker.search.hints import Ratio

DENOMINATORS = (
    *range(1, 13),
    16,
    18,
    24,
    27,
    32,
    36,
    48,
    54,
    60,
    64,
    81,
    96,
    100,
    120,
    128,
    162,
    243,
    324,
    729,
)
"""Denominators of coefficients, in the order in which the search tries them."""
LIMITS = (100, 1000, 3000)
"""Limits of the denominators to try if the coefficients have different denominators."""
FACTORS = 10
"""Largest number of polynomials of known sign that are used as factors."""
WHOLE = 3
"""Largest number of denominators with more than two factors that are tried without factorising them."""
MOST_REPEATED = 5
"""Largest exponent of a factor with several symbols."""
LONGEST = 40
"""Largest number of terms of a denominator that the search factorises."""
DEGREE = {1: 7}
"""Largest degree of a numerator, indexed by the number of symbols; otherwise the largest degree is 4."""
FUEL = 5_000_000
"""Largest number of steps for determining the signs of the factors."""


class Quotients:
    """Search for quotients with given values on a grid: first products of known factors, then other numerators.

    Parameters
    ----------
    need
        The part of the proof whose multipliers are wanted.
    points
        The grid points.
    forms
        Forms whose denominators are used as factors.
    """

    def __init__(self, need: Need, points: Sequence[Point], forms: Sequence[Mapping[Any, Any]]) -> None:
        self.need, self.points = need, points
        self.one = constant(1, need.width)
        values = [v for form in forms for v in form.values() if type(v) is Quotient]
        ends = [end for ends in need.boxes[-1] for end in ends if type(end) is Quotient]
        used = set[int]().union(*(v.top.places | v.bottom.places for v in (*values, *ends)))
        self.places = sorted(place for place in used if len({at[place] for at in points}) > 1)
        self.floats = np.array([[float(x) for x in at] for at in points])
        with limited(FUEL):
            bottoms = dict.fromkeys(v.bottom for v in values if len(v.bottom) <= LONGEST)
            self.factors = self._of_one_sign(factor for p in bottoms for factor in irreducible(p))
            self.bottoms = _powers(self.factors, 2, self.one)
            self.bottoms += self._whole(bottoms, [p for _, p in self.bottoms])
            self.products = list(self._products())

    def at(self, ratio: Ratio) -> np.ndarray:
        """Return the values of a quotient at all points."""
        top, bottom = ratio
        return np.array([float(polynomial_at(top, at) / polynomial_at(bottom, at)) for at in self.points])

    def between(self, low: np.ndarray, high: np.ndarray) -> Ratio | None:
        """Return a simple quotient that lies between two numbers at each point, or None if none is found."""
        if (low <= 0).all() and (high >= 0).all():
            return constant(0, self.need.width), self.one
        found = self._product_between(low, high)
        return self._polynomial_between(low, high) if found is None else found

    # ---- factors

    def _of_one_sign(self, bottoms: Any) -> list[Polynomial]:
        """Return positive polynomials: factors of denominators, strict hypotheses, and distances to ends of ranges."""
        found: list[Polynomial] = []
        facts = [fact.slack.top for fact in self.need.facts if fact.strict]
        for p in (*bottoms, *facts, *self._distances(), *self._beyond()):
            sign = self.need.sign(p) if p.places and max(map(sum, p)) <= 3 else 0
            signed = p if sign == 1 else -p
            if sign and not any(_are_multiples(signed, each) for each in found):
                found.append(signed)
        return found[:FACTORS]

    def _whole(
        self, denominators: Iterable[Polynomial], known: Sequence[Polynomial]
    ) -> Iterator[tuple[int, Polynomial]]:
        """Yield the first positive denominators that are not multiples of known products, each with its degree."""
        signed = ((self.need.sign(p), p) for p in denominators if p.places)
        positive = [p if sign == 1 else -p for sign, p in signed if sign]
        new = [p for p in positive if not any(_are_multiples(p, each) for each in known)]
        yield from ((max(map(sum, p)), p) for p in new[:WHOLE])

    def _distances(self) -> Iterator[Polynomial]:
        """Yield the distances of the symbols from the ends of their ranges."""
        for place in self.places:
            x = Quotient.symbol(place, self.need.width)
            low, high = self.need.boxes[-1][place]
            if low is not None:
                yield (x - low).top
            if high is not None:
                yield (high - x).top

    def _beyond(self) -> Iterator[Polynomial]:
        """Yield x + 1 and x + 2 for each symbol x that is bounded below but not above."""
        for place in self.places:
            x, (low, high) = Quotient.symbol(place, self.need.width), self.need.boxes[-1][place]
            if high is None and low is not None:
                yield from ((x + 1).top, (x + 2).top)

    def _nonnegative(self) -> list[Polynomial]:
        """Return nonnegative polynomials, ordered by degree."""
        pairs = [
            (1 - Quotient.symbol(i, self.need.width) * Quotient.symbol(j, self.need.width)).top
            for i, j in combinations_with_replacement(self.places, 2)
        ]
        found = list(self.factors)
        for p in (*self._distances(), *pairs):
            if self.need.is_nonnegative(p) and not any(_are_multiples(p, each) for each in found):
                found.append(p)
        return sorted(found, key=lambda p: (max(map(sum, p)), len(p)))[: FACTORS - 1]

    def _products(self) -> Iterator[tuple[Polynomial, Polynomial, np.ndarray]]:
        """Yield quotients of a product of nonnegative factors and a product of positive factors, sorted by degree."""
        nonnegative = self._nonnegative()
        tops = _powers(nonnegative, 4 if len(nonnegative) < 6 else 3, self.one)
        tops += [  # powers of a contraction's factor, such as 1 - step mu
            (count + power, times(raised(p, power, p.width), q))
            for p in nonnegative
            if len(p.places) > 1
            for power in range(2, MOST_REPEATED + 1)
            for count, q in _powers(nonnegative, 1, self.one)
            if count + power > 3
        ]
        bottoms = self.bottoms
        above, below = ([_values(p, self.floats) for _, p in each] for each in (tops, bottoms))
        pairs = sorted(
            (degree + other, i, j)
            for i, (degree, _) in enumerate(tops)
            for j, (other, _) in enumerate(bottoms)
        )
        for _, i, j in pairs:
            if (above[i] > 1e-12).all() and (below[j] > 1e-12).all():
                yield tops[i][1], bottoms[j][1], above[i] / below[j]

    # ---- quotients

    def _product_between(self, low: np.ndarray, high: np.ndarray) -> Ratio | None:
        """Return a multiple of a quotient of products of factors that lies between the numbers, or None."""
        if (high <= 0).any():
            return None
        for top, bottom, values in self.products:
            least, most = float((low / values).max()), float((high / values).min())
            if most > 0 and least <= most and (number := _simplest(max(least, 0.0), most)):
                return times(constant(number, self.need.width), top), bottom
        return None

    def _polynomial_between(self, low: np.ndarray, high: np.ndarray) -> Ratio | None:
        """Return a polynomial over a product of factors that lies between the numbers, or None if none is found."""
        bottoms = [p for _, p in self.bottoms]
        for degree in range(DEGREE.get(len(self.places), 4) + 1):
            several = [
                range(degree + 1) if place in self.places else (0,) for place in range(self.need.width)
            ]
            powers = [each for each in product(*several) if sum(each) <= degree]
            if len(powers) > max(1, 0.7 * len(self.points)):
                break
            basis = np.array([np.prod(self.floats ** np.array(each), axis=1) for each in powers]).T
            for bottom in bottoms:
                below = _values(bottom, self.floats)
                if max(map(sum, bottom)) > degree + 2 or not (below > 1e-9).all():
                    continue
                top = _rounded(basis, low * below, high * below)
                if top is not None:
                    return Polynomial.of(dict(zip(powers, top, strict=True)), self.need.width), bottom
        return None


def solved(need: Need, target: Any, terms: Sequence[tuple[Any, Ratio]], own: Any) -> Ratio | None:
    """Solve target = sum of coefficient * quotient + own * x for x; return None if a denominator may be 0.

    Coefficients are numbers or quotients. The result is reduced to lowest terms.
    """
    width = need.width
    with limited(FUEL):
        total = Quotient(constant(0, width), constant(1, width), width) + target
        for coefficient, (top, bottom) in terms:
            total = joined(total, -Quotient(top, bottom, width) * coefficient)
        factor = total.lifted(own)
        top, bottom = lowest_terms(times(total.top, factor.bottom), times(total.bottom, factor.top))
        sign = need.sign(bottom)
    return None if not sign else (top, bottom) if sign == 1 else (-top, -bottom)


def _powers(factors: Sequence[Polynomial], most: int, one: Polynomial) -> list[tuple[int, Polynomial]]:
    """Return all products of at most ``most`` factors, each with its number of factors."""
    found = [(0, one)]
    for count in range(1, most + 1):
        for chosen in combinations_with_replacement(factors, count):
            p = one
            for each in chosen:
                p = times(p, each)
            found.append((count, p))
    return found


def _values(p: Polynomial, floats: np.ndarray) -> np.ndarray:
    """Return the values of a polynomial at points, in floats."""
    total = np.zeros(len(floats))
    for powers, value in p.items():
        total += float(value) * np.prod(floats ** np.array(powers), axis=1)
    return total


def _are_multiples(p: Polynomial, q: Polynomial) -> bool:
    """Return whether one polynomial is a constant multiple of the other."""
    if set(p) != set(q):
        return False
    powers = next(iter(p))
    return plus(p, q, -p[powers] / q[powers]) == constant(0, p.width)


def _simplest(low: float, high: float) -> Fraction | None:
    """Return a nonzero fraction between two numbers, with the first possible denominator in ``DENOMINATORS``."""
    for below in DENOMINATORS:
        above = max(1, int(np.ceil(low * below)))
        if low * below <= above <= high * below:
            return Fraction(above, below)
    return None


def _rounded(basis: np.ndarray, low: np.ndarray, high: np.ndarray) -> list[Fraction] | None:
    """Return simple coefficients for which a linear combination lies between two numbers at every point, or None."""
    middle, half = (low + high) / 2, np.maximum((high - low) / 2, 1e-12)

    def is_inside(coefficients: np.ndarray) -> bool:
        return bool((np.abs(basis @ coefficients - middle) <= half * (1 + 1e-9)).all())

    found, *_ = np.linalg.lstsq(basis / half[:, None], middle / half, rcond=None)
    if not is_inside(found):
        centre = _centre(basis, low, high, half) if half.max() > 1e-3 else None
        if centre is None:
            return None
        found = centre
    exact: list[Fraction]
    for below in DENOMINATORS:
        exact = [Fraction(round(float(v) * below), below) for v in found]
        if is_inside(np.array(exact, dtype=float)):
            return exact
    for limit in LIMITS:
        exact = [Fraction(float(v)).limit_denominator(limit) for v in found]
        if is_inside(np.array(exact, dtype=float)):
            return exact
    return None


def _centre(basis: np.ndarray, low: np.ndarray, high: np.ndarray, half: np.ndarray) -> np.ndarray | None:
    """Return coefficients for which the combination lies as far inside all intervals as possible, or None."""
    from scipy.optimize import linprog

    count = basis.shape[1]
    rows = np.vstack([np.hstack([basis, half[:, None]]), np.hstack([-basis, half[:, None]])])
    right = np.concatenate([high, -low])
    bounds = [(None, None)] * count + [(None, 1.0)]
    answer = linprog(np.append(np.zeros(count), -1.0), A_ub=rows, b_ub=right, bounds=bounds)
    if answer.status != 0 or answer.x[-1] < 0:
        return None
    found: np.ndarray = answer.x[:count]
    return found
