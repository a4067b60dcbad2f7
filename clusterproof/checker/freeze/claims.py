"""Convert a claim to a text of definitions and statements, with reasons for statements outside the language."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from clusterproof.checker.claims.claim import Claim
from clusterproof.checker.claims.class_ranges import OfClass
from clusterproof.checker.claims.ranges import Choice, Integers, Interval, Range, Rationals, Reals
from clusterproof.checker.claims.sequences import Sequences
from clusterproof.checker.claims.statement import Statement, raising_exceptions
from clusterproof.checker.freeze.agreement import (
    instances,
    names_of_function,
    names_of_text,
    require_agreement,
)
from clusterproof.checker.freeze.layout import in_lines, quoted
from clusterproof.checker.freeze.texts import TRIED, Text
from clusterproof.checker.kernel import Claim as Known
from clusterproof.checker.kernel import Refused, printed, read
from clusterproof.checker.kernel.definitions import WORDS, Vocabulary
from clusterproof.checker.kernel.evaluation import limited, printable, spend
from clusterproof.checker.kernel.functions import NAMES
from clusterproof.checker.kernel.ranges import End
from clusterproof.checker.kernel.statement import Statement as Stated

LINE = re.compile(r", line \d+")
"""Pattern for the line number in a reason.

The number is removed, because every edit of the file can change it.
"""
FUEL = 2_000_000
"""Largest total number of steps for the kernel to read the definitions, over all attempts."""
STEPS = 40
"""Number of steps per character of an end of a range; every range writes its ends again."""


@dataclass(frozen=True)
class Frozen:
    """A claim as a text that the kernel can read.

    Attributes
    ----------
    text
        The text, or None if no statement is in the language.
    outside
        Dictionary from the names of statements outside the language to the reason, the place, and a remedy.
    lines
        Names of the lines of each statement.
    """

    text: str | None
    outside: Mapping[str, str]
    lines: Mapping[str, tuple[str, ...]]

    def statement(self, name: str, words: Vocabulary = WORDS) -> Stated:
        """Return a statement after the kernel has read it; ``words`` contains the functions that a claim may call.

        Raises
        ------
        Refused
            If the statement is outside the language. The message contains the place, the reason, and a remedy.
        """
        if self.text is None or name in self.outside:
            raise Refused(self.outside[name])
        return read(self.text, words).statements[name]


class Lines:
    """Names of the lines of a claim's statements, as far as they are known."""

    def __init__(self, given: Mapping[str, tuple[str, ...]]) -> None:
        self._names = dict(given)

    def differ(self, statement: Statement, read: Stated) -> bool:
        """Return whether the known names of a statement's lines are missing or differ from the names in its text."""
        if statement.name not in self._names:
            self._names[statement.name] = names_of_text(read, statement, instances(statement))
        return self.names(statement) != read.lines

    def of_function(self, statement: Statement) -> tuple[str, ...]:
        """Return the names of the lines of a statement without a text."""
        if statement.name not in self._names:
            self._names[statement.name] = names_of_function(statement, instances(statement))
        return self.names(statement)

    def names(self, statement: Statement) -> tuple[str, ...]:
        """Return the names of the lines that are known so far."""
        return self._names.get(statement.name) or ("",)


def freeze(
    claim: Claim[..., Any],
    lines: Mapping[str, tuple[str, ...]] | None = None,
    *,
    compared: bool = True,
    known: Known | None = None,
) -> Frozen:
    """Write the text of a claim.

    Parameters
    ----------
    claim
        A claim of the running program.
    lines
        Names of the lines of each statement, if a search has already evaluated the statement.
    compared
        Whether to compare the text with the function at some instances. If a claim is frozen repeatedly, only the last
        text needs this comparison.
    known
        The claim that the kernel has read from an earlier text. If the text has not changed, the kernel does not read
        it again.
    """
    found = Lines(lines or {})
    written = _AT_LOADING.get(claim) or _written(claim)
    outside = dict(written.outside)
    while True:
        inside = [each for each in claim.statements if each.name not in outside]
        if not inside:
            return Frozen(None, outside, {each.name: found.of_function(each) for each in claim.statements})
        if unnamed := [each.name for each in inside if not all(type(n) is str for n in found.names(each))]:
            outside |= dict.fromkeys(unnamed, "the name of a line is a text")
            continue
        text = _text(claim, written, outside, found)
        names = {each.name: found.names(each) for each in claim.statements}
        try:
            digest = hashlib.sha256(text.encode()).hexdigest()
            stated = (known if known is not None and known.digest == digest else read(text)).statements
        except Refused as refused:
            return Frozen(None, {each.name: str(refused) for each in claim.statements}, names)
        if [each for each in inside if found.differ(each, stated[each.name])]:
            continue
        further = {}
        for each in inside if compared else ():
            try:
                require_agreement(each, stated[each.name], instances(each))
            except Refused as refused:
                further[each.name] = str(refused)
        if not further:
            return Frozen(text, outside, names)
        outside |= further


@dataclass(frozen=True)
class Written:
    """The parts of a claim's text that do not depend on the names of its lines.

    Attributes
    ----------
    definitions
        The definitions of the text.
    statements
        The function, ranges and records of each statement, as arguments of ``statement``.
    outside
        The reason why each other statement is outside the language.
    """

    definitions: tuple[str, ...]
    statements: Mapping[str, str]
    outside: Mapping[str, str]


_AT_LOADING: WeakKeyDictionary[Claim[..., Any], Written] = WeakKeyDictionary()


def write_at_loading(claim: Claim[..., Any]) -> None:
    """Write the definitions of a claim's text now. All later texts of the claim have these definitions.

    Constants thus keep the values that they have after the loading of the file, even if its functions change them.
    """
    _AT_LOADING[claim] = _written(claim)


def _written(claim: Claim[..., Any]) -> Written:
    """Write the definitions and statements of a claim, in at most ``FUEL`` steps."""
    used: frozenset[str] = frozenset()
    outside: dict[str, str] = {}
    left = FUEL
    while True:
        text = Text(used, _annotations(claim.statements))
        statements = {}
        with limited(left) as remaining:
            for each in claim.statements:
                if each.name in outside:
                    continue
                try:
                    with raising_exceptions(), text.unless_refused():
                        statements[each.name] = _statement(text, each)
                except Exception as error:  # an object of the user's file may raise any error
                    outside[each.name] = _why(error)
        left = max(0, remaining[0])
        if not text.asked & text.left_out:
            return Written(tuple(text.parts), statements, outside)
        used |= text.asked


def _text(claim: Claim[..., Any], written: Written, outside: Mapping[str, str], found: Lines) -> str:
    """Return the text of a claim."""
    ending = [f"claim({quoted(claim.id)}{', says_nothing=True' if claim.says_nothing else ''})"]
    for each in claim.statements:
        if each.name in outside:
            why = LINE.sub("", printable(outside[each.name]))
            ending.append(
                f"outside({quoted(each.name)}, lines={_names(found.of_function(each))}, role={quoted(each.role)},\n"
                f"    why={quoted(why)})"
            )
            continue
        lines = found.names(each)
        posed = tuple(line for line in lines if claim.of_line(printed(each.name, line))["ill_posed"])
        said = f", ill_posed={_names(posed)}" if posed else ""
        ending.append(
            f"statement({quoted(each.name)}, {written.statements[each.name]},\n"
            f"    lines={_names(lines)}, role={quoted(each.role)}{said})"
        )
    return "\n\n\n".join([*written.definitions, "\n".join(ending)]) + "\n"


def _why(error: Exception) -> str:
    """Return the reason why a statement has no text, from the error that was raised while its text was written."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, MemoryError):
        raise error
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if type(error) is ValueError:  # for an int of many digits, or some strings within f-strings
        return f"Python cannot write its source ({error}): write it otherwise"
    return (
        "it uses an object that raises an error if its type or its parts are requested: leave this object out"
    )


def _annotations(statements: Sequence[Statement]) -> list[str]:
    """Return the source code of all annotations of a claim's functions and records."""
    owners = [
        owner
        for each in statements
        for owner in (each.function, *(k for k, _ in each.space.records.values()))
    ]
    return [said for owner in owners for said in owner.__annotations__.values() if type(said) is str]


def _statement(text: Text, stated: Statement) -> str:
    """Return the function, the ranges and the records of a statement as source code."""
    space = stated.space
    if space.stream or space.replicates:
        raise Refused(f"random numbers: {TRIED}")
    for name, allowed in space.ranges.items():
        if allowed.drawn and not isinstance(allowed, OfClass):
            raise Refused(f"{name}: objects that a function draws: {TRIED}")
    function = text.name(stated.function, stated.function.__name__, None)
    ranges = [
        f"    {quoted(name)}: {_range(text, allowed, name)},\n" for name, allowed in space.ranges.items()
    ]
    records = ", ".join(
        f"{quoted(name)}: ({text.name(kind, kind.__name__, None)}, {_names(keys)})"
        for name, (kind, keys) in space.records.items()
    )
    written = f"{{\n{''.join(ranges)}}}" if ranges else "{}"
    return f"{function}, {written}, {{{records}}}"


def _range(text: Text, allowed: Range, name: str) -> str:
    """Return a range as source code."""
    if type(allowed) is Choice:
        written = f"choice({', '.join(text.literal(each, name) for each in allowed.options)})"
        return in_lines(written, "        ")
    if isinstance(allowed, Interval) and type(allowed) in (Integers, Rationals, Reals):
        word = "integers" if type(allowed) is Integers else "rationals"
        return f"{word}({_end(text, allowed.low, name)}, {_end(text, allowed.high, name)})"
    if type(allowed) is Sequences:
        return f"sequences({_range(text, allowed.entries, name)}, {_end(text, allowed.length, name)})"
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
        spend(STEPS * len(written))
        text.require_language(made, end.__code__)
        return written
    return text.literal(Fraction(repr(end)) if type(end) is float else end, name)


def _names(names: Sequence[str]) -> str:
    """Write a tuple of strings as source code."""
    return f"({', '.join(map(quoted, names))}{',' if len(names) == 1 else ''})"


def may_be_rewritten(why: str) -> bool:
    """Return whether the reason is one that the author can avoid by rewriting the statement."""
    return bool(why) and not why.endswith(TRIED)
