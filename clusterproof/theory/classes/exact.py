"""Linear algebra in fractions: what a certificate is found and checked with."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm

Row = dict[int, int]
"""Entries of an integer row that are not 0, by column."""


def eliminate(rows: Sequence[dict[int, Fraction]]) -> dict[int, dict[int, Fraction]]:
    """Return the reduced echelon form of sparse rows, by pivots, the first column of each row.

    Returns
    -------
    dict
        For each pivot the entries of its row in the columns that are no pivots; that of the pivot itself is 1.
    """
    done: dict[int, Row] = {}
    for row in rows:
        scale = lcm(*(value.denominator for value in row.values()))
        current = {column: int(value * scale) for column, value in row.items() if value}
        for pivot in sorted(done.keys() & current.keys()):
            if pivot in current:
                current = _cancel(current, done[pivot], pivot)
        if not current:
            continue
        pivot = min(current)
        for other, entries in done.items():
            if pivot in entries:
                done[other] = _cancel(entries, current, pivot)
        done[pivot] = current
    return {
        pivot: {column: Fraction(value, row[pivot]) for column, value in row.items() if column != pivot}
        for pivot, row in done.items()
    }


def _cancel(row: Row, other: Row, pivot: int) -> Row:
    """Subtract a multiple of another row such that the entry of the pivot vanishes."""
    first, second = other[pivot], row[pivot]
    common = gcd(first, second)
    first, second = first // common, second // common
    result = {column: first * value for column, value in row.items()}
    for column, value in other.items():
        if entry := result.get(column, 0) - second * value:
            result[column] = entry
        else:
            result.pop(column, None)
    common = gcd(*result.values()) if result else 1
    return {column: value // common for column, value in result.items()} if common > 1 else result


def is_positive_semidefinite(matrix: Sequence[Sequence[Fraction]]) -> bool:
    """Return whether a symmetric matrix of fractions is positive semidefinite, by L D L'."""
    scale = lcm(*(entry.denominator for row in matrix for entry in row))
    left = [[int(entry * scale) for entry in row] for row in matrix]
    size = len(left)
    before = 1
    for pivot in range(size):  # Bareiss: every entry stays a minor, an integer
        head = left[pivot][pivot]
        if head < 0:
            return False
        if head == 0:
            if any(left[pivot][column] for column in range(pivot, size)):
                return False
            continue
        for row in range(pivot + 1, size):
            for column in range(row, size):
                entry = head * left[row][column] - left[pivot][row] * left[pivot][column]
                left[row][column] = left[column][row] = entry // before
        before = head
    return True
