"""Both sides of a claim at one instance, against numbers that a test computes from the statement."""

from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof import theory
from clusterproof.theory.checker import Sides


def heavy_ball(a: Fraction, beta: Fraction, start: Fraction, rounds: int) -> list[Fraction]:
    """chi^t = chi^(t-1) - a chi^(t-1) + beta (chi^(t-1) - chi^(t-2)), chi* = 0, from rest."""
    chi, u, path = start, Fraction(0), [start]
    for _ in range(rounds):
        u = beta * u + a * chi
        chi -= u
        path.append(chi)
    return path


def sides_at(claim_id: str, instance: dict[str, Any], part: str = "", name: str = "") -> Sides:
    """Evaluate a part of a claim; strings that are no names are fractions. Without a paper it is CFL-MGD's."""
    claim = theory.find_claim(claim_id if "/" in claim_id else f"cfl-mgd/{claim_id}")
    assert claim.parts is not None
    (statement,) = (one for one in claim.parts.parts if one.name == part)
    names = {
        key for key, allowed in statement.space.ranges.items() if allowed.holds(instance.get(key), instance)
    }
    numbers = {
        key: Fraction(one) if isinstance(one, str) and key not in names else one
        for key, one in instance.items()
    }
    found = statement.conclude(numbers, claim=claim.id)[name]
    assert isinstance(found, Sides)
    return found


def assert_sides(found: Sides, measured: Any, **terms: Any) -> None:
    """Assert what is measured, or the pairs of an equation, and every named term of what is allowed."""
    left: Any = found.pairs if found.identity else found.measured
    known = {"measured": left} | ({} if found.identity else dict(found.terms))
    assert known.keys() == {"measured"} | terms.keys()
    for name, value in ({"measured": measured} | terms).items():
        one, other = np.array(known[name], float), np.array(value, float)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-13, err_msg=name)
