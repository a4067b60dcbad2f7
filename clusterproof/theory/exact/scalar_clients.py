"""Option I on scalar quadratic clients that may change their cluster, in rational arithmetic.

Client i has phi_i = (chi - c_i)^2 / 2 and chooses the nearest model, ties to the first. The owner of the
momentum has three readings, see ``prescribed_samples.READINGS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.theory.claims import drawn, rationals
from clusterproof.theory.claims.ranges import encode_number
from clusterproof.theory.exact.prescribed_samples import Rounds, play

PLACES = rationals(-2, 2, 4, upwards=True, downwards=True)


def random_centers(stream: np.random.Generator) -> tuple[Fraction, ...]:
    """Draw the minimisers of two to six clients, quarters in [-2, 2]."""
    return tuple(Fraction(int(number), 4) for number in stream.integers(-8, 9, int(stream.integers(2, 7))))


def write_centers(centers: tuple[Fraction, ...]) -> list[Any]:
    """Return fractions as JSON, exactly."""
    return [encode_number(center) for center in centers]


def read_centers(numbers: Any) -> tuple[Fraction, ...]:
    """Read centers from the JSON of ``write_centers``.

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


def exact_run(
    centers: Sequence[Fraction], starts: Sequence[Fraction], *, momentum: Fraction, rounds: int, reading: str
) -> Rounds:
    """Run option I with eta = 1.

    Parameters
    ----------
    centers, starts
        c_i and chi_p^0.
    momentum, rounds
        beta and T, at least 1.
    reading
        One of ``READINGS``.
    """
    return play([centers] * rounds, [centers] * rounds, starts, momentum, reading)
