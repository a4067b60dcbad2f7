"""The ranges for which a line is decided, in words: one sentence part for each quantity, for LaTeX or plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from clusterproof.checker.export.formulas import Exporter
from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.ranges import Choice, End, Interval, OfClass, Range, Tuples
from clusterproof.checker.kernel.worlds import ANY

MOST = 12
"""Largest number of options of a choice that are listed."""


@dataclass(frozen=True)
class Notation:
    """Functions that write parts of a sentence.

    Attributes
    ----------
    name, number
        Write the name of a quantity, and an exact number or an expression; both for use in a formula.
    text, formula
        Write a string, and a formula, in a sentence.
    at_most
        The sign.
    """

    name: Callable[[str], str]
    number: Callable[[Any], str]
    text: Callable[[str], str]
    formula: Callable[[str], str]
    at_most: str


def ranges_of(exporter: Exporter, notation: Notation) -> Iterator[str]:
    """Yield the name and the range of each quantity, such as "integer n with 1 <= n <= 3"."""
    try:
        ends = {q.name: (q.low, q.high) for q in exporter.whole()}
    except (Refused, TypeError):
        ends = {}
    for own, allowed in exporter.ranges.items():
        yield _range(own, allowed, ends, notation)


def _range(own: str, allowed: Range, ends: dict[str, tuple[Any, Any]], notation: Notation) -> str:
    symbol, text, formula = notation.name(own), notation.text, notation.formula
    if type(allowed) is Interval:
        return _interval(symbol, allowed, ends.get(own, (allowed.low, allowed.high)), notation)
    if type(allowed) is Choice:
        options = [
            formula(notation.number(v)) if type(v) in (int, Fraction) else text(str(v))
            for v in allowed.options
        ]
        shown = options if len(options) <= MOST else [*options[:MOST], f"and {len(options) - MOST} more"]
        return f"{formula(symbol)}, one of {', '.join(shown)}"
    if type(allowed) is Tuples:
        length = (
            f"as many numbers as {text(', '.join(allowed.length.names))} says"
            if type(allowed.length) is End
            else f"{allowed.length} numbers"
        )
        entry = _range(f"{own}_i", allowed.entries, ends, notation)
        return f"list {formula(symbol)} of {length}: {entry}"
    assert type(allowed) is OfClass
    return f"{formula(symbol)}: {text(' plus '.join(_class(*group) for group in allowed.groups))}"


def _interval(symbol: str, allowed: Interval, ends: tuple[Any, Any], notation: Notation) -> str:
    def end(value: Any) -> str:
        if type(value) is End:
            return notation.text(f"an end that depends on {', '.join(value.names)}")
        return notation.number(value)

    low, high = ends
    sign = f" {notation.at_most} "
    kind = "integer" if allowed.integers else "number"
    if low is None and high is None:
        return f"{kind} {notation.formula(symbol)}"
    sides = [*([] if low is None else [end(low)]), symbol, *([] if high is None else [end(high)])]
    return f"{kind} {notation.formula(symbol)} with {notation.formula(sign.join(sides))}"


def _class(count: Any, kind: type[Any], constants: tuple[tuple[str, Any], ...]) -> str:
    given = dict(constants)
    try:
        member = str(kind(**given))
    except (TypeError, AttributeError, Refused):
        words = {"FunctionClass": "function"}.get(kind.__name__, kind.__name__)
        parts = [
            f"{own.replace('_', ' ')} {value if type(value) is not End else ', '.join(value.names)}"
            for own, value in constants
            if value is not None and type(value) is not bool
        ]
        member = f"{words} with {', '.join(parts)}" if parts else words
    if count == ANY:
        return f"a mean over any number of functions, each a {member}; an inner product is the mean of the functions'"
    return f"a {member}" if count == 1 else f"a mean of {count}, each a {member}"
