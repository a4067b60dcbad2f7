"""Scalar clients anywhere on a grid, as quantities of a statement."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.theory.statement import drawn, rationals
from clusterproof.theory.statement.ranges import encode_number

PLACES = rationals(-2, 2, 4, upwards=True, downwards=True)


def random_centers(stream: np.random.Generator) -> tuple[Fraction, ...]:
    """Draw the minimisers of two to six clients, quarters in [-2, 2]."""
    return tuple(Fraction(int(number), 4) for number in stream.integers(-8, 9, int(stream.integers(2, 7))))


def write_centers(centers: tuple[Fraction, ...]) -> list[Any]:
    """Write fractions so that JSON keeps them exactly."""
    return [encode_number(center) for center in centers]


def read_centers(numbers: Any) -> tuple[Fraction, ...]:
    """Read what ``write_centers`` wrote.

    Raises
    ------
    ValueError, TypeError
        If it is no list of one to a thousand whole numbers and fractions.
    """
    if not isinstance(numbers, list) or not 1 <= len(numbers) <= 1000:
        raise ValueError(f"{numbers!r} is no list of centres")
    return tuple(PLACES.decode(number) for number in numbers)


Centers = Annotated[tuple[Fraction, ...], drawn(random_centers, write=write_centers, read=read_centers)]
"""c_i of phi_i = (chi - c_i)^2 / 2."""
Place = Annotated[Fraction, PLACES]
Momentum = Annotated[Fraction, rationals(0, Fraction(9, 10), 10)]
