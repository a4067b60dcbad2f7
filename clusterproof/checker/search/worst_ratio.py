"""The worst case of one path in floats, by a semidefinite program in all inner products and function values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from clusterproof.checker.search.paths import Coordinates, Path, Terms, size_of, sum_of
from clusterproof.checker.search.semidefinite import matrix_of, minimum, triangles

TOLERANCES = (1e-10, 1e-8, 1e-7)
"""Tolerances of the solver, tried in this order; only the first is accurate enough to construct functions."""


@dataclass(frozen=True, eq=False)
class Worst:
    """The optimal solution of a program.

    Attributes
    ----------
    value
        The largest ratio, or the largest violation.
    coordinates
        Numbering of the vectors and values.
    gram, values
        Inner products (n, n), and function values followed by the constant (q,). Both are scaled so that the
        normalising form equals 1.
    """

    value: float
    coordinates: Coordinates
    gram: np.ndarray
    values: np.ndarray


def worst_ratio(path: Path) -> Worst | None:
    """Return the largest ratio of the measured side to the bound, or None if it is unbounded or the solver fails."""
    if path.bound is None:
        return None
    targets = [sum_of([(1, slack), (-1, path.bound)]) for slack in path.slacks]
    return _least(path, targets, path.bound)


def worst_excess(path: Path) -> Worst | None:
    """Return the largest violation of the bound, if the squared lengths of all vectors and 1 are scaled to sum 1."""
    coordinates = Coordinates([*path.slacks, *path.nonnegative.values(), *path.zero.values()])
    scale: Terms = {(): Fraction(1), **{(v, v): Fraction(1) for v in coordinates.vectors}}
    return _least(path, path.slacks, scale)


def _least(path: Path, targets: Sequence[Terms], normal: Terms) -> Worst | None:
    """Minimise rho with rho normal + sum weights targets = sum multipliers conditions + <S, G> and S >= 0."""
    forms = [
        normal,
        *targets,
        *(_scaled(terms, -1) for terms in path.nonnegative.values()),
        *(_scaled(terms, -1) for terms in path.zero.values()),
    ]
    coordinates = Coordinates(forms)
    matrices = triangles(np.array([coordinates.matrix(each) for each in forms])).T
    others = np.array([coordinates.others(each) for each in forms]).T
    count, n, q = len(targets), len(coordinates.vectors), len(coordinates.linear)
    signed = 1 + np.arange(count + len(path.nonnegative))
    weights = np.zeros((1, len(forms)))
    weights[0, 1 : 1 + count] = 1.0
    signs = -np.eye(len(forms))[signed]
    rows = np.vstack([others, weights, signs, -matrices])
    right = np.zeros(len(rows))
    right[q] = 1.0
    cost = np.zeros(len(forms))
    cost[0] = 1.0
    sizes = (q + 1, len(signed), (n,))
    found = minimum(rows, right, cost, sizes, tolerances=TOLERANCES, almost=True)
    if found is None:
        return None
    gram = matrix_of(found.dual[q + 1 + len(signed) :], n)
    return Worst(float(found.unknowns[0]), coordinates, gram, -found.dual[:q])


def _scaled(terms: Terms, factor: int) -> Terms:
    scale = factor / size_of(terms)
    return {key: scale * value for key, value in terms.items()}
