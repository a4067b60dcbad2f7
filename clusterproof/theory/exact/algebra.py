"""Ranges of the numbers in claims that are proved on symbols, about vectors, sums and gradients.

A claim that is linear in vectors holds if it holds in each coordinate. A claim about a sum over clients holds if each
client adds the same to both sides. Norms enter by their squares and inner products.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import rationals

Number = Annotated[Any, rationals(-2, 2, 2, upwards=True, downwards=True)]
"""Any number; a symbol in a proof."""
NotNegative = Annotated[Any, rationals(0, 2, 2, upwards=True)]
Positive = Annotated[Any, rationals(Fraction(1, 2), 2, 2, upwards=True)]
"""A number that may represent any positive number: no expression divides by it, or the unit is free."""
Share = Annotated[Any, rationals(0, 1, 4)]
AtLeastOne = Annotated[Any, rationals(1, 3, 2, upwards=True)]
