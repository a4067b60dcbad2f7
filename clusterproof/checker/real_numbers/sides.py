"""The two sides of a line as real numbers, and the amount by which the left side exceeds the right side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from clusterproof.checker.claims.expectation import expectation
from clusterproof.checker.claims.frequency import probability
from clusterproof.checker.claims.rounding import TOLERANCE
from clusterproof.checker.claims.sides import TRIED
from clusterproof.checker.kernel.claim_words import NAMES, Excluded, Words
from clusterproof.checker.kernel.loops import iterate, known
from clusterproof.checker.real_numbers.arrays import array
from clusterproof.checker.real_numbers.functions import add_up, largest
from clusterproof.checker.real_numbers.interval import NoValue, Undecided, ball_of
from clusterproof.checker.real_numbers.operators import COMPARISONS, OPERATIONS, plain
from clusterproof.common.calls import exposed

SAME_BITS = 1500
"""Two sides count as equal if they agree to this number of bits after the binary point."""


@dataclass(frozen=True)
class Pair:
    """One entry of the two sides.

    Attributes
    ----------
    left, right
        The two numbers.
    terms
        Summands of the right side, indexed by name; empty for equations.
    place
        Index of the entry, or an empty tuple for single numbers.
    """

    left: Any
    right: Any
    terms: Mapping[str, Any]
    place: tuple[int, ...]


@dataclass(frozen=True)
class Sides:
    """The two sides of a line as pairs of numbers. The line holds if every pair satisfies the comparison.

    Attributes
    ----------
    sign
        ``"<="``, ``">="`` or ``"=="``.
    pairs
        One pair for each entry.
    rounding
        Largest violation that the claim's author attributes to rounding, or None if the author states none.
    """

    sign: str
    pairs: tuple[Pair, ...]
    rounding: Any = None

    def worst(self, *, exact: bool) -> tuple[bool, Pair]:
        """Return whether the line is false, and the entry that exceeds the bound most or comes closest to the bound.

        Parameters
        ----------
        exact
            Whether the claim computes with exact numbers. For all other claims, the tolerance is 1e-9 times the largest
            side, as for floats.

        Raises
        ------
        Undecided
            If a comparison is undecided.
        """
        gaps = [self._gap(pair) for pair in self.pairs]
        tolerance: Any = self.rounding
        if tolerance is None:
            tolerance = 0 if exact else OPERATIONS["__multiply"](Fraction(str(TOLERANCE)), self._unit())
        over = [self._exceeds(gap, tolerance) for gap in gaps]  # every comparison must be certain
        return any(over), self.pairs[
            max(range(len(gaps)), key=lambda place: float(ball_of(gaps[place]).mid()))
        ]

    def _exceeds(self, gap: Any, tolerance: Any) -> bool:
        """Return whether a difference is too large; at the highest precision, a difference that may be 0 is not."""
        try:
            return bool(gap > tolerance)
        except Undecided:
            excess = ball_of(OPERATIONS["__subtract"](gap, tolerance))
            nothing = (1 + ball_of(self._unit())) * flint.arb(2) ** -SAME_BITS
            if excess < nothing and excess > -nothing:
                return False
            raise

    def _gap(self, pair: Pair) -> Any:
        gap = OPERATIONS["__subtract"](pair.left, pair.right)
        return abs(gap) if self.sign == "==" else gap if self.sign == "<=" else -gap

    def _unit(self) -> Any:
        first, second = (
            largest([0, *(abs(plain(each)) for each in numbers if ball_of(each).is_finite())])
            for numbers in ([pair.left for pair in self.pairs], [pair.right for pair in self.pairs])
        )
        return largest(first, second) if self.sign == "==" else first + second


def _entries(*sides: Any) -> list[tuple[tuple[int, ...], list[Any]]]:
    """Broadcast numbers and arrays against each other, and return their entries with the indices."""
    arrays = np.broadcast_arrays(*(np.asarray(array(each), dtype=object) for each in sides))
    rows = [(place, [each[place] for each in arrays]) for place in np.ndindex(*arrays[0].shape)]
    for _, row in rows:
        for each in row:
            ball_of(plain(each))
    return rows if len(rows) > 1 else [((), row) for _, row in rows]


@dataclass
class Compared:
    """The last comparison after the previous hypothesis; if the next hypothesis is false, it explains why."""

    sign: str = ""
    left: Any = None
    right: Any = None

    def compare(self, sign: str, left: Any, right: Any) -> Any:
        """Compare two values, and store the comparison."""
        self.sign, self.left, self.right = sign, left, right
        return COMPARISONS[sign](left, right)


compared = Compared()


class OverReals(Words[Sides]):
    """The functions that a claim calls when it is evaluated with real numbers."""

    def facts(self, holds: Any) -> list[Any] | None:
        """Return an empty list if a hypothesis holds, otherwise None.

        If the hypothesis is an equation, ``compared`` stores the last pair that was compared.
        """
        if isinstance(holds, Sides):
            holds = all(compared.compare("==", pair.left, pair.right) for pair in holds.pairs)
        return [] if np.all(holds) else None

    def in_words(self, name: Any) -> str:
        """Return the name of a hypothesis."""
        return str(name)

    def know(self, facts: list[Any]) -> None:
        """Delete the stored comparison."""
        compared.sign = ""

    def alone(self, facts: list[Any], make: Callable[[], Sides | Excluded]) -> Sides | Excluded:
        """Return the line that ``make`` returns."""
        self.know(facts)
        return make()

    def is_less(self, left: Any, right: Any) -> Any:
        """Return whether one number is less than another."""
        return COMPARISONS["<"](left, right)

    def compared(self, sign: str, measured: Any, terms: Mapping[str, Any], **how: Any) -> Sides:
        """Return the two sides of every entry of an inequality, as pairs."""
        if how.get("failure") is not None:
            raise NoValue("a line that holds with a probability")
        pairs = [
            Pair(first, add_up(others), dict(zip(terms, others, strict=True)), place)
            for place, (first, *others) in _entries(measured, *terms.values())
        ]
        return Sides(sign, tuple(pairs), how["rounding"])

    def equated(self, pairs: Sequence[Any], **how: Any) -> Sides:
        """Return the two sides of every entry of every equation, as pairs."""
        several = len(pairs) > 1
        found = [
            Pair(a, b, {}, (number,) if several else place)
            for number, pair in enumerate(pairs)
            for place, (a, b) in _entries(*pair)
        ]
        return Sides("==", tuple(found), how["rounding"])

    def refused(self, argument: str, value: Any, rule: str, remedy: str) -> NoValue:
        """Return the exception for an invalid call."""
        return NoValue(f"{argument}, which {rule},")


REALS = OverReals()


def _unknown(name: str) -> Callable[..., Any]:
    def raise_it(*_values: Any, **_named: Any) -> Any:
        raise NoValue(name)

    return raise_it


WORDS: dict[Any, Any] = {
    each: function
    for word, function in (
        *((getattr(TRIED, name), getattr(REALS, name)) for name in NAMES),
        (iterate, iterate),
        (known, known),
        (expectation, _unknown("an expectation")),
        (probability, _unknown("a probability")),
    )
    for each in (word, exposed(word))
}
"""Replacements for the functions that a claim may call, such as ``at_most``, indexed by function."""
