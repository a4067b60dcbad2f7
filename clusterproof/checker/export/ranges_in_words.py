"""The ranges for which a line is decided, in words: one sentence part for each quantity, for LaTeX or plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from clusterproof.checker.export.formulas import Exporter, Quantity
from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.interpolation import FunctionClass
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
        whole = {each.name: each for each in exporter.whole()}
    except (Refused, TypeError):
        whole = {}
    for own, allowed in exporter.ranges.items():
        yield _range(own, allowed, whole, notation)


def _range(own: str, allowed: Range, whole: Mapping[str, Quantity], notation: Notation) -> str:
    symbol, text, formula = notation.name(own), notation.text, notation.formula
    if type(allowed) is Interval:
        ends = (whole[own].low, whole[own].high) if own in whole else (allowed.low, allowed.high)
        return _interval(symbol, allowed, ends, notation)
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
        entry = _range(f"{own}_i", allowed.entries, whole, notation)
        return f"list {formula(symbol)} of {length}: {entry}"
    assert type(allowed) is OfClass
    values = {name: each.expression for name, each in whole.items()}
    classes = (_class(count, kind, constants, values, notation) for count, kind, constants in allowed.groups)
    return f"{formula(symbol)}: {' plus '.join(classes)}"


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


def _class(
    count: Any,
    kind: type[Any],
    constants: Sequence[tuple[str, Any]],
    values: Mapping[str, Any],
    notation: Notation,
) -> str:
    """Write a class of functions; ``values`` are the quantities as expressions."""

    def shown(value: Any) -> str:
        if type(value) is End and values.keys() >= {*value.names}:
            return notation.formula(notation.number(value.value(values)))
        return notation.text(", ".join(value.names) if type(value) is End else str(value))

    given = dict(constants)
    if any(type(value) is End for value in given.values()):
        words = {"FunctionClass": "function"}.get(kind.__name__, kind.__name__)
        parts = [
            f"{own.replace('_', ' ')} {shown(value)}"
            for own, value in constants
            if value and type(value) is not bool
        ]
        member = f"{notation.text(words)} with {', '.join(parts)}"
    else:
        member = notation.text(str(kind(**given)))
    if kind is FunctionClass and given["convex"] and not given["strong_convexity"]:
        member = member.replace("function", "convex function", 1)
    if count == ANY:
        return f"a mean over any number of functions, each a {member}; an inner product is the mean of the functions'"
    return f"a {member}" if count == 1 else f"a mean of {count} functions, each a {member}"
