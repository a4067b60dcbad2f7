"""A claim's statement as the kernel reads it: its function in the language, and its ranges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusterproof.checker import kernel
from clusterproof.checker.claims import sides
from clusterproof.checker.claims.claim import Claim
from clusterproof.checker.claims.class_ranges import OfClass, least
from clusterproof.checker.claims.iteration import iterate, known
from clusterproof.checker.claims.ranges import Choice, Integers, Range, Rationals, Reals, exactly
from clusterproof.checker.claims.sequences import Sequences
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.kernel import induction, vocabulary
from clusterproof.common.calls import exposed

WORDS: dict[Callable[..., Any], Callable[..., Any]] = {
    sides.suppose: vocabulary.suppose,
    sides.given: vocabulary.given,
    sides.at_most: vocabulary.at_most,
    sides.at_least: vocabulary.at_least,
    sides.equal: vocabulary.equal,
    least: vocabulary.least,
    iterate: induction.iterate,
    known: induction.known,
}


def _at_most_and_bound(measured: Any, *allowed: Any, words: Any = None, **terms: Any) -> vocabulary.Sides:
    line, bound = vocabulary.at_most(measured, *allowed, **terms), vocabulary.at_most(0, *allowed, **terms)
    return vocabulary.Sides((*line.slacks, *bound.slacks))


def _at_least_and_bound(measured: Any, *allowed: Any, words: Any = None, **terms: Any) -> vocabulary.Sides:
    line, bound = vocabulary.at_least(measured, *allowed, **terms), vocabulary.at_least(measured, 0)
    return vocabulary.Sides((*line.slacks, *bound.slacks))


BOUNDED = WORDS | {
    sides.at_most: _at_most_and_bound,
    sides.at_least: _at_least_and_bound,
}
"""Words with which a line's slacks are followed by the sides to which ratios are taken."""
TRIED = "what depends on them is tried, and not proved"
"""Why a statement can be no other one."""


def statement_of(
    statement: Statement,
    words: Mapping[Callable[..., Any], Callable[..., Any]] = WORDS,
    loader: type[kernel.Source] = kernel.Source,
) -> kernel.Statement:
    """Return a statement in the language.

    Parameters
    ----------
    statement
        Whose function and ranges are read.
    words
        By a claim's word, such as ``at_most``, what it is in the language; ``BOUNDED`` for searching the worst case.
    loader
        Loads what the statement rests on.

    Raises
    ------
    Refused
        If it is none; the message says where, why and what to write.
    """
    space = statement.space
    if space.stream or space.replicates:
        raise kernel.Refused(f"random numbers: {TRIED}")
    for name, allowed in space.ranges.items():
        if allowed.drawn and not isinstance(allowed, OfClass):
            raise kernel.Refused(f"{name}: objects that a function draws: {TRIED}")

    def of_source(source: kernel.Source) -> kernel.Space:
        return kernel.Space({name: _range(name, each, source) for name, each in space.ranges.items()})

    owners = [statement.function, *(kind for kind, _ in space.records.values())]
    annotations = [text for each in owners for text in each.__annotations__.values()]
    vocabulary = {id(known): own for word, own in words.items() for known in (word, exposed(word))}
    source = loader(vocabulary, _unwrapped, annotations)
    return kernel.Statement.of(statement.function, of_source, space.records, source)


def language_of(statement: Statement) -> kernel.Statement | str:
    """Return a statement in the language, or why it is none."""
    try:
        return statement_of(statement)
    except kernel.Refused as refused:
        return str(refused)


def may_be_rewritten(why: str) -> bool:
    """Return whether a statement that is not in the language may be stated otherwise by its author."""
    return bool(why) and not why.endswith(TRIED)


def _unwrapped(value: Any) -> Any:
    return value.function if type(value) is Claim else value


def _range(name: str, allowed: Range, source: kernel.Source) -> Any:
    if type(allowed) is Choice:
        return kernel.Choice(tuple(source.constant(option, name) for option in allowed.options))
    if type(allowed) in (Integers, Rationals, Reals):
        return _interval(name, allowed, source)
    if type(allowed) is Sequences:
        (length,) = allowed.shape
        return kernel.Tuples(_range(name, allowed.entries, source), source.end(length, name))
    if type(allowed) is OfClass:
        groups = [
            (each.count, each.kind, tuple((n, source.end(c, n)) for n, c in each.constants.items()))
            for each in allowed.groups
        ]
        return kernel.OfClass(tuple(groups), source.end(allowed.distance, name))
    raise kernel.Refused(f"{name}: NumPy arrays are not of the language: state sequences(...)")


def _interval(name: str, allowed: Any, source: kernel.Source) -> kernel.Interval:
    ends = [exactly(end) if type(end) is float else end for end in (allowed.low, allowed.high)]
    low = None if allowed.downwards else source.end(ends[0], name)
    high = None if allowed.upwards else source.end(ends[1], name)
    return kernel.Interval(low, high, integers=type(allowed) is Integers)
