"""One evaluation: its fuel, and the facts that are known at each place. A replay consists of evaluations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

FUEL = 1_250_000
"""Number of steps that reading a text, or judging one piece of evidence, may take.

A step is an operation, weighted by the length of its numbers.
"""
FORKS = 8
"""Largest number of branches on one path; a branch is a comparison of symbols."""
LONGEST = 300
"""Largest number of characters in a reason."""


class Refused(Exception):
    """Raised for a forbidden step of a text or proof, or for invalid evidence; the message is one line."""

    def __init__(self, why: str) -> None:
        super().__init__(printable(why))


class Outside(Exception):
    """Raised if an instance breaks a hypothesis; the message is the hypothesis."""


class OutOfFuel(Refused):
    """Raised if a replay exceeds its limit of steps."""


def printable(text: str) -> str:
    """Return a string as one line, cut to ``LONGEST`` characters, with escapes for unprintable characters."""
    shown = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in shown)


@dataclass(frozen=True)
class Context:
    """The facts known at one place of an evaluation. A context never changes; leaving a place restores an earlier one.

    Attributes
    ----------
    facts
        Comparisons that the claim supposed, about symbols or about quantities that depend on a function of a class.
    path
        The comparisons on which the evaluation branched, each with the fact that holds on this path.
    divisors
        Divisors that are symbols. A proof must show that each divisor is nonzero where it was used.
    required
        Facts about symbols without which a value would not exist, such as that a proximal step is positive.
    spare
        Symbols that are not used yet. Rounds use some of these symbols for their states.
    integers
        Indices of the symbols that stand for integers.
    """

    facts: tuple[Any, ...] = ()
    path: tuple[tuple[Any, Any], ...] = ()
    divisors: tuple[Used, ...] = ()
    required: tuple[Used, ...] = ()
    spare: tuple[Any, ...] = ()
    integers: frozenset[int] = frozenset()

    @property
    def known(self) -> list[Any]:
        """The facts that were supposed, and the facts that hold on the path."""
        return _known(self.facts, self.path)


@dataclass(frozen=True)
class Used:
    """A divisor or a required fact, and the facts known at its place; facts that are supposed later do not count.

    Attributes
    ----------
    what
        The divisor, or the fact.
    facts, path
        As in ``Context``, at the place where it was used.
    """

    what: Any
    facts: tuple[Any, ...]
    path: tuple[tuple[Any, Any], ...]

    def known(self, later: Iterable[Any] | None = None) -> list[Any]:
        """Return the facts known at that place. If ``later`` is given, return only the facts that still hold."""
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
    """The record of one call of a claim's function, besides its return value.

    Attributes
    ----------
    now
        The facts that are known at the current place.
    states
        Indices of the symbols that rounds may use.
    decisions
        For each branch on a comparison of symbols, in order, whether the comparison holds on the current path. The
        value is None if there are no paths, and branches have no formula.
    asked
        Number of these branches so far.
    goals
        Facts that an induction must show besides the lines.
    depth
        Number of goals within which the evaluation is: 1 in a round, 2 in a round of a loop in a round.
    world
        The trace of the functions of a class, if the evaluation has symbols; otherwise None.
    taken
        Largest number of symbols that were used at once.
    own
        In a part that may or may not run, or may run repeatedly: the lists, dictionaries and generators created in this
        part, by identity. Only these objects may change in the part. Elsewhere this is None, and all objects may
        change.
    """

    now: Context = field(default_factory=Context)
    states: frozenset[int] = frozenset()
    decisions: list[bool] | None = None
    asked: int = 0
    goals: list[Any] = field(default_factory=list)
    depth: int = 0
    world: Any = None
    taken: int = 0
    own: dict[int, Any] | None = None

    def add(self, **further: Any) -> None:
        """Add facts at the current place."""
        spend(sum(len(getattr(self.now, name)) for name in further) // 8)
        self.now = replace(self.now, **{name: getattr(self.now, name) + new for name, new in further.items()})

    def use(self, *, divisor: Any = None, required: Any = None) -> None:
        """Record a division by symbols, or a value that exists only if a fact about symbols holds."""
        if divisor is not None:
            self.add(divisors=(Used(divisor, self.now.facts, self.now.path),))
        if required is not None:
            self.add(required=(Used(required, self.now.facts, self.now.path),))

    def fresh(self) -> Any:
        """Return a symbol that is not used yet."""
        if not self.now.spare:
            raise Refused("a number of rounds is a symbol: the rule induction shows it, with more states")
        first, *others = self.now.spare
        self.now = replace(self.now, spare=tuple(others))
        self.taken = max(self.taken, len(self.states) - len(others))
        return first

    def decide(self) -> bool:
        """Return whether the comparison at the current branch holds on the path; the first path takes True."""
        if self.decisions is None:
            raise Refused("a comparison of symbols is neither true nor false: a branch on it has no formula")
        if self.asked == FORKS:
            raise Refused(f"more than {FORKS} comparisons are branched on, on one path")
        if self.asked == len(self.decisions):
            self.decisions.append(True)
        self.asked += 1
        return self.decisions[self.asked - 1]

    def next_decisions(self) -> list[bool] | None:
        """Return the first decisions of the next path, or None after the last path."""
        return following((self.decisions or [])[: self.asked])

    @contextmanager
    def undecided(self) -> Iterator[None]:
        """Evaluate a part of the code that may or may not run, in which no older value may change."""
        outer, self.own = self.own, {}
        try:
            yield
        finally:
            self.own = outer


def following(decisions: list[bool]) -> list[bool] | None:
    """Return the first decisions of the path after the given one, or None after the last path."""
    while decisions and not decisions[-1]:
        decisions = decisions[:-1]
    return [*decisions[:-1], False] if decisions else None


_FUEL: ContextVar[list[int] | None] = ContextVar("steps that are left", default=None)
_EVALUATION: ContextVar[Evaluation | None] = ContextVar("the evaluation that runs", default=None)


def spend(steps: int) -> None:
    """Use up a number of steps.

    Raises
    ------
    OutOfFuel
        If too few steps are left.
    """
    left = _FUEL.get()
    if left is not None:
        left[0] -= max(steps, 0)  # no call can give fuel back
        if left[0] < 0:
            raise OutOfFuel("it takes more steps than it may")


@contextmanager
def limited(fuel: int = FUEL) -> Iterator[list[int]]:
    """Limit the steps of everything inside the context; yield a list with one entry, the number of steps left."""
    left = [fuel]
    token = _FUEL.set(left)
    try:
        yield left
    finally:
        _FUEL.reset(token)


@contextmanager
def evaluating(record: Evaluation | None = None) -> Iterator[Evaluation]:
    """Begin an evaluation, and yield its record. An evaluation cannot begin inside another one."""
    if _EVALUATION.get() is not None:
        raise Refused("an evaluation within an evaluation")
    running = Evaluation() if record is None else record
    token = _EVALUATION.set(running)
    try:
        yield running
    finally:
        _EVALUATION.reset(token)


def proving() -> bool:
    """Return whether there is a running evaluation that has symbols for states."""
    found = _EVALUATION.get()
    return found is not None and bool(found.states)


def running() -> Evaluation:
    """Return the record of the running evaluation."""
    found = _EVALUATION.get()
    if found is None:
        raise Refused("symbols are compared, or divided by, outside of the evaluation of a claim's function")
    return found


def made(value: Any) -> Any:
    """Return a list, dictionary or generator that was just created; only the current part may change it."""
    found = _EVALUATION.get()
    if found is not None and found.own is not None:
        found.own[id(value)] = value
    return value


def changed(value: Any) -> Any:
    """Return a list, dictionary or generator that is about to change.

    Raises
    ------
    Refused
        If the value is older than the current part, which may or may not run.
    """
    found = _EVALUATION.get()
    if found is not None and found.own is not None and id(value) not in found.own:
        raise Refused(
            "what was made before given(...), known(...) or a round changes in it, or is used up: make it there"
        )
    return value
