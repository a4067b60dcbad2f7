"""Find a proof by sums of squares.

If the target vanishes somewhere, each matrix of a proof is singular. So bases are first cut down to polynomials
that vanish at the target's zeros, then by what the solver's own matrices leave out (facial reduction), until there is an
interior in which a solution can be rounded.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from clusterproof.theory.squares.exact import null_space
from clusterproof.theory.squares.products import Part, programs, without_vanishing
from clusterproof.theory.squares.program import Program
from clusterproof.theory.squares.proof import Block, is_proof
from clusterproof.theory.squares.terms import Terms, combination

SECONDS = 5.0
"""Processor time after which no further program is solved."""
GRID = (0, 1, -1, 2)
"""Coordinates of the points at which the target's zeros are looked for."""
MOST_POINTS, MOST_ZEROS = 20_000, 200
"""Points of that grid, and zeros that are kept."""
FACES = 6
"""Most times that the bases are cut down."""
MARGIN = 1e-6
"""Least eigenvalue, of the target's largest coefficient, from which matrices are rounded."""
INFEASIBLE = 1e-5
"""Negative least eigenvalue, of that coefficient, at which there is no proof of this form."""
KERNELS = (1e-4, 1e-6, 1e-3, 1e-2)
"""Eigenvalues, of the largest, below which a matrix is taken for singular, in turn."""


def find_proof(target: Terms, generators: Sequence[Terms], seconds: float = SECONDS) -> list[Block] | None:
    """Return a proof that a polynomial is nonnegative where all generators are; None if none is found.

    Parameters
    ----------
    target, generators
        Polynomials in the same variables, none of the generators 0.
    seconds
        Processor time after which no further program is solved.
    """
    if not target:
        return []
    until = time.process_time() + seconds
    scale, *scales = (max(map(abs, each.values())) for each in (target, *generators))
    wanted, *given = (
        {powers: value / size for powers, value in each.items()}
        for each, size in zip((target, *generators), (scale, *scales), strict=True)
    )
    zeros = _zeros(wanted, given)
    for parts in programs(wanted, given):
        if time.process_time() > until:
            return None
        blocks = _solved(wanted, without_vanishing(wanted, parts) or [], zeros, until)
        if blocks is not None:
            blocks = [_scaled(each, scale / math.prod(scales[i] for i in each.factors)) for each in blocks]
            if is_proof(target, generators, blocks):
                return blocks
    return None


def _scaled(block: Block, factor: Fraction) -> Block:
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
    near = [tuple(int(x) for x in point) for point in points[inside]]
    chosen = near[:: max(1, len(near) // MOST_ZEROS)]
    return [p for p in chosen if _at(target, p) == 0 and all(_at(each, p) >= 0 for each in generators)]


def _values(polynomial: Terms, points: np.ndarray) -> np.ndarray:
    terms = [float(value) * np.prod(points**powers, axis=1) for powers, value in polynomial.items()]
    return np.asarray(sum(terms))


def _at(polynomial: Terms, point: Sequence[int]) -> Fraction:
    terms = (value * _power(point, powers) for powers, value in polynomial.items())
    return sum(terms, start=Fraction(0))


def _power(point: Sequence[int], powers: Sequence[int]) -> int:
    return math.prod(x**power for x, power in zip(point, powers, strict=True))


def _solved(
    target: Terms, parts: Sequence[Part], zeros: Sequence[tuple[int, ...]], until: float
) -> list[Block] | None:
    """Solve one program, on faces of the cone until it has an interior there, and round its solution."""
    first = Program(target, parts, [_vanishing(part, zeros) for part in parts])
    solved = first.solve(until - time.process_time()) if first.is_solvable else None
    if solved is None or solved[0] < -INFEASIBLE:
        return None
    for tolerance in KERNELS:
        program, (margin, matrices) = first, solved
        for _ in range(FACES):
            if margin > MARGIN and (blocks := program.rounded(matrices)) is not None:
                return blocks
            smaller = program.on_face(matrices, tolerance)
            left = until - time.process_time()
            again = None
            if smaller is not None and smaller.is_solvable and left > 0:
                again = smaller.solve(left)
            if smaller is None or again is None or again[0] < -INFEASIBLE:
                break
            program, (margin, matrices) = smaller, again
    return None


def _vanishing(part: Part, zeros: Sequence[tuple[int, ...]]) -> list[Terms]:
    """Return a basis of the combinations of monomials that vanish where the target does and the weight does not."""
    rows = {
        tuple(_power(point, powers) for powers in part.monomials)
        for point in zeros
        if _at(part.weight, point)
    }
    singles = [{powers: Fraction(1)} for powers in part.monomials]
    return [combination(each, singles) for each in null_space(sorted(rows), len(singles))]
