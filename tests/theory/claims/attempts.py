"""Claims of a test, which are known to nobody else, and their verdicts."""

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.theory import REGISTRY, Claim, Verdict
from clusterproof.theory.claims import claim, integers, rationals
from clusterproof.theory.claims.verdict import decide

Digit = Annotated[int, integers(0, 9)]
Share = Annotated[Fraction, rationals(0, 1, 4)]
Number = Annotated[Fraction, rationals(0, 9, 20)]
"""More than a thousand fractions are listed, so that few evaluations do not exhaust them."""


def stated(function: Callable[..., Any], name: str = "toy/one", **how: Any) -> Claim[..., Any]:
    """Make a function a claim, and take it out of the registry again."""
    made = claim(name, **how)(function)
    del REGISTRY[name]
    return made


def verdict_on(function: Callable[..., Any], seed: int = 0, **how: Any) -> Verdict:
    """Decide what a function states."""
    return decide(stated(function, **how), seed)
