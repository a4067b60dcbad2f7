"""Loops with invariants (``iterate``), and values about which a proof knows only some facts (``known``).

On numbers, ``iterate`` is a loop, and the rule *potential* evaluates its invariant in every round. If the number of
rounds is a symbol, the loop returns new symbols for which the invariant is supposed. A rule must then prove two goals.
First, the start satisfies the invariant after 0 rounds. Second, if a state satisfies the invariant after n <= rounds -
1 rounds, then the next state satisfies it after n + 1 rounds. Hypotheses, branch conditions and divisors inside a round
are not known outside the round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from clusterproof.checker.kernel.evaluation import Outside, Refused, Used, proving, running, spend
from clusterproof.checker.kernel.numbers import Abstract, integral
from clusterproof.checker.kernel.operations import each
from clusterproof.checker.kernel.polynomials import constant
from clusterproof.checker.kernel.quotients import Fact, Many, Quotient, is_zero
from clusterproof.checker.kernel.records import Record
from clusterproof.checker.kernel.vocabulary import Least, facts_of
from clusterproof.checker.kernel.worlds import Form, Point

State = TypeVar("State")
"""A number or point, or a tuple or frozen record of numbers and points."""
_KINDS = {int: "x", Fraction: "x", Quotient: "x", Point: "p", Form: "v"}
"""Letters for a number, a point, and a number that depends on f, as in ``_form``."""


@dataclass(frozen=True)
class Goal:
    """Facts to prove under a name, and everything known for this proof: facts, divisors, required facts, conditions."""

    name: str
    shown: Sequence[Fact]
    known: Sequence[Fact]
    divisors: Sequence[Used]
    required: Sequence[Used]
    conditions: Any


@dataclass(frozen=True)
class Looked:
    """One comparison of an invariant after some rounds; it holds if its slack is at least 0."""

    rounds: int
    place: int
    slack: Any


_LOOKING: ContextVar[list[Looked] | None] = ContextVar("what invariants say on numbers", default=None)


@contextmanager
def looking_at_invariants() -> Iterator[list[Looked]]:
    """Yield a list to which loops on numbers append the comparisons of their invariants in every round."""
    found: list[Looked] = []
    token = _LOOKING.set(found)
    try:
        yield found
    finally:
        _LOOKING.reset(token)


def _look(invariant: Callable[..., Any] | None, state: Any, rounds: int) -> None:
    """Append an invariant's comparisons, if they are collected; inner loops append nothing."""
    found = _LOOKING.get()
    if found is None or invariant is None:
        return
    _form(state)  # rejects lists and generators, which the invariant might use up
    token = _LOOKING.set(None)
    try:
        with running().undecided():
            says = invariant(state, rounds)
    finally:
        _LOOKING.reset(token)
    for place, part in enumerate(says if type(says) in (tuple, list) else (says,)):
        spend(1)
        facts = facts_of(part)
        slacks = [-1] if facts is None else [fact.slack for fact in facts]
        found += [Looked(rounds, place, slack) for slack in slacks]


def iterate(
    step: Callable[..., State], start: State, rounds: Any, *, invariant: Callable[..., Any] | None = None
) -> State:
    """Apply a step to a state in every round, and return the final state.

    Parameters
    ----------
    step
        Function of the state and, if ``rounds`` is a sequence, of the entry for the round. It returns the next state.
    start
        The first state. A proof requires a number or a point, or a tuple or record of numbers and points.
    rounds
        Number of rounds, or a list or tuple with one entry per round.
    invariant
        Only for a proof for any number of rounds: function of a state and of the number of rounds before this state. It
        returns a comparison, or a tuple of comparisons, such as ``(state >= 0, state <= rounds)``. The proof shows
        these comparisons for the start, and for the next state of every round. If a comparison is false in a round of
        some instance, the potential is violated.
    """
    if type(rounds) in (list, tuple) or not isinstance(rounds, Abstract):
        entries: Iterable[tuple[Any, ...]] = (
            ((entry,) for entry in each(rounds))
            if type(rounds) in (list, tuple)
            else (() for _ in each(range(integral(rounds))))
        )
        _look(invariant, start, 0)
        for passed, entry in enumerate(entries):
            start = step(start, *entry)
            _look(invariant, start, passed + 1)
        return start
    if invariant is None:
        raise Refused("a symbol stands where a number of rounds must be: give iterate(...) an invariant")
    with running().undecided():
        try:
            last: State = _after(_Loop(step, start, invariant), rounds)
            return last
        except Outside as outside:
            raise Refused(f"a hypothesis within a round that fails: {outside}") from None


def _after(loop: _Loop, rounds: Any) -> Any:
    """Return symbols for the state after some rounds, and add the goals to prove."""
    record, entries = running(), rounds if type(rounds) is Many else None
    count = rounds if entries is None else entries.length
    if type(count) is not Quotient or (entries is None and not count.is_whole()):
        raise Refused("a number of rounds is made of integers by +, - and *")

    def at_the_start() -> list[Fact]:
        return [*([count >= 0] if entries is None else []), *loop.says(loop.start, 0)]

    def in_a_round() -> list[Fact]:
        passed = record.fresh()
        record.add(facts=(passed >= 0, passed <= count - 1))
        state, entry = loop.unknown(passed), []
        if entries is not None:
            entry = [record.fresh()]
            record.add(facts=() if entries.low is None else (entry[0] >= entries.low,))
            record.add(facts=() if entries.high is None else (entry[0] <= entries.high,))
        after = loop.step(state, *entry)
        if _form(after) != _form(loop.start):
            raise Refused("a step changes the form of a state: start a sum of values at 0 * f.minimum")
        return loop.says(after, passed + 1)

    aim_at("start", at_the_start)
    aim_at("round", in_a_round)
    return loop.unknown(count)


def known(make: Callable[[], State], says: Callable[[State], Any]) -> State:
    """Return a value about which a proof knows only the facts in ``says``.

    Parameters
    ----------
    make
        Function that returns the value: a number, or a tuple or frozen record of numbers.
    says
        Function of the value that returns a comparison, or a tuple of comparisons. A proof shows these comparisons on
        every branch that leads to the value. Outside a proof, ``says`` is not called.
    """
    if not proving():
        return make()
    found: list[Any] = []

    def value_says() -> list[Fact]:
        found.append(make())
        if _form(found[0]) != _form(found[-1]):
            raise Refused("a value has different forms on different branches")
        return loop.says(found[-1], 0)

    loop = _Loop(make, None, lambda value, _: says(value))
    with running().undecided():
        try:
            aim_at("value", value_says)
            value: State = _Loop(make, found[0], loop.invariant).unknown(0)
            return value
        except Outside as outside:
            raise Refused(f"a hypothesis within a value that fails: {outside}") from None


def aim_at(name: str, shown: Callable[[], list[Fact]]) -> None:
    """Add a named goal: the facts must hold on every path. The name of a goal within a goal begins with ``inner``.

    Afterwards, the hypotheses, branch conditions, requirements, divisors, states and requests of this evaluation are
    removed. They are stored in the goal, and no other code refers to them.
    """
    record = running()
    before, decisions, asked, depth = record.now, record.decisions, record.asked, record.depth
    name = "inner " * depth + name
    world, known_before = record.world, None if record.world is None else record.world.asked()
    path: list[bool] | None = []
    try:
        while path is not None:
            record.now, record.decisions, record.asked, record.depth = before, path, 0, depth + 1
            facts = tuple(shown())
            conditions = None if world is None else (*world.facts(record.now.known), world.vectors)
            divided = record.now.divisors[len(before.divisors) :]
            required = record.now.required[len(before.required) :]
            record.goals.append(Goal(name, facts, tuple(record.now.known), divided, required, conditions))
            if world is not None:
                world.forget(known_before)
            path = record.next_decisions()
    finally:
        if world is not None:
            world.forget(known_before)
        record.now, record.decisions, record.asked, record.depth = before, decisions, asked, depth


@dataclass(frozen=True)
class _Loop:
    step: Callable[..., Any]
    start: Any
    invariant: Callable[[Any, Any], Any]

    def says(self, state: Any, passed: Any) -> list[Fact]:
        """Return the comparisons of the invariant for a state, as facts."""
        record = running()
        before, goals = record.now, len(record.goals)
        try:
            found = self.invariant(state, passed)
        finally:
            after, record.now = record.now, before
        by_symbols = any(each.what.top.places for each in after.divisors[len(before.divisors) :])
        supposed = after.facts != before.facts or after.required != before.required
        if supposed or len(record.goals) != goals or by_symbols:
            raise Refused(
                "an invariant supposes nothing, divides by no symbol and has no rounds: multiply it out"
            )
        record.add(path=after.path[len(before.path) :])
        facts: list[Fact] = []
        for part in found if type(found) in (tuple, list) else (found,):
            spend(1)
            of_part = facts_of(part)
            if of_part is not None and any(type(fact.slack) is Point for fact in of_part):
                raise Refused("an invariant compares numbers, not points; a round may suppose x in C")
            if of_part is None:
                raise Refused("the invariant fails for all values of the symbols")
            facts += of_part
        return facts

    def unknown(self, passed: Any) -> Any:
        """Return symbols for a state that satisfies the invariant; replace each symbol that an equation determines."""
        record, form = running(), _form(self.start)
        leaves = [_free(kind) for kind in form if kind in "xpv"]
        state, branches = like(self.start, iter(leaves)), len(record.now.path)
        facts = self.says(state, passed)
        ends = {} if len(record.now.path) > branches else dict(filter(None, map(solved, facts)))
        if ends:
            places = [max(leaf.top.places) if type(leaf) is Quotient else -1 for leaf in leaves]
            state = like(self.start, (ends.get(at, leaf) for at, leaf in zip(places, leaves, strict=True)))
            facts = self.says(state, passed)
        told = (f for f in facts if not f.equation or type(f.slack) is Form or not is_zero(f.slack))
        record.add(facts=tuple(told))
        return state


def solved(fact: Fact) -> tuple[int, Quotient] | None:
    """Solve an equation for its last symbol: return the index and the value, or None if the value is no polynomial."""
    if type(fact.slack) is not Quotient:
        return None
    top, width = fact.slack.top, fact.slack.width
    last = max(top.places, default=-1)
    if not fact.equation or last not in running().states or (found := top.solved(last)) is None:
        return None
    return last, Quotient(found[1], constant(1, width), width)


def _free(kind: str) -> Any:
    """Return a new symbol, point, or number that depends on f, without conditions; ``kind`` is as in ``_form``."""
    if kind == "x":
        return running().fresh()
    return running().world.point() if kind == "p" else running().world.value()


def _form(state: Any) -> str:
    """Return the structure of a state of numbers and points, as letters of ``_KINDS`` and brackets."""
    spend(1)
    if type(state) in _KINDS:
        return _KINDS[type(state)]
    if type(state) is tuple:
        return f"({','.join(map(_form, state))})"
    if isinstance(state, Record):
        return f"{id(type(state))}{_form(state._values)}"
    kind = "least(...): write min(...)" if type(state) is Least else type(state).__name__
    raise Refused(f"a state is a point, a number, or a tuple or record of such, and no {kind}")


def like(state: Any, leaves: Iterator[Any]) -> Any:
    """Return a state of the same structure, with the numbers and points from ``leaves``."""
    if type(state) is tuple:
        return tuple(like(part, leaves) for part in state)
    if isinstance(state, Record):
        return type(state)(*[like(part, leaves) for part in state._values])
    return next(leaves)
