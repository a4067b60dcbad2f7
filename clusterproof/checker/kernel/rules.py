"""The rules of the kernel. Each rule is a function that returns whether evidence proves a verdict on a line.

No rule certifies a vacuous line: if a rule is about all instances, the evidence must contain an instance that meets the
hypotheses and has the line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from clusterproof.checker.kernel.evaluation import Evaluation, OutOfFuel, Outside, Refused, evaluating, spend
from clusterproof.checker.kernel.functions import problem
from clusterproof.checker.kernel.multipliers import Need, require_multipliers
from clusterproof.checker.kernel.numbers import write
from clusterproof.checker.kernel.polynomials import Polynomial, constant
from clusterproof.checker.kernel.positivity import (
    Ends,
    bounded,
    is_nonnegative,
    require_divisors,
    sign_of,
    slack_of,
)
from clusterproof.checker.kernel.quotients import Fact, Quotient
from clusterproof.checker.kernel.ranges import Instance, OfClass
from clusterproof.checker.kernel.statement import Statement
from clusterproof.checker.kernel.symbolic import symbolic
from clusterproof.checker.kernel.traces import Trace
from clusterproof.checker.kernel.vocabulary import Line, Sides
from clusterproof.checker.kernel.worlds import Form

Data = Mapping[str, Any]
"""The decoded fields of evidence, except its rule, statement and line."""


def instance(statement: Statement, line: str, data: Data) -> bool:
    """Prove *violated*: one instance of the space meets the hypotheses and breaks the line."""
    sides = decided(statement, line, statement.space.read(data["instance"]))
    return type(sides) is Sides and sides.is_broken()


def decided(statement: Statement, line: str, numbers: Instance) -> Line:
    """Evaluate a line at an instance of numbers, at which every hypothesis is true or false."""
    lines, evaluation = statement.evaluated(numbers)
    sides = lines[line]
    if evaluation.now.facts or (type(sides) is Sides and sides.facts):
        raise Refused("a hypothesis that is not decided on numbers")
    return sides


def exhausted(statement: Statement, line: str, data: Data) -> bool:
    """Prove a line by evaluating every instance of a finite space."""
    held = 0
    for each in statement.space.every():
        try:
            sides = decided(statement, line, each)
        except Outside:
            continue
        if type(sides) is Sides:
            if sides.is_broken():
                return False
            held += 1
    return held > 0


# ---- on symbols


@dataclass(frozen=True)
class Case:
    """A line evaluated on symbols, in one case of the choices and on one path; ``sides`` is None if it is absent."""

    sides: Sides | None
    box: Sequence[Ends]
    facts: Sequence[Fact]
    evaluation: Evaluation


def cases(statement: Statement, line: str, data: Data, states: int = 0) -> Iterator[Case]:
    """Yield the line in every case and on every path, after proving the sign of each divisor where it is used.

    ``listed`` and ``between`` are as in ``symbolic``. ``states`` is the number of symbols for rounds.
    """
    several = data.get("listed", ()), data.get("between", ())
    for each, box, begun in symbolic(statement.space, *several, states):
        decisions: list[bool] | None = []
        while decisions is not None:
            record = begun(decisions)
            sides: Line | None = None
            with suppress(Outside):
                sides = statement.evaluated(each, record)[0][line]
            decisions = record.next_decisions()
            if type(sides) is not Sides:
                require_divisors(record.now.divisors, None, box, record.states)
                if (
                    record.goals
                ):  # facts about a state may have determined this path, on which the line does not occur
                    yield Case(None, box, (), record)
            else:
                facts = [*record.now.known, *sides.facts]
                if any(type(fact.slack) is not Quotient for fact in facts):
                    raise Refused("a hypothesis that is not about symbols")
                own = bounded(box, facts, record.states)
                require_divisors(record.now.divisors, facts, box, record.states)
                yield Case(sides, own, facts, record)


def has_instance(statement: Statement, line: str, data: Data) -> bool:
    """Return whether the witness is an instance that meets the hypotheses, and at which the line occurs and holds."""
    sides = decided(statement, line, statement.space.read(data["witness"]))
    return type(sides) is Sides and not sides.is_broken()


def nonnegative_on(box: Sequence[Ends], facts: Sequence[Fact]) -> list[Polynomial]:
    """Return polynomials that are nonnegative on a box: distances from its ends, then slacks of hypotheses.

    An equation contributes its slack and the negative of its slack. If the sign of a denominator is unknown, the
    polynomial is replaced by 0.
    """
    found: list[Quotient] = []
    width = len(box)
    for place, (low, high) in enumerate(box):
        x = Quotient.symbol(place, width)
        found += [] if low is None else [x - low]
        found += [] if high is None else [high - x]
    for fact in facts:
        found += [fact.slack, -fact.slack] if fact.equation else [fact.slack]
    polynomials = []
    for each in found:
        try:
            polynomials.append(slack_of(each, box, facts))
        except OutOfFuel:
            raise
        except Refused:
            polynomials.append(constant(0, width))  # so that the other indices do not change
    return polynomials


def empty(statement: Statement, line: str, data: Data) -> bool:
    """Prove *vacuous*: the line occurs at no instance.

    If ``listed`` is given, every instance of a finite space is evaluated. Otherwise, in every case of the choices, the
    coefficients of some hypothesis, possibly of the line itself, must show that it is false at all values of the
    symbols.
    """
    if data.get("listed"):
        return not any(_has_line(statement, line, each) for each in statement.space.every())
    for each, box, _ in symbolic(statement.space):
        own: tuple[Fact, ...] = ()
        with evaluating() as evaluation:
            try:
                sides = statement.evaluate(each)[line]
                own = sides.facts if type(sides) is Sides else ()
            except OutOfFuel:
                raise
            except Outside:
                continue
            except Refused:  # the code after the hypotheses may have no formula
                pass
        facts = [*evaluation.now.facts, *own]
        require_divisors(evaluation.now.divisors, [], box, ())
        if not any(_fails(fact, box) for fact in facts):
            return False
    return True


def _has_line(statement: Statement, line: str, each: Instance) -> bool:
    try:
        return type(decided(statement, line, each)) is Sides
    except Outside:
        return False


def _fails(fact: Fact, box: Sequence[Ends]) -> bool:
    """Return whether the coefficients show that a hypothesis is false everywhere."""
    opposite = slack_of(-fact.slack, box)
    if fact.equation:
        return sign_of(opposite, box) != 0
    return is_nonnegative(opposite, box, strictly=not fact.strict)


# ---- functions of a class


Conditions = tuple[Mapping[str, Form], Mapping[str, Form]]
"""Two dictionaries, indexed by name: numbers that are at least 0, and numbers that are 0."""


def dual(statement: Statement, line: str, data: Data) -> bool:
    """Prove a line for every function of a class, for all values of the other quantities, on every path.

    The difference bound - measured is a sum of three parts: nonnegative multiples of the class's conditions, multiples
    of equations, and a positive semidefinite form of the free vectors (by LDL'). No class is empty, so a witness is
    necessary only if there are hypotheses about the functions.
    """
    space, name = statement.space, statement.space.function
    if name is None:
        raise Refused("no quantity is of a class")
    of_class = space.ranges[name]
    assert type(of_class) is OfClass
    proofs = {_written(each["setting"]): each["paths"] for each in data["settings"]}
    shown, supposed = 0, 0
    for setting in space.every(left_out=name):
        paths = iter(proofs.get(_written({key: write(value) for key, value in setting.items()}), ()))
        decisions: list[bool] | None = []
        while decisions is not None:
            record, trace = Evaluation(decisions=decisions), of_class.trace(setting)
            sides: Line | None = None
            with suppress(Outside):
                sides = statement.evaluated({**setting, name: problem(trace)}, record)[0][line]
            decisions = record.next_decisions()
            if type(sides) is Sides:
                facts, decided = [*record.now.facts, *sides.facts], [fact for _, fact in record.now.path]
                _require_multipliers(trace, sides, trace.facts(facts, decided), next(paths, ()))
                shown, supposed = shown + 1, supposed + len(facts) + len(decided)
    return has_instance(statement, line, data) if supposed else shown > 0


def _written(setting: Any) -> tuple[Any, ...]:
    found = tuple(sorted((str(key), str(type(value)), str(value)) for key, value in setting.items()))
    spend(len(found) + sum(len(value) for _, _, value in found) // 8)
    return found


def _require_multipliers(trace: Trace, sides: Sides, conditions: Conditions, proofs: Any) -> None:
    """Require that multipliers prove every entry of a line on a path.

    Raises
    ------
    Refused
        If the multipliers do not prove an entry.
    """
    if sides.equation or len(proofs) != len(sides.slacks):
        raise Refused("each entry of an inequality needs its multipliers, on every path of every setting")
    nonnegative, zero = conditions
    for slack, proof in zip(sides.slacks, proofs, strict=True):
        several = slack if type(slack) is tuple else (slack,)
        require_multipliers(Need(several, nonnegative, zero, trace.vectors, [()], ()), proof)
