"""Ranges of numbers in claims about vectors, sums and gradients that are proved with symbols.

A claim that is linear in vectors holds if it holds in each coordinate. A claim about a sum over clients holds if each
client contributes the same to both sides. Such claims use squared norms and inner products instead of norms.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import rationals

Number = Annotated[Any, rationals(-2, 2, 2, upwards=True, downwards=True)]
"""Any number, which is a symbol in a proof."""
NotNegative = Annotated[Any, rationals(0, 2, 2, upwards=True)]
Positive = Annotated[Any, rationals(Fraction(1, 2), 2, 2, upwards=True)]
"""A number that can stand for any positive number, because no expression divides by it, or because units are free."""
Share = Annotated[Any, rationals(0, 1, 4)]
AtLeastOne = Annotated[Any, rationals(1, 3, 2, upwards=True)]
