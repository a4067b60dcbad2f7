"""Both sides of a claim at one instance, against numbers that a test computes from the statement."""

from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof import checker
from clusterproof.checker.claims import Sides
from clusterproof.checker.claims.ranges import Choice, Reals
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.search.evaluator import Evaluator


def heavy_ball(a: Fraction, beta: Fraction, start: Fraction, rounds: int) -> list[Fraction]:
    """chi^t = chi^(t-1) - a chi^(t-1) + beta (chi^(t-1) - chi^(t-2)), chi* = 0, from rest."""
    chi, u, path = start, Fraction(0), [start]
    for _ in range(rounds):
        u = beta * u + a * chi
        chi -= u
        path.append(chi)
    return path


def evaluated(
    statement: Statement, instance: dict[str, Any], replicates: int | None = None
) -> dict[str, Any]:
    """Return the lines of an instance, with the random numbers of seed 0."""
    return Evaluator.of(statement, 0, 1e-9).lines(instance, replicates)


def statement_of(claim_id: str, name: str = "") -> Statement:
    """Return a claim's statement with its function, or that of a further line; without a paper it is CFL-MGD's."""
    claim = checker.find_claim(claim_id if "/" in claim_id else f"cfl-mgd/{claim_id}")
    return next(each for each in claim.statements if each.name == name)


def quantities_of(statement: Statement, instance: dict[str, Any]) -> dict[str, Any]:
    """Return a statement's quantities of an instance; strings and floats as fractions, where the range lists none."""
    found: dict[str, Any] = {}
    for name, allowed in statement.space.ranges.items():
        found[name] = value = instance[name]
        listed = allowed.values({}) if isinstance(allowed, Choice) else ()
        if isinstance(value, str | float) and not any(
            value == each and type(value) is type(each) for each in listed or ()
        ):
            found[name] = value if isinstance(allowed, Reals) else Fraction(value)
    return found


def sides_at(claim_id: str, instance: dict[str, Any], statement: str = "", line: str = "") -> Sides:
    """Evaluate a statement of a claim at quantities, and return one of its comparisons."""
    chosen = statement_of(claim_id, statement)
    found = evaluated(chosen, quantities_of(chosen, instance))[line]
    assert isinstance(found, Sides)
    return found


def all_sides_with(claim_id: str, *arguments: Any, statement: str = "") -> dict[str, Sides]:
    """Evaluate a statement of a claim with given objects, such as a task and a stream of random numbers."""
    found: Any = statement_of(claim_id, statement).function(*arguments)
    return found if isinstance(found, dict) else {"": found}


def sides_with(claim_id: str, *arguments: Any, statement: str = "", line: str = "") -> Sides:
    """One comparison of such an evaluation."""
    return all_sides_with(claim_id, *arguments, statement=statement)[line]


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
