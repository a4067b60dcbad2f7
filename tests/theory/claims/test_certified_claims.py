"""Steps of the catalogue are proved on symbols, and those with other sides are not."""

import copy
import dataclasses
import functools
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pytest

from clusterproof import theory
from clusterproof.theory import Kind
from clusterproof.theory.claims import Sides
from clusterproof.theory.claims.claim import Statement
from clusterproof.theory.claims.in_language import language_of
from clusterproof.theory.claims.prove import Unproved, prove
from clusterproof.theory.claims.verdict import decide

EXHAUSTED = "scaffold/bias-ratio#positive steps"
"""A step in the language that is none on symbols: it has a local step for each number."""
STEPS = [
    pytest.param(step.function, name, id=name)
    for claim in theory.catalogue()
    for step in claim.statements
    if step.role == "step" and (name := f"{claim.id}#{step.name}") != EXHAUSTED
    if not isinstance(language_of(step), str)
]
"""Steps in the kernel's language without which their claims are what they are."""
FORMULAS = [
    pytest.param(theory.find_claim(name).function, name, id=name) for name in ("fpfc/theorem-1-mapping",)
]
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


def unchanged(sides: Sides) -> Sides:
    return sides


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


def why_not(function: Callable[..., Any], change: Callable[[Sides], Sides]) -> dict[str, str]:
    """Why the lines of a function, with other sides, are not proved."""
    statement = Statement("", changed(function, change))
    try:
        return dict(prove(statement.space, statement.lines).unproved)
    except Unproved as reason:
        return {"": str(reason)}


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(("function", "name"), STEPS + FORMULAS)
def test_the_proof_goes_through_and_that_of_an_altered_function_does_not(function: Any, name: str) -> None:
    assert not any(why_not(function, unchanged).values())
    assert all(why_not(function, opposite).values())
    if not name.startswith(LOOSE):
        assert any(why_not(function, stronger).values())


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("name", ["cfl-mgd/equation-26", "cfl-mgd/appendix-a2", "sofl/running-mean"])
def test_a_statement_with_the_opposite_sides_is_violated(name: str) -> None:
    claim = theory.find_claim(name)
    altered = copy.copy(claim)
    altered.statements = [
        dataclasses.replace(each, function=changed(each.function, opposite))
        if each.role == "statement"
        else each
        for each in claim.statements
    ]
    assert decide(altered, 0, 6).verdict is Kind.VIOLATED
