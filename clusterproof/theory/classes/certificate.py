"""Exact certificates: multipliers in fractions that prove a traced claim, checked without a solver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from clusterproof.theory.classes.forms import Form
from clusterproof.theory.classes.path_program import PathProgram
from clusterproof.theory.classes.program import Solution, complement_of, matrix_of, minimise
from clusterproof.theory.classes.refine import refined_face
from clusterproof.theory.squares.exact import eliminate, is_positive_semidefinite, rational
from clusterproof.theory.squares.solving import triangles

DIGITS = (1, 2, 3, 4, 6, 8, 10, 12)
"""Digits to which multipliers are rounded, until a certificate is valid."""
SUPPORT = 1e-8
"""Share of the largest multiplier below which one is left out at first."""
NEAR = 1e-6
"""How far an exact ratio may be from the solver's."""
LARGEST = 10**14
"""Largest denominator of an exact worst case."""


@dataclass(frozen=True)
class Certificate:
    """A proof of measured <= ratio bound on one path.

    ratio bound - sum weights measured - sum multipliers conditions - sum free equations is a positive semidefinite form
    in G alone; weights and multipliers are at least 0, and the weights sum to 1.

    Attributes
    ----------
    ratio
        rho.
    weights
        Of the numbers of which the least is measured; 1 of a single one.
    multipliers, free
        Of the conditions and equations, by their numbers in the path's program; others are 0.
    """

    ratio: Fraction
    weights: tuple[Fraction, ...]
    multipliers: Mapping[int, Fraction]
    free: Mapping[int, Fraction]


def failures_of(
    terms: Iterable[tuple[Fraction, Form]], blocks: Mapping[str, Sequence[int]] | None = None
) -> Iterator[str]:
    """Yield why a sum of multiples of forms is not shown to be nonnegative, in exact arithmetic.

    Parameters
    ----------
    terms
        Factors, and forms of integers.
    blocks
        Vectors that are orthogonal to those of all other blocks, by their names; None for all vectors in one.
    """
    terms = [(factor, form) for factor, form in terms if factor]
    unit = lcm(*(factor.denominator for factor, _ in terms))
    slack = sum(
        (int(factor * unit) * form for factor, form in terms[1:]), int(terms[0][0] * unit) * terms[0][1]
    )
    if any(slack.linear):
        yield "the function values do not cancel"
    for name, vectors in (blocks or {"": range(len(slack.matrix))}).items():
        matrix = [
            [rational(Fraction(entry)) for entry in row] for row in slack.matrix[np.ix_(vectors, vectors)]
        ]
        if not is_positive_semidefinite(matrix):
            yield f"{name}: the remaining quadratic form is not positive semidefinite".removeprefix(": ")


def is_valid(path: PathProgram, certificate: Certificate) -> bool:
    """Check a certificate in fractions, without a solver."""
    signed = [*certificate.weights, *certificate.multipliers.values()]
    if any(value < 0 for value in signed) or sum(certificate.weights) != 1:
        return False
    terms = [(certificate.ratio, path.bound)]
    terms += [(-weight, form) for weight, form in zip(certificate.weights, path.measured, strict=True)]
    terms += [(-value, path.inequalities[number]) for number, value in certificate.multipliers.items()]
    terms += [(-value, path.equations[number]) for number, value in certificate.free.items()]
    return not any(failures_of(terms))


def forced_face(path: PathProgram, ratio: float) -> tuple[np.ndarray, list[int]]:
    """Return directions in which the slack vanishes at every ratio, as rows, and the conditions that may be used.

    Sums of functions may be tilted, f + <v, .> and h - <v, .>, so that a worst case has unbounded inner products.
    """
    none = np.zeros((0, len(path.vectors)), dtype=object)
    whole = _Face(path, none, range(len(path.inequalities)), Fraction(str(round(1.25 * ratio, 9))))
    *_, last = _reductions(whole)
    return last.basis, last.active


def with_slack(
    path: PathProgram, solution: Solution, ratio: Fraction, forced: tuple[np.ndarray, list[int]] | None = None
) -> Certificate | None:
    """Return a certificate of a ratio above the worst case, on a face if one is forced; None if none is found."""
    none = np.zeros((0, len(path.vectors)), dtype=object)
    basis, everything = forced or (none, list(range(len(path.inequalities))))
    largest = solution.multipliers.max(initial=0.0)
    support = [number for number in everything if solution.multipliers[number] > SUPPORT * largest]
    for active in (support, everything):
        if (found := _Face(path, basis, active, ratio).certificate()) is not None:
            return found
    return None


def tight(path: PathProgram, solution: Solution) -> Certificate | None:
    """Return a certificate of the exact worst case, which is its ratio; None if it is no fraction or not found."""
    for basis, active in refined_face(path, solution):
        for face in _reductions(_Face(path, basis, active, None)):
            ratio = face.determined_ratio()
            if ratio is None or abs(float(ratio) - solution.ratio) > NEAR * max(1.0, abs(solution.ratio)):
                break
            if ratio.denominator > LARGEST:
                break
            if (found := face.certificate()) is not None:
                return found
    return None


def with_faces(path: PathProgram, ratio: Fraction) -> Certificate | None:
    """Return a certificate of a ratio at which some multipliers and directions vanish; None if none is found."""
    none = np.zeros((0, len(path.vectors)), dtype=object)
    for face in _reductions(_Face(path, none, range(len(path.inequalities)), ratio)):
        if (found := face.certificate()) is not None:
            return found
    return None


def _reductions(face: _Face) -> Iterator[_Face]:
    """Yield a face, and smaller ones as long as all of its multipliers and matrices lie on one of these."""
    current: _Face | None = face
    while current is not None:
        yield current
        current.find_centre()
        current = current.smaller()


class _Face:
    """Multipliers whose matrix vanishes on a subspace: an affine space, x = start + directions @ y.

    Parameters
    ----------
    path
        The claim.
    basis
        (r, n): rows that span the subspace, in fractions.
    active
        Conditions that may have multipliers.
    ratio
        The ratio; None if it is unknown, too.
    """

    def __init__(
        self, path: PathProgram, basis: np.ndarray, active: Sequence[int], ratio: Fraction | None
    ) -> None:
        self.path, self.basis, self.active, self.ratio = path, basis, list(active), ratio
        self._margin = 0.0
        self._dual: np.ndarray | None = None
        wide = len(path.measured) > 1
        self.columns: list[Form] = [] if ratio is not None else [path.bound]
        self.signed: list[int] = []
        target = Fraction(-(ratio or 0)) * path.bound
        if wide:
            self.signed += range(len(self.columns), len(self.columns) + len(path.measured))
            self.columns += [-1 * form for form in path.measured]
        else:
            target = target + path.measured[0]
        self.signed += range(len(self.columns), len(self.columns) + len(self.active))
        self.columns += [-1 * path.inequalities[number] for number in self.active]
        self.columns += [-1 * form for form in path.equations]
        self.target = target
        size = len(self.columns)
        self.units = [Fraction(1)] * (len(self.columns) - len(self.active) - len(path.equations))
        self.units += [
            Fraction(path.unit, form.size)
            for form in (*(path.inequalities[number] for number in self.active), *path.equations)
        ]
        rows = [
            _sparse([*(form.linear[entry] for form in self.columns), target.linear[entry]])
            for entry in range(len(target.linear))
        ]
        if wide:
            first = 0 if ratio is not None else 1
            rows.append({first + number: Fraction(1) for number in range(len(path.measured))})
            rows[-1][size] = Fraction(1)
        for row in self.basis:
            unit = lcm(*(entry.denominator for entry in row))
            direction = np.array(
                [int(entry * unit) for entry in row], dtype=object
            )  # far faster than fractions
            products = [form.matrix @ direction for form in (*self.columns, target)]
            rows += [_sparse([product[entry] for product in products]) for entry in range(len(direction))]
        self.echelon = eliminate([row for row in rows if row])

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return len(self.columns)

    @property
    def consistent(self) -> bool:
        """Whether there are such multipliers, of whatever sign."""
        return self.size not in self.echelon

    def _movable(self) -> list[int]:
        """Return the columns of weights and multipliers that the equations do not determine."""
        return [k for k in self.signed if k not in self.echelon or self.echelon[k].keys() - {self.size}]

    def determined_ratio(self) -> Fraction | None:
        """Return the ratio if the equations determine it."""
        row = self.echelon.get(0)
        if not self.consistent or row is None or row.keys() - {self.size}:
            return None
        return row.get(self.size, Fraction(0))

    def certificate(self) -> Certificate | None:
        """Return a valid certificate on the face; None if none is found."""
        if not self.consistent:
            return None
        free = [column for column in range(self.size) if column not in self.echelon]
        guess = self.find_centre()
        if guess is None:
            return None
        for digits in DIGITS if free else DIGITS[:1]:
            values = {
                column: Fraction(str(round(value, digits))) * self.units[column]
                for column, value in zip(free, guess, strict=True)
            }
            certificate = self._certificate(values)
            if is_valid(self.path, certificate):
                return certificate
        return None

    def _certificate(self, values: dict[int, Fraction]) -> Certificate:
        """Return the multipliers with given values in the columns that are no pivots."""
        x = [values.get(column, Fraction(0)) for column in range(self.size)]
        for pivot, row in self.echelon.items():
            x[pivot] = row.get(self.size, Fraction(0)) - sum(
                (entry * values[column] for column, entry in row.items() if column != self.size), Fraction(0)
            )
        ratio = self.ratio
        if ratio is None:
            ratio, *x = x
        count = len(self.path.measured)
        weights: tuple[Fraction, ...] = (Fraction(1),)
        if count > 1:
            weights, x = tuple(x[:count]), x[count:]
        multipliers = dict(zip(self.active, x, strict=False))
        rest = x[len(self.active) :]
        return Certificate(ratio, weights, multipliers, dict(enumerate(rest)))

    def find_centre(self) -> np.ndarray | None:
        """Return the free columns, in units of ``units``, where multipliers and eigenvalues are farthest from 0."""
        free = [column for column in range(self.size) if column not in self.echelon]
        start, directions = np.zeros(self.size), np.zeros((self.size, len(free)))
        place = {column: number for number, column in enumerate(free)}
        for column, number in place.items():
            directions[column, number] = 1.0
        for pivot, row in self.echelon.items():
            for column, entry in row.items():
                if column == self.size:
                    start[pivot] = float(entry / self.units[pivot])
                else:
                    change = entry * self.units[column] / self.units[pivot]
                    directions[pivot, place[column]] = -float(change)
        n = len(self.path.vectors)
        complement = complement_of(self.basis.astype(float))
        k = complement.shape[1]
        unit = self.path.unit
        matrices = np.array(
            [
                form.over(int(unit / scale)).matrix
                for form, scale in zip(self.columns, self.units, strict=True)
            ]
        ).reshape(self.size, n, n)
        inside = np.einsum("ai,xij,jb->xab", complement.T, matrices, complement, optimize=True)
        fixed = complement.T @ (self.target.matrix / unit).astype(float) @ complement
        triangle = triangles(inside)
        identity = triangles(np.eye(k))
        base = start @ triangle - triangles(fixed)
        signed = self._movable()
        rows = np.zeros((len(signed) + 1 + len(identity), len(free) + 1))
        right = np.zeros(len(rows))
        rows[: len(signed), :-1], rows[: len(signed), -1] = -directions[signed], 1.0
        right[: len(signed)] = start[signed]
        rows[len(signed), -1], right[len(signed)] = 1.0, 1.0
        rows[len(signed) + 1 :, :-1] = -(directions.T @ triangle).T
        rows[len(signed) + 1 :, -1], right[len(signed) + 1 :] = identity, base
        cost = np.zeros(len(free) + 1)
        cost[:-1] = 1e-9 * directions[signed].sum(axis=0)  # keeps the multipliers bounded
        cost[-1] = -1.0
        found = minimise(cost, rows, right, (0, len(signed) + 1, k))
        if found is None:
            return None
        self._margin, self._dual = float(found[0][-1]), found[1]
        return found[0][:-1]

    def smaller(self) -> _Face | None:
        """Return the face on which multipliers and matrices lie that vanish on all of this one; None if none do."""
        if self._dual is None or self._margin > 1e-7 or not self.consistent:
            return None
        movable, dual = self._movable(), self._dual
        count = len(movable)
        vanishing = {movable[number] for number in range(count) if dual[number] > 1e-4}
        complement = complement_of(self.basis.astype(float))
        k = complement.shape[1]
        block = matrix_of(dual[count + 1 :], k)
        sizes, vectors = np.linalg.eigh(block) if k else (np.zeros(0), np.zeros((0, 0)))
        new = (complement @ vectors[:, sizes > 1e-4]).T
        offset = self.size - len(self.path.equations) - len(self.active)
        active = [each for number, each in enumerate(self.active) if offset + number not in vanishing]
        basis = self.basis
        if len(new):
            rows = np.vstack([self.basis.astype(float), new])
            tries = (rational_rows(rows, *each) for each in ((200, 1e-4), (12, 3e-3)))
            found = next((each for each in tries if each is not None), None)
            if found is None:
                return None
            basis = found
        if len(active) == len(self.active) and len(basis) == len(self.basis):
            return None
        return _Face(self.path, basis, active, self.ratio)


def rational_rows(rows: np.ndarray, largest: int, tolerance: float) -> np.ndarray | None:
    """Return the reduced echelon basis of the span of rows in fractions; None if an entry is near none."""
    from scipy.linalg import qr

    _, _, order = qr(rows, pivoting=True)
    pivots = sorted(order[: len(rows)])
    reduced = np.linalg.solve(rows[:, pivots], rows)
    result = np.full(reduced.shape, Fraction(0), dtype=object)
    for place, value in np.ndenumerate(reduced):
        near = Fraction(float(value)).limit_denominator(largest)
        if abs(float(near) - value) > tolerance:
            return None
        result[place] = near
    return result


def _sparse(row: Sequence[Fraction]) -> dict[int, Fraction]:
    return {column: Fraction(value) for column, value in enumerate(row) if value}
