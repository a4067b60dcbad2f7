"""Which hypotheses a statement needs, over its parts and over what its ranges hold outside of them."""

from itertools import permutations
from typing import Annotated

import pytest
from toy_claims import claim

from clusterproof import theory
from clusterproof.theory.checker import Sides, at_most, integers, suppose
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.needed_hypotheses import needed_hypotheses
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.trial import attempt

Number = Annotated[int, integers(0, 99)]


def supposed(n: int) -> None:
    suppose("n < 60", n < 60)
    suppose("n > 9", n > 9)


def breaking(n: Number) -> dict[str, Sides]:
    """Broken from 95 on: by the last of the 40 instances outside, and in one of two conclusions."""
    supposed(n)
    return {"first": at_most(n, limit=94), "second": at_most(0, one=1)}


def holding(n: Number) -> Sides:
    supposed(n)
    return at_most(n, limit=99)


def undefined(n: Number) -> Sides:
    """A division by zero outside."""
    supposed(n)
    return at_most(n / (9 < n < 60), limit=99)


CONTEXT = Context(0, None, 1e-9, "toy/one")
TRIALS = {each: attempt(Statement("", each), CONTEXT) for each in (breaking, holding, undefined)}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_one_part_needs_the_statement_needs_and_what_is_not_defined_says_nothing(count: int) -> None:
    for parts in permutations(TRIALS, count):
        known = None if parts == (undefined,) else False
        needed = needed_hypotheses([TRIALS[each] for each in parts], CONTEXT)
        assert needed == {"n < 60": True if breaking in parts else known, "n > 9": known}


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("limits", [(10, 100), (100, 10)])
def test_the_verdict_has_the_needs_of_the_statement_and_the_sides_of_its_tightest_part(
    limits: tuple[int, int],
) -> None:
    def stated(n: Annotated[int, integers(0, 9)]) -> Sides:
        suppose("n < 8", n < 8)
        return at_most(n, limit=limits[0])

    one = claim(stated)

    @one.also("other")
    def other(n: Annotated[int, integers(0, 9)]) -> Sides:
        return at_most(n, limit=limits[1])

    @one.step("step")
    def step(n: Annotated[int, integers(0, 9)]) -> Sides:
        suppose("n < 5", n < 5)
        return at_most(n, limit=5)

    verdict = theory.check("toy/one")
    assert verdict.needed == {"n < 8": False}
    most = 7 if limits[0] == 10 else 9
    assert (verdict.measured, verdict.bound, verdict.slack) == (most, 10, 10 / most)
    assert verdict.instances == 8 + 10 + 5
    assert verdict.rejected == {"n < 8": 2, "n < 5": 5}
