"""Certified steps of the catalogue and small statements: their false neighbours get another verdict."""

import copy
import dataclasses
import functools
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from attempts import verdict_on
from kernel_statements import blocks_of, executed

from clusterproof import checker
from clusterproof.checker import Kind
from clusterproof.checker.claims import Sides
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.freeze import freeze
from clusterproof.checker.report.decide import decide
from clusterproof.checker.search.strategy import search
from clusterproof.common import InvalidArgument

EXHAUSTED = "scaffold/bias-ratio#positive steps"
"""A step in the language that is none on symbols: it has a local step for each number."""
WITH_STEPS = [
    claim.id for claim in checker.catalogue() if any(each.role == "step" for each in claim.statements)
]
FORMULAS = (
    "fpfc/theorem-1-mapping",
    "gradient-loss/equation-1-mean",
    "gradient-loss/equation-2-descent",
    "sofl/frozen-cell-variance",
)
"""Claims whose own function is proved."""
LOOSE = ("cfl-mgd/appendix-a10", "cfl-mgd/a7-step", "gradient-loss/class-overlap")
"""Inequalities of which a tenth may be taken in one line or another."""


def changed(function: Callable[..., Any], change: Callable[[Sides], Sides]) -> Callable[..., Any]:
    """Make a function return other sides."""

    def alter(sides: Any) -> Any:
        return change(sides) if isinstance(sides, Sides) else sides

    @functools.wraps(function)
    def other(*arguments: Any, **named: Any) -> Any:
        value = function(*arguments, **named)
        if isinstance(value, Mapping):
            return {name: alter(sides) for name, sides in value.items()}
        return alter(value)

    return other


def opposite(sides: Sides) -> Sides:
    """The other direction of an inequality; an equation that is off by a millionth."""
    if sides.identity:
        return dataclasses.replace(sides, measured=[gap + Fraction(1, 10**6) for gap in sides.measured])
    return dataclasses.replace(sides, lower=not sides.lower)


def stronger(sides: Sides) -> Sides:
    """A tenth is taken off what an inequality allows, or added to what it asks for."""
    if sides.identity:
        return opposite(sides)
    factor = Fraction(10, 9) if sides.lower else Fraction(9, 10)
    return dataclasses.replace(sides, terms={name: factor * term for name, term in sides.terms.items()})


def refuted(function: Callable[..., Any], change: Callable[[Sides], Sides]) -> list[bool]:
    """Return of each line of a function with other sides whether it is refuted."""
    tried = search(Statement("", changed(function, change)), 0, 1e-9, 200)
    return [findings.found is not None for findings in tried.lines.values()]


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("name", WITH_STEPS)
def test_an_altered_step_is_refuted(name: str) -> None:
    """Of the steps in the kernel's language, without which the claim is what it is."""
    claim = checker.find_claim(name)
    outside = freeze(claim).outside
    for step in claim.statements:
        if step.role == "step" and step.name not in outside and f"{name}#{step.name}" != EXHAUSTED:
            assert all(refuted(step.function, opposite)), step.name
            assert name.startswith(LOOSE) or any(refuted(step.function, stronger)), step.name


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("name", FORMULAS)
def test_an_altered_formula_is_refuted(name: str) -> None:
    function = checker.find_claim(name).function
    assert all(refuted(function, opposite))
    assert any(refuted(function, stronger))


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("name", ["cfl-mgd/equation-26", "cfl-mgd/appendix-a2", "sofl/running-mean"])
def test_a_statement_with_the_opposite_sides_is_violated(name: str) -> None:
    claim = checker.find_claim(name)
    altered = copy.copy(claim)
    altered.statements = [
        dataclasses.replace(each, function=changed(each.function, opposite))
        if each.role == "statement"
        else each
        for each in claim.statements
    ]
    assert decide(altered, 0, 6).verdict is Kind.VIOLATED


BLOCKS = [
    pytest.param(file, *first.partition(": ")[::2], source, id=first.partition(": ")[0])
    for file in ("statements.txt", "functions.txt")
    for first, _, source in blocks_of(Path(__file__).with_name(file))
]
"""The first line of a block has the word, a name, and perhaps a part of the reason; *uncertified* is any
other word, and *refuted* violated by a function that is not of the language."""


@pytest.mark.parametrize(("file", "first", "reason", "source"), BLOCKS)
def test_a_statement_gets_its_word(file: str, first: str, reason: str, source: str) -> None:
    word, statement = first.split()[0], executed(source, file)["statement"]
    basis = {"violated": "exact", "refuted": "intervals"}.get(word)
    if word == "uncertified":
        with suppress(InvalidArgument, ZeroDivisionError):
            assert verdict_on(statement, evaluations=60).verdict != "certified"
        return
    found = verdict_on(statement, evaluations=60)
    assert found.verdict == ("violated" if basis else word), found.reason
    assert reason in found.reason
    assert (found.proof is not None) == (word in ("certified", "vacuous"))
    assert basis in (None, found.basis)


PAIRS = [
    pytest.param(first.split()[0], *constants.split(", ", 1), source, id=first.partition(":")[0])
    for first, constants, source in blocks_of(Path(__file__).with_name("pairs.txt"))
]
"""With the first C a statement is true, and proved by sums of squares or tried; with the second it is false."""


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(("how", "true", "false", "source"), PAIRS)
def test_a_statement_is_refuted_with_a_smaller_constant(how: str, true: str, false: str, source: str) -> None:
    found, *others = (
        verdict_on(executed(f"{source}\nC = {constant}\n", "pairs.txt")["statement"], seed, evaluations=count)
        for constant, seed, count in ((true, 0, 60), (false, 0, None), (false, 1, None))
    )
    if how == "squares":
        assert (found.verdict, found.proof, found.exhausted) == ("certified", "squares", True)
    assert found.verdict in ("certified", "consistent")
    assert [each.verdict for each in others] == ["violated"] * 2
