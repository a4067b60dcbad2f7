"""Blocks for the kernel's rule *squares*: solve a semidefinite program, and round its solution to fractions.

If the target has a zero, the matrices of all proofs are singular in the same directions, and rounding would make them
indefinite. The search therefore restricts the bases to the range of the solver's matrices (facial reduction), until the
feasible set has an interior. A solution in the interior can be rounded.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from clusterproof.checker import kernel
from clusterproof.checker.kernel.evaluation import limited
from clusterproof.checker.kernel.induction import needs, targets
from clusterproof.checker.kernel.numbers import write
from clusterproof.checker.kernel.polynomials import Polynomial, constant, plus, times
from clusterproof.checker.kernel.positivity import is_positive_semidefinite
from clusterproof.checker.kernel.rules import cases, nonnegative_on
from clusterproof.checker.search.exact_algebra import null_space, solve
from clusterproof.checker.search.semidefinite import matrix_of, minimum, triangles
from clusterproof.checker.search.square_products import Part, Powers, degree, programs, without_vanishing

Blocks = list[dict[str, Any]]
"""Blocks of matrices, in the format of the evidence for the rule *squares*."""

MOST_SYMBOLS, MOST_DEGREE = 12, 8
"""Largest number of symbols, and largest degree, for which the module searches for a proof."""
WORK = 20_000
"""Largest number of matrix entries in all programs for one polynomial."""
FACES = 6
"""Maximum number of times that the bases are reduced."""
MARGIN = 1e-6
"""Smallest eigenvalue, relative to the target's largest coefficient, at which matrices are rounded."""
INFEASIBLE = 1e-5
"""If the smallest eigenvalue is below minus this number, relative to that coefficient, no such proof exists."""
KERNELS, ROUNDING = (1e-4, 1e-6, 1e-3, 1e-2), (1e-4, 1e-7)
"""Relative eigenvalues below which a matrix counts as singular, and allowed errors of its null vectors."""
DIGITS = (1, 2, 3, 4, 6, 8, 10, 12)
"""Numbers of decimals to which the solver's numbers are rounded, tried in this order."""
BITS = 16
"""Largest number of bits of a denominator in null vectors of a matrix."""


NO_FORMULA = (kernel.Refused, ArithmeticError, TypeError, ValueError, LookupError, AttributeError)
"""Exceptions raised if a function has no formula."""


def blocks(statement: kernel.Statement, line: str, data: Mapping[str, Any]) -> list[Blocks] | None:
    """Search for sums of squares that prove a line; return None if none are found.

    Parameters
    ----------
    statement
        A statement of the language, without functions of a class.
    line
        Name of the line, or an empty string if it is the only one.
    data
        The evidence, which contains the names of the quantities that are symbols.

    Returns
    -------
    list or None
        The field ``blocks`` of the evidence, or None.
    """
    wanted = []
    try:
        with limited():
            for case in cases(statement, line, data, data.get("states", 0)):
                for need in needs(case):
                    _, known, box = need
                    factors = nonnegative_on(box, known)
                    wanted += [(target, factors) for target in targets(need)]
    except NO_FORMULA:
        return None
    found = []
    for target, factors in wanted:
        of_target = _nearest(target, tuple(factors), target.width)
        if of_target is None:
            return None
        found.append(of_target)
    return found


@lru_cache(maxsize=1024)
def _nearest(target: Polynomial, factors: tuple[Polynomial, ...], width: int) -> Blocks | None:
    """Search for a proof that a polynomial is nonnegative, first with the factors that share its symbols.

    ``width`` is the number of symbols. Polynomials can be equal without having the same number of symbols.
    """
    nothing = constant(0, width)
    near = tuple(factor if factor.places <= target.places else nothing for factor in factors)
    found = find_blocks(target, near) if near != factors else None
    return find_blocks(target, factors) if found is None else found


def find_blocks(target: Polynomial, factors: Sequence[Polynomial]) -> Blocks | None:
    """Search for blocks that prove a polynomial nonnegative wherever all factors are nonnegative.

    Parameters
    ----------
    target, factors
        Polynomials in the same symbols; factors that are identically 0 are not used.
    """
    if degree(target) > MOST_DEGREE or len(target.places) > MOST_SYMBOLS:
        return None
    if not target:
        return []
    places = [place for place, factor in enumerate(factors) if factor]
    scale, *scales = (max(map(abs, each.values())) for each in (target, *(factors[n] for n in places)))
    nothing = constant(0, target.width)
    wanted = plus(nothing, target, 1 / scale)
    given = [plus(nothing, factors[n], 1 / size) for n, size in zip(places, scales, strict=True)]
    work = _Work()
    for parts in programs(wanted, given):
        if (solved := _solved(wanted, without_vanishing(wanted, parts), work)) is None:
            continue
        program, matrices = solved
        return [
            {
                "factors": [places[n] for n in part.factors],
                "basis": [[[list(powers), write(value)] for powers, value in b.items()] for b in basis],
                "matrix": [
                    [write(scale / math.prod(scales[n] for n in part.factors) * entry) for entry in row]
                    for row in matrix
                ],
            }
            for part, basis, matrix in zip(program.parts, program.bases, matrices, strict=True)
        ]
    return None


class _Work:
    """Limit on the total number of matrix entries in all programs."""

    left = WORK

    def solve(self, program: _Program) -> tuple[float, list[np.ndarray]] | None:
        """Solve a program; return None if there is no solution, or if the program exceeds the limit."""
        self.left -= len(program.products)
        if self.left < 0 or not program.is_solvable:
            return None
        found = program.solve()
        return None if found is None or found[0] < -INFEASIBLE else found


Exact = list[list[list[Fraction]]]
"""Matrices of fractions, one for each part."""


def _solved(target: Polynomial, parts: Sequence[Part], work: _Work) -> tuple[_Program, Exact] | None:
    """Solve a program on smaller and smaller faces of the cone until one has an interior; then round the solution."""
    monomials = [[Polynomial.of({powers: 1}, target.width) for powers in part.monomials] for part in parts]
    first = _Program(target, parts, monomials)
    if (solved := work.solve(first)) is None:
        return None
    for tolerance, rounding in itertools.product(KERNELS, ROUNDING):
        program, (margin, matrices) = first, solved
        for _ in range(FACES):
            if margin > MARGIN and (exact := program.rounded(matrices)) is not None:
                return program, exact
            smaller = program.on_face(matrices, tolerance, rounding)
            again = None if smaller is None else work.solve(smaller)
            if smaller is None or again is None:
                break
            program, (margin, matrices) = smaller, again
    return None


class _Program:
    """Positive semidefinite matrices Q, one per part, for which the sum of weight * b' Q b equals the target.

    Parameters
    ----------
    target
        The polynomial.
    parts, bases
        Products of factors, and the vector of polynomials b for each product; parts without polynomials are omitted.

    Attributes
    ----------
    products
        For each entry of the upper triangles, the polynomial by which it is multiplied.
    is_solvable
        Whether each term of the target occurs in some product.
    """

    def __init__(
        self, target: Polynomial, parts: Sequence[Part], bases: Sequence[Sequence[Polynomial]]
    ) -> None:
        self.target = target
        self.parts = [part for part, basis in zip(parts, bases, strict=True) if basis]
        self.bases = [basis for basis in bases if basis]
        self.products: list[Mapping[Powers, Fraction]] = []
        for part, basis in zip(self.parts, self.bases, strict=True):
            weighted = [times(part.weight, each) for each in basis]
            self.products += [
                times(times(weighted[i], basis[j]), constant(1 if i == j else 2, target.width))
                for i, j in _triangle(len(basis))
            ]
        given = {powers for each in self.products for powers in each}
        self.powers = sorted(given | set(target))
        self.is_solvable = bool(self.products) and given >= set(target)

    def solve(self) -> tuple[float, list[np.ndarray]] | None:
        """Maximise the smallest eigenvalue, limited to 1; return it with the matrices, or None if the solver fails.

        The unknowns are the upper triangles, with off-diagonal entries times sqrt(2), and the eigenvalue t.
        """
        from scipy.sparse import csc_array

        orders = [len(basis) for basis in self.bases]
        count, equations = len(self.products), len(self.powers)
        scales = np.concatenate([triangles(np.ones((order, order))) for order in orders])
        diagonal = np.flatnonzero(np.concatenate([triangles(np.eye(order)) for order in orders]))
        place = {powers: n for n, powers in enumerate(self.powers)}
        entries = [
            (place[powers], n, float(value) / scales[n])
            for n, each in enumerate(self.products)
            for powers, value in each.items()
        ]
        first = equations + 1
        entries.append((equations, count, 1.0))  # t <= 1
        entries += [(first + n, n, -1.0) for n in range(count)]  # Q - t I >= 0
        entries += [(first + int(n), count, 1.0) for n in diagonal]
        rows, columns, values = zip(*entries, strict=True)
        matrix = csc_array((values, (rows, columns)), shape=(first + count, count + 1))
        vector = np.zeros(first + count)
        vector[:first] = [*(float(self.target.get(powers, 0)) for powers in self.powers), 1.0]
        cost = np.zeros(count + 1)
        cost[-1] = -1.0
        if (solution := minimum(matrix, vector, cost, (equations, 1, orders))) is None:
            return None
        ends = np.cumsum([order * (order + 1) // 2 for order in orders])[:-1]
        several = zip(np.split(solution.unknowns[:count], ends), orders, strict=True)
        return float(solution.unknowns[count]), [matrix_of(part, order) for part, order in several]

    def rounded(self, matrices: Sequence[np.ndarray]) -> Exact | None:
        """Round and correct the matrices so that the equations hold; return None unless all are positive semidefinite.

        The correction is the smallest one: for A x = b with A of full rank, it is A' (A A')^-1 (b - A x).
        """
        numbers = [float(each[i, j]) for each in matrices for i, j in _triangle(len(each))]
        independent = self._independent()
        equations = [
            {independent[powers]: value for powers, value in each.items() if powers in independent}
            for each in self.products
        ]
        square = [[Fraction(0)] * len(independent) for _ in independent]
        for each in equations:
            for (i, a), (j, b) in itertools.product(each.items(), repeat=2):
                square[i][j] += a * b
        for digits in DIGITS:
            exact = [Fraction(round(number * 10**digits), 10**digits) for number in numbers]
            short = [self.target.get(powers, Fraction(0)) for powers in independent]
            for number, each in zip(exact, equations, strict=True):
                for i, value in each.items():
                    short[i] -= number * value
            if (factors := solve(square, short)) is None:
                return None
            corrected = iter(
                number + sum((value * factors[i] for i, value in each.items()), start=Fraction(0))
                for number, each in zip(exact, equations, strict=True)
            )
            found = [_symmetric(len(basis), corrected) for basis in self.bases]
            if all(map(is_positive_semidefinite, found)):
                return found
        return None

    def _independent(self) -> dict[Powers, int]:
        """Return a maximal set of independent equations, each with its number."""
        from scipy.linalg import qr

        place = {powers: n for n, powers in enumerate(self.powers)}
        matrix = np.zeros((len(self.products), len(self.powers)))
        for n, each in enumerate(self.products):
            for powers, value in each.items():
                matrix[n, place[powers]] = float(value)
        _, triangle, order = qr(matrix, mode="economic", pivoting=True)
        sizes = np.abs(np.diag(triangle))
        rank = int((sizes > 1e-9 * sizes.max(initial=0.0)).sum())
        return {self.powers[int(each)]: n for n, each in enumerate(order[:rank])}

    def on_face(self, matrices: Sequence[np.ndarray], tolerance: float, rounding: float) -> _Program | None:
        """Return the program without the directions on which the matrices vanish, or None if no direction exists."""
        largest = max((float(np.linalg.eigvalsh(each)[-1]) for each in matrices), default=0.0)
        bases: list[Sequence[Polynomial]] = []
        for matrix, basis in zip(matrices, self.bases, strict=True):
            sizes, vectors = np.linalg.eigh(matrix)
            vanishing = vectors[:, sizes < tolerance * largest].T
            if not len(vanishing):
                bases.append(basis)
                continue
            kept = null_space(_echelon(vanishing, rounding), len(basis))
            bases.append([_combination(each, basis) for each in kept])
        if all(new is old for new, old in zip(bases, self.bases, strict=True)):
            return None
        return _Program(self.target, self.parts, bases)


def _combination(factors: Sequence[Fraction], polynomials: Sequence[Polynomial]) -> Polynomial:
    total = constant(0, polynomials[0].width)
    for factor, polynomial in zip(factors, polynomials, strict=True):
        total = plus(total, polynomial, factor)
    return total


def _triangle(order: int) -> list[tuple[int, int]]:
    """Return the positions of an upper triangle, column by column."""
    return [(row, column) for column in range(order) for row in range(column + 1)]


def _symmetric(order: int, numbers: Iterator[Fraction]) -> list[list[Fraction]]:
    matrix = [[Fraction(0)] * order for _ in range(order)]
    for i, j in _triangle(order):
        matrix[i][j] = matrix[j][i] = next(numbers)
    return matrix


def _echelon(rows: np.ndarray, rounding: float) -> list[list[Fraction]]:
    """Return the reduced echelon form of a matrix of floats, with its entries rounded to simple fractions."""
    rest = np.array(rows, dtype=float)
    for n in range(len(rest)):
        size = np.abs(rest[n:])
        below, column = divmod(int(np.argmax(size)), size.shape[1])
        rest[[n, n + below]] = rest[[n + below, n]]
        rest[n] /= rest[n, column]
        for other in range(len(rest)):
            if other != n:
                rest[other] -= rest[other, column] * rest[n]
    return [[_simple(float(entry), rounding) for entry in row] for row in rest]


def _simple(number: float, rounding: float) -> Fraction:
    """Return a fraction near a float, with the smallest possible power of two as the limit of its denominator."""
    every = (Fraction(number).limit_denominator(2**power) for power in range(BITS))
    return next((each for each in every if abs(each - Fraction(number)) <= rounding), Fraction(number))
