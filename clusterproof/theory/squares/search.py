"""Find a proof by sums of squares: a semidefinite program, and from its floats fractions that satisfy every equation.

A target that vanishes somewhere leaves no interior: each matrix is singular there. So bases are first cut down to
polynomials that vanish at the target's zeros, then to what the solver's own matrices leave (facial reduction).
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.theory.squares.exact import fraction, is_positive_semidefinite, null_space, rational
from clusterproof.theory.squares.products import Part, programs, without_vanishing
from clusterproof.theory.squares.proof import Block, is_proof
from clusterproof.theory.squares.solving import minimum, triangles
from clusterproof.theory.squares.terms import Powers, Terms, combination, product

SECONDS = 5.0
"""Processor time after which no further program is solved."""
GRID = (0, 1, -1, 2)
"""Coordinates of the points at which the target's zeros are looked for."""
MOST_POINTS = 20_000
FACES = 6
"""Most times that the bases are cut down."""
MARGIN = 1e-6
"""Least eigenvalue, of the target's largest coefficient, from which matrices are rounded."""
INFEASIBLE = 1e-5
"""Negative least eigenvalue, of the target's largest coefficient, at which there is no proof of this form."""
KERNELS = (1e-4, 1e-6, 1e-3, 1e-2)
"""Eigenvalues, of the largest, below which a matrix is taken for singular; each is tried."""
DENOMINATOR = 60
"""Largest denominator of a kernel's entries."""
DIGITS = (1, 2, 3, 4, 6, 8, 10, 12)


def find_proof(target: Terms, generators: Sequence[Terms], seconds: float = SECONDS) -> list[Block] | None:
    """Return a proof that a polynomial is nonnegative where all generators are; None if none is found.

    Parameters
    ----------
    target, generators
        Polynomials in the same variables.
    seconds
        Processor time after which no further program is solved.
    """
    if not target:
        return []
    began = time.process_time()
    scale = max(abs(value) for value in target.values())
    wanted = {powers: value / scale for powers, value in target.items()}
    sizes = [max(abs(value) for value in each.values()) for each in generators]
    scaled = [
        {p: value / size for p, value in each.items()} for each, size in zip(generators, sizes, strict=True)
    ]
    zeros = _zeros(wanted, scaled)
    for parts in programs(wanted, scaled):
        if time.process_time() - began > seconds:
            return None
        left = without_vanishing(wanted, parts)
        if left is None or not left:
            continue
        blocks = _prove(wanted, scaled, left, zeros, began + seconds)
        if blocks is not None:
            blocks = [_rescaled(each, scale, sizes) for each in blocks]
            if is_proof(target, generators, blocks):
                return blocks
    return None


def _rescaled(block: Block, scale: Fraction, sizes: Sequence[Fraction]) -> Block:
    factor = scale
    for index in block.factors:
        factor /= sizes[index]
    return Block(block.factors, block.basis, [[factor * entry for entry in row] for row in block.matrix])


def _zeros(target: Terms, generators: Sequence[Terms]) -> list[tuple[int, ...]]:
    """Return points of a grid at which the target vanishes and no generator is negative."""
    variables = len(next(iter(target)))
    size = next((n for n in (4, 3, 2) if n**variables <= MOST_POINTS), 0)
    if size == 0:
        return []
    points = np.array(list(itertools.product(GRID[:size], repeat=variables)), dtype=float)
    inside = np.abs(_values(target, points)) < 1e-9
    for each in generators:
        inside &= _values(each, points) > -1e-9
    whole = [tuple(int(x) for x in point) for point in points[inside]]
    exact = [p for p in whole if _at(target, p) == 0 and all(_at(each, p) >= 0 for each in generators)]
    return exact[:400]


def _values(polynomial: Terms, points: np.ndarray) -> np.ndarray:
    return np.asarray(
        sum(float(value) * np.prod(points**powers, axis=1) for powers, value in polynomial.items())
    )


def _at(polynomial: Terms, point: Sequence[int]) -> Fraction:
    total = Fraction(0)
    for powers, value in polynomial.items():
        for x, power in zip(point, powers, strict=True):
            value *= x**power
        total += value
    return total


class _Program:
    """Matrices Q >= 0, one for each part, with sum of weight times b' Q b equal to the target."""

    def __init__(self, target: Terms, parts: Sequence[Part], bases: list[list[Terms]]) -> None:
        kept = [(part, basis) for part, basis in zip(parts, bases, strict=True) if basis]
        self.parts, self.bases = [part for part, _ in kept], [basis for _, basis in kept]
        self.target = target
        self.orders = [len(basis) for basis in self.bases]
        self.columns: list[dict[Powers, Fraction]] = []
        for part, basis in kept:
            weighted = [product(part.weight, each) for each in basis]
            # the entries of an upper triangle, column by column
            for column in range(len(basis)):
                for row in range(column + 1):
                    entry = product(weighted[row], basis[column])
                    factor = 1 if row == column else 2
                    self.columns.append({powers: factor * value for powers, value in entry.items()})
        given = {powers for column in self.columns for powers in column}
        self.powers = sorted(given | set(target))
        self.is_solvable = bool(self.columns) and given >= set(target)

    def solve(self, seconds: float) -> tuple[float, list[np.ndarray]] | None:
        """Return the largest common least eigenvalue, at most 1, and the matrices; None if the solver has none."""
        from scipy.sparse import csc_array

        place = {powers: index for index, powers in enumerate(self.powers)}
        rows, columns, values = [], [], []
        count, equations = len(self.columns), len(self.powers)
        scales, shift = self._scales()
        for index, column in enumerate(self.columns):
            for powers, value in column.items():
                rows.append(place[powers])
                columns.append(index)
                values.append(float(value) / scales[index])
        # t <= 1, then the triangles minus t times that of the identity
        rows += [equations, *range(equations + 1, equations + 1 + count)]
        columns += [count, *range(count)]
        values += [1.0, *[-1.0] * count]
        diagonal = np.flatnonzero(shift)
        rows += [equations + 1 + int(index) for index in diagonal]
        columns += [count] * len(diagonal)
        values += [1.0] * len(diagonal)
        shape = (equations + 1 + count, count + 1)
        matrix: Any = csc_array((values, (rows, columns)), shape=shape)
        vector = np.zeros(shape[0])
        vector[:equations] = [float(self.target.get(powers, 0)) for powers in self.powers]
        vector[equations] = 1.0
        cost = np.zeros(count + 1)
        cost[-1] = -1.0
        solution = minimum(matrix, vector, cost, (equations, 1, self.orders), seconds=seconds)
        if solution is None:
            return None
        numbers = solution.unknowns[:count] / scales
        matrices, start = [], 0
        for order in self.orders:
            part = np.zeros((order, order))
            for column in range(order):
                part[: column + 1, column] = numbers[start : start + column + 1]
                start += column + 1
            matrices.append(part + part.T - np.diag(np.diag(part)))
        return float(solution.unknowns[count]), matrices

    def _scales(self) -> tuple[np.ndarray, np.ndarray]:
        """Return sqrt(2) off the diagonals, as the solver has them, and 1 on them; and the identity's triangles."""
        identities = [triangles(np.eye(order)) for order in self.orders]
        ones = [triangles(np.ones((order, order))) for order in self.orders]
        return np.concatenate(ones), np.concatenate(identities)

    def rounded(self, matrices: Sequence[np.ndarray]) -> list[Block] | None:
        """Round the matrices, correct them such that every equation holds, and return them if all are >= 0."""
        from flint import fmpq_mat
        from scipy.linalg import qr

        numbers = [m[row, column] for m in matrices for column in range(len(m)) for row in range(column + 1)]
        place = {powers: index for index, powers in enumerate(self.powers)}
        dense = np.zeros((len(self.powers), len(self.columns)))
        for index, column in enumerate(self.columns):
            for powers, value in column.items():
                dense[place[powers], index] = float(value)
        _, triangle, order = qr(dense.T, mode="economic", pivoting=True)
        size = np.abs(np.diag(triangle))
        rank = int((size > 1e-9 * max(size.max(initial=0.0), 1e-300)).sum())
        chosen = {self.powers[int(index)]: i for i, index in enumerate(order[:rank])}
        entries = [
            {chosen[powers]: value for powers, value in column.items() if powers in chosen}
            for column in self.columns
        ]
        gram = [[Fraction(0)] * rank for _ in range(rank)]
        for column in entries:
            for (i, a), (j, b) in itertools.product(column.items(), repeat=2):
                gram[i][j] += a * b
        normal = fmpq_mat(rank, rank, [rational(value) for row in gram for value in row])
        for digits in DIGITS:
            unit = 10**digits
            exact = [Fraction(round(float(number) * unit), unit) for number in numbers]
            short = [Fraction(0)] * rank
            for powers, i in chosen.items():
                short[i] = self.target.get(powers, Fraction(0))
            for number, column in zip(exact, entries, strict=True):
                for i, value in column.items():
                    short[i] -= number * value
            try:
                found = normal.solve(fmpq_mat(rank, 1, [rational(value) for value in short]))
            except ZeroDivisionError:
                return None
            multipliers = [fraction(found[i, 0]) for i in range(rank)]
            exact = [
                number + sum((value * multipliers[i] for i, value in column.items()), start=Fraction(0))
                for number, column in zip(exact, entries, strict=True)
            ]
            blocks = self._blocks(exact)
            if all(is_positive_semidefinite(block.matrix) for block in blocks):
                return blocks
        return None

    def _blocks(self, numbers: Sequence[Fraction]) -> list[Block]:
        blocks, left = [], iter(numbers)
        for part, basis, order in zip(self.parts, self.bases, self.orders, strict=True):
            matrix = [[Fraction(0)] * order for _ in range(order)]
            for column in range(order):
                for row in range(column + 1):
                    matrix[row][column] = matrix[column][row] = next(left)
            blocks.append(Block(part.factors, basis, matrix))
        return blocks

    def cut(
        self, matrices: Sequence[np.ndarray], tolerance: float
    ) -> tuple[list[Part], list[list[Terms]]] | None:
        """Leave out of each basis what the matrices leave out; None if that is nothing."""
        largest = max(float(np.linalg.eigvalsh(m)[-1]) for m in matrices)
        changed, bases = False, []
        for basis, matrix in zip(self.bases, matrices, strict=True):
            values, vectors = np.linalg.eigh(matrix)
            kernel = vectors[:, values < tolerance * largest].T
            if not len(kernel):
                bases.append(basis)
                continue
            changed = True
            rows = _echelon(kernel)
            left = null_space(rows, len(basis))
            bases.append([combination(each, basis) for each in left])
        return (self.parts, bases) if changed else None


def _prove(
    target: Terms,
    generators: Sequence[Terms],
    parts: Sequence[Part],
    zeros: Sequence[tuple[int, ...]],
    until: float,
) -> list[Block] | None:
    """Solve one program, on faces of the cone until it has an interior there, and round."""
    first = _Program(target, parts, [_vanishing(part, zeros) for part in parts])
    if not first.is_solvable or (solved := first.solve(until - time.process_time())) is None:
        return None
    for tolerance in KERNELS:
        program, (margin, matrices) = first, solved
        for _ in range(FACES):
            if margin < -INFEASIBLE:
                break
            if margin > MARGIN and (blocks := program.rounded(matrices)) is not None:
                return blocks
            cut = program.cut(matrices, tolerance)
            if cut is None:
                break
            program = _Program(target, *cut)
            left = until - time.process_time()
            if left <= 0 or not program.is_solvable or (again := program.solve(left)) is None:
                break
            margin, matrices = again
        if margin < -INFEASIBLE and program is first:
            return None
    return None


def _vanishing(part: Part, zeros: Sequence[tuple[int, ...]]) -> list[Terms]:
    """Return a basis of the combinations of monomials that vanish where the target does and the weight does not."""
    rows = {
        tuple(
            math.prod(x**power for x, power in zip(point, powers, strict=True)) for powers in part.monomials
        )
        for point in zeros
        if _at(part.weight, point) != 0
    }
    singles = [{powers: Fraction(1)} for powers in part.monomials]
    return [combination(each, singles) for each in null_space(sorted(rows), len(singles))]


def _echelon(rows: np.ndarray) -> list[list[Fraction]]:
    """Return the reduced echelon form of rows of floats, its entries rounded to small denominators."""
    rest, pivots = np.array(rows, dtype=float), []
    for index in range(len(rest)):
        size = np.abs(rest[index:])
        row, column = np.unravel_index(int(np.argmax(size)), size.shape)
        rest[[index, index + row]] = rest[[index + row, index]]
        rest[index] /= rest[index, column]
        for other in range(len(rest)):
            if other != index:
                rest[other] -= rest[other, column] * rest[index]
        pivots.append(int(column))
    return [[Fraction(float(entry)).limit_denominator(DENOMINATOR) for entry in row] for row in rest]
