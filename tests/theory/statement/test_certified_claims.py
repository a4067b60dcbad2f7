"""Certified claims of the catalogue: their proofs go through, and those of false variants do not."""

import dataclasses
from fractions import Fraction
from typing import Any

import pytest
from planted_sides import changed

from clusterproof import theory
from clusterproof.theory import Claim, Kind
from clusterproof.theory.claim import CLAIM_SIGNIFICANCE, Context
from clusterproof.theory.statement import Sides
from clusterproof.theory.statement.deciding import decide
from clusterproof.theory.statement.parts import Parts
from clusterproof.theory.statement.proof import Unproved, certify
from clusterproof.theory.statement.statement import Statement


def proofs(claim: Claim) -> list[Statement]:
    """The parts whose proofs certify a claim; none where other parts are needed, too."""
    parts = [] if claim.parts is None else claim.parts.parts
    whole = [part for part in parts if part.whole]
    return whole or (parts if all(part.prove for part in parts) else [])


PROVED = [claim for claim in theory.claims() if claim.repaired_by is None and proofs(claim)]


def false_variant(_: str, sides: Sides) -> Sides:
    """The other direction of an inequality; an equation that is off by a millionth."""
    if sides.identity:
        return dataclasses.replace(sides, measured=[gap + Fraction(1, 10**6) for gap in sides.measured])
    return dataclasses.replace(sides, lower=not sides.lower)


def slightly_false(_: str, sides: Sides) -> Sides:
    """A tenth is taken off what an inequality allows, or added to what it asks for."""
    if sides.identity:
        return false_variant(_, sides)
    factor = Fraction(11, 10) if sides.lower else Fraction(9, 10)
    return dataclasses.replace(sides, terms={key: factor * term for key, term in sides.terms.items()})


def goes_through(part: Statement, change: Any) -> bool:
    altered = dataclasses.replace(part, function=changed(part.function, change))
    try:
        certify(altered.space, altered.conclude)
    except Unproved:
        return False
    return True


@pytest.mark.parametrize("claim", PROVED, ids=lambda claim: claim.id)
def test_the_proof_goes_through_and_that_of_the_opposite_does_not(claim: Claim) -> None:
    for part in proofs(claim):
        assert goes_through(part, lambda _, sides: sides)
        assert not goes_through(part, false_variant)


LOOSE_STEPS = ("cfl-mgd/a10", "sofl/", "gradient-loss/class-overlap")
"""Inequalities with room, exact numbers of tables among them, of which a tenth may be taken."""


@pytest.mark.parametrize(
    "claim", [one for one in PROVED if not one.id.startswith(LOOSE_STEPS)], ids=lambda claim: claim.id
)
def test_a_tenth_less_is_not_certified(claim: Claim) -> None:
    assert not any(goes_through(part, slightly_false) for part in proofs(claim))


@pytest.mark.parametrize("name", ["cfl-mgd/equation-28", "cfl-mgd/a2-sharp", "sofl/running-mean"])
def test_a_claim_with_a_false_proof_is_not_certified(name: str) -> None:
    claim = theory.find_claim(name)
    assert claim.parts is not None
    parts = [
        dataclasses.replace(part, function=changed(part.function, false_variant)) if part.whole else part
        for part in claim.parts.parts
    ]
    found = decide(Parts(name, parts), Context(0, 5, CLAIM_SIGNIFICANCE, name))
    assert found.verdict is Kind.VIOLATED
    assert theory.check(name, trials=5).verdict is Kind.CERTIFIED
