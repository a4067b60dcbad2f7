"""The only access to the conic solver: a solution that it reports as optimal, or None.

A solver may raise anything (Clarabel's panic is a ``BaseException``), stall, or report a wrong solution. Callers use
its solution only as a candidate for the exact check.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

TOLERANCES = (1e-8, 1e-7, 1e-6)
"""Tolerances, tried in this order; an answer that is checked exactly may be coarse. Below 1e-8 Clarabel can panic."""

SECONDS = 5.0
"""Limit for one solve, so that a stalled solver is a failed one."""


def guarded(attempt: Callable[[float], Any]) -> Any:
    """Return the first answer of an attempt, at one tolerance after another, that is not None and raises nothing.

    Parameters
    ----------
    attempt
        Takes a tolerance.

    Raises
    ------
    KeyboardInterrupt, SystemExit
        If the user or the program ends the process meanwhile.
    """
    for tolerance in TOLERANCES:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an inaccurate answer is refused, not warned of
                answer = attempt(tolerance)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # the solver panics with one; no answer is what it means
            continue
        if answer is not None:
            return answer
    return None


@dataclass(frozen=True)
class Solution:
    """A solution that the solver reports as optimal.

    Attributes
    ----------
    unknowns
        Unknowns of the cone program, in its order.
    value
        Value of the objective, which is minimised.
    slope
        Derivative of the value in the family's number, from the dual solution.
    """

    unknowns: np.ndarray
    value: float
    slope: float


class Family:
    """Cone programs whose data are affine in one number, as cvxpy compiled them at 0 and at 1.

    cvxpy takes longer to fill in its parameters than Clarabel to solve such small programs, and starts a solver from
    the previous problem, so that an answer would depend on the process's earlier problems. Here each member is
    solved from scratch.

    Parameters
    ----------
    at_zero, at_one
        The result of ``get_problem_data`` of a minimisation: ``A``, ``b``, ``c`` and ``dims``.
    tilted
        The result for another cost; None if members have no tilt.
    """

    def __init__(self, at_zero: Any, at_one: Any, tilted: Any = None) -> None:
        self._dimensions, self._cost = at_zero["dims"], at_zero["c"]
        self._matrix, self._vector = at_zero["A"], at_zero["b"]
        self._matrix_change = at_one["A"] - at_zero["A"]
        self._vector_change = at_one["b"] - at_zero["b"]
        self._columns = at_zero["param_prob"].var_id_to_col
        self._tilting = np.zeros_like(self._cost) if tilted is None else tilted["c"] - self._cost

    def place(self, variable: Any) -> slice:
        """Indices of a variable of the cvxpy problem among the unknowns."""
        first = self._columns[variable.id]
        return slice(first, first + variable.size)

    def solve(self, number: float, tolerance: float, tilt: float = 0.0) -> Solution | None:
        """Solve one member of the family.

        Parameters
        ----------
        number
            Number of the member.
        tolerance
            At least that of ``TOLERANCES``.
        tilt
            Share of the other cost that is added.

        Returns
        -------
        Solution or None
            None if unsolved.
        """
        solution: Solution | None = guarded(lambda floor: self._attempt(number, max(floor, tolerance), tilt))
        return solution

    def _attempt(self, number: float, tolerance: float, tilt: float) -> Solution | None:
        matrix = self._matrix + number * self._matrix_change
        vector = self._vector + number * self._vector_change
        cost = self._cost + tilt * self._tilting
        sizes = (self._dimensions.zero, self._dimensions.nonneg, self._dimensions.psd)
        answer = _solved(matrix, vector, cost, sizes, tolerance, SECONDS)
        if answer is None:
            return None
        unknowns = np.array(answer.x)
        derivative = float(np.array(answer.z) @ (self._matrix_change @ unknowns - self._vector_change))
        value = float(answer.obj_val)
        return (
            Solution(unknowns, value, derivative)
            if np.isfinite([value, derivative, *unknowns]).all()
            else None
        )


def optimum(
    matrix: np.ndarray,
    vector: np.ndarray,
    cost: np.ndarray,
    sizes: tuple[int, int, Sequence[int]],
    seconds: float,
) -> np.ndarray | None:
    """Minimise ``cost @ x`` over x with ``vector - matrix @ x`` in a cone; None if unsolved.

    Parameters
    ----------
    sizes
        Of the cone: equalities, inequalities, and the orders of positive semidefinite matrices, whose upper triangles
        are column by column with off-diagonal entries times sqrt(2).
    seconds
        Time limit.
    """
    answer = guarded(lambda tolerance: _solved(matrix, vector, cost, sizes, tolerance, seconds))
    unknowns = None if answer is None else np.array(answer.x)
    return unknowns if unknowns is not None and np.isfinite(unknowns).all() else None


def _solved(
    matrix: Any,
    vector: Any,
    cost: Any,
    sizes: tuple[int, int, Sequence[int]],
    tolerance: float,
    seconds: float,
) -> Any:
    """Return Clarabel's answer; None unless it reports it as optimal."""
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
    return answer if str(answer.status) == "Solved" else None
