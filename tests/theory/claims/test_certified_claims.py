"""Proofs of the catalogue go through, and those of altered claims do not."""

import copy
import dataclasses
import functools
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pytest
from tiers import slow_after

from clusterproof import theory
from clusterproof.theory import Claim, Kind
from clusterproof.theory.claims import Sides, equal
from clusterproof.theory.claims import prove as prove_module
from clusterproof.theory.claims import trial as trial_module
from clusterproof.theory.claims.claim import Proof
from clusterproof.theory.claims.prove import Unproved, prove
from clusterproof.theory.claims.space import Space
from clusterproof.theory.claims.verdict import decide

PROVED: list[Claim[..., Any]] = [
    claim for claim in theory.catalogue() if any(proof.at for proof in claim.statements[0].proofs)
]
"""Claims that are compared with a proved formula."""
AGREES = "a formula that agrees with it at "
FORMULAS = ("fpfc/theorem-1-mapping",)
"""Claims whose own function is proved."""
LOOSE = ("cfl-mgd/appendix-a10", "cfl-mgd/a7-step", "gradient-loss/class-overlap")
"""Inequalities of which a tenth may be taken in one line or another."""
LONG = ("cfl-mgd/a7-step", "fedavg/drift", "proxskip/sharp", "proxskip/theorem-6", "sproxskip/additive")


def changed(function: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
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


def scaled(sides: Sides, factor: Fraction) -> Sides:
    if sides.lower:
        factor = 1 / factor
    return dataclasses.replace(sides, terms={name: factor * term for name, term in sides.terms.items()})


def stronger(sides: Sides) -> Sides:
    """A tenth is taken off what an inequality allows, or added to what it asks for."""
    return opposite(sides) if sides.identity else scaled(sides, Fraction(9, 10))


def weaker(sides: Sides) -> Sides:
    """A tenth more is allowed, or less asked for; an equation's sides are twice as large."""
    if sides.identity:
        return equal(*((2 * left, 2 * right) for left, right in sides.pairs), rounding=1e-6)
    return scaled(sides, Fraction(11, 10))


def why_not(function: Callable[..., Any], change: Any) -> dict[str, str]:
    """Why the lines of a function, with other sides, are not proved."""
    proof = Proof("", changed(function, change), Space.of(function), None)
    try:
        return dict(prove(proof.space, proof.lines).unproved)
    except Unproved as reason:
        return {"": str(reason)}


FUNCTIONS = [
    *(pytest.param(each.statements[0].proofs[0].function, each.id, id=each.id) for each in PROVED),
    *(pytest.param(theory.find_claim(name).function, name, id=name) for name in FORMULAS),
]


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(("function", "name"), FUNCTIONS)
def test_the_proof_goes_through_and_that_of_an_altered_function_does_not(function: Any, name: str) -> None:
    assert not any(why_not(function, unchanged).values())
    assert all(why_not(function, opposite).values())
    if not name.startswith(LOOSE):
        assert any(why_not(function, stronger).values())


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare a statement with its proof at six instances in place of fifty, to save time."""
    for module in (prove_module, trial_module):
        monkeypatch.setattr(module, "COMPARED", 6)


def altered(claim: Claim[..., Any], change: Any) -> Claim[..., Any]:
    """A claim whose function returns other sides, with the same proofs."""
    other = copy.copy(claim)
    other.statements = [
        dataclasses.replace(each, function=changed(each.function, change))
        if each.role == "statement"
        else each
        for each in claim.statements
    ]
    return other


ALTERED = slow_after(10, "evaluates many claims", [each.id for each in PROVED if each.id not in LONG])


@pytest.mark.slow(reason="several seconds")
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("name", ALTERED)
def test_a_statement_with_other_sides_does_not_agree_with_the_formula(name: str) -> None:
    claim = theory.find_claim(name)
    agreeing = {line.name for line in decide(claim, 0, 6).lines if AGREES in line.reason}
    assert agreeing
    found = decide(altered(claim, weaker), 0, 6)
    assert not any(AGREES in line.reason for line in found.lines if line.role == "statement")
    assert not any(line.verdict is Kind.CERTIFIED for line in found.lines if line.name in agreeing)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("name", ["cfl-mgd/equation-26", "cfl-mgd/appendix-a2", "sofl/running-mean"])
def test_a_statement_with_the_opposite_sides_is_violated(name: str) -> None:
    assert decide(altered(theory.find_claim(name), opposite), 0, 6).verdict is Kind.VIOLATED
