"""Find a proof by sums of squares.

If the target vanishes somewhere, the matrices of all proofs are singular in the same directions, and rounding makes
them indefinite. So the bases are cut down by what the solver's matrices leave out (facial reduction), until there is
an interior in which a solution can be rounded.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from fractions import Fraction

from clusterproof.theory.squares.products import Part, programs, without_vanishing
from clusterproof.theory.squares.program import Program
from clusterproof.theory.squares.proof import Block, is_proof
from clusterproof.theory.squares.terms import Terms

SECONDS = 5.0
"""Processor time after which no further program is solved."""
FACES = 6
"""Most times that the bases are cut down."""
MARGIN = 1e-6
"""Least eigenvalue, of the target's largest coefficient, from which matrices are rounded."""
INFEASIBLE = 1e-5
"""Negative least eigenvalue, of that coefficient, at which there is no proof of this form."""
KERNELS, ROUNDING = (1e-4, 1e-6, 1e-3, 1e-2), (1e-4, 1e-7)
"""Eigenvalues, of the largest, below which a matrix is taken for singular, and errors of its kernel, in turn."""


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
    for parts in programs(wanted, given):
        if time.process_time() > until:
            return None
        blocks = _solved(wanted, without_vanishing(wanted, parts) or [], until)
        if blocks is not None:
            blocks = [_scaled(each, scale / math.prod(scales[i] for i in each.factors)) for each in blocks]
            if is_proof(target, generators, blocks):
                return blocks
    return None


def _scaled(block: Block, factor: Fraction) -> Block:
    return Block(block.factors, block.basis, [[factor * entry for entry in row] for row in block.matrix])


def _solved(target: Terms, parts: Sequence[Part], until: float) -> list[Block] | None:
    """Solve one program, on faces of the cone until it has an interior there, and round its solution."""
    first = Program.of(target, parts)
    solved = first.solve(until - time.process_time()) if first.is_solvable else None
    if solved is None or solved[0] < -INFEASIBLE:
        return None
    for tolerance, rounding in itertools.product(KERNELS, ROUNDING):
        program, (margin, matrices) = first, solved
        for _ in range(FACES):
            if margin > MARGIN and (blocks := program.rounded(matrices)) is not None:
                return blocks
            smaller = program.on_face(matrices, tolerance, rounding)
            left = until - time.process_time()
            again = None
            if smaller is not None and smaller.is_solvable and left > 0:
                again = smaller.solve(left)
            if smaller is None or again is None or again[0] < -INFEASIBLE:
                break
            program, (margin, matrices) = smaller, again
    return None
