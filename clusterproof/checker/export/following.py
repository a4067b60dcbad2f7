"""Proofs by induction: the paths of a computation, and values and loops that are known by stated facts only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusterproof.checker.export.expressions import (
    Decided,
    Expression,
    Record,
    Symbolic,
    evaluated,
    in_place,
    plain,
    quantity,
)
from clusterproof.checker.kernel.evaluation import Outside, Refused, running
from clusterproof.checker.kernel.loops import aim_at, like, solved
from clusterproof.checker.kernel.polynomials import constant
from clusterproof.checker.kernel.quotients import Fact, Many, Quotient
from clusterproof.checker.kernel.vocabulary import facts_of


@dataclass(frozen=True)
class Path:
    """The computation that leads to values, on one path through the branches.

    Attributes
    ----------
    unknowns
        Values about which only stated facts are known, in order.
    own
        Facts that the claim supposes, or that a branch decides, on the path; for a failing hypothesis, the name.
    known
        All facts that are known at the end of the path, in the kernel's order.
    values, shown
        The values, and the facts to show about them.
    decisions
        For each branch, in order: the comparison that holds on the path, and whether the original comparison holds.
    """

    unknowns: Sequence[Unknown]
    own: Sequence[Any]
    known: Sequence[Any]
    values: Sequence[Any]
    shown: Sequence[Fact]
    decisions: Sequence[tuple[Any, bool]] = ()


@dataclass
class Unknown:
    """A value, the last state of a loop, or the whole part of a quotient.

    Attributes
    ----------
    leaves
        The numbers in the value, state or whole part.
    paths
        The paths that lead to the value. For a loop, the paths through a round. A whole part has none.
    said
        The facts that are stated about the leaves.
    start, count
        For a loop, the path to its first state, and the number of rounds.
    passed, state, before
        For a round: the number of earlier rounds, the state before the round, and the stated facts about this state.
    whole
        Whether the value is an integer.
    """

    leaves: Sequence[Expression] = ()
    paths: list[Path] = field(default_factory=list)
    said: Sequence[Fact] = ()
    start: list[Path] = field(default_factory=list)
    count: Any = None
    passed: Any = None
    state: Sequence[Expression] = ()
    before: Sequence[Fact] = ()
    whole: bool = False


def fresh(record: Record) -> Expression:
    """Return a new quantity, and use up one of the kernel's symbols for it."""
    place = running().fresh()
    leaf = quantity(record, f"state_{len(record.places)}")
    record.places[leaf.parts[0]] = place
    record.symbols[leaf.parts[0]] = Quotient.symbol(place, record.width)
    return leaf


def in_symbols(record: Record, fact: Fact) -> Fact:
    """Return a fact in the kernel's form: its slack is a quotient of polynomials."""
    value = fact.slack
    if isinstance(value, Expression):
        value = evaluated([value], record.symbols)[id(value)]
    if type(value) is not Quotient:
        value = Quotient(constant(value, record.width), constant(1, record.width), record.width)
    return Fact(value, fact.strict, fact.equation)


def whole_part(record: Record, value: Expression, divisor: int) -> Expression:
    """Return ``value // divisor``."""
    found = fresh(record)
    facts = [plain(found * divisor <= value), plain(value <= found * divisor + (divisor - 1))]
    _say(record, facts)
    record.unknowns.append(Unknown([found], said=facts, whole=True))
    return found


def known(record: Record, make: Callable[[], Any], says: Callable[[Any], Any]) -> Any:
    """Return a value about which only the stated facts are known."""
    unknown, found = Unknown(), []

    def made() -> tuple[Any, list[Fact]]:
        value = make()
        found.append(like(value, (in_place(record, each) for each in _numbers(value))))
        return found[-1], _facts(says(found[-1]))

    with running().undecided():
        aim_at("value", _following(record, unknown.paths, made))
        state, unknown.leaves, unknown.said = _unknown(record, found[0], says)
    record.unknowns.append(unknown)
    return state


def iterate(
    record: Record, step: Callable[..., Any], start: Any, rounds: Symbolic | Many, invariant: Any
) -> Any:
    """Return the state after a symbolic number of rounds, or after one round per entry, known by its invariant."""
    entries = rounds if isinstance(rounds, Many) else None
    rounds = rounds.length if isinstance(rounds, Many) else rounds
    unknown = Unknown(count=rounds)
    begun = like(start, (in_place(record, each) for each in _numbers(start)))

    def at_the_start() -> tuple[Any, list[Fact]]:
        return begun, [plain(rounds >= 0), *_facts(invariant(begun, in_place(record, 0)))]

    def in_a_round() -> tuple[Any, list[Fact]]:
        if unknown.passed is None:
            unknown.passed = passed = fresh(record)
            unknown.before = [plain(passed >= 0), plain(passed <= rounds - 1)]
            _say(record, unknown.before)
            state, unknown.state, facts = _unknown(record, start, lambda s: invariant(s, passed))
            unknown.before = [*unknown.before, *facts]
        else:  # follows another path from the same state
            for _ in (unknown.passed, *unknown.state):
                running().fresh()
            state = like(start, iter(unknown.state))
            running().add(facts=tuple(fact for fact in unknown.before if id(fact) in record.said))
        value = step(state) if entries is None else step(state, _entry(record, entries))
        after = like(value, (in_place(record, each) for each in _numbers(value)))
        return after, _facts(invariant(after, unknown.passed + 1))

    with running().undecided():
        aim_at("start", _following(record, unknown.start, at_the_start))
        aim_at("round", _following(record, unknown.paths, in_a_round))
        state, unknown.leaves, unknown.said = _unknown(record, start, lambda s: invariant(s, rounds))
    record.unknowns.append(unknown)
    return state


def _entry(record: Record, entries: Many) -> Expression:
    """Return a number that stands for an arbitrary entry."""
    entry = fresh(record)
    facts = [] if entries.low is None else [plain(entry >= entries.low)]
    facts += [] if entries.high is None else [plain(entry <= entries.high)]
    _say(record, facts)
    record.unknowns.append(Unknown([entry], said=facts))
    return entry


def _following(
    record: Record, paths: list[Path], follow: Callable[[], tuple[Any, list[Fact]]]
) -> Callable[[], list[Fact]]:
    """Return a function that follows a path and stores it."""

    def shown() -> list[Fact]:
        outer, record.unknowns = record.unknowns, []
        before = {id(fact) for fact in running().now.known}
        value, facts = follow()
        path = path_to(record, _numbers(value), facts, before)
        paths.append(path)
        record.goals.append(path)
        record.unknowns = outer
        return facts

    return shown


def path_to(record: Record, values: Any, shown: Sequence[Fact], before: set[int] | None = None) -> Path:
    """Return the path that an evaluation has followed since the facts ``before`` were known."""
    known = running().now.known
    own = [fact for fact in known if id(fact) not in record.said | (before or set())]
    branched = [(fact, asked is fact) for asked, fact in running().now.path if type(asked) is Decided]
    return Path(list(record.unknowns), own, known, list(values), shown, branched)


def _facts(said: Any) -> list[Fact]:
    found: list[Fact] = []
    for part in said if type(said) in (tuple, list) else (said,):
        of_part = facts_of(plain(part))
        if of_part is None:
            raise Outside("a stated fact about a value fails")
        found += of_part
    return found


def _say(record: Record, facts: Sequence[Fact]) -> None:
    running().add(facts=tuple(facts))
    record.said |= {id(fact) for fact in facts}


def _unknown(record: Record, form: Any, says: Any) -> tuple[Any, list[Expression], list[Fact]]:
    """Return a state of new quantities, these quantities, and the state's facts; store equations that fix one."""
    leaves = [fresh(record) for _ in _numbers(form)]
    state, branches = like(form, iter(leaves)), len(running().now.path)
    facts = _facts(says(state))
    if len(running().now.path) > branches:
        raise Refused("the facts about a state depend on a branch: this has no Rocq file")
    names = {record.places[leaf.parts[0]]: leaf.parts[0] for leaf in leaves}
    for fact in facts:
        found = solved(in_symbols(record, fact))
        if found and found[0] in names:
            record.solved[names[found[0]]] = found[1], fact
    record.symbols |= {name: value for name, (value, _) in record.solved.items()}
    kept = [fact for fact in facts if not fact.equation or in_symbols(record, fact).slack.top]
    _say(record, kept)
    return state, leaves, facts


def _numbers(state: Any) -> Iterator[Any]:
    """Yield the numbers of a state."""
    if type(state) is tuple or hasattr(state, "_values"):
        for part in getattr(state, "_values", state):
            yield from _numbers(part)
    else:
        yield state
