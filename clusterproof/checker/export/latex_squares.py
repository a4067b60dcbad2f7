"""A sum of squares in LaTeX: each square with its factors, written with the names of the quantities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from clusterproof.checker.kernel.numbers import read

MOST = 30
"""Largest number of squares that are listed."""


def squares_in(
    blocks: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    factors: Sequence[str],
    number: Callable[[Any], str],
) -> Iterator[str]:
    """Yield the terms of a sum of squares.

    Parameters
    ----------
    blocks
        The evidence: factors, basis and matrix of each block.
    names, factors
        The symbols, and the numbers that are at least 0, in the order of the evidence.
    number
        Function that writes an exact number.
    """
    for block in blocks:
        matrix = [[Fraction(read(entry)) for entry in row] for row in block["matrix"]]
        basis = [
            [(powers, Fraction(read(factor))) for powers, factor in polynomial]
            for polynomial in block["basis"]
        ]
        before = "".join(factors[place] for place in block["factors"])
        for pivot, row in _eliminated(matrix):
            total: dict[tuple[int, ...], Fraction] = {}
            for share, polynomial in zip(row, basis, strict=True):
                for powers, factor in polynomial:
                    total[tuple(powers)] = total.get(tuple(powers), Fraction(0)) + share * factor
            terms = [_monomial(factor, powers, names, number) for powers, factor in total.items() if factor]
            is_one = all(not any(powers) for powers in total)
            scale = pivot * sum(total.values()) ** 2 if is_one else pivot
            square = "" if is_one else rf"\bigl({' + '.join(terms).replace('+ -', '- ')}\bigr)^2"
            text = rf"{number(scale)}\,{before}{square}"
            yield text.removeprefix(r"1\,") if before + square else text


def _eliminated(matrix: list[list[Fraction]]) -> Iterator[tuple[Fraction, list[Fraction]]]:
    """Yield the pivots and rows that write a positive semidefinite form as a sum of squares."""
    size = len(matrix)
    for k in range(size):
        pivot = matrix[k][k]
        if not pivot:
            continue
        row = [Fraction(0)] * k + [entry / pivot for entry in matrix[k][k:]]
        yield pivot, row
        for i in range(k + 1, size):
            for j in range(k + 1, size):
                matrix[i][j] -= pivot * row[i] * row[j]


def _monomial(
    factor: Fraction, powers: Sequence[int], names: Sequence[str], number: Callable[[Any], str]
) -> str:
    symbols = [
        name if power == 1 else f"{name}^{{{power}}}"
        for name, power in zip(names, powers, strict=False)
        if power
    ]
    if not symbols:
        return number(factor)
    scale = "" if factor == 1 else "-" if factor == -1 else rf"{number(factor)}\,"
    return scale + r"\,".join(symbols)
