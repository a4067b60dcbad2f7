"""Candidates from the solver: Lyapunov functions that may contract at a rate, in floats."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.theory.certificates.lyapunov import GRADIENT_PART, System, Unknowns
from clusterproof.theory.squares.solving import Solution, minimum, triangles

SECONDS = 5.0
"""Limit for one solve."""

ENDS = np.cumsum([2, *Unknowns.sizes().values()])
"""Where each field of ``Unknowns`` ends among the unknowns of a program: margin, lowest, those, and C_0^2."""


class Search:
    """The convex problems of given dynamics.

    Parameters
    ----------
    momentum, strong_convexity, step
        beta, 1 / kappa and S l.
    disturbance
        Restrict V to the form that bounds how disturbances propagate.
    norm
        Restrict it further to squared norms, without function values.
    """

    def __init__(
        self,
        momentum: Fraction,
        strong_convexity: Fraction,
        step: Fraction,
        *,
        disturbance: bool,
        norm: bool = False,
    ) -> None:
        self._system = System(momentum, strong_convexity, step, float)
        self._disturbance, self._norm = disturbance, norm
        self._at_zero = self._conditions(0.0)
        self._change = self._conditions(1.0) - self._at_zero

    def margin(self, rate_squared: float, tolerance: float) -> tuple[float, float] | None:
        """Largest t such that the matrices of contraction and positivity, of trace 1, exceed t I.

        Parameters
        ----------
        rate_squared
            r^2.
        tolerance
            Tolerance of the solver.

        Returns
        -------
        tuple or None
            t, negative if no Lyapunov function contracts at the rate, and dt / d(r^2); None if the
            solver failed.
        """
        answer = self._solve(rate_squared, 0, tolerance=tolerance)
        if answer is None:
            return None
        return -answer.value, -float(answer.dual @ (self._change[1:] @ answer.unknowns))

    def candidate(self, rate: float, tilt: float) -> Unknowns | None:
        """Solution with C_0^2 = 1 (C_0^2 + C_1^2 = 1 under a disturbance) and a wide margin.

        The matrix of contraction exceeds t I, that of positivity t I + s |e_t|^2, and t + tilt * s is maximal: a
        tilt trades margin for a small prefactor, which is 1 / sqrt(s) once V >= |e_t|^2.

        Returns
        -------
        Unknowns or None
            None if the solver failed, or claims no margin.
        """
        answer = self._solve(rate**2, 1, tilt=tilt)
        return None if answer is None or not answer.unknowns[0] > 0 else unknowns_of(answer.unknowns)

    def _solve(
        self, rate_squared: float, scale: int, *, tolerance: float = 0.0, tilt: float = 0.0
    ) -> Solution | None:
        """Maximise margin + tilt lowest where a scale is 1: the trace of positivity (0), or the constants (1)."""
        rows = np.delete(self._at_zero + rate_squared * self._change, 1 - scale, axis=0)
        vector, cost = np.eye(len(rows))[0], np.zeros(rows.shape[1])
        cost[:2] = -1.0, -tilt
        return minimum(rows, vector, cost, self._sizes, seconds=SECONDS, tolerance=tolerance)

    def _conditions(self, rate_squared: float) -> np.ndarray:
        """Return the coefficients of every unknown: in both scales, then in the conditions of the program."""
        columns = [self._column(unit, rate_squared) for unit in np.eye(ENDS[-1] + 1)]
        equal, signs, *matrices = (np.array(part, dtype=float) for part in zip(*columns, strict=True))
        for place, matrix in enumerate(matrices):
            if place != 2:  # the condition at the start has no margin
                matrix[0] = -np.eye(matrix.shape[1])
        self._sizes = (equal.shape[1] - 1, signs.shape[1], [matrix.shape[1] for matrix in matrices])
        return np.concatenate([equal, -signs, *(-triangles(matrix) for matrix in matrices)], axis=1).T

    def _column(self, unit: np.ndarray, rate_squared: float) -> tuple[Any, ...]:
        """Return what is 0, what is at least 0, and the matrices of a unit vector of unknowns, without the margin."""
        system, unknowns, (lowest, prefactor) = self._system, unknowns_of(unit), unit[[1, -1]]
        contraction = system.contraction(unknowns, rate_squared)
        positivity, start = system.positivity(unknowns, lowest), system.start(unknowns, prefactor)
        impulse = unknowns.matrix[0] + unknowns.values[0] / 2 if self._disturbance else 0.0
        equal = [np.trace(positivity.matrix) + lowest, prefactor + impulse]
        for form in (contraction, positivity, start):
            equal += list(form.linear)
        signs = [*unknowns.contraction, *unknowns.positivity, *unknowns.start, lowest]
        matrices = [contraction.matrix, positivity.matrix, start.matrix]
        if system.linear or self._disturbance:
            equal += [unknowns.matrix[k] for k in GRADIENT_PART]
        if self._disturbance:
            (equal if self._norm else signs).extend(unknowns.values)
            matrices.append(system.disturbance(unknowns))
        return equal, signs, *matrices


def unknowns_of(vector: np.ndarray) -> Unknowns:
    """Return the Lyapunov function and multipliers among the unknowns of a program."""
    return Unknowns(*(tuple(numbers.tolist()) for numbers in np.split(vector[:-1], ENDS[:-1])[1:]))
