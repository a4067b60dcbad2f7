"""The ranges for which a line is decided, in LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from clusterproof.checker.export.formulas import Exporter
from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.ranges import Choice, End, Interval, OfClass, Range, Tuples
from clusterproof.checker.kernel.worlds import ANY

Write = Callable[[Any], str]
MOST = 12
"""Largest number of options of a choice that are listed."""


def ranges_of(exporter: Exporter, name: Write, number: Write, text: Write) -> Iterator[str]:
    """Yield the lines of a LaTeX list of the quantities with their ranges.

    Parameters
    ----------
    exporter
        Exporter of the statement.
    name, number, text
        Functions that write the name of a quantity, an exact number (both for math mode), and a string.
    """
    try:
        ends = {q.name: (q.low, q.high) for q in exporter.whole()}
    except (Refused, TypeError):
        ends = {}

    def end(value: Any) -> str:
        if type(value) is End:
            return rf"\text{{an end that depends on {text(', '.join(value.names))}}}"
        return number(value)

    def interval(own: str, symbol: str, allowed: Interval) -> str:
        low, high = ends.get(own, (allowed.low, allowed.high))
        sides = [
            "" if low is None else rf"{end(low)} \le ",
            symbol,
            "" if high is None else rf" \le {end(high)}",
        ]
        kind = "integer" if allowed.integers else "number"
        unbounded = low is None and high is None
        return f"every {kind} ${symbol}$" if unbounded else f"every {kind} with ${''.join(sides)}$"

    def of(own: str, allowed: Range) -> str:
        symbol = name(own)
        if type(allowed) is Interval:
            return interval(own, symbol, allowed)
        if type(allowed) is Choice:
            options = [
                f"${number(v)}$" if type(v) in (int, Fraction) else text(str(v)) for v in allowed.options
            ]
            shown = options if len(options) <= MOST else [*options[:MOST], f"and {len(options) - MOST} more"]
            return f"${symbol}$ is one of " + ", ".join(shown)
        if type(allowed) is Tuples:
            length = (
                f"as many entries as {text(', '.join(allowed.length.names))} says"
                if type(allowed.length) is End
                else f"{allowed.length} entries"
            )
            return f"every list ${symbol}$ of {length}, with entries: {of(f'{own}_i', allowed.entries)}"
        assert type(allowed) is OfClass
        return f"${symbol}$: " + text("; ".join(_class(*group) for group in allowed.groups))

    yield r"\begin{itemize}"
    yield from (rf"\item {of(own, allowed)}" for own, allowed in exporter.stated.space.ranges.items())
    yield r"\end{itemize}"


def _class(count: Any, kind: type[Any], constants: tuple[tuple[str, Any], ...]) -> str:
    words = {"FunctionClass": "function"}.get(kind.__name__, kind.__name__)
    given = ", ".join(
        f"{own.replace('_', ' ')} {value if type(value) is not End else 'of ' + ', '.join(value.names)}"
        for own, value in constants
        if value is not None
    )
    if count == ANY:
        return (
            f"every mean of any number of clients with {given}; an inner product is the mean of the clients'"
        )
    return f"every {words} with {given}" if count == 1 else f"every mean of {count} with {given}"
