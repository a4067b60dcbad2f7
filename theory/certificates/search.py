"""Candidates from the solver: Lyapunov functions that may contract at a rate, in floats."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from clusterproof.theory.certificates.lyapunov import (
    GRADIENT_PART,
    PAIRS,
    POSITIVITY_PAIRS,
    START_PAIRS,
    Form,
    System,
    Unknowns,
)
from clusterproof.theory.certificates.solving import Family, guarded

VALUES = slice(6, 8)
"""Indices of c_0 and c_1 in the vector of all unknowns, after the entries of P."""


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
        momentum: float,
        strong_convexity: float,
        step: float,
        *,
        disturbance: bool,
        norm: bool = False,
    ) -> None:
        system = System(float(momentum), float(strong_convexity), float(step))
        self._maps = LinearMaps.of(system)
        self._compiled = _compile(system.linear, disturbance, norm)
        self._trace = self._maps.positivity[:: min(system.size, 4) + 1].sum(axis=0)
        self._families: dict[str, Family | None] = {}

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
        family = self._family("margin", self._trace, 0.0)
        answer = None if family is None else family.solve(rate_squared, tolerance)
        return None if answer is None else (-answer.value, -answer.slope)

    def candidate(self, rate: float, tilt: float) -> Unknowns | None:
        """Solution with C_0^2 = 1 (C_0^2 + C_1^2 = 1 under a disturbance) and a wide margin.

        The matrix of contraction exceeds t I, that of positivity t I + s |e_t|^2, and t + tilt * s is maximal: a
        tilt trades margin for a small prefactor, which is 1 / sqrt(s) once V >= |e_t|^2.

        Returns
        -------
        Unknowns or None
            None if the solver failed, or claims no margin.
        """
        family = self._family("candidate", np.zeros_like(self._trace), 1.0)
        answer = None if family is None else family.solve(rate**2, 0.0, tilt)
        if family is None or answer is None or not answer.unknowns[family.place(self._compiled.margin)] > 0:
            return None
        return _split(answer.unknowns[family.place(self._compiled.unknowns)])

    def _family(self, name: str, trace: np.ndarray, prefactor: float) -> Family | None:
        """Compile the problem at the numbers that its data are affine in; None where that fails."""

        def member(rate_squared: float, tilt: float) -> Any:
            self._fill(rate_squared, trace, prefactor, tilt)
            return guarded(lambda _: self._compiled.problem.get_problem_data("CLARABEL")[0])

        if name not in self._families:
            members = [member(*at) for at in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))]
            self._families[name] = None if None in members else Family(*members)
        return self._families[name]

    def _fill(self, rate_squared: float, trace: np.ndarray, prefactor: float, tilt: float) -> None:
        """Set every parameter of the problem."""
        maps = self._maps
        names = ("positivity", "positivity_values", "start", "start_values", "squares")
        values = {name: getattr(maps, name) for name in names} | {
            "contraction": rate_squared * maps.now + maps.after,
            "values": rate_squared * maps.now_values + maps.after_values,
            "trace": trace,
            "prefactor": prefactor,
            "tilt": tilt,
        }
        for name, value in values.items():
            self._compiled.parameters[name].value = value


@dataclass(frozen=True)
class _Compiled:
    """The cvxpy problem, whose data are parameters by name."""

    problem: Any
    unknowns: Any
    margin: Any
    parameters: dict[str, Any]


DATA = ("contraction", "values", "positivity", "positivity_values", "start", "start_values", "squares")
"""Names of the matrices of the problem."""


@cache
def _compile(linear: bool, disturbance: bool, norm: bool) -> _Compiled:
    """Write the problem, once in a process.

    Parameters
    ----------
    linear
        Whether kappa = 1.
    disturbance
        Whether V must bound how disturbances propagate.
    norm
        Whether V must be a squared norm.
    """
    import cvxpy

    count = sum(Unknowns.sizes().values())
    size, smaller, corner = (2, 2, 1) if linear else (5, 4, 2)
    unknowns, margin, lowest = cvxpy.Variable(count), cvxpy.Variable(), cvxpy.Variable()
    start_value, tilt, prefactor = cvxpy.Variable(), cvxpy.Parameter(nonneg=True), cvxpy.Parameter()
    trace = cvxpy.Parameter(count)
    shapes = (size**2, 3, smaller**2, 3, corner**2, 3, 4)
    data = [cvxpy.Parameter((rows, count)) for rows in shapes]
    contraction, values, positivity, positivity_values, start, start_values, squares = data

    def positive(vector: Any, width: int, floor: Any) -> Any:
        matrix = vector.reshape((width, width), order="C")
        return (matrix + matrix.T) / 2 - floor >> 0

    def first_only(width: int) -> np.ndarray:
        return np.diag([1.0] + [0.0] * (width - 1))

    impulse = unknowns[0] + unknowns[VALUES.start] / 2 if disturbance else 0.0
    constraints = [
        positive(contraction @ unknowns, size, margin * np.eye(size)),
        positive(positivity @ unknowns, smaller, margin * np.eye(smaller) + lowest * first_only(smaller)),
        positive(start @ unknowns, corner, -start_value * first_only(corner)),
        trace @ unknowns + prefactor * (start_value + impulse) == 1,
        values @ unknowns == 0,
        positivity_values @ unknowns == 0,
        start_values @ unknowns == 0,
        unknowns[VALUES.stop :] >= 0,
        lowest >= 0,
    ]
    if linear or disturbance:
        constraints.append(unknowns[list(GRADIENT_PART)] == 0)
    if disturbance:
        constraints.append(positive(squares @ unknowns, 2, margin * np.eye(2)))
        constraints.append(unknowns[VALUES] == 0 if norm else unknowns[VALUES] >= 0)
    problem = cvxpy.Problem(cvxpy.Maximize(margin + tilt * lowest), constraints)
    parameters = {"tilt": tilt, "trace": trace, "prefactor": prefactor}
    return _Compiled(problem, unknowns, margin, parameters | dict(zip(DATA, data, strict=True)))


@dataclass(frozen=True)
class LinearMaps:
    """Matrices that map the vector of all unknowns to each form, row by row, and to its function values."""

    now: np.ndarray
    now_values: np.ndarray
    after: np.ndarray
    after_values: np.ndarray
    positivity: np.ndarray
    positivity_values: np.ndarray
    start: np.ndarray
    start_values: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, system: System) -> LinearMaps:
        """Tabulate the terms of every form."""
        nothing = Form(np.zeros((system.size, system.size)).tolist(), [0.0] * 3)
        current = system.terms["t", "t-1"]
        resting = system.terms["t", "t"]
        following = system.terms["t+1", "t"]
        start_rows = [0] if system.linear else [0, 3]

        def tabulate(
            lyapunov: list[Form], sign: float, rows: list[int], **multipliers: tuple[str, ...]
        ) -> tuple[np.ndarray, np.ndarray]:
            columns = list(lyapunov)
            for name, length in list(Unknowns.sizes().items())[2:]:
                pairs = multipliers.get(name)
                columns += [system.inequalities[pair] for pair in pairs] if pairs else [nothing] * length
            signs = np.where(np.arange(len(columns)) < len(lyapunov), sign, -1.0)
            matrices = np.array([form.matrix for form in columns])[:, rows][:, :, rows]
            values = np.array([form.function_values for form in columns], dtype=float)
            return (matrices.reshape(len(columns), -1).T * signs, values.T * signs)

        everything, without_next = list(range(system.size)), list(range(min(system.size, 4)))
        now, now_values = tabulate(current, 1.0, everything)
        after, after_values = tabulate(following, -1.0, everything, contraction=PAIRS)
        positivity, positivity_values = tabulate(current, 1.0, without_next, positivity=POSITIVITY_PAIRS)
        start, start_values = tabulate(resting, -1.0, start_rows, start=START_PAIRS)
        squares = np.zeros((4, now.shape[1]))  # P + m/2 diag(c) without the gradient
        squares[[0, 1, 2, 3], [0, 1, 1, 3]] = 1.0
        squares[[0, 3], [VALUES.start, VALUES.start + 1]] = system.strong_convexity / 2
        return cls(
            now, now_values, after, after_values, positivity, positivity_values, start, start_values, squares
        )


def _split(vector: np.ndarray) -> Unknowns:
    """Split the vector of all unknowns."""
    ends = np.cumsum(list(Unknowns.sizes().values()))[:-1]
    return Unknowns(*(tuple(numbers.tolist()) for numbers in np.split(vector, ends)))
