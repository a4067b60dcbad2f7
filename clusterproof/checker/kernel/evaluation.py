"""One evaluation: its fuel, and what was supposed and divided by; a replay is made of evaluations only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

FUEL = 1_250_000
"""Steps that the replay of one piece of evidence may take: operations, weighted by the length of their numbers."""
FORKS = 8
"""Comparisons of symbols that may be branched on, on one path."""


class Refused(Exception):
    """No proof may do this, or the evidence does not show it; the message says why."""


class Outside(Exception):
    """The instance does not meet the hypothesis that the message names."""


class OutOfFuel(Refused):
    """The replay took more steps than it may."""


@dataclass
class Evaluation:
    """What one call of a claim's function leaves behind besides its value.

    Attributes
    ----------
    facts
        Comparisons of symbols, or of quantities that depend on a function of a class, that were supposed.
    divisors
        Symbols that were divided by, each of which a proof must show to be other than zero.
    kept
        Lists and dictionaries that may not change, by identity: those that caches returned.
    decisions
        Whether each comparison of symbols that is branched on holds, in their order, on the path that is followed;
        None where there is no path, and branches have no formula.
    path
        The comparisons that were branched on, and the facts that they are on this path.
    spare, states
        Symbols that stand for nothing yet, of which rounds take those for the state to which they lead; and the places
        of all of these.
    integers
        Places of the symbols that stand for integers.
    goals
        What an induction must show besides the lines.
    taken
        The most symbols that were taken at once.
    """

    facts: list[Any] = field(default_factory=list)
    divisors: list[Any] = field(default_factory=list)
    kept: dict[int, Any] = field(default_factory=dict)
    decisions: list[bool] | None = None
    path: list[tuple[Any, Any]] = field(default_factory=list)
    asked: int = 0
    spare: list[Any] = field(default_factory=list)
    states: frozenset[int] = frozenset()
    integers: frozenset[int] = frozenset()
    goals: list[Any] = field(default_factory=list)
    taken: int = 0

    def fresh(self) -> Any:
        """Return a symbol that stands for nothing yet."""
        if not self.spare:
            raise Refused("a number of rounds is a symbol: the rule induction shows it, with more states")
        self.taken = max(self.taken, len(self.states) - len(self.spare) + 1)
        return self.spare.pop(0)

    @property
    def known(self) -> list[Any]:
        """What was supposed, and what was decided on the path."""
        return [*self.facts, *(fact for _, fact in self.path)]

    def decide(self) -> bool:
        """Return whether the comparison that is branched on now holds on the path: first it does."""
        if self.decisions is None:
            raise Refused("a comparison of symbols is neither true nor false: a branch on it has no formula")
        if self.asked == FORKS:
            raise Refused(f"more than {FORKS} branches on symbols on one path")
        if self.asked == len(self.decisions):
            self.decisions.append(True)
        self.asked += 1
        return self.decisions[self.asked - 1]

    def next_decisions(self) -> list[bool] | None:
        """Return the first decisions of the next path; None after the last one."""
        return following((self.decisions or [])[: self.asked])


def following(decisions: list[bool]) -> list[bool] | None:
    """Return the first decisions of the path after one; None after the last one."""
    while decisions and not decisions[-1]:
        decisions = decisions[:-1]
    return [*decisions[:-1], False] if decisions else None


_FUEL: ContextVar[list[int] | None] = ContextVar("steps that are left", default=None)
_EVALUATION: ContextVar[Evaluation | None] = ContextVar("the evaluation that runs", default=None)


def spend(steps: int) -> None:
    """Take steps off the fuel.

    Raises
    ------
    OutOfFuel
        If none are left.
    """
    left = _FUEL.get()
    if left is not None:
        left[0] -= steps
        if left[0] < 0:
            raise OutOfFuel("the replay takes more steps than it may")


@contextmanager
def limited(fuel: int = FUEL) -> Iterator[None]:
    """Give everything inside together so much fuel."""
    token = _FUEL.set([fuel])
    try:
        yield
    finally:
        _FUEL.reset(token)


@contextmanager
def evaluating(record: Evaluation | None = None) -> Iterator[Evaluation]:
    """Begin an evaluation, whose record is yielded. None may begin within another one."""
    if _EVALUATION.get() is not None:
        raise Refused("an evaluation within an evaluation")
    running = Evaluation() if record is None else record
    token = _EVALUATION.set(running)
    try:
        yield running
    finally:
        _EVALUATION.reset(token)


def proving() -> bool:
    """Return whether an evaluation runs that has symbols for states."""
    found = _EVALUATION.get()
    return found is not None and bool(found.states)


def running() -> Evaluation:
    """Return the record of the evaluation that runs."""
    found = _EVALUATION.get()
    if found is None:
        raise Refused("a hypothesis outside of an evaluation")
    return found


def changed(value: Any) -> Any:
    """Return a list or dictionary that is about to change, unless a cache returned it."""
    found = _EVALUATION.get()
    if found is not None and id(value) in found.kept:
        raise Refused("what a cache returned, or given(...) takes, is changed: copy it first")
    return value
