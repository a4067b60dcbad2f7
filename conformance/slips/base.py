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


def changed(name: str, line: str, change: Change, sentence: str) -> Slip:
    """Make the slip that computes a line from its value, (run, value, **quantities) -> value."""
    return Slip(name, sentence, {line: change})


def replaced(name: str, line: str, change: Change, sentence: str) -> Slip:
    """Make the slip that computes a line without its value, (run, value, **quantities) -> value."""
    return Slip(name, sentence, {line: change}, frozenset({line}))


def factor(name: str, line: str, number: Callable[[Definition], float] | float, sentence: str) -> Slip:
    """Make the slip that multiplies a line by a number, or by a function of the run."""
    if callable(number):
        return changed(name, line, lambda run, value, **_: number(run) * value, sentence)
    return changed(name, line, lambda _run, value, **_: number * value, sentence)


def missing(name: str, line: str, sentence: str) -> Slip:
    """Make the slip that leaves a line out."""
    return replaced(name, line, lambda _run, value, **_: 0 * value, sentence)


def setting(name: str, power: int = 1) -> Callable[[Definition], float]:
    """Return the function of a run that is a setting, or a power of it."""
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
