"""Both sides of a claim at one instance, against numbers that a test computes from the statement."""

from fractions import Fraction
from inspect import signature
from typing import Any

import numpy as np

from clusterproof import theory
from clusterproof.theory.checker import Sides
from clusterproof.theory.checker.ranges import Choice, Reals
from clusterproof.theory.checker.statement import Statement


def heavy_ball(a: Fraction, beta: Fraction, start: Fraction, rounds: int) -> list[Fraction]:
    """chi^t = chi^(t-1) - a chi^(t-1) + beta (chi^(t-1) - chi^(t-2)), chi* = 0, from rest."""
    chi, u, path = start, Fraction(0), [start]
    for _ in range(rounds):
        u = beta * u + a * chi
        chi -= u
        path.append(chi)
    return path


def statements_of(claim_id: str) -> list[Statement]:
    """The parts of a claim; without a paper it is CFL-MGD's."""
    claim = theory.find_claim(claim_id if "/" in claim_id else f"cfl-mgd/{claim_id}")
    assert claim.parts is not None
    return claim.parts.parts


def quantities_of(one: Statement, instance: dict[str, Any]) -> dict[str, Any]:
    """A statement's own ones of an instance; strings and floats as fractions, where the range does not list them."""
    found: dict[str, Any] = {}
    for name, allowed in one.space.ranges.items():
        found[name] = value = instance[name]
        listed = allowed.values({}) if isinstance(allowed, Choice) else ()
        if isinstance(value, str | float) and not any(
            value == each and type(value) is type(each) for each in listed
        ):
            found[name] = value if isinstance(allowed, Reals) else Fraction(value)
    return found


def statement_of(claim_id: str, part: int | str = 0) -> Statement:
    """A part of a claim by its name or number, the first one by default."""
    parts = statements_of(claim_id)
    return parts[part] if isinstance(part, int) else next(one for one in parts if one.name == part)


def sides_at(claim_id: str, instance: dict[str, Any], part: int | str = 0, name: str = "") -> Sides:
    """Evaluate a part of a claim at quantities."""
    chosen = statement_of(claim_id, part)
    found = chosen.conclude(quantities_of(chosen, instance), claim=claim_id)[name]
    assert isinstance(found, Sides)
    return found


def all_sides_with(claim_id: str, *arguments: Any, part: int | str = 0) -> dict[str, Sides]:
    """Evaluate a part of a claim with given objects, such as a task and a stream of random numbers."""
    found: Any = statement_of(claim_id, part).function(*arguments)
    return found if isinstance(found, dict) else {"": found}


def sides_with(claim_id: str, *arguments: Any, part: int | str = 0, name: str = "") -> Sides:
    """One comparison of such an evaluation."""
    return all_sides_with(claim_id, *arguments, part=part)[name]


def sides_of_proof(claim_id: str, instance: dict[str, Any]) -> dict[str, Sides]:
    """The sides of a claim's proof at the numbers to which it takes an instance of the claim."""
    first, *others = statements_of(claim_id)
    proof = next(one for one in others if one.at)
    assert callable(proof.at)
    numbers = proof.at(**first.space.arguments(quantities_of(first, instance)))
    sides: Any = proof.function(**{name: numbers[name] for name in signature(proof.function).parameters})
    return sides if isinstance(sides, dict) else {"": sides}


def assert_sides(found: Sides, measured: Any, **terms: Any) -> None:
    """Assert what is measured, or the pairs of an equation, and every named term of what is allowed."""
    left: Any = found.pairs if found.identity else found.measured
    known = {"measured": left} | ({} if found.identity else dict(found.terms))
    assert known.keys() == {"measured"} | terms.keys()
    for name, value in ({"measured": measured} | terms).items():
        one, other = np.array(known[name], float), np.array(value, float)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-13, err_msg=name)


def assert_pairs(found: Sides, *values: Any) -> None:
    """Assert both sides of every equation that holds."""
    assert len(found.pairs) == len(values)
    for pair, value in zip(found.pairs, values, strict=True):
        expected = np.array(value, float)
        for side in pair:
            one = np.broadcast_to(np.array(side, float), expected.shape)
            np.testing.assert_allclose(one, expected, rtol=1e-9, atol=1e-9)


def compare(claim_id: str, instance: dict[str, Any], measured: Any, name: str = "", /, **terms: Any) -> None:
    """Assert both sides of the first part of a claim at an instance."""
    assert_sides(sides_at(claim_id, instance, name=name), measured, **terms)
