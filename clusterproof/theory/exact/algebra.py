"""Ranges of the numbers in statements about vectors, sums and gradients, which are proved on symbols.

A statement about vectors that is linear in them holds if it does in each coordinate; one about a sum over clients,
if each client adds the same to both sides. Norms enter by their squares and inner products.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import rationals

Number = Annotated[Any, rationals(-2, 2, 2, upwards=True, downwards=True)]
"""Any number; a symbol where a statement about it is proved."""
NotNegative = Annotated[Any, rationals(0, 2, 2, upwards=True)]
Positive = Annotated[Any, rationals(Fraction(1, 2), 2, 2, upwards=True)]
"""Stands for any positive number where nothing divides by it, or where the unit is free."""
Share = Annotated[Any, rationals(0, 1, 4)]
AtLeastOne = Annotated[Any, rationals(1, 3, 2, upwards=True)]
