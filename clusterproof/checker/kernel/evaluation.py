"""One evaluation of a claim's function: its limit of steps (fuel), and the facts known at each place of the code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

FUEL = 1_250_000
"""Largest number of steps for reading a text, or for judging one piece of evidence.

A step is an operation, weighted by the length of its numbers.
"""
FORKS = 8
"""Largest number of branches on one path; a branch is a comparison of symbols whose result is unknown."""
LONGEST = 300
"""Largest number of characters in a reason."""


class Refused(Exception):
    """Raised for anything invalid in a text, a proof or evidence; the message is one line."""

    def __init__(self, why: str) -> None:
        super().__init__(printable(why))


class Outside(Exception):
    """Raised if an instance breaks a hypothesis; the message is the hypothesis."""


class OutOfFuel(Refused):
    """Raised if a replay exceeds its limit of steps."""


def printable(text: str) -> str:
    """Shorten a string to ``LONGEST`` characters on one line, and escape unprintable characters."""
    shown = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in shown)


@dataclass(frozen=True)
class Context:
    """The facts known at one point in the code. A context is immutable; leaving a place restores the earlier context.

    Attributes
    ----------
    facts
        Hypotheses of the claim about symbols, or about quantities that depend on a function of a class.
    path
        The comparisons at which the evaluation branched, each with the fact that holds on this path.
    divisors
        Divisors that contain symbols. A proof must show that each divisor is nonzero where it is used.
    required
        Facts about symbols that are necessary for a value to exist: for example, that a proximal step is positive.
    spare
        Symbols that are not used yet; rounds of loops use them for their states.
    integers
        Indices of the symbols that represent integers.
    """

    facts: tuple[Any, ...] = ()
    path: tuple[tuple[Any, Any], ...] = ()
    divisors: tuple[Used, ...] = ()
    required: tuple[Used, ...] = ()
    spare: tuple[Any, ...] = ()
    integers: frozenset[int] = frozenset()

    @property
    def known(self) -> list[Any]:
        """The hypotheses, and the facts that hold on the path."""
        return _known(self.facts, self.path)


@dataclass(frozen=True)
class Used:
    """A divisor or a required fact, and the facts known where it is used; later hypotheses do not count.

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
        """Return the facts known at the place of use; with ``later``, return only those that occur in ``later``."""
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
    """Everything recorded in one call of a claim's function, except its return value.

    Attributes
    ----------
    now
        The facts that are known at the current place.
    states
        Indices of the symbols that rounds of loops may use.
    decisions
        For each branch so far, in order, whether its comparison holds on the current path. The value is None if
        branches on symbols are not allowed.
    asked
        Number of branches so far.
    goals
        Facts that an induction must prove in addition to the lines.
    depth
        Nesting depth of goals: 1 inside a round of a loop, 2 inside a round of a loop inside a round.
    world
        The trace of the functions of a class, if the evaluation has symbols; otherwise None.
    taken
        Largest number of symbols in use at the same time.
    own
        Objects that may change inside code that runs an unknown number of times (possibly never): the lists,
        dictionaries and generators created in this code, indexed by identity. In all other code, ``own`` is None, and
        every object may change.
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
        """Add facts that are known from the current place on."""
        spend(6 + sum(len(getattr(self.now, name)) for name in further) // 8)
        self.now = replace(self.now, **{name: getattr(self.now, name) + new for name, new in further.items()})

    def use(self, *, divisor: Any = None, required: Any = None) -> None:
        """Record a division by an expression with symbols, or a fact about symbols that a value requires."""
        if divisor is not None:
            self.add(divisors=(Used(divisor, self.now.facts, self.now.path),))
        if required is not None:
            self.add(required=(Used(required, self.now.facts, self.now.path),))

    def fresh(self) -> Any:
        """Return an unused symbol."""
        if not self.now.spare:
            raise Refused("a number of rounds is a symbol: the rule induction shows it, with more states")
        first, *others = self.now.spare
        self.now = replace(self.now, spare=tuple(others))
        self.taken = max(self.taken, len(self.states) - len(others))
        return first

    def decide(self) -> bool:
        """Return whether the comparison at the current branch holds on this path; on the first path, it holds."""
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
        """Evaluate code that may or may not run; inside it, values created earlier must not change."""
        outer, self.own = self.own, {}
        try:
            yield
        finally:
            self.own = outer


def following(decisions: list[bool]) -> list[bool] | None:
    """Return the first decisions of the path that follows a given path, or None after the last path."""
    while decisions and not decisions[-1]:
        decisions = decisions[:-1]
    return [*decisions[:-1], False] if decisions else None


_FUEL: ContextVar[list[int] | None] = ContextVar("steps that are left", default=None)
_EVALUATION: ContextVar[Evaluation | None] = ContextVar("the evaluation that runs", default=None)


def spend(steps: int) -> None:
    """Count a number of steps.

    Raises
    ------
    OutOfFuel
        If the limit of steps is exceeded.
    """
    left = _FUEL.get()
    if left is not None:
        left[0] -= max(steps, 0)  # a negative number must not add steps
        if left[0] < 0:
            raise OutOfFuel("it takes more steps than it may")


@contextmanager
def limited(fuel: int = FUEL) -> Iterator[list[int]]:
    """Limit the number of steps inside the context; yield a list whose only entry is the number of remaining steps."""
    left = [fuel]
    token = _FUEL.set(left)
    try:
        yield left
    finally:
        _FUEL.reset(token)


@contextmanager
def evaluating(record: Evaluation | None = None) -> Iterator[Evaluation]:
    """Begin an evaluation, and yield its record. Evaluations cannot be nested."""
    if _EVALUATION.get() is not None:
        raise Refused("an evaluation within an evaluation")
    running = Evaluation() if record is None else record
    token = _EVALUATION.set(running)
    try:
        yield running
    finally:
        _EVALUATION.reset(token)


def proving() -> bool:
    """Return whether an evaluation is running and has symbols for states."""
    found = _EVALUATION.get()
    return found is not None and bool(found.states)


def running() -> Evaluation:
    """Return the record of the running evaluation."""
    found = _EVALUATION.get()
    if found is None:
        raise Refused("symbols are compared, or divided by, outside of the evaluation of a claim's function")
    return found


def made(value: Any) -> Any:
    """Register a new list, dictionary or generator, so that the code that created it may change it."""
    found = _EVALUATION.get()
    if found is not None and found.own is not None:
        found.own[id(value)] = value
    return value


def changed(value: Any) -> Any:
    """Require that the code at this place may change a list, dictionary or generator, and return the object.

    Raises
    ------
    Refused
        If the running code may or may not run, and the object was created before this code.
    """
    found = _EVALUATION.get()
    if found is not None and found.own is not None and id(value) not in found.own:
        raise Refused(
            "what was made before given(...), known(...) or a round changes in it, or is used up: make it there"
        )
    return value
