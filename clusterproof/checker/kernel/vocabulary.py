"""The words of a claim: what it supposes of an instance, and the two sides that it compares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from typing import Any, NoReturn

from clusterproof.checker.kernel.evaluation import Outside, Refused, running, spend
from clusterproof.checker.kernel.numbers import Abstract, add, compare, number, subtract
from clusterproof.checker.kernel.operations import Sentence, each
from clusterproof.checker.kernel.quotients import Fact


@dataclass(frozen=True, eq=False)
class Least(Abstract):
    """The least of several numbers that depend on a function of a class, of which nothing is decided."""

    numbers: tuple[Any, ...]

    def exact(self) -> NoReturn:
        """Refuse: it has no formula."""
        raise Refused(
            "nothing is computed from least(...): write least(*(value - f.minimum for value in values))"
        )


class Untrue:
    """What has no truth: a line holds or not of an instance, and is none of its conditions."""

    def __bool__(self) -> NoReturn:
        raise Refused("a line has no truth value: compare by <=, >= or ==, and join these")


@dataclass(frozen=True, eq=False)
class Sides(Untrue):
    """A line: each entry's slack must be at least 0, or be 0 if ``equation``.

    Attributes
    ----------
    slacks
        What is allowed minus what is measured; left minus right of an equation; of ``least`` a tuple, of which one
        must be at least 0.
    equation
        Whether it is one.
    facts
        Comparisons of symbols that this line alone supposes.
    sign
        "<=", ">=" or "=", as the line is written.
    entries
        Of each entry what is measured, and the summands that it is compared with.
    names
        Of the summands.
    """

    slacks: tuple[Any, ...]
    equation: bool = False
    facts: tuple[Any, ...] = ()
    sign: str = "<="
    entries: tuple[tuple[Any, ...], ...] = ()
    names: tuple[str, ...] = ()

    def is_broken(self) -> bool:
        """Return whether some entry does not hold, of numbers."""
        gaps = [max(map(number, gap)) if type(gap) is tuple else number(gap) for gap in self.slacks]
        return any(gap != 0 for gap in gaps) if self.equation else any(gap < 0 for gap in gaps)


@dataclass(frozen=True)
class Excluded(Untrue):
    """A line that the instance has not: the hypothesis fails that it alone has."""

    hypothesis: str


Line = Sides | Excluded


def facts_of(holds: Any) -> list[Fact] | None:
    """Return the facts that a hypothesis is; None if it is false."""
    if type(holds) is Fact:  # ``a and b`` is a where a does not hold on this path
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


def suppose(name: Any, holds: Any = None) -> None:
    """State a hypothesis.

    Parameters
    ----------
    name
        In words; it may be left out.
    holds
        A truth value; a fact about symbols or about a function of a class, which is recorded; or ``equal((a, b))``.

    Raises
    ------
    Outside
        If it is false.
    """
    if holds is None:  # suppose(n > 1)
        name, holds = "a hypothesis", name
    facts = facts_of(holds)
    if facts is None:
        raise Outside(_in_words(name))
    running().add(facts=tuple(facts))


def given(name: Any, holds: Any, make: Callable[[], Any]) -> Line:
    """State a line that alone has a hypothesis; what is supposed while it is made is one of that line, too.

    Parameters
    ----------
    name, holds
        As of ``suppose``.
    make
        Returns the line, called if it holds. A comparison about a function of a class is decided both ways.
    """
    words = _in_words(name)
    if type(holds) is Fact and hasattr(holds.slack, "decide"):
        holds = bool(holds)
    facts = facts_of(holds)
    if facts is None:
        return Excluded(words)
    record = running()
    before = record.now.facts
    record.add(facts=tuple(facts))
    try:
        with record.undecided():  # even if it holds: what is supposed on the way may end the line
            line = make()
    except Outside as outside:
        return Excluded(str(outside))
    finally:
        own = record.now.facts[len(before) :]
        record.now = replace(record.now, facts=before)
    if type(line) is not Sides:
        raise Refused("given(...) must return a line")
    return replace(line, facts=(*line.facts, *own))


def _in_words(name: Any) -> str:
    if type(name) not in (str, Sentence):
        raise Refused("a hypothesis needs its words: suppose('x > 0', x > 0)")
    return name if type(name) is str else "a hypothesis"


# ---- the two sides


def _shape(value: Any) -> tuple[int, ...]:
    """Return the lengths of lists in lists; empty of a single number."""
    if type(value) not in (list, tuple):
        return ()
    shapes = {_shape(part) for part in each(value)} or {()}
    if len(shapes) > 1:
        raise Refused("the rows of a side have different lengths")
    return (len(value), *shapes.pop())


def _entries(value: Any) -> list[Any]:
    """Return the entries of a list or tuple, of every depth; of a single number itself."""
    if type(value) not in (list, tuple):
        return [value]
    return [entry for part in each(value) for entry in _entries(part)]


def _together(*values: Any) -> tuple[tuple[Any, ...], ...]:
    """Return the entries of several sides together; a single number stands for as many as the others have."""
    shapes = {shape for shape in map(_shape, values) if shape}
    if len(shapes) > 1 or any(0 in shape for shape in shapes):
        raise Refused("the sides have different shapes, or nothing is compared")
    size = prod(shapes.pop()) if shapes else 1
    spend(size * len(values))
    columns = [_entries(value) if _shape(value) else [value] * size for value in values]
    return tuple(zip(*columns, strict=True))


def _excess(measured: Any, allowed: Any) -> Any:
    if type(measured) is Least:
        return tuple(subtract(allowed, entry) for entry in measured.numbers)
    return subtract(allowed, measured)


def _compared(
    sign: str, measured: Any, bound: tuple[Any, ...], terms: Mapping[str, Any], exact: tuple[Any, ...]
) -> Sides:
    """Return the line that compares each entry with the sum of its summands."""
    if any(each is not None for each in exact):
        raise Refused("a line with a probability or a tolerance is not exact")
    named = dict(zip(("bound",), bound, strict=False)) | dict(terms)
    if not named or len(bound) > 1 or (bound and "bound" in terms):
        raise Refused("one summand may be without a name, which is bound")
    entries = _together(measured, *named.values())
    sums = [(entry, reduce(add, allowed)) for entry, *allowed in entries]
    slacks = [subtract(entry, total) if sign == ">=" else _excess(entry, total) for entry, total in sums]
    return Sides(tuple(slacks), sign=sign, entries=entries, names=tuple(named))


def at_most(
    measured: Any,
    *allowed: Any,
    failure: Any = None,
    rounding: Any = None,
    words: Any = None,
    decrease_from: Any = None,
    **terms: Any,
) -> Sides:
    """Conclude that measured <= the sum of the terms, entry by entry."""
    return _compared("<=", measured, allowed, terms, (failure, rounding))


def at_least(
    measured: Any,
    *allowed: Any,
    failure: Any = None,
    rounding: Any = None,
    words: Any = None,
    **terms: Any,
) -> Sides:
    """Conclude that measured >= the sum of the terms, entry by entry."""
    return _compared(">=", measured, allowed, terms, (failure, rounding))


def equal(*pairs: Any, rounding: Any = None, words: Any = None) -> Sides:
    """Conclude that left = right for every pair, entry by entry."""
    if rounding is not None:
        raise Refused("a line with a tolerance is not exact")
    if not pairs or any(type(pair) not in (tuple, list) or len(pair) != 2 for pair in pairs):
        raise Refused("equal compares pairs, equal((left, right))")
    entries = tuple(entry for pair in pairs for entry in _together(*pair))
    gaps = tuple(subtract(left, right) for left, right in entries)
    return Sides(gaps, equation=True, sign="=", entries=entries, names=("right",))


def least(*values: Any) -> Any:
    """Return the least of several numbers; of quantities that depend on a function of a class all of them."""
    spend(len(values))
    if any(isinstance(value, Abstract) for value in values):
        return Least(values)
    best, *others = values
    for value in others:
        best = value if compare("<", value, best) else best
    return best


WORDS: dict[str, Callable[..., Any]] = {
    "suppose": suppose,
    "given": given,
    "at_most": at_most,
    "at_least": at_least,
    "equal": equal,
    "least": least,
}
"""By name, what a claim says of an instance."""
