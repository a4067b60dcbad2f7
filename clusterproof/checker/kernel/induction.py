"""The rules for symbols: proofs for all values, induction over rounds by invariants, and false invariants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from clusterproof.checker.kernel.claim_words import Excluded
from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.functions import points_left
from clusterproof.checker.kernel.loops import looking_at_invariants
from clusterproof.checker.kernel.numbers import whole
from clusterproof.checker.kernel.polynomials import Polynomial
from clusterproof.checker.kernel.positivity import (
    Ends,
    bounded,
    is_nonnegative,
    is_sum_of_squares,
    require_divisors,
    sign_of,
    slack_of,
)
from clusterproof.checker.kernel.quotients import Fact, Quotient
from clusterproof.checker.kernel.rules import Case, Data, cases, decided, has_instance, nonnegative_on
from clusterproof.checker.kernel.statement import Statement
from clusterproof.checker.kernel.vocabulary import Line, Sides


def needs(case: Case) -> Iterator[tuple[Fact, Sequence[Fact], Sequence[Ends]]]:
    """Yield each fact to prove in a case, with the facts known at its place, and the box of the symbols.

    Raises
    ------
    Refused
        If a goal divides by a number that may be zero, or if an entry of the line is false.
    """
    record = case.evaluation
    box = [(None, None) if place in record.states else ends for place, ends in enumerate(case.box)]
    for goal in record.goals:
        if any(type(fact.slack) is not Quotient for fact in (*goal.shown, *goal.known)):
            raise Refused("an invariant that is not about symbols")
        own = bounded(box, goal.known, record.states)
        require_divisors(goal.divisors, goal.known, box, record.states)
        yield from ((fact, goal.known, own) for fact in goal.shown)
    sides = Sides(()) if case.sides is None else case.sides
    for slack in sides.slacks:
        if type(slack) is Quotient:
            yield Fact(slack, equation=sides.equation), case.facts, case.box
        elif Sides((slack,), sides.equation).is_broken():
            raise Refused("the line is broken")


def targets(need: tuple[Fact, Sequence[Fact], Sequence[Ends]]) -> Iterator[Polynomial]:
    """Yield the polynomials that must be nonnegative for a fact to hold, unless their coefficients already prove it."""
    fact, known, box = need
    for slack in (fact.slack, -fact.slack)[: 1 + fact.equation]:
        target = slack_of(slack, box, known) if slack.top else slack.top
        if fact.strict and sign_of(target, box, known) != 1:
            raise Refused("it is not shown that a strict inequality of the invariant is strict")
        if not (fact.strict or is_nonnegative(target, box)):
            yield target


def signs(statement: Statement, line: str, data: Data) -> bool:
    """Prove a line by Bernstein's test: no coefficient of a slack is negative.

    For an equation, both the slack and its negative must pass this test.
    """
    return _shown(statement, line, data, states=0, blocks=())


def squares(statement: Statement, line: str, data: Data) -> bool:
    """Prove that each slack is a sum of squares, and of squares times nonnegative factors (Positivstellensatz).

    ``blocks`` contains one list for each slack that Bernstein's test does not decide, in the order of the slacks.
    """
    return _shown(statement, line, data, states=0, blocks=data["blocks"])


def induction(statement: Statement, line: str, data: Data) -> bool:
    """Prove a line for any number of rounds by induction, with the invariants that the statement contains.

    ``states`` is the number of symbols for states, rounds and entries. ``blocks`` is as in ``squares``.
    """
    return _shown(statement, line, data, states=whole(data["states"]), blocks=data["blocks"])


def _shown(statement: Statement, line: str, data: Data, *, states: int, blocks: Sequence[Any]) -> bool:
    """Return whether all facts are proved in every case, and the line applies to the witness."""
    left = iter(blocks)
    for case in cases(statement, line, data, states):
        for need in needs(case):
            _, known, box = need
            for target in targets(need):
                if not is_sum_of_squares(target, nonnegative_on(box, known), next(left, ()), len(box)):
                    return False
    return has_instance(statement, line, data)


def potential_of(statement: Statement) -> Statement:
    """Return the statement, with a single line, that the invariants of all loops hold in every round.

    The new statement applies to all instances to which every line of the given statement applies.
    """

    def holds(**quantities: Any) -> Line:
        assert statement.function is not None
        with looking_at_invariants() as looked:
            value = statement.function(**quantities)
        lines = value if type(value) is dict else {"": value}
        if lines.keys() != {*statement.lines} or any(type(line) is not Sides for line in lines.values()):
            return Excluded("the instance has every line")
        return Sides(tuple(each.slack for each in looked))

    return replace(statement, function=None if statement.function is None else holds, lines=("",))


def potential(statement: Statement, line: str, data: Data) -> bool:
    """Prove that an invariant is false in some round, at one admissible instance of the space.

    The evaluation of the invariants must not request further points of the functions, because the loops would then
    differ from the loops of the statement.
    """
    plain, looked = (statement.space.read(data["instance"]) for _ in range(2))
    statement.evaluated(plain)
    sides = decided(potential_of(statement), "", looked)
    return type(sides) is Sides and sides.is_broken() and points_left(plain) == points_left(looked)
