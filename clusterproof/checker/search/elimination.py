"""Exact solution of linear equations with fractions, by python-flint, which is twenty times as fast as Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm


def eliminate(rows: Sequence[Mapping[int, Fraction]]) -> dict[int, dict[int, Fraction]]:
    """Return the reduced echelon form of sparse rows, indexed by pivot, the first nonzero column of a row."""
    from flint import fmpz_mat

    width = 1 + max((column for row in rows for column in row), default=-1)
    if not width:
        return {}
    dense = [[0] * width for _ in rows]
    for line, row in zip(dense, rows, strict=True):
        unit = lcm(*(value.denominator for value in row.values()))
        for column, value in row.items():
            line[column] = int(value * unit)
    reduced, divisor, rank = fmpz_mat(dense).rref()
    result = {}
    for numbers in reduced.tolist()[:rank]:
        entries = {k: Fraction(int(value), int(divisor)) for k, value in enumerate(numbers) if value}
        pivot = min(entries)
        del entries[pivot]
        result[pivot] = entries
    return result


def null_space(rows: Sequence[Sequence[Fraction]], size: int) -> list[list[Fraction]]:
    """Return a basis of the vectors of length ``size`` that are orthogonal to all rows."""
    echelon = eliminate([{j: entry for j, entry in enumerate(row) if entry} for row in rows])
    basis = []
    for free in (j for j in range(size) if j not in echelon):
        vector = [Fraction(int(j == free)) for j in range(size)]
        for pivot, entries in echelon.items():
            vector[pivot] = -entries.get(free, Fraction(0))
        basis.append(vector)
    return basis


def solve(rows: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> list[Fraction] | None:
    """Return x with rows @ x = right for a square matrix, or None if it is singular."""
    from flint import fmpq, fmpq_mat

    size = len(rows)
    matrix = fmpq_mat(size, size, [fmpq(v.numerator, v.denominator) for row in rows for v in row])
    try:
        found = matrix.solve(fmpq_mat(size, 1, [fmpq(v.numerator, v.denominator) for v in right]))
    except ZeroDivisionError:
        return None
    return [Fraction(int(found[i, 0].p), int(found[i, 0].q)) for i in range(size)]
