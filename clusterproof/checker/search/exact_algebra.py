"""Exact algebra by python-flint: linear equations with fractions, and factors of polynomials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

from clusterproof.checker.kernel.polynomials import Polynomial, divided


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


def irreducible(p: Polynomial) -> list[Polynomial]:
    """Return the distinct irreducible factors of a polynomial, except constants."""
    return [factor for factor, _ in factors_of(p)[1]] if p.places else []


def factors_of(p: Polynomial) -> tuple[Fraction, list[tuple[Polynomial, int]]]:
    """Factor a polynomial into a number and powers of irreducible polynomials."""
    number, found = _of_flint(p).factor()
    common = lcm(*(Fraction(value).denominator for value in p.values()))
    return Fraction(int(number), common), [
        (_polynomial(factor, p.width), int(power)) for factor, power in found
    ]


def lowest_terms(top: Polynomial, bottom: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Reduce a quotient of polynomials to lowest terms."""
    factor = _polynomial(_of_flint(top).gcd(_of_flint(bottom)), top.width)
    reduced = divided(top, factor), divided(bottom, factor)
    assert reduced[0] is not None
    assert reduced[1] is not None
    return reduced[0], reduced[1]


def _of_flint(p: Polynomial) -> Any:
    """Convert a polynomial to python-flint, multiplied by a number that makes all coefficients integers."""
    from flint import Ordering, fmpz_mpoly_ctx

    common = lcm(*(Fraction(value).denominator for value in p.values()))
    context = fmpz_mpoly_ctx.get([f"x{place}" for place in range(p.width)], Ordering.lex)
    return context.from_dict({tuple(powers): int(value * common) for powers, value in p.items()})


def _polynomial(p: Any, width: int) -> Polynomial:
    """Convert a polynomial of python-flint to a polynomial of the kernel."""
    return Polynomial.of({tuple(map(int, each)): int(value) for each, value in p.to_dict().items()}, width)
