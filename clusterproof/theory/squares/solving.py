"""The only access to the conic solver: a solution that it reports as optimal, or None.

A solver may raise anything (Clarabel's panic is a ``BaseException``), stall, or report a wrong solution. Callers use
its solution only as a candidate for the exact check. Every problem is solved from scratch, so that an answer does not
depend on the process's earlier problems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

TOLERANCES = (1e-8, 1e-7, 1e-6)
"""Tolerances, tried in this order; an answer that is checked exactly may be coarse. Below 1e-8 Clarabel can panic."""


@dataclass(frozen=True)
class Solution:
    """A solution that the solver reports as optimal.

    Attributes
    ----------
    unknowns, dual
        Of the cone program, and of its dual.
    value
        Value of the cost.
    """

    unknowns: np.ndarray
    dual: np.ndarray
    value: float


def minimum(
    matrix: np.ndarray,
    vector: np.ndarray,
    cost: np.ndarray,
    sizes: tuple[int, int, Sequence[int]],
    *,
    seconds: float,
    tolerance: float = 0.0,
    tolerances: Sequence[float] = TOLERANCES,
    almost: bool = False,
) -> Solution | None:
    """Minimise ``cost @ x`` over x with ``vector - matrix @ x`` in a cone; None if unsolved.

    Parameters
    ----------
    sizes
        Of the cone: equalities, inequalities, and the orders of positive semidefinite matrices, which are given by
        ``triangles``.
    seconds
        Time limit, so that a stalled solver is a failed one.
    tolerance
        Least tolerance that is tried.
    tolerances
        Those that are tried, in this order.
    almost
        Whether an answer counts that misses the tolerance and that the solver calls almost solved.

    Raises
    ------
    KeyboardInterrupt, SystemExit
        If the user or the program ends the process meanwhile.
    """
    for each in tolerances:
        try:
            answer = _solved(matrix, vector, cost, sizes, max(each, tolerance), seconds, almost=almost)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # the solver panics with one; no answer is what it means
            continue
        if answer is not None:
            return answer
    return None


def triangles(matrices: np.ndarray) -> np.ndarray:
    """Return the upper triangles, column by column, with off-diagonal entries times sqrt(2), as Clarabel has them.

    Parameters
    ----------
    matrices
        (..., size, size).
    """
    columns, rows = np.tril_indices(matrices.shape[-1])
    return np.asarray(matrices[..., rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0)))


def _solved(
    matrix: np.ndarray,
    vector: np.ndarray,
    cost: np.ndarray,
    sizes: tuple[int, int, Sequence[int]],
    tolerance: float,
    seconds: float,
    *,
    almost: bool,
) -> Solution | None:
    """Return Clarabel's answer; None unless it reports it as optimal, in finite numbers."""
    import clarabel
    from scipy.sparse import csc_array

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = seconds
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = tolerance
    cones = [
        clarabel.ZeroConeT(sizes[0]),
        clarabel.NonnegativeConeT(sizes[1]),
        *(clarabel.PSDTriangleConeT(order) for order in sizes[2]),
    ]
    quadratic = csc_array((len(cost), len(cost)))
    answer = clarabel.DefaultSolver(quadratic, cost, csc_array(matrix), vector, cones, settings).solve()
    solution = Solution(np.array(answer.x), np.array(answer.z), float(answer.obj_val))
    finite = np.isfinite([solution.value, *solution.unknowns, *solution.dual]).all()
    accepted = ("Solved", "AlmostSolved") if almost else ("Solved",)
    return solution if finite and str(answer.status) in accepted else None
