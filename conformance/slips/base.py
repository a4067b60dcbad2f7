"""Slips: known mistakes, each a changed line of an algorithm's definition and a sentence about it."""

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
        Identifier of the mistake in reports and tests.
    sentence
        What code with this mistake does, to help its author find it.
    changes
        Changes by the name of the line; a change that needs state between calls keeps it in ``run.memory``.
    replaced
        Lines whose value is replaced without being used, so that another change of the same line has no
        effect.
    """

    name: str
    sentence: str
    changes: Mapping[str, Change]
    replaced: frozenset[str] = frozenset()

    def composes_with(self, other: Slip) -> bool:
        """Return whether both mistakes have an effect if they are made together."""
        return not self.replaced & set(other.changes) and not other.replaced & set(self.changes)


def changed(name: str, line: str, change: Change, sentence: str) -> Slip:
    """Make the slip that changes a line's value by a function of it, (run, value, **quantities) -> value."""
    return Slip(name, sentence, {line: change})


def replaced(name: str, line: str, change: Change, sentence: str) -> Slip:
    """Make the slip that replaces a line's value without using it, (run, value, **quantities) -> value."""
    return Slip(name, sentence, {line: change}, frozenset({line}))


def factor(name: str, line: str, number: Callable[[Definition], float] | float, sentence: str) -> Slip:
    """Make the slip that multiplies a line by a number, or by a function of the run."""
    if callable(number):
        return changed(name, line, lambda run, value, **_: number(run) * value, sentence)
    return changed(name, line, lambda _run, value, **_: number * value, sentence)


def missing(name: str, line: str, sentence: str) -> Slip:
    """Make the slip that sets a line's value to 0, as if the line were missing."""
    return replaced(name, line, lambda _run, value, **_: 0 * value, sentence)


def setting(name: str, power: int = 1) -> Callable[[Definition], float]:
    """Return the function of a run that returns a setting, or a power of it."""
    return lambda run: float(run.settings[name]) ** power


def constant(value: Any) -> Change:
    """Return the change of a line to a constant."""
    return lambda *_, **__: value


def epochs(run: Definition, _value: float, **_: Any) -> Any:
    """Return the number of local epochs in place of K_i."""
    return float(run.settings["local_epochs"])


def samples_of_epochs(run: Definition, _value: float, client: int) -> Any:
    """Return the number of samples of all epochs in place of K_i."""
    return float(run.settings["local_epochs"] * run.task.samples[client])
