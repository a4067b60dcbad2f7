"""Linear algebra over the rationals, with python-flint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Any, TypeAlias

from flint import fmpq, fmpz_mat

Rational: TypeAlias = Any
"""A ``flint.fmpq``: an exact rational, twenty times as fast as a Fraction; claims meet Fractions only."""


def rational(value: Any) -> Rational:
    """Turn an int, a Fraction or a ``flint.fmpq`` into a ``flint.fmpq``."""
    return value if type(value) is fmpq else fmpq(value.numerator, value.denominator)


def fraction(value: Rational) -> Fraction:
    """Turn a ``flint.fmpq`` into a Fraction."""
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


def eliminate(rows: Sequence[Mapping[int, Fraction]]) -> dict[int, dict[int, Fraction]]:
    """Return the reduced echelon form of sparse rows, by pivots, the first column of each row.

    Returns
    -------
    dict
        For each pivot the entries of its row that are not 0, in the columns that are no pivots; that of the pivot
        itself is 1.
    """
    width = 1 + max((column for row in rows for column in row), default=-1)
    dense = [[0] * width for _ in rows]
    for line, row in zip(dense, rows, strict=True):
        unit = lcm(*(value.denominator for value in row.values()))
        for column, value in row.items():
            line[column] = int(value * unit)
    if not width:
        return {}
    reduced, divisor, rank = fmpz_mat(dense).rref()
    result = {}
    for numbers in reduced.tolist()[:rank]:
        entries = {
            column: Fraction(int(value), int(divisor)) for column, value in enumerate(numbers) if value
        }
        pivot = min(entries)
        del entries[pivot]
        result[pivot] = entries
    return result


def null_space(rows: Sequence[Sequence[Any]], size: int) -> list[list[Fraction]]:
    """Return a basis of the vectors of a length that are orthogonal to all rows, which hold integers or fractions."""
    echelon = eliminate([{j: Fraction(entry) for j, entry in enumerate(row) if entry} for row in rows])
    basis = []
    for free in (j for j in range(size) if j not in echelon):
        vector = [Fraction(int(j == free)) for j in range(size)]
        for pivot, entries in echelon.items():
            vector[pivot] = -entries.get(free, Fraction(0))
        basis.append(vector)
    return basis
