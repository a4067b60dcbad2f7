"""Search for the best constant of a claim: the strongest certified number, and the weakest violated number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

MOST_CHECKS = 18
"""Largest number of checks in one search."""
DOUBLED = 5
"""The search doubles a number at most this many times until the verdict changes."""
NEAR = 64
"""The search ends when two numbers differ by less than the claim's own number divided by this number."""
CERTIFIED, VIOLATED = "certified", "violated"


@dataclass(frozen=True)
class Checked:
    """A number that replaces the claim's own number, and the verdict on the changed claim.

    Attributes
    ----------
    until
        The number that would make the two sides equal at the counterexample, or None if it is unknown. The search only
        tries numbers near ``until``, and never reports ``until`` itself.
    """

    value: Fraction
    verdict: str
    reason: str
    until: Fraction | None = None


@dataclass(frozen=True)
class Improvement:
    """Result of the search for the best constant.

    Attributes
    ----------
    own
        The claim's own number.
    checked
        All checks, in order.
    """

    own: Fraction
    checked: tuple[Checked, ...]

    @property
    def certified(self) -> Checked | None:
        """The strongest certified number, or None if there is none."""
        return self._nearest(CERTIFIED, VIOLATED)

    @property
    def violated(self) -> Checked | None:
        """The weakest violated number, or None if there is none."""
        return self._nearest(VIOLATED, CERTIFIED)

    def _nearest(self, verdict: str, other: str) -> Checked | None:
        """Return the number with the verdict ``verdict`` that is nearest to a number with the verdict ``other``.

        If no number has the verdict ``other``, return 0, or the largest number if 0 was not tried.
        """
        mine = [each for each in self.checked if each.verdict == verdict]
        others = [each.value for each in self.checked if each.verdict == other]
        if not mine:
            return None
        if others:
            return min(mine, key=lambda each: min(abs(each.value - value) for value in others))
        return next((each for each in mine if each.value == 0), max(mine, key=lambda each: abs(each.value)))


def improve(check: Callable[[Fraction], Checked], own: Fraction) -> Improvement:
    """Search for the strongest number with which a claim is certified, and the weakest with which it is violated.

    Parameters
    ----------
    check
        Function that replaces the claim's own number by another one, and returns the verdict on the changed claim.
    own
        The claim's own number.

    Returns
    -------
    Improvement
        All numbers that were tried, with their verdicts. It is possible that no number is certified, or that no number
        is violated.
    """
    known: dict[Fraction, Checked] = {}

    def verdict(value: Fraction) -> str:
        if value not in known and len(known) < MOST_CHECKS:
            known[value] = check(value)
        return known[value].verdict if value in known else ""

    for value in _outwards(own):
        verdict(value)
        if {CERTIFIED, VIOLATED} <= {each.verdict for each in known.values()}:
            break
    for wanted in (CERTIFIED, VIOLATED):
        _bisect(verdict, known, wanted, abs(own) / NEAR)
    return Improvement(own, tuple(known.values()))


def _outwards(own: Fraction) -> list[Fraction]:
    """Return the numbers to try first: the claim's own number, half and twice this number, 0, and larger multiples."""
    return [own, own / 2, 2 * own, Fraction(0), *(own * 2**n for n in range(2, DOUBLED + 1))]


def _bisect(
    verdict: Callable[[Fraction], str], known: dict[Fraction, Checked], wanted: str, near: Fraction
) -> None:
    """Bisect between a number with the wanted verdict and the nearest number with another verdict."""
    other = VIOLATED if wanted == CERTIFIED else CERTIFIED
    found = Improvement(Fraction(1), tuple(known.values()))
    inner, outer = found._nearest(wanted, other), found._nearest(other, wanted)
    if inner is None or outer is None:
        return
    low, high = inner.value, outer.value
    for each in known.values():  # an undecided number between the two numbers replaces one of them
        if (
            each.verdict != wanted
            and abs(each.value - low) < abs(high - low)
            and _between(each.value, low, high)
        ):
            high = each.value
    while abs(high - low) > near:
        middle = _near_equality(known, low, high, near)
        if middle is None:
            middle = simplest_between(*sorted((low + (high - low) / 3, high - (high - low) / 3)))
        word = verdict(middle)
        if not word:
            return
        low, high = (middle, high) if word == wanted else (low, middle)


def _near_equality(
    known: dict[Fraction, Checked], low: Fraction, high: Fraction, near: Fraction
) -> Fraction | None:
    """Return a number between two checked numbers, close to the number ``until`` of one of them.

    The result is slightly larger or slightly smaller than ``until``; beyond ``until``, the claim may be certified. The
    function returns None if there is no such number. It also returns None if ``until`` is near the checked number,
    because the counterexample is then weak.
    """
    for value in (low, high):
        until = known[value].until
        if until is None or 4 * abs(until - value) < abs(high - low):
            continue
        step = near / 2 if until > value else -near / 2
        for ends in ((until, until + step), (until - 2 * step, until - step)):
            found = simplest_between(*sorted(ends))
            if found not in (low, high) and _between(found, low, high):
                return found
    return None


def _between(value: Fraction, one: Fraction, other: Fraction) -> bool:
    return min(one, other) <= value <= max(one, other)


def simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """Return the fraction with the smallest denominator in the interval low < x < high, by the Stern-Brocot tree."""
    if low < 0 < high:
        return Fraction(0)
    if high <= 0:
        return -simplest_between(-high, -low)
    whole = -(-low // 1)
    if whole <= high:
        return Fraction(whole)
    base = low // 1
    return base + 1 / simplest_between(1 / (high - base), 1 / (low - base))
