"""One door to the conic solver: an answer that calls itself optimal, or None.

A solver may raise anything (Clarabel's panic is a ``BaseException``), stall, or report what is not true. Nobody may
rely on more than that its answer is worth checking.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

TOLERANCES = (1e-8, 1e-7, 1e-6)
"""Tried in turn: an answer that is checked exactly may be coarse. Below 1e-8 Clarabel has been seen to panic."""

SECONDS = 5.0
"""Limit for one solve, so that a stalled solver is a failed one."""


def guarded(attempt: Callable[[float], Any]) -> Any:
    """Give the first answer of an attempt at the tolerances in turn that is not None and raises nothing.

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


def solve(problem: Any) -> bool:
    """Solve a cvxpy problem with Clarabel.

    Parameters
    ----------
    problem
        A ``cvxpy.Problem``; its variables hold the answer.

    Returns
    -------
    bool
        Whether the status is ``optimal``; otherwise the problem was not solved.
    """

    def attempt(tolerance: float) -> bool | None:
        limits = dict.fromkeys(("tol_feas", "tol_gap_abs", "tol_gap_rel"), tolerance)
        problem.solve(solver="CLARABEL", time_limit=SECONDS, **limits)
        return True if problem.status == "optimal" else None

    return guarded(attempt) is not None


class Family:
    """Cone programs whose data are affine in one number, as cvxpy compiled them at 0 and at 1.

    cvxpy spends more on filling its parameters in than Clarabel on such small programs; here a member costs
    the solve alone.

    Parameters
    ----------
    at_zero, at_one
        What ``get_problem_data`` of a minimisation gave: ``A``, ``b``, ``c`` and ``dims``.
    """

    def __init__(self, at_zero: Any, at_one: Any) -> None:
        self._dimensions, self._cost = at_zero["dims"], at_zero["c"]
        self._matrix, self._vector = at_zero["A"], at_zero["b"]
        self._matrix_change = at_one["A"] - at_zero["A"]
        self._vector_change = at_one["b"] - at_zero["b"]

    def minimum(self, number: float, tolerance: float) -> tuple[float, float] | None:
        """Solve a member.

        Parameters
        ----------
        number
            Which.
        tolerance
            At least that of ``TOLERANCES``.

        Returns
        -------
        tuple or None
            The optimal value and its derivative in the number, from the dual solution; None if unsolved.
        """
        return_value: tuple[float, float] | None = guarded(
            lambda floor: self._attempt(number, max(floor, tolerance))
        )
        return return_value

    def _attempt(self, number: float, tolerance: float) -> tuple[float, float] | None:
        import clarabel
        from scipy.sparse import csc_array

        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.time_limit = SECONDS
        settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = tolerance
        matrix = csc_array(self._matrix + number * self._matrix_change)
        vector = self._vector + number * self._vector_change
        size = len(self._cost)
        cones = [
            clarabel.ZeroConeT(self._dimensions.zero),
            clarabel.NonnegativeConeT(self._dimensions.nonneg),
            *(clarabel.PSDTriangleConeT(order) for order in self._dimensions.psd),
        ]
        quadratic = csc_array((size, size))
        answer = clarabel.DefaultSolver(quadratic, self._cost, matrix, vector, cones, settings).solve()
        if str(answer.status) != "Solved":
            return None
        slope = np.array(answer.z) @ (self._matrix_change @ np.array(answer.x) - self._vector_change)
        value = float(answer.obj_val)
        return (value, float(slope)) if np.isfinite([value, slope]).all() else None
