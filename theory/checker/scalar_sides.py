"""Two sides that are single numbers, compared without arrays: most instances are of this kind."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.theory.checker.comparison import RESOLUTION, least_factor
from clusterproof.theory.checker.rounding import FLOOR, TOLERANCE
from clusterproof.theory.checker.sides import Sides

NUMBERS = (int, float, Fraction)


def is_single(sides: Sides) -> bool:
    """Whether a sure inequality has nothing but plain numbers."""
    return (
        sides.failure is None
        and not sides.identity
        and isinstance(sides.measured, NUMBERS)
        and all(isinstance(term, NUMBERS) for term in sides.terms.values())
    )


class Single:
    """A conclusion of plain numbers, turned so that measured <= allowed is what must hold.

    Attributes
    ----------
    broken
        Whether it does not.
    """

    def __init__(self, sides: Sides) -> None:
        sign = -1 if sides.lower else 1
        self.measured = sign * sides.measured
        self.terms = {name: sign * term for name, term in sides.terms.items()}
        self.allowed: Any = sum(self.terms.values())
        self.tolerance: Any = 0
        self.factor_tolerance: Any = 0
        values = (sides.measured, *sides.terms.values())
        if sides.rounding or any(isinstance(value, float) for value in values):
            if math.isnan(self.allowed):
                raise ArithmeticError(f"what is allowed is not a number: {dict(sides.terms)}")
            unit = float(sum(abs(v) for v in (self.measured, *self.terms.values()) if math.isfinite(v)))
            floor = FLOOR * (sides.unit or 0.0)
            self.tolerance = max(TOLERANCE * unit, floor) if sides.rounding is None else sides.rounding
            # at the factor that just holds what is allowed is what is measured
            relative = TOLERANCE * float(min(abs(self.allowed), abs(self.measured)))
            self.factor_tolerance = relative + RESOLUTION * unit if sides.rounding is None else sides.rounding
        # what is not a number breaks every bound
        self.broken = not self.measured <= self.allowed + self.tolerance

    def factor(self, term: str | None) -> Any:
        """Least factor on a term (on the sum, where None) at which the comparison holds."""
        value = self.allowed if term is None else self.terms[term]
        rest = 0 if term is None else self.allowed - value
        if isinstance(value, float) and math.isinf(value):
            return 0.0
        short = self.measured - rest - self.factor_tolerance
        with np.errstate(all="ignore"):
            return least_factor(short, value)
