"""Two sides, compared entry by entry: what breaks, and what each term must be multiplied with."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.checker.rounding import FLOOR, SMALLEST, TOLERANCE, as_floats, is_exact
from clusterproof.theory.checker.sides import Sides

RESOLUTION = 1e-13
"""Of the unit: what rounding may add to the factors, where the entries themselves are exact to 1e-9."""

SAME = 1e-12
"""Relative difference up to which two sides are the same number."""


class Comparison:
    """Entries of a conclusion, turned so that measured <= sum of terms is what must hold.

    Attributes
    ----------
    measured, allowed
        Arrays of one shape, of floats or of exact numbers.
    terms
        Summands of ``allowed``, arrays of that shape by name.
    tolerance, factor_tolerance
        What rounding may add to an entry in the comparison, and in the factors; 0 where all numbers are exact.
    excused
        Whether an entry would be broken if less than 1e-14 of the instance's floats were not rounding.
    """

    def __init__(self, sides: Sides) -> None:
        measured = [abs(gap) for gap in sides.measured] if sides.identity else sides.measured
        values = [measured, *sides.terms.values()]
        if sides.identity and any(isinstance(gap, np.ndarray) for gap in measured):
            values[0] = np.array([np.max(gap, initial=0.0) for gap in measured])
        self.exact = not sides.rounding and all(is_exact(value) for value in values)
        kind: Any = object if self.exact else float
        try:
            arrays = [np.atleast_1d(np.asarray(value, dtype=kind)) for value in values]
        except OverflowError:
            rule, remedy = "must be below 1.8e308 beside floats", "state all sides as integers or fractions"
            raise InvalidArgument("measured", "an exact number beyond 1.8e308", rule, remedy) from None
        if len({array.shape for array in arrays}) > 1:
            arrays = _broadcast(arrays)
        first, *others = (-array if sides.lower else array for array in arrays)
        self.measured, self.terms = first, dict(zip(sides.terms, others, strict=True))
        self.tolerance: Any = 0
        self.factor_tolerance: Any = 0
        with np.errstate(all="ignore"):
            self.allowed = np.asarray(sum(self.terms.values()))
            relative = 0 if self.exact else self._set_tolerances(sides)
            # what is not a number breaks every bound
            self.broken = np.asarray(~(self.measured <= self.allowed + self.tolerance), dtype=bool)
            excused = (
                not self.exact and (~self.broken & (self.measured > self.allowed + relative + SMALLEST)).any()
            )
            self.excused = bool(excused)

    def _set_tolerances(self, sides: Sides) -> Any:
        """Set the tolerances, and return the part that is relative to the sides."""
        if np.isnan(self.allowed).any():
            raise ArithmeticError(f"what is allowed is not a number: {dict(sides.terms)}")
        floor = max(FLOOR * (sides.unit or 0.0), SMALLEST)
        if sides.identity:
            self.tolerance = floor
            return 0
        if sides.rounding is not None:
            self.tolerance = self.factor_tolerance = sides.rounding
            return sides.rounding
        unit = self._unit(sides)
        self.tolerance = np.fmax(TOLERANCE * unit, floor)
        # at the factor that just holds what is allowed is what is measured
        relative = TOLERANCE * np.fmin(np.abs(self.allowed), np.abs(self.measured))
        self.factor_tolerance = np.fmin(self.tolerance, relative + RESOLUTION * unit + SMALLEST)
        return TOLERANCE * unit

    def _unit(self, sides: Sides) -> Any:
        """Largest entry (of a replicate), from which others may have been computed, plus the largest summand."""
        finite = np.where(np.isfinite(self.measured), np.abs(self.measured), 0.0)
        if sides.failure is not None:
            largest = finite.reshape(len(finite), -1).max(axis=1, initial=0.0)
            largest = largest.reshape(-1, *[1] * (finite.ndim - 1))
        else:
            largest = finite.max(initial=0.0)
        summands = reduce(np.maximum, map(np.abs, self.terms.values()))
        summands = np.where(np.isfinite(summands), summands, 0.0)
        return largest + summands

    @np.errstate(all="ignore")
    def factors(self, term: str | None) -> np.ndarray:
        """Least factor on a term (on the sum, where None) at which each entry holds, of its shape.

        0 where the entry does not need it, infinite where no factor will do. A negative term is
        strengthened by making it larger: its factor is inverted, so that at most 1 means that it holds.
        """
        value = self.allowed if term is None else self.terms[term]
        rest = self.allowed - value
        if self.exact:
            flat = zip(self.measured.ravel(), rest.ravel(), value.ravel(), strict=True)
            found = np.array([least_factor(m - r, v) for m, r, v in flat], dtype=object)
            return found.reshape(self.measured.shape)
        short = self.measured - np.where(np.isnan(rest), 0.0, rest) - self.factor_tolerance
        positive = np.where(np.isinf(value), 0.0, np.maximum(short / value, 0.0))
        nought = np.where(short > 0, np.inf, 0.0)
        negative = np.where(short < 0, value / short, np.inf)
        each = np.where(value > 0, positive, np.where(value < 0, negative, nought))
        return np.asarray(np.where(np.isnan(each), np.inf, each))

    @cached_property
    def shares(self) -> np.ndarray:
        """Least factor on all that is allowed at which each entry holds."""
        return self.factors(None)

    def identities(self) -> np.ndarray:
        """Whether both sides of each entry are the same number, of its shape."""
        if self.exact:
            return np.asarray(self.measured == self.allowed, dtype=bool)
        with np.errstate(all="ignore"):
            return np.asarray(np.abs(self.measured - self.allowed) <= SAME * np.abs(self.allowed), dtype=bool)

    def by_replicate(self, entries: np.ndarray) -> np.ndarray:
        """Largest entry of each replicate, (replicates,)."""
        return np.asarray(entries.reshape(len(entries), -1).max(axis=1))

    def worst(self, replicate: int | None = None) -> tuple[int, ...]:
        """Index of the entry that exceeds what is allowed by most, or comes nearest to it."""
        each = as_floats(self.shares)
        if self.broken.any():
            with np.errstate(all="ignore"):
                excess = as_floats(self.measured - self.allowed)
            each = np.where(self.broken, np.where(np.isnan(excess), np.inf, excess), -np.inf)
        if replicate is not None:
            others = np.arange(len(each)) != replicate
            each = np.where(others.reshape(-1, *[1] * (each.ndim - 1)), -np.inf, each)
        return tuple(int(i) for i in np.unravel_index(int(np.argmax(each)), each.shape))


def _broadcast(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Broadcast both sides to the shape of one of them."""
    shapes = {array.shape for array in arrays}
    try:
        found = list(np.broadcast_arrays(*arrays))
    except ValueError:
        found = []
    if not found or found[0].shape not in shapes:
        rule = "must have the shape of one side, to which the others broadcast"
        raise InvalidArgument("measured", sorted(shapes), rule, "compare entry by entry")
    return found


def least_factor(short: Any, value: Any) -> Any:
    """Factor on ``value`` that covers ``short``, in rational arithmetic where both are exact."""
    exact = is_exact(short) and is_exact(value)
    if value > 0:
        quotient = Fraction(short) / Fraction(value) if exact else short / float(value)
        return math.inf if quotient != quotient else max(quotient, 0)
    if value < 0 and short < 0:
        return Fraction(value) / Fraction(short) if exact else float(value) / short
    return math.inf if not short <= 0 or value < 0 else 0
