"""Elimination in sparse rows of integers, for equations of several hundred unknown multipliers."""

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
