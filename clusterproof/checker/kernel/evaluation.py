"""One evaluation: its fuel, and what is known at each place of it; a replay is made of evaluations only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

FUEL = 1_250_000
"""Steps that reading a text, or judging one piece of evidence, may take: operations, weighted by the length of their
numbers."""
FORKS = 8
"""Comparisons of symbols that may be branched on, on one path."""
LONGEST = 300
"""Most characters of a reason."""


class Refused(Exception):
    """No proof may do this, or the evidence does not show it; the message says why, in one printable line."""

    def __init__(self, why: str) -> None:
        super().__init__(printable(why))


class Outside(Exception):
    """The instance does not meet the hypothesis that the message names."""


class OutOfFuel(Refused):
    """The replay took more steps than it may."""


def printable(text: str) -> str:
    """Return a text in one line, cut to ``LONGEST``, with escapes for what a terminal does not show."""
    shown = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in shown)


@dataclass(frozen=True)
class Context:
    """What is known at one place of an evaluation. It never changes: who leaves a place returns to what was known.

    Attributes
    ----------
    facts
        Comparisons of symbols, or of quantities that depend on a function of a class, that were supposed.
    path
        The comparisons that were branched on, and the facts that they are on this path.
    divisors
        Divisors that are symbols. A proof must show for each that it is not zero where it was used.
    required
        Facts about symbols without which a value would not exist, such as that a proximal step is positive.
    spare
        Symbols that stand for nothing yet. Rounds take some of them for the states that they lead to.
    integers
        Places of the symbols that stand for integers.
    """

    facts: tuple[Any, ...] = ()
    path: tuple[tuple[Any, Any], ...] = ()
    divisors: tuple[Used, ...] = ()
    required: tuple[Used, ...] = ()
    spare: tuple[Any, ...] = ()
    integers: frozenset[int] = frozenset()

    @property
    def known(self) -> list[Any]:
        """What was supposed, and what was decided on the path."""
        return _known(self.facts, self.path)


@dataclass(frozen=True)
class Used:
    """What a value exists by only, and what was known where it was used: what is supposed later does not help.

    Attributes
    ----------
    what
        A divisor, or a fact.
    facts, path
        As of ``Context``, at the place where it was used.
    """

    what: Any
    facts: tuple[Any, ...]
    path: tuple[tuple[Any, Any], ...]

    def known(self, later: Iterable[Any] | None = None) -> list[Any]:
        """Return what was known there; of that, if ``later`` is given, what still is."""
        found = _known(self.facts, self.path)
        if later is None:
            return found
        kept = {id(fact) for fact in later}
        return [fact for fact in found if id(fact) in kept]


def _known(facts: Sequence[Any], path: Sequence[tuple[Any, Any]]) -> list[Any]:
    spend((len(facts) + len(path)) // 8)
    return [*facts, *(fact for _, fact in path)]


@dataclass
class Evaluation:
    """What one call of a claim's function leaves behind besides its value.

    Attributes
    ----------
    now
        What is known at the place that is evaluated.
    states
        Places of the symbols that rounds may take.
    decisions
        Whether each comparison of symbols that is branched on holds, in their order, on the path that is followed;
        None where there is no path, and branches have no formula.
    asked
        Number of these comparisons so far.
    goals
        What an induction must show besides the lines.
    world
        Of functions of a class beside symbols, the trace; else None.
    taken
        The most symbols that were taken at once.
    own
        Within a part of which it is not decided whether it runs, or how often: the lists, dictionaries and generators
        that were made in it, by identity. Only these may change there. None elsewhere, where all may.
    """

    now: Context = field(default_factory=Context)
    states: frozenset[int] = frozenset()
    decisions: list[bool] | None = None
    asked: int = 0
    goals: list[Any] = field(default_factory=list)
    world: Any = None
    taken: int = 0
    own: dict[int, Any] | None = None

    def add(self, **further: Any) -> None:
        """Know more at the place that is evaluated."""
        spend(sum(len(getattr(self.now, name)) for name in further) // 8)
        self.now = replace(self.now, **{name: getattr(self.now, name) + new for name, new in further.items()})

    def use(self, *, divisor: Any = None, required: Any = None) -> None:
        """Divide by symbols, or use a value that exists only if a fact about symbols holds."""
        if divisor is not None:
            self.add(divisors=(Used(divisor, self.now.facts, self.now.path),))
        if required is not None:
            self.add(required=(Used(required, self.now.facts, self.now.path),))

    def fresh(self) -> Any:
        """Return a symbol that stands for nothing yet."""
        if not self.now.spare:
            raise Refused("a number of rounds is a symbol: the rule induction shows it, with more states")
        first, *others = self.now.spare
        self.now = replace(self.now, spare=tuple(others))
        self.taken = max(self.taken, len(self.states) - len(others))
        return first

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

    @contextmanager
    def undecided(self) -> Iterator[None]:
        """Evaluate a part that may or may not run: nothing that was there before may change."""
        outer, self.own = self.own, {}
        try:
            yield
        finally:
            self.own = outer


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
        left[0] -= max(steps, 0)  # nothing gives fuel back
        if left[0] < 0:
            raise OutOfFuel("it takes more steps than it may")


@contextmanager
def limited(fuel: int = FUEL) -> Iterator[list[int]]:
    """Give everything inside together so much fuel; the list that is yielded has one entry, the fuel that is left."""
    left = [fuel]
    token = _FUEL.set(left)
    try:
        yield left
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


def made(value: Any) -> Any:
    """Return a list, dictionary or generator that was made just now: where it is made it may change."""
    found = _EVALUATION.get()
    if found is not None and found.own is not None:
        found.own[id(value)] = value
    return value


def changed(value: Any) -> Any:
    """Return a list, dictionary or generator that is about to change.

    Raises
    ------
    Refused
        If it was made before a part that may or may not run.
    """
    found = _EVALUATION.get()
    if found is not None and found.own is not None and id(value) not in found.own:
        raise Refused(
            "what was made before given(...), known(...) or a round changes in it, or is used up: make it there"
        )
    return value
