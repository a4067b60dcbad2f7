"""Conic programs. This is the only module that calls the solver.

A solver can raise any exception (a panic of Clarabel is a ``BaseException``), stall, or report a wrong solution. A
solution is therefore only a candidate, which the kernel checks. Every program is solved without a warm start, so its
result does not depend on earlier programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

TOLERANCES = (1e-8, 1e-7, 1e-6)
"""Tolerances of the solver, tried in this order. With tolerances below 1e-8, Clarabel can panic."""
ITERATIONS = 200
"""Largest number of iterations of the interior point method."""


@dataclass(frozen=True)
class Solution:
    """A solution that the solver reports as optimal.

    Attributes
    ----------
    unknowns, dual
        Solutions of the program and of its dual.
    value
        Optimal cost.
    """

    unknowns: np.ndarray
    dual: np.ndarray
    value: float


def minimum(
    matrix: Any,
    vector: np.ndarray,
    cost: np.ndarray,
    sizes: tuple[int, int, Sequence[int]],
    *,
    tolerances: Sequence[float] = TOLERANCES,
    almost: bool = False,
) -> Solution | None:
    """Minimise ``cost @ x`` subject to ``vector - matrix @ x`` in a cone; return None if the solver fails.

    Parameters
    ----------
    matrix
        A dense or sparse matrix.
    sizes
        Sizes of the parts of the cone: number of equalities, number of inequalities, and orders of the positive
        semidefinite matrices. The layout of these matrices is described in ``triangles``.
    tolerances
        Tolerances to try, in this order.
    almost
        Whether to accept a solution that the solver reports as almost solved, although it misses the tolerance.
    """
    import clarabel
    from scipy.sparse import csc_array

    accepted = ("Solved", "AlmostSolved") if almost else ("Solved",)
    cones = [
        clarabel.ZeroConeT(sizes[0]),
        clarabel.NonnegativeConeT(sizes[1]),
        *(clarabel.PSDTriangleConeT(order) for order in sizes[2] if order),
    ]
    for tolerance in tolerances:
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_iter, settings.max_threads = False, ITERATIONS, 1
        settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = tolerance
        try:
            program = (csc_array((len(cost), len(cost))), cost, csc_array(matrix), vector, cones, settings)
            answer = clarabel.DefaultSolver(*program).solve()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # the solver can panic, and then there is no solution
            continue
        found = Solution(np.array(answer.x), np.array(answer.z), float(answer.obj_val))
        if str(answer.status) in accepted and np.isfinite([found.value, *found.unknowns, *found.dual]).all():
            return found
    return None


def triangles(matrices: np.ndarray) -> np.ndarray:
    """Return the upper triangles, column by column, with off-diagonal entries times sqrt(2), as Clarabel stores them.

    Parameters
    ----------
    matrices
        (..., size, size).
    """
    columns, rows = np.tril_indices(matrices.shape[-1])
    return np.asarray(matrices[..., rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0)))


def matrix_of(triangle: np.ndarray, order: int) -> np.ndarray:
    """Return the symmetric matrix for a given triangle; this is the inverse of ``triangles``."""
    matrix = np.zeros((order, order))
    rows, columns = np.tril_indices(order)
    matrix[rows, columns] = triangle / np.where(rows == columns, 1.0, np.sqrt(2.0))
    return matrix + matrix.T - np.diag(np.diag(matrix))
