"""Refine a solver's worst case to forty digits, so that its directions can be recognised as fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from clusterproof.checker.search.paths import Coordinates, Terms

BITS = 180
"""Number of bits after the binary point with which refined numbers are computed."""
CONVERGED = 130
"""Number of bits after the binary point that must be correct at the end."""
STEPS = 40
CUT = 1e-6
"""A singular value of the Jacobian below this share of the largest singular value counts as 0."""
DENOMINATOR = 10**13
"""Largest denominator at which an entry counts as a fraction."""


def refined(
    coordinates: Coordinates,
    target: Terms,
    columns: Sequence[Terms],
    weights: int,
    unknowns: np.ndarray,
    gram: np.ndarray,
    rank: int,
) -> list[list[Fraction]] | None:
    """Return a rational basis of the directions on which S = target + sum of unknowns times columns vanishes.

    A wrong basis is harmless, because the kernel checks every proof that uses it.

    The function solves the optimality conditions: each column is 0 at the worst case G, S contains no function values,
    and S vanishes on the rows of K. Here G = K' D K, and r columns of K form the identity matrix. The chord method uses
    one pseudo-inverse of the Jacobian in floats, which copes with degenerate multipliers, and residuals with ``BITS``
    bits.

    Parameters
    ----------
    coordinates
        Numbering of the vectors and values.
    target, columns
        Forms; each column belongs to one nonzero unknown.
    weights
        Number of the first unknowns whose sum is 1, or 0 if there is no such condition.
    unknowns, gram
        The solver's results: unknowns (c,) and Gram matrix (n, n).
    rank
        Rank r of the worst case.

    Returns
    -------
    list or None
        The reduced echelon basis, or None if there is no solution nearby, or if the solution does not consist of
        fractions.
    """
    from scipy.linalg import qr

    if not rank:
        return None
    n, q, count = len(gram), len(coordinates.linear), len(columns)
    A = _fixed([coordinates.exact(each) for each in (*columns, target)], (count + 1, n, n))
    L = _fixed([_linear(coordinates, each) for each in (*columns, target)], (count + 1, q))
    a, b = (_floats(each) for each in (A, L))
    gram = gram / np.trace(gram)
    pivots = sorted(qr(gram, pivoting=True)[2][:rank])
    others = [k for k in range(n) if k not in pivots]
    inner = gram[np.ix_(pivots, pivots)]
    span = np.linalg.solve(inner, gram[pivots])
    values = np.linalg.lstsq(b[:-1], -np.tensordot(a[:-1], gram), rcond=None)[0]
    upper = np.triu_indices(rank)
    ends = np.cumsum([rank * len(others), len(upper[0]), q])

    def parts(vector: np.ndarray, one: int) -> tuple[np.ndarray, ...]:
        span_, inner_, values_, x = np.split(vector, ends)
        K, D = (np.zeros(shape, dtype=vector.dtype) for shape in ((rank, n), (rank, rank)))
        K[range(rank), pivots] = one
        K[:, others] = span_.reshape(rank, -1)
        D[upper] = inner_
        D.T[upper] = inner_
        return K, D, values_, x

    def residual(vector: np.ndarray) -> np.ndarray:
        K, D, F, x = parts(vector, 1 << BITS)
        G = (K.T @ ((D @ K) >> BITS)) >> BITS
        at = (A[:-1].reshape(count, -1) @ G.ravel() + L[:-1] @ F) >> BITS
        S = A[-1] + ((x @ A[:-1].reshape(count, -1)) >> BITS).reshape(n, n)
        linear = L[-1] + ((x @ L[:-1]) >> BITS)
        sums = [np.trace(G) - (1 << BITS), *([sum(x[:weights]) - (1 << BITS)] if weights else [])]
        return np.array([*at, *linear, *((S @ K.T) >> BITS).ravel(), *sums], dtype=object)

    start = np.concatenate([span[:, others].ravel(), inner[upper], values, unknowns])
    vector = np.array([int(Fraction(float(value)) * (1 << BITS)) for value in start], dtype=object)
    inverse = np.linalg.pinv(
        _jacobian(a, b, *parts(start, 1), pivots=pivots, others=others, weights=weights), rcond=CUT
    )
    last = None
    for _ in range(STEPS):
        rest = residual(vector)
        top = max(map(abs, rest))
        if top >> (BITS - CONVERGED) == 0:
            return _fractions(parts(vector, 1 << BITS)[0])
        if last is not None and top * 2 > last:
            return None
        last = top
        step = inverse @ np.array([float(Fraction(int(value), int(top))) for value in rest])
        vector = vector - np.array([int(Fraction(float(value)) * top) for value in step], dtype=object)
    return None


def _jacobian(
    a: np.ndarray,
    b: np.ndarray,
    K: np.ndarray,
    D: np.ndarray,
    F: np.ndarray,
    x: np.ndarray,
    *,
    pivots: Sequence[int],
    others: Sequence[int],
    weights: int,
) -> np.ndarray:
    """Return the Jacobian of the residual."""
    rank, n = K.shape
    i, j = np.triu_indices(rank)

    def of_products(matrices: np.ndarray) -> np.ndarray:
        spans = (2 * D @ K @ matrices)[..., others].reshape(*matrices.shape[:-2], -1)
        inner = (K @ matrices @ K.T)[..., i, j] * np.where(i == j, 1, 2)
        return np.concatenate([spans, inner], axis=-1)

    S = a[-1] + np.tensordot(x, a[:-1], 1)
    at = np.hstack([of_products(a[:-1]), b[:-1], np.zeros((len(x), len(x)))])
    before = at.shape[1] - len(x)
    linear = np.hstack([np.zeros((len(F), before)), b[:-1].T])
    products = np.zeros((n, rank, at.shape[1]))
    for row in range(rank):
        first = row * len(others)
        products[:, row, first : first + len(others)] = S[:, others]
    products[:, :, before:] = np.moveaxis(a[:-1] @ K.T, 0, -1)
    trace = np.hstack([of_products(np.eye(n)), np.zeros(len(F) + len(x))])
    sums = np.zeros(at.shape[1])
    sums[before : before + weights] = 1.0
    return np.vstack([at, linear, products.reshape(n * rank, -1), trace, *([sums] if weights else [])])


def _linear(coordinates: Coordinates, terms: Terms) -> list[Fraction]:
    return [terms.get(key, Fraction(0)) for key in coordinates.linear]


def _fixed(numbers: Sequence[object], shape: tuple[int, ...]) -> np.ndarray:
    exact = np.array(numbers, dtype=object).reshape(shape)
    found = np.empty(shape, dtype=object)
    for place, value in np.ndenumerate(exact):
        found[place] = (value.numerator << BITS) // value.denominator
    return found


def _floats(numbers: np.ndarray) -> np.ndarray:
    divide = np.vectorize(lambda value: float(Fraction(value, 1 << BITS)), otypes=[float])
    found: np.ndarray = divide(numbers)
    return found


def _fractions(rows: np.ndarray) -> list[list[Fraction]] | None:
    exact = [[Fraction(int(value), 1 << BITS) for value in row] for row in rows]
    near = [[value.limit_denominator(DENOMINATOR) for value in row] for row in exact]
    gaps = [abs(a - b) for one, two in zip(near, exact, strict=True) for a, b in zip(one, two, strict=True)]
    return near if max(gaps) <= Fraction(1, 1 << (CONVERGED - 30)) else None
