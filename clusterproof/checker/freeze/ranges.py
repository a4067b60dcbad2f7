"""Convert the ranges of a claim to source code of its text."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from fractions import Fraction
from types import FunctionType
from typing import TYPE_CHECKING, Any

from clusterproof.checker.claims.class_ranges import OfClass
from clusterproof.checker.claims.ranges import Choice, Integers, Interval, Range, Rationals, Reals
from clusterproof.checker.claims.sequences import Sequences
from clusterproof.checker.freeze.sources import in_lines, quoted
from clusterproof.checker.kernel import Refused
from clusterproof.checker.kernel.evaluation import spend
from clusterproof.checker.kernel.functions import NAMES
from clusterproof.checker.kernel.ranges import End

if TYPE_CHECKING:
    from clusterproof.checker.freeze.texts import Text


def range_in(text: Text, allowed: Range, name: str) -> str:
    """Return a range as source code."""
    if type(allowed) is Choice:
        written = f"choice({', '.join(text.literal(each, name) for each in allowed.options)})"
        return in_lines(written, "        ")
    if isinstance(allowed, Interval) and type(allowed) in (Integers, Rationals, Reals):
        word = "integers" if type(allowed) is Integers else "rationals"
        return f"{word}({_end(text, allowed.low, name)}, {_end(text, allowed.high, name)})"
    if type(allowed) is Sequences:
        return f"sequences({range_in(text, allowed.entries, name)}, {_end(text, allowed.length, name)})"
    if type(allowed) is OfClass:
        parts = [_group(text, *group, name) for group in allowed.groups]
        if allowed.reach is not None:
            parts.append(f"distance={_end(text, allowed.reach, name)}")
        return f"member({', '.join(parts)})"
    raise Refused(f"{name}: NumPy arrays are not of the language: state sequences(...)")


def _group(text: Text, count: int | str, kind: type, constants: Sequence[tuple[str, Any]], name: str) -> str:
    written = ", ".join(f"{quoted(n)}: {_end(text, c, name)}" for n, c in constants)
    number = count if isinstance(count, int) else quoted(count)
    return f"({number}, {quoted(NAMES[kind])}, {{{written}}})"


def _end(text: Text, end: Any, name: str) -> str:
    """Return an end of a range as source code; a float is written as the decimal that Python prints."""
    if isinstance(end, End):
        end = end.function
    if type(end) is FunctionType and end.__code__.co_name == "<lambda>":
        made, _, _ = text.source(end, "")
        written = ast.unparse(made)
        spend(40 * len(written))
        text.require_language(made, end.__code__)
        return written
    return text.literal(Fraction(repr(end)) if type(end) is float else end, name)
