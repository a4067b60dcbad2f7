"""A slip: the definition with one line changed, and a sentence that says which."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from clusterproof.conformance.definitions.base import Change, Definition


@dataclass(frozen=True)
class Slip:
    """A known mistake.

    Attributes
    ----------
    name
        Its id, which reports and tests use.
    sentence
        What the code with this mistake does, for the person who has to find it.
    changes
        The changed values by the name of the line; what they remember is in ``run.memory``.
    replaced
        Lines that are replaced whatever their value was, so that no other replacement of them can show.
    """

    name: str
    sentence: str
    changes: Mapping[str, Change]
    replaced: frozenset[str] = frozenset()

    def composes_with(self, other: Slip) -> bool:
        """Return whether both mistakes show where they are made together."""
        return not self.replaced & set(other.changes) and not other.replaced & set(self.changes)


def factor(name: str, line: str, number: Callable[[Definition], float] | float, sentence: str) -> Slip:
    """Make the slip that multiplies a line by a number, or by a function of the run."""
    if callable(number):
        return Slip(name, sentence, {line: lambda run, value, **_: number(run) * value})
    return Slip(name, sentence, {line: lambda _run, value, **_: number * value})


def missing(name: str, line: str, sentence: str) -> Slip:
    """Make the slip that leaves a line out."""
    return Slip(name, sentence, {line: lambda _run, value, **_: 0 * value}, frozenset({line}))


def replacement(name: str, line: str, value: Callable[..., Any], sentence: str) -> Slip:
    """Make the slip that computes a line in another way, (run, value, **quantities) -> value."""
    return Slip(name, sentence, {line: value}, frozenset({line}))


def addition(name: str, line: str, term: Callable[..., Any], sentence: str) -> Slip:
    """Make the slip that adds a term, (run, **quantities) -> array, to a line."""
    return Slip(name, sentence, {line: lambda run, value, **quantities: value + term(run, **quantities)})
