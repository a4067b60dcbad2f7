"""Claims of a toy family, on digits, for tests of how statements are tried."""

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.theory import Claim
from clusterproof.theory.checker import Family, integers, rationals

PAPER = Family("toy", {"Source": "A test.", "Symbols": "None."})
Digit = Annotated[int, integers(0, 9)]
Large = Annotated[int, integers(0, 999)]
Share = Annotated[Fraction, rationals(0, 1, 4)]


def claim(
    function: Callable[..., Any], name: str = "one", kind: str = "upper", **how: Any
) -> Claim[..., Any]:
    """Register a function as a claim of the family."""
    return PAPER.claim(name, label="(1)", kind=kind, **how)(function)
