"""The kernel's implementation of the functions that a claim calls: hypotheses, and comparisons of two sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from typing import Any, NoReturn

from clusterproof.checker.kernel.claim_words import NAMES, Excluded, Untrue, Words
from clusterproof.checker.kernel.evaluation import Refused, running, spend
from clusterproof.checker.kernel.numbers import Abstract, add, compare, number, subtract
from clusterproof.checker.kernel.operations import each
from clusterproof.checker.kernel.quotients import Fact
from clusterproof.checker.kernel.sentences import Sentence


@dataclass(frozen=True, eq=False)
class Least(Abstract):
    """The smallest of several numbers that depend on a function of a class; it is unknown which one is the smallest."""

    numbers: tuple[Any, ...]

    def exact(self) -> NoReturn:
        """Raise an error, because the least of several numbers has no formula."""
        raise Refused(
            "nothing is computed from least(...): write least(*(value - f.minimum for value in values))"
        )


@dataclass(frozen=True, eq=False)
class Sides(Untrue):
    """A line, which holds if the slack of each entry is at least 0 (equal to 0 if ``equation``).

    Attributes
    ----------
    slacks
        For each entry, the bound minus the measured side, or the left side minus the right side of an equation. For
        ``least``, the entry is a tuple of numbers, and at least one of them must be at least 0.
    equation
        Whether the line is an equation.
    facts
        Hypotheses about symbols that apply only to this line.
    sign
        The sign with which the claim states the line: "<=", ">=" or "=".
    entries
        For each entry, the measured side followed by the summands of the bound.
    names
        Names of the summands.
    """

    slacks: tuple[Any, ...]
    equation: bool = False
    facts: tuple[Any, ...] = ()
    sign: str = "<="
    entries: tuple[tuple[Any, ...], ...] = ()
    names: tuple[str, ...] = ()

    def is_broken(self) -> bool:
        """Return whether some entry is false; all slacks must be numbers."""
        gaps = [max(map(number, gap)) if type(gap) is tuple else number(gap) for gap in self.slacks]
        return any(gap != 0 for gap in gaps) if self.equation else any(gap < 0 for gap in gaps)


Line = Sides | Excluded


def facts_of(holds: Any) -> list[Fact] | None:
    """Return the facts in a hypothesis, or None if the hypothesis is false."""
    if type(holds) is Fact:  # ``a and b`` is a itself if a does not hold on this path
        decided = [fact for asked, fact in running().now.path if asked is holds]
        return None if decided and decided[0] is not holds else [holds]
    if type(holds) is Sides and holds.facts:
        raise Refused("a hypothesis has no hypothesis of its own")
    if type(holds) is Sides and holds.equation:
        gaps = [gap.is_zero() if isinstance(gap, Abstract) else number(gap) == 0 for gap in holds.slacks]
        return [gap for gap in gaps if type(gap) is Fact] if all(gap is not False for gap in gaps) else None
    if type(holds) is not bool:
        raise Refused(f"a hypothesis is {type(holds).__name__}, and no comparison")
    return [] if holds else None


def _shape(value: Any) -> tuple[int, ...]:
    """Return the shape of nested lists, or an empty tuple for a single number."""
    if type(value) not in (list, tuple):
        return ()
    shapes = {_shape(part) for part in each(value)} or {()}
    if len(shapes) > 1:
        raise Refused("the rows of a side have different lengths")
    return (len(value), *shapes.pop())


def _entries(value: Any) -> list[Any]:
    """Return all entries of nested lists or tuples, or a list with one entry for a single number."""
    if type(value) not in (list, tuple):
        return [value]
    return [entry for part in each(value) for entry in _entries(part)]


def _together(*values: Any) -> tuple[tuple[Any, ...], ...]:
    """Broadcast several sides: return their entries as tuples, and repeat single numbers for every entry."""
    shapes = {shape for shape in map(_shape, values) if shape}
    if len(shapes) > 1 or any(0 in shape for shape in shapes):
        raise Refused("the sides have different shapes, or nothing is compared")
    size = prod(shapes.pop()) if shapes else 1
    spend(size * len(values))
    columns = [_entries(value) if _shape(value) else [value] * size for value in values]
    return tuple(zip(*columns, strict=True))


class Exact(Words[Sides]):
    """The functions that a claim calls, for exact numbers, lists, symbols, and numbers that depend on functions."""

    def facts(self, holds: Any) -> list[Fact] | None:
        """Return the facts in a hypothesis, or None if the hypothesis is false."""
        return facts_of(holds)

    def in_words(self, name: Any) -> str:
        """Return the name of a hypothesis, or a placeholder if the name contains symbols."""
        if type(name) not in (str, Sentence):
            raise Refused("a hypothesis needs its words: suppose('x > 0', x > 0)")
        return name if type(name) is str else "a hypothesis"

    def know(self, facts: list[Fact]) -> None:
        """Add facts to the running evaluation."""
        running().add(facts=tuple(facts))

    def given(self, name: Any, holds: Any, make: Callable[[], Sides | Excluded]) -> Sides | Excluded:
        """State a line with its own hypothesis; branch if the hypothesis is about a function of a class."""
        if type(holds) is Fact and hasattr(holds.slack, "decide"):
            holds = bool(holds)
        return super().given(name, holds, make)

    def alone(self, facts: list[Fact], make: Callable[[], Sides | Excluded]) -> Sides | Excluded:
        """Return a line that has its own facts: the given facts, and the hypotheses inside ``make``."""
        record = running()
        before = record.now.facts
        record.add(facts=tuple(facts))
        try:
            with record.undecided():  # a false hypothesis inside may exclude the line
                line = make()
        finally:
            own = record.now.facts[len(before) :]
            record.now = replace(record.now, facts=before)
        if type(line) is Excluded:
            return line
        if type(line) is not Sides:
            raise Refused("given(...) must return a line")
        return replace(line, facts=(*line.facts, *own))

    def compared(self, sign: str, measured: Any, terms: Mapping[str, Any], **how: Any) -> Sides:
        """Return the line for all entries of an inequality."""
        _require_exact(how)
        entries = _together(measured, *terms.values())
        sums = [(entry, reduce(add, allowed)) for entry, *allowed in entries]
        slacks = [subtract(entry, total) if sign == ">=" else _excess(entry, total) for entry, total in sums]
        return Sides(tuple(slacks), sign=sign, entries=entries, names=tuple(terms))

    def equated(self, pairs: Sequence[Any], **how: Any) -> Sides:
        """Return the line for all entries of all pairs of an equation."""
        _require_exact(how)
        entries = tuple(entry for pair in pairs for entry in _together(*pair))
        gaps = tuple(subtract(left, right) for left, right in entries)
        return Sides(gaps, equation=True, sign="=", entries=entries, names=("right",))

    def least(self, *numbers: Any) -> Any:
        """Return the smallest of several numbers, or a ``Least`` if they depend on a function of a class."""
        spend(len(numbers))
        return (
            Least(numbers) if any(isinstance(each, Abstract) for each in numbers) else super().least(*numbers)
        )

    def is_less(self, left: Any, right: Any) -> Any:
        """Return whether one number is less than another."""
        return compare("<", left, right)

    def refused(self, argument: str, value: Any, rule: str, remedy: str) -> Refused:
        """Return the exception for an invalid call."""
        return Refused(f"{argument} {rule}: {remedy}")


def _excess(measured: Any, allowed: Any) -> Any:
    if type(measured) is Least:
        return tuple(subtract(allowed, entry) for entry in measured.numbers)
    return subtract(allowed, measured)


def _require_exact(how: Mapping[str, Any]) -> None:
    if how.get("failure") is not None or how.get("rounding") is not None:
        raise Refused("a line with a probability or a tolerance is not exact")


EXACT = Exact()
WORDS: dict[str, Callable[..., Any]] = {name: getattr(EXACT, name) for name in NAMES}
"""The kernel's functions that a claim may call, indexed by name."""
