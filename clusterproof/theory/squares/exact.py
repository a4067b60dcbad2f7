"""Linear algebra over the rationals, with python-flint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any


def rational(value: Fraction) -> Any:
    """Turn a fraction into a ``flint.fmpq``."""
    from flint import fmpq

    return fmpq(value.numerator, value.denominator)


def fraction(value: Any) -> Fraction:
    """Turn a ``flint.fmpq`` into a fraction."""
    return Fraction(int(value.p), int(value.q))


def is_positive_semidefinite(matrix: Iterable[Iterable[Any]]) -> bool:
    """Decide by an exact LDL' factorisation whether a symmetric rational matrix is >= 0.

    A negative pivot, or a zero pivot next to a non-zero entry, is a direction of negative curvature;
    otherwise D >= 0 and the matrix is L D L'.

    Parameters
    ----------
    matrix
        Symmetric, of ``flint.fmpq``.
    """
    rest = [list(row) for row in matrix]
    while rest:
        pivot, row = rest[0][0], rest[0][1:]
        if pivot < 0 or (pivot == 0 and any(entry != 0 for entry in row)):
            return False
        rest = [
            [entry - (row[i] * row[j] / pivot if pivot != 0 else 0) for j, entry in enumerate(line[1:])]
            for i, line in enumerate(rest[1:])
        ]
    return True


def null_space(rows: Sequence[Sequence[Any]], size: int) -> list[list[Fraction]]:
    """Return a basis of the vectors of a length that are orthogonal to all rows, which hold integers or fractions."""
    from flint import fmpq_mat

    if not rows:
        return [[Fraction(int(i == j)) for j in range(size)] for i in range(size)]
    entries = [rational(Fraction(entry)) for row in rows for entry in row]
    reduced, rank = fmpq_mat(len(rows), size, entries).rref()
    pivots = [next(j for j in range(size) if reduced[i, j] != 0) for i in range(rank)]
    basis = []
    for free in (j for j in range(size) if j not in pivots):
        vector = [Fraction(int(j == free)) for j in range(size)]
        for i, pivot in enumerate(pivots):
            vector[pivot] = -fraction(reduced[i, free])
        basis.append(vector)
    return basis
