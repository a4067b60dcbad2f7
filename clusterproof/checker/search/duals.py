"""Multipliers for the kernel's rule *dual*: solve a semidefinite program, and round its solution to fractions.

A proof consists of nonnegative multipliers x and a positive semidefinite form S, the difference between the target and
the multiples of the conditions. The pairs (x, S) lie in an affine space. The solver maximises the smallest multiplier
or eigenvalue. If the maximum is positive, fractions near the solution are a proof. If the maximum is 0, all multipliers
lie on a smaller face of the cone. The solver's dual solution describes this face: some multipliers are 0, and S
vanishes on some directions (facial reduction).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker import kernel
from clusterproof.checker.kernel.numbers import write
from clusterproof.checker.kernel.positivity import is_positive_semidefinite
from clusterproof.checker.search.exact_algebra import eliminate
from clusterproof.checker.search.paths import (
    Conditions,
    Coordinates,
    Path,
    Terms,
    paths_of,
    settings_of,
    size_of,
    sum_of,
)
from clusterproof.checker.search.refined import refined
from clusterproof.checker.search.semidefinite import matrix_of, minimum, triangles

Proof = dict[str, Any]
"""Multipliers for one entry of a line, in the format of the evidence."""
SETTINGS = 64
"""Largest number of settings. A *setting* contains the values of all quantities except the function of a class."""
DIGITS = (1, 2, 3, 4, 6, 8, 10, 12)
"""Numbers of decimals to which the multipliers are rounded, tried in this order until the result is a proof."""
TOLERANCES = (1e-10, 1e-8, 1e-7)
FACES = 12
"""Largest number of faces to try."""
SINGULAR = 1e-6
"""If the maximum of the smallest multiplier or eigenvalue is below this number, it counts as 0."""
FORCED = Fraction(1, 4)
"""Relative increase of a bound when the search looks for a face that contains the multipliers for every bound."""
PRESENT = 1e-4
"""Smallest size at which a part of the solver's worst case counts as nonzero."""
SIMPLE = ((200, 1e-4), (12, 3e-3))
"""Pairs to try when directions are rounded: largest denominator, and largest distance from the solver's result."""


def multipliers(statement: kernel.Statement, line: str) -> dict[str, Any] | None:
    """Search for multipliers for every setting and every path; return None unless all are found.

    Parameters
    ----------
    statement
        A statement of the language, with a function of a class.
    line
        Name of the line, or an empty string if it is the only one.

    Returns
    -------
    dict or None
        The fields ``rule`` and ``settings`` of the evidence. If the statement has hypotheses on the functions, the
        evidence also needs a ``witness``: an instance that meets these hypotheses.
    """
    settings = settings_of(statement, SETTINGS)
    if settings is None:
        return None
    found = []
    try:
        for setting in settings:
            paths = [path[line] for path in paths_of(statement, setting) if line in path]
            if (of_setting := proofs_at(paths)) is None:
                return None
            found.append(written(setting, of_setting))
    except (kernel.Refused, ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        return None
    return {"rule": "dual", "settings": found}


def written(setting: Mapping[str, Any], proofs: Sequence[Sequence[Proof]]) -> dict[str, Any]:
    """Convert the proofs at a setting to the format of the evidence."""
    return {"setting": {name: write(value) for name, value in setting.items()}, "paths": list(proofs)}


def proofs_at(paths: Sequence[Sequence[Path]]) -> list[list[Proof]] | None:
    """Return a proof for every entry on every path, or None unless all are found."""
    found = []
    for entries in paths:
        of_path = [proof_of(path) for path in entries]
        if any(proof is None for proof in of_path):
            return None
        found.append([proof for proof in of_path if proof is not None])
    return found


def proof_of(path: Path, raised: Fraction = Fraction(0)) -> Proof | None:
    """Return multipliers that prove an entry with the bound multiplied by 1 + ``raised``, or None if none are found."""
    whole = _Face.whole(path, raised)
    for face in _faces(whole):
        if (proof := face.near()) is not None:
            return proof
    if len(path.trace.oracles) == 1 or path.bound is None:
        return None
    return next(filter(None, (face.near() for face in _faces(_forced(whole)))), None)


def exact_face(
    slack: Terms, nonnegative: Conditions, zero: Conditions, vectors: Sequence[Any]
) -> np.ndarray | None:
    """Find exact multipliers, and return the directions on which the remaining form vanishes, or None."""
    without_trace: Any = None
    path = Path(without_trace, (slack,), None, nonnegative, zero, ())
    face = next((each for each in _faces(_Face.whole(path, Fraction(0))) if each.near() is not None), None)
    if face is None:
        return None
    place = {vector: n for n, vector in enumerate(vectors)}
    rows = np.zeros((len(face.basis), len(vectors)))
    for row, direction in zip(rows, face.basis, strict=True):
        for vector, n in face.coordinates.vectors.items():
            row[place[vector]] = float(direction[n])
    return rows


def _faces(first: _Face) -> Iterator[_Face]:
    """Yield a face, then smaller faces that probably contain all multipliers, until a face has an interior."""
    waiting = [first]
    for _ in range(FACES):
        if not waiting:
            return
        face = waiting.pop()
        if face.consistent and face.find_centre():
            yield face
            waiting += reversed(list(face.smaller()))


def _forced(whole: _Face) -> _Face:
    """Return a face that contains the multipliers for every bound, computed from a bound increased by a quarter.

    Such a face exists for sums: f + h does not change if a linear function is added to f and subtracted from h. The
    inner products in worst cases are therefore unbounded.
    """
    larger = _Face(whole.path, whole.coordinates, whole.raised + FORCED, whole.basis, whole.active)
    for face in _faces(larger):
        if face.margin > SINGULAR:
            return _Face(whole.path, whole.coordinates, whole.raised, face.basis, face.active)
    return whole


class _Face:
    """A face of the cone: the affine space of multipliers whose remaining form S vanishes on given directions.

    The unknowns are the weights of the slacks (if there are several), the multipliers of ``active`` conditions, and the
    multipliers of equations. S is ``target`` plus the sum of the unknowns times ``columns``.

    Parameters
    ----------
    path
        The entry of a line to prove.
    coordinates
        Numbering of the entry's vectors and values.
    raised
        Relative increase of the bound.
    basis
        Directions on which S vanishes, as vectors of fractions.
    active
        Conditions whose multipliers may differ from 0.
    """

    def __init__(
        self,
        path: Path,
        coordinates: Coordinates,
        raised: Fraction,
        basis: Sequence[Sequence[Fraction]],
        active: Sequence[str],
    ) -> None:
        self.path, self.coordinates, self.raised = path, coordinates, raised
        self.basis, self.active = [list(row) for row in basis], list(active)
        more = (raised, path.bound or {})
        several = path.slacks if len(path.slacks) > 1 else ()
        self.target = sum_of([more] if several else [(1, path.slacks[0]), more])
        self.weights = len(several)
        self.unit = size_of(path.slacks[0])
        self.names = [*self.active, *path.zero]
        conditions = [path.nonnegative[name] for name in self.active] + list(path.zero.values())
        self.scales = [Fraction(1)] * self.weights + [-self.unit / size_of(each) for each in conditions]
        forms = zip(self.scales, [*several, *conditions], strict=True)
        self.columns: list[Terms] = [sum_of([each]) for each in forms]
        self.size = len(self.columns)
        self.signed = range(self.weights + len(self.active))
        self.echelon = eliminate([row for row in self._equations() if row])

    @classmethod
    def whole(cls, path: Path, raised: Fraction) -> _Face:
        """Return the face of all multipliers; S vanishes on points that are 0, and on vectors that occur in no form."""
        forms = [*path.slacks, path.bound or {}, *path.nonnegative.values(), *path.zero.values()]
        coordinates = Coordinates([*forms, *({(v, v): Fraction(1) for v in p} for p in path.vanishing)])
        basis = [coordinates.direction(point) for point in path.vanishing]
        pivots = eliminate([{k: v for k, v in enumerate(row) if v} for row in basis])
        rows = [
            [Fraction(k == pivot) + row.get(k, 0) for k in range(len(coordinates.vectors))]
            for pivot, row in pivots.items()
        ]
        return cls(path, coordinates, raised, rows, list(path.nonnegative))

    def _equations(self) -> Iterator[dict[int, Fraction]]:
        """Yield the linear equations: values and constants cancel, weights sum to 1, and S vanishes on the basis."""
        forms = [*self.columns, sum_of([(-1, self.target)])]
        for key in self.coordinates.linear:
            yield {n: form[key] for n, form in enumerate(forms) if key in form}
        if self.weights:
            yield {**dict.fromkeys(range(self.weights), Fraction(1)), self.size: Fraction(1)}
        for direction in self.basis:
            products = [self.coordinates.times(form, direction) for form in forms]
            for entry in range(len(direction)):
                yield {n: product[entry] for n, product in enumerate(products) if product[entry]}

    @property
    def consistent(self) -> bool:
        """Whether the equations have a solution, regardless of signs."""
        return self.size not in self.echelon

    @property
    def free(self) -> list[int]:
        """The free unknowns of the equations, which determine all other unknowns."""
        return [n for n in range(self.size) if n not in self.echelon]

    @property
    def movable(self) -> list[int]:
        """Weights and multipliers whose values the equations do not determine."""
        return [n for n in self.signed if n not in self.echelon or self.echelon[n].keys() - {self.size}]

    def near(self) -> Proof | None:
        """Return a proof in fractions near the centre, or None if none is found."""
        for digits in DIGITS if self.free else DIGITS[:1]:
            guess = {n: Fraction(str(round(v, digits))) for n, v in zip(self.free, self._centre, strict=True)}
            x = [guess.get(n, Fraction(0)) for n in range(self.size)]
            for pivot, row in self.echelon.items():
                x[pivot] = row.get(self.size, Fraction(0)) - sum(
                    (entry * guess[n] for n, entry in row.items() if n != self.size), Fraction(0)
                )
            if any(x[n] < 0 for n in self.signed):
                continue
            rest = sum_of([(1, self.target), *zip(x, self.columns, strict=True)])
            if is_positive_semidefinite(self.coordinates.exact(rest)):
                return self._proof(x)
        return None

    def _proof(self, x: Sequence[Fraction]) -> Proof:
        scaled = [-value * scale for value, scale in zip(x, self.scales, strict=True)][self.weights :]
        proof: Proof = {
            "multipliers": {n: write(v) for n, v in zip(self.names, scaled, strict=True) if v},
        }
        if self.weights:
            proof["weights"] = [write(value) for value in x[: self.weights]]
        return proof

    def find_centre(self) -> bool:
        """Maximise the smallest multiplier or eigenvalue, limited to 1; return whether the solver succeeds."""
        free = self.free
        place = {n: k for k, n in enumerate(free)}
        start, directions = np.zeros(self.size), np.zeros((self.size, len(free)))
        for n, k in place.items():
            directions[n, k] = 1.0
        for pivot, row in self.echelon.items():
            for n, entry in row.items():
                if n == self.size:
                    start[pivot] = float(entry)
                else:
                    directions[pivot, place[n]] = -float(entry)
        self._complement = complement_of(self.basis, len(self.coordinates.vectors))
        order = self._complement.shape[1]
        triangle, fixed = (
            triangles(np.einsum("ai,xij,jb->xab", self._complement.T, each, self._complement, optimize=True))
            for each in (
                np.array([self.coordinates.matrix(form) for form in self.columns]).reshape(
                    self.size, *[len(self.coordinates.vectors)] * 2
                )
                / float(self.unit),
                self.coordinates.matrix(self.target)[None] / float(self.unit),
            )
        )
        base = start @ triangle + fixed[0]
        identity, movable = triangles(np.eye(order)), self.movable
        rows = np.zeros((len(movable) + 1 + len(identity), len(free) + 1))
        right = np.zeros(len(rows))
        rows[: len(movable), :-1], rows[: len(movable), -1] = -directions[movable], 1.0
        right[: len(movable)] = start[movable]
        rows[len(movable), -1], right[len(movable)] = 1.0, 1.0
        rows[len(movable) + 1 :, :-1] = -(directions.T @ triangle).T
        rows[len(movable) + 1 :, -1], right[len(movable) + 1 :] = identity, base
        cost = np.zeros(len(free) + 1)
        cost[:-1] = 1e-9 * directions[movable].sum(axis=0)  # keeps the multipliers bounded
        cost[-1] = -1.0
        sizes = (0, len(movable) + 1, (order,))
        found = minimum(rows, right, cost, sizes, tolerances=TOLERANCES, almost=True)
        if found is None:
            return False
        self.margin, self._dual, self._centre = float(found.unknowns[-1]), found.dual, found.unknowns[:-1]
        self._unknowns = start + directions @ self._centre
        return True

    def smaller(self) -> Iterator[_Face]:
        """Yield smaller faces; probably, one of them contains all multipliers. This requires ``find_centre``."""
        if abs(self.margin) > SINGULAR:
            return
        movable, dual, order = self.movable, self._dual, self._complement.shape[1]
        vanishing = {movable[n] for n in range(len(movable)) if dual[n] > PRESENT}
        active = [name for n, name in enumerate(self.active, self.weights) if n not in vanishing]
        gram = self._complement @ matrix_of(dual[len(movable) + 1 :], order) @ self._complement.T
        sizes, vectors = np.linalg.eigh(gram)
        new = vectors[:, sizes > PRESENT].T
        if not len(new):
            if len(active) < len(self.active):
                yield _Face(self.path, self.coordinates, self.raised, self.basis, active)
            return
        kept = [n for n in range(self.size) if n not in vanishing]
        columns, weights = [self.columns[n] for n in kept], sum(n < self.weights for n in kept)
        known = [self.coordinates, self.target, columns, weights, self._unknowns[kept], gram, len(new)]
        rows = np.vstack([*np.array(self.basis, dtype=float).reshape(-1, new.shape[1]), *new])
        for basis in (refined(*known), *(rational_rows(rows, *each) for each in SIMPLE)):
            if basis is not None:
                more = basis if len(basis) == len(rows) else [*self.basis, *basis]
                yield _Face(self.path, self.coordinates, self.raised, more, active)


def complement_of(rows: Sequence[Sequence[Fraction]], size: int) -> np.ndarray:
    """Return an orthonormal basis, as columns of length ``size``, of all vectors orthogonal to the rows."""
    if not rows:
        return np.eye(size)
    _, sizes, vectors = np.linalg.svd(np.array(rows, dtype=float))
    found: np.ndarray = vectors[np.sum(sizes > 1e-9) :].T
    return found


def rational_rows(rows: np.ndarray, largest: int, tolerance: float) -> list[list[Fraction]] | None:
    """Return the reduced echelon basis of the row space in fractions, or None if an entry is near no fraction."""
    from scipy.linalg import qr

    _, _, order = qr(rows, pivoting=True)
    pivots = sorted(order[: len(rows)])
    reduced = np.linalg.solve(rows[:, pivots], rows)
    exact = [[Fraction(float(value)).limit_denominator(largest) for value in row] for row in reduced]
    near = np.abs(np.array(exact, dtype=float) - reduced).max() <= tolerance
    return exact if near else None
