"""The semidefinite program of a proof by sums of squares, and fractions next to its solution."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.theory.squares.exact import fraction, is_positive_semidefinite, null_space, rational
from clusterproof.theory.squares.products import Part
from clusterproof.theory.squares.proof import Block
from clusterproof.theory.squares.solving import minimum, triangles
from clusterproof.theory.squares.terms import Powers, Terms, combination, product

DIGITS = (1, 2, 3, 4, 6, 8, 10, 12)
"""Decimals to which the solver's numbers are rounded, in turn."""
BITS = 16
"""Of the largest denominator in the vectors on which a matrix vanishes."""


class Program:
    """Matrices Q >= 0, one for each part, such that the sum of weight times b' Q b is the target.

    Parameters
    ----------
    target
        The polynomial.
    parts, bases
        Products of generators, and of each the polynomials b; parts without any are left out.

    Attributes
    ----------
    is_solvable
        Whether each term of the target is one of some product.
    """

    def __init__(self, target: Terms, parts: Sequence[Part], bases: Sequence[Sequence[Terms]]) -> None:
        self.target = target
        self.parts = [part for part, basis in zip(parts, bases, strict=True) if basis]
        self.bases = [basis for basis in bases if basis]
        self.orders = [len(basis) for basis in self.bases]
        self.products = [
            {powers: (1 if i == j else 2) * value for powers, value in product(weighted[i], basis[j]).items()}
            for part, basis in zip(self.parts, self.bases, strict=True)
            for weighted in [[product(part.weight, each) for each in basis]]
            for i, j in _triangle(len(basis))
        ]
        """Of each entry of the upper triangles the polynomial that it multiplies."""
        given = {powers for each in self.products for powers in each}
        self.powers = sorted(given | set(target))
        self.is_solvable = bool(self.products) and given >= set(target)

    @classmethod
    def of(cls, target: Terms, parts: Sequence[Part]) -> Program:
        """State the program with the parts' monomials."""
        return cls(target, parts, [[{powers: Fraction(1)} for powers in part.monomials] for part in parts])

    def solve(self, seconds: float) -> tuple[float, list[np.ndarray]] | None:
        """Return the largest common least eigenvalue, at most 1, and the matrices; None if the solver has none.

        Unknowns are the upper triangles, with sqrt(2) off the diagonals, and the eigenvalue t.
        """
        from scipy.sparse import csc_array

        count, equations = len(self.products), len(self.powers)
        scales = np.concatenate([triangles(np.ones((order, order))) for order in self.orders])
        diagonal = np.flatnonzero(np.concatenate([triangles(np.eye(order)) for order in self.orders]))
        place = {powers: index for index, powers in enumerate(self.powers)}
        entries = [
            (place[powers], index, float(value) / scales[index])
            for index, each in enumerate(self.products)
            for powers, value in each.items()
        ]
        first = equations + 1
        entries.append((equations, count, 1.0))  # t <= 1
        entries += [(first + index, index, -1.0) for index in range(count)]  # Q - t I >= 0
        entries += [(first + int(index), count, 1.0) for index in diagonal]
        rows, columns, values = zip(*entries, strict=True)
        matrix: Any = csc_array((values, (rows, columns)), shape=(first + count, count + 1))
        vector = np.zeros(first + count)
        vector[:first] = [*(float(self.target.get(powers, 0)) for powers in self.powers), 1.0]
        cost = np.zeros(count + 1)
        cost[-1] = -1.0
        solution = minimum(matrix, vector, cost, (equations, 1, self.orders), seconds=seconds)
        if solution is None:
            return None
        numbers = iter(solution.unknowns[:count] / scales)
        matrices = [np.zeros((order, order)) for order in self.orders]
        for each in matrices:
            for i, j in _triangle(len(each)):
                each[i, j] = each[j, i] = next(numbers)
        return float(solution.unknowns[count]), matrices

    def rounded(self, matrices: Sequence[np.ndarray]) -> list[Block] | None:
        """Round the matrices, correct them such that the equations hold, and return them if all are >= 0.

        The correction is the least one: with A x = b, where A has full rank, it is A' (A A')^-1 (b - A x).
        """
        from flint import fmpq_mat

        numbers = [float(each[i, j]) for each in matrices for i, j in _triangle(len(each))]
        independent = self._independent()
        equations = [
            {independent[powers]: value for powers, value in each.items() if powers in independent}
            for each in self.products
        ]
        size = len(independent)
        square = [[Fraction(0)] * size for _ in range(size)]
        for each in equations:
            for (i, a), (j, b) in itertools.product(each.items(), repeat=2):
                square[i][j] += a * b
        normal = fmpq_mat(size, size, [rational(value) for row in square for value in row])
        for digits in DIGITS:
            exact = [Fraction(round(number * 10**digits), 10**digits) for number in numbers]
            short = [self.target.get(powers, Fraction(0)) for powers in independent]
            for number, each in zip(exact, equations, strict=True):
                for i, value in each.items():
                    short[i] -= number * value
            try:
                found = normal.solve(fmpq_mat(size, 1, [rational(value) for value in short]))
            except ZeroDivisionError:
                return None
            factors = [fraction(found[i, 0]) for i in range(size)]
            blocks = self._blocks(
                number + sum((value * factors[i] for i, value in each.items()), start=Fraction(0))
                for number, each in zip(exact, equations, strict=True)
            )
            if all(is_positive_semidefinite(block.matrix) for block in blocks):
                return blocks
        return None

    def _independent(self) -> dict[Powers, int]:
        """Number the equations of a largest independent set."""
        from scipy.linalg import qr

        place = {powers: index for index, powers in enumerate(self.powers)}
        matrix = np.zeros((len(self.products), len(self.powers)))
        for index, each in enumerate(self.products):
            for powers, value in each.items():
                matrix[index, place[powers]] = float(value)
        _, triangle, order = qr(matrix, mode="economic", pivoting=True)
        sizes = np.abs(np.diag(triangle))
        rank = int((sizes > 1e-9 * sizes.max(initial=0.0)).sum())
        return {self.powers[int(each)]: index for index, each in enumerate(order[:rank])}

    def _blocks(self, numbers: Iterator[Fraction]) -> list[Block]:
        blocks = []
        for part, basis in zip(self.parts, self.bases, strict=True):
            matrix = [[Fraction(0)] * len(basis) for _ in basis]
            for i, j in _triangle(len(basis)):
                matrix[i][j] = matrix[j][i] = next(numbers)
            blocks.append(Block(part.factors, basis, matrix))
        return blocks

    def on_face(self, matrices: Sequence[np.ndarray], tolerance: float, rounding: float) -> Program | None:
        """Leave out of each basis the directions in which a solution vanishes; None if there are none.

        Parameters
        ----------
        matrices
            The solution.
        tolerance
            Eigenvalue, of the largest one, below which it vanishes.
        rounding
            Largest error of the fractions by which the entries of these directions are replaced.
        """
        largest = max(float(np.linalg.eigvalsh(each)[-1]) for each in matrices)
        bases: list[Sequence[Terms]] = []
        for basis, matrix in zip(self.bases, matrices, strict=True):
            values, vectors = np.linalg.eigh(matrix)
            kernel = vectors[:, values < tolerance * largest].T
            left = null_space(_echelon(kernel, rounding), len(basis)) if len(kernel) else None
            bases.append(basis if left is None else [combination(each, basis) for each in left])
        if all(new is old for new, old in zip(bases, self.bases, strict=True)):
            return None
        return Program(self.target, self.parts, bases)


def _triangle(order: int) -> list[tuple[int, int]]:
    """Return the places of an upper triangle, column by column."""
    return [(row, column) for column in range(order) for row in range(column + 1)]


def _echelon(rows: np.ndarray, rounding: float) -> list[list[Fraction]]:
    """Return the reduced echelon form of rows of floats, its entries replaced by simple fractions."""
    rest = np.array(rows, dtype=float)
    for index in range(len(rest)):
        size = np.abs(rest[index:])
        below, column = divmod(int(np.argmax(size)), size.shape[1])
        rest[[index, index + below]] = rest[[index + below, index]]
        rest[index] /= rest[index, column]
        for other in range(len(rest)):
            if other != index:
                rest[other] -= rest[other, column] * rest[index]
    return [[_simple(float(entry), rounding) for entry in row] for row in rest]


def _simple(number: float, rounding: float) -> Fraction:
    """Return a fraction near a float, with a small denominator."""
    every = (Fraction(number).limit_denominator(2**power) for power in range(BITS))
    return next((each for each in every if abs(each - Fraction(number)) <= rounding), Fraction(number))
