"""Claims of a toy paper, for tests of how claims are tried; the tests that use them ask for the fixture `registry`."""

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker import REGISTRY, Claim, Verdict
from clusterproof.checker.claims import choice, claim, integers, rationals, reals
from clusterproof.checker.report.decide import decide

One = Annotated[int, choice(1)]
Digit = Annotated[int, integers(0, 9)]
Large = Annotated[int, integers(0, 999)]
Count = Annotated[int, integers(1, 8, upwards=True)]
Share = Annotated[Fraction, rationals(0, 1, 4)]
Unit = Annotated[float, reals(0, 1)]
Open = Annotated[float, reals(0, 1, upwards=True)]


def stated(function: Callable[..., Any], name: str = "one", **how: Any) -> Claim[..., Any]:
    """Make a function the claim ``toy/name``, in place of what had this id."""
    REGISTRY.pop(f"toy/{name}", None)
    return claim(f"toy/{name}", **how)(function)


def decided(function: Callable[..., Any], seed: int = 0, **how: Any) -> Verdict:
    """State a function as ``toy/one``, and decide it."""
    return decide(stated(function, **how), seed)
