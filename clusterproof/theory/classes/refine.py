"""The exact face of a worst case: the span of its worst instances, refined to 40 digits and read off as fractions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from clusterproof.theory.classes.forms import Form
from clusterproof.theory.classes.path_program import PathProgram
from clusterproof.theory.classes.program import Solution

BITS = 180
"""Bits after the point of the numbers that are refined."""
CONVERGED = 130
"""Bits after the point that must agree."""
STEPS = 40
CUT = 1e-6
"""Share of the largest singular value below which the Jacobian is taken as singular."""
DENOMINATOR = 10**13
"""Largest denominator of an entry that counts as a fraction."""
ACTIVE = (1e-5, 1e-3, 1e-7)
"""Values of a condition below which it is taken as active, in the order in which they are tried."""


def refined_face(path: PathProgram, solution: Solution) -> Iterator[tuple[np.ndarray, list[int]]]:
    """Yield candidates for the face: a basis in fractions of the span of the worst instances, and active conditions.

    A wrong candidate does no harm: the certificate is checked without it.
    """
    tried = set()
    for rank in _ranks(solution.gram):
        for threshold in ACTIVE:
            active = _active(path, solution, threshold)
            if (rank, tuple(active)) in tried:
                continue
            tried.add((rank, tuple(active)))
            basis = _Optimality(path, solution, rank, active).refined()
            if basis is not None:
                yield basis, active


def _ranks(gram: np.ndarray) -> list[int]:
    """Return the likely ranks of a matrix, those with the largest gap in its spectrum first."""
    sizes = np.clip(np.linalg.eigvalsh(gram)[::-1], 1e-14, None)
    sizes = np.append(sizes / sizes[0], 1e-14)
    gaps = sizes[:-1] / np.maximum(sizes[1:], 1e-13)
    likely = [int(rank) + 1 for rank in np.argsort(-gaps) if sizes[rank] > 1e-9]
    return likely[:2]


def _active(path: PathProgram, solution: Solution, threshold: float) -> list[int]:
    active = []
    for number, form in enumerate(path.program.conditions):
        size = max(np.abs(form.matrix).max(initial=0), np.abs(form.linear).max(initial=0))
        if form.at(solution.gram, solution.values) < threshold * size:
            active.append(number)
    return active


@dataclass(frozen=True)
class _Fixed:
    """A form by its entries that are not 0, with ``BITS`` bits after the point."""

    matrix: tuple[tuple[int, int, int], ...]
    linear: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, form: Form, unit: int) -> _Fixed:
        rows, columns = np.nonzero(form.matrix)
        return cls(
            tuple(
                (int(i), int(j), (form.matrix[i, j] << BITS) // unit)
                for i, j in zip(rows, columns, strict=True)
            ),
            tuple((int(i), (form.linear[i] << BITS) // unit) for i in np.nonzero(form.linear)[0]),
        )

    def at(self, gram: Sequence[Sequence[int]], values: Sequence[int]) -> int:
        """Return the form's value."""
        return (
            sum(a * gram[i][j] for i, j, a in self.matrix) + sum(a * values[i] for i, a in self.linear)
        ) >> BITS


class _Optimality:
    """The optimality conditions of a program on a face, as equations in everything that is unknown.

    Unknown are K (rows that span the worst instances, the identity in the pivots' columns), D with G = K' D K, the
    values, the ratio, and the multipliers of measured forms, active conditions and equations.
    """

    def __init__(self, path: PathProgram, solution: Solution, rank: int, active: Sequence[int]) -> None:
        from scipy.linalg import qr

        self.path, self.rank, self.active = path, rank, list(active)
        self.n, self.q = len(path.vectors), len(path.values)
        _, _, order = qr(solution.gram, pivoting=True)
        self.pivots = sorted(order[:rank])
        self.others = [column for column in range(self.n) if column not in self.pivots]
        gram = solution.gram
        inner = gram[np.ix_(self.pivots, self.pivots)]
        span = np.linalg.solve(inner, gram[self.pivots])
        self.wide = len(path.measured) > 1
        self.bound, *self.measured = (_Fixed.of(form, path.unit) for form in (path.bound, *path.measured))
        conditions = [path.inequalities[number] for number in active]
        self.conditions = [_Fixed.of(form, form.size) for form in conditions]
        self.equations = [_Fixed.of(form, form.size) for form in path.equations]
        program = path.program
        self.floats = [
            program.bound,
            *program.measured,
            *(program.conditions[number] for number in active),
            *program.equations,
        ]
        upper = np.triu_indices(rank)
        self.upper = list(zip(*(each.tolist() for each in upper), strict=True))
        start = [*span[:, self.others].ravel(), *inner[upper], *solution.values, solution.ratio]
        start += [*(solution.weights if self.wide else ()), *solution.multipliers[active], *solution.free]
        self.start = np.array(start)

    def refined(self) -> np.ndarray | None:
        """Return K in fractions; None if the equations have no solution nearby, or not one in fractions."""
        unknown = [int(Fraction(float(value)) * (1 << BITS)) for value in self.start]
        inverse = np.linalg.pinv(self._jacobian(self.start), rcond=CUT)
        largest = None
        for _ in range(STEPS):
            residual = self._residual(unknown)
            top = max(map(abs, residual), default=0)
            if top >> (BITS - CONVERGED) == 0:
                return self._fractions(unknown)
            if largest is not None and top * 2 > largest:
                return None
            largest = top
            shift = max(top.bit_length() - 900, 0)
            unit = top >> shift or 1
            scaled = np.array([float(Fraction(value >> shift, unit)) for value in residual])
            step = inverse @ scaled
            unknown = [
                value - int(Fraction(float(change)) * top)
                for value, change in zip(unknown, step, strict=True)
            ]
        return None

    def _fractions(self, unknown: Sequence[int]) -> np.ndarray | None:
        basis = np.full((self.rank, self.n), Fraction(0), dtype=object)
        for row, pivot in enumerate(self.pivots):
            basis[row, pivot] = Fraction(1)
        values = iter(unknown)
        for row in range(self.rank):
            for column in self.others:
                exact = Fraction(next(values), 1 << BITS)
                near = exact.limit_denominator(DENOMINATOR)
                if abs(near - exact) > Fraction(1, 1 << (CONVERGED - 30)):
                    return None
                basis[row, column] = near
        return basis

    # ---- the unknown, taken apart

    def _parts(
        self, unknown: Sequence[int]
    ) -> tuple[list[list[int]], list[list[int]], list[int], int, list[int], list[int], list[int]]:
        values = iter(unknown)
        span = [[0] * self.n for _ in range(self.rank)]
        for row in range(self.rank):
            span[row][self.pivots[row]] = 1 << BITS
            for column in self.others:
                span[row][column] = next(values)
        inner = [[0] * self.rank for _ in range(self.rank)]
        for i, j in self.upper:
            inner[i][j] = inner[j][i] = next(values)
        scalars = [next(values) for _ in range(self.q)]
        ratio = next(values)
        weights = [next(values) for _ in self.measured] if self.wide else [1 << BITS]
        multipliers = [next(values) for _ in self.conditions]
        return span, inner, scalars, ratio, weights, multipliers, list(values)

    def _residual(self, unknown: Sequence[int]) -> list[int]:
        span, inner, values, ratio, weights, multipliers, free = self._parts(unknown)
        half = [
            [sum(inner[a][b] * span[b][j] for b in range(self.rank)) >> BITS for j in range(self.n)]
            for a in range(self.rank)
        ]
        gram = [
            [sum(span[a][i] * half[a][j] for a in range(self.rank)) >> BITS for j in range(self.n)]
            for i in range(self.n)
        ]
        residual = [form.at(gram, values) for form in (*self.conditions, *self.equations)]
        residual.append(self.bound.at(gram, values) - (1 << BITS))
        if self.wide:
            residual += [form.at(gram, values) - ratio for form in self.measured]
            residual.append(sum(weights) - (1 << BITS))
        matrix = [[0] * self.n for _ in range(self.n)]
        linear = [0] * self.q
        terms = [(ratio, self.bound), *((-w, f) for w, f in zip(weights, self.measured, strict=True))]
        terms += [(-w, f) for w, f in zip(multipliers, self.conditions, strict=True)]
        terms += [(-w, f) for w, f in zip(free, self.equations, strict=True)]
        for factor, form in terms:
            for i, j, a in form.matrix:
                matrix[i][j] += factor * a
            for i, a in form.linear:
                linear[i] += factor * a
        residual += [entry >> BITS for entry in linear]
        residual += [
            sum(matrix[i][j] * span[a][j] for j in range(self.n)) >> (2 * BITS)
            for i in range(self.n)
            for a in range(self.rank)
        ]
        return residual

    def _jacobian(self, unknown: np.ndarray) -> np.ndarray:
        """Return the derivatives of the residual in floats."""
        n, q, r = self.n, self.q, self.rank
        span = np.zeros((r, n))
        span[range(r), self.pivots] = 1.0
        size = r * len(self.others)
        span[:, self.others] = unknown[:size].reshape(r, -1)
        inner = np.zeros((r, r))
        count = len(self.upper)
        for (i, j), value in zip(self.upper, unknown[size : size + count], strict=True):
            inner[i, j] = inner[j, i] = value
        at_values = size + count
        at_ratio = at_values + q
        at_weights = at_ratio + 1
        columns = len(unknown)
        bound, forms = self.floats[0], self.floats[1:]
        measured, rest = forms[: len(self.measured)], forms[len(self.measured) :]

        def of_form(form: Form) -> np.ndarray:
            row = np.zeros(columns)
            row[:size] = (2 * inner @ span @ form.matrix)[:, self.others].ravel()
            quadratic = span @ form.matrix @ span.T
            for place, (i, j) in enumerate(self.upper):
                row[size + place] = quadratic[i, j] * (1 if i == j else 2)
            row[at_values:at_ratio] = form.linear
            return row

        rows = [of_form(form) for form in (*rest, bound)]
        if self.wide:
            for form in measured:
                row = of_form(form)
                row[at_ratio] -= 1.0
                rows.append(row)
            row = np.zeros(columns)
            row[at_weights : at_weights + len(measured)] = 1.0
            rows.append(row)
        terms = [bound, *([-1 * form for form in measured] if self.wide else [])]
        terms += [-1 * form for form in rest]
        factors = unknown[at_ratio:]
        fixed = 0 * bound if self.wide else -1 * measured[0]
        linear = np.zeros((q, columns))
        for place, form in enumerate(terms):
            linear[:, at_ratio + place] = form.linear
        matrix = fixed.matrix + sum(factor * form.matrix for factor, form in zip(factors, terms, strict=True))
        products = np.zeros((n, r, columns))
        for place, form in enumerate(terms):
            products[:, :, at_ratio + place] = form.matrix @ span.T
        for a in range(r):
            for place, column in enumerate(self.others):
                products[:, a, a * len(self.others) + place] = matrix[:, column]
        return np.vstack([*rows, *linear, products.reshape(n * r, columns)])
