"""The Lyapunov inequalities of heavy ball on smooth strongly convex functions, linear in the unknowns.

Let L = 1 (distances and gradients scale), m = 1 / kappa, phi* = 0 at x* = 0, and alpha = S l. The unknown
Lyapunov function is

    V_t = z' (P (x) I) z + c_0 phi(x_t) + c_1 phi(x_(t-1)),     z = (e_t, e_(t-1), g_t),  g_t = grad phi(x_t),

with P symmetric (3 x 3). Between any two of the points *, t-1, t, t+1 a function of the class obeys

    Q_ij := (1 - m) (phi_i - phi_j - <g_j, x_i - x_j>)
            - (|g_i - g_j|^2 + m |x_i - x_j|^2 - 2 m <g_i - g_j, x_i - x_j>) / 2  >=  0

(Taylor, Hendrickx, Glineur 2017, multiplied by 1 - m so that it also holds for kappa = 1). With multipliers
>= 0 the following identities of quadratic forms, in which the function values cancel, prove

- *contraction*  r^2 V_t - V_(t+1) = sum lambda_ij Q_ij + (a form >= 0),          12 multipliers, 5 x 5;
- *positivity*   V_t - |e_t|^2 = sum mu_ij Q_ij + (a form >= 0),        6 multipliers (no t+1), 4 x 4;
- *start*        C_0^2 |e|^2 - V(e, e, g) = sum nu_ij Q_ij + (a form >= 0),       2 multipliers, 2 x 2;

hence |e_t| <= C_0 r^t |e_0| from rest. For kappa = 1 the gradient is the error itself, every Q_ij is 0 and
the forms live in (e_t, e_(t-1)) alone.

*disturbance*: if moreover P has no gradient part, c_0, c_1 >= 0 and P + m/2 diag(c_0, c_1) >= 0, then with
psi = phi - m |.|^2 / 2, which is convex and (1 - m)-smooth, V is a squared seminorm plus c_0 psi(x_t) + c_1
psi(x_(t-1)). Moving x_t by delta adds <= 2 <., delta> + C_1^2 |delta|^2 with C_1^2 = P_11 + c_0 / 2, and
Cauchy-Schwarz with |grad psi|^2 <= 2 (1 - m) psi gives sqrt(V(z + (delta, 0))) <= sqrt(V(z)) + C_1 |delta|,
and E V(z + (delta, 0)) <= V(z) + C_1^2 E|delta|^2 for delta of mean zero.

The same code serves the solver (floats) and the proof (rationals): all forms are linear in the unknowns, and
``Number`` is whatever the parameters are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

POINTS = ("*", "t-1", "t", "t+1")
PAIRS = tuple(f"{i},{j}" for i in POINTS for j in POINTS if i != j)
POSITIVITY_PAIRS = tuple(pair for pair in PAIRS if "t+1" not in pair)
START_PAIRS = ("*,t", "t,*")
ENTRIES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
"""Entries of P that are stored."""

GRADIENT_PART = (2, 4, 5)
"""Indices of the entries of P that multiply the gradient."""

Number = Any


@dataclass(frozen=True)
class Unknowns:
    """A candidate proof; all numbers of one kind.

    Attributes
    ----------
    matrix
        The six entries of P on and above the diagonal, in the order of ``ENTRIES``.
    values
        c_0, c_1.
    contraction
        lambda in the order of ``PAIRS``.
    positivity
        mu in the order of ``POSITIVITY_PAIRS``.
    start
        nu in the order of ``START_PAIRS``.
    """

    matrix: tuple[Any, ...]
    values: tuple[Any, ...]
    contraction: tuple[Any, ...]
    positivity: tuple[Any, ...]
    start: tuple[Any, ...]

    def map(self, function: Callable[[Any], Any]) -> Unknowns:
        """Apply a function to every number."""
        return Unknowns(**{name: tuple(map(function, numbers)) for name, numbers in vars(self).items()})

    @classmethod
    def of_matrix(cls, matrix: tuple[Any, ...], zero: Any) -> Unknowns:
        """Return P alone: every other number is 0."""
        return cls(matrix, *((zero,) * length for length in list(cls.sizes().values())[1:]))

    @classmethod
    def sizes(cls) -> dict[str, int]:
        """Length of each field."""
        lengths = (len(ENTRIES), 2, len(PAIRS), len(POSITIVITY_PAIRS), len(START_PAIRS))
        return {field.name: length for field, length in zip(fields(cls), lengths, strict=True)}


@dataclass(frozen=True)
class Form:
    """A quadratic form plus a linear combination of function values.

    Attributes
    ----------
    matrix
        Symmetric.
    function_values
        Coefficients of phi(x_(t-1)), phi(x_t), phi(x_(t+1)).
    """

    matrix: np.ndarray
    function_values: np.ndarray


class System:
    """The three conditions for given dynamics.

    Parameters
    ----------
    momentum, strong_convexity, step
        beta, m = 1 / kappa and alpha = S l, all of one kind of number.

    Attributes
    ----------
    linear
        Whether kappa = 1.
    inequalities
        Q_ij by pair, such as ``"t,*"``.
    terms
        Forms that the entries of P, then c_0 and c_1, multiply in V, by the points of x_t and x_(t-1).
    """

    def __init__(self, momentum: Number, strong_convexity: Number, step: Number) -> None:
        self.zero = momentum - momentum
        self.strong_convexity = strong_convexity
        self.linear = bool(strong_convexity == 1)
        basis = self.zero + np.eye(2 if self.linear else 5, dtype=int).astype(object)
        current, previous = basis[0], basis[1]
        gradients = {"t-1": previous, "t": current} if self.linear else {"t-1": basis[2], "t": basis[3]}
        following = (1 + momentum) * current - momentum * previous - step * gradients["t"]
        self.errors = {"*": 0 * current, "t-1": previous, "t": current, "t+1": following}
        self.gradients = {"*": 0 * current, **gradients, "t+1": following if self.linear else basis[4]}
        self.inequalities = {pair: self._inequality(pair) for pair in PAIRS}
        self.terms = {steps: self._terms(*steps) for steps in (("t", "t-1"), ("t+1", "t"), ("t", "t"))}

    def contraction(self, unknowns: Unknowns, rate_squared: Number) -> Form:
        """r^2 V_t - V_(t+1) - sum lambda_ij Q_ij."""
        now = self._lyapunov(unknowns, "t", "t-1")
        after = self._lyapunov(unknowns, "t+1", "t")
        return self._combine([(rate_squared, now), (-1, after)], PAIRS, unknowns.contraction)

    def positivity(self, unknowns: Unknowns, least: Number = 1) -> Form:
        """V_t - least |e_t|^2 - sum mu_ij Q_ij."""
        terms = [(1, self._lyapunov(unknowns, "t", "t-1")), (-least, self.terms["t", "t"][0])]
        form = self._combine(terms, POSITIVITY_PAIRS, unknowns.positivity)
        return Form(form.matrix[:4, :4], form.function_values)  # x_(t+1) does not occur

    def start(self, unknowns: Unknowns, prefactor_squared: Number) -> Form:
        """C_0^2 |e|^2 - V(e, e, g) - sum nu_ij Q_ij."""
        terms = [(prefactor_squared, self.terms["t", "t"][0]), (-1, self._lyapunov(unknowns, "t", "t"))]
        form = self._combine(terms, START_PAIRS, unknowns.start)
        rows = [0] if self.linear else [0, 3]  # e_t and g_t
        return Form(form.matrix[np.ix_(rows, rows)], form.function_values)

    def disturbance(self, unknowns: Unknowns) -> np.ndarray:
        """P + m/2 diag(c_0, c_1), without the row of the gradient."""
        first, mixed, _, second, _, _ = unknowns.matrix
        halves = [self.strong_convexity * value / 2 for value in unknowns.values]
        return np.array([[first + halves[0], mixed], [mixed, second + halves[1]]])

    def _inequality(self, pair: str) -> Form:
        i, j = pair.split(",")
        m = self.strong_convexity
        distance = self.errors[i] - self.errors[j]
        difference = self.gradients[i] - self.gradients[j]
        matrix = (
            (m - 1) * _outer(self.gradients[j], distance)
            - _outer(difference, difference) / 2
            - m / 2 * _outer(distance, distance)
            + m * _outer(difference, distance)
        )
        return Form(matrix, (1 - m) * (_function_value(i) - _function_value(j)))

    def _terms(self, now: str, before: str) -> list[Form]:
        z = [self.errors[now], self.errors[before], self.gradients[now]]
        none = 0 * _function_value("*")
        squares = [Form((1 if i == j else 2) * _outer(z[i], z[j]), none) for i, j in ENTRIES]
        return squares + [Form(0 * squares[0].matrix, _function_value(step)) for step in (now, before)]

    def _lyapunov(self, unknowns: Unknowns, now: str, before: str) -> Form:
        """Return V with x_t and x_(t-1) at the named points."""
        weights = (*unknowns.matrix, *unknowns.values)
        return self._combine(list(zip(weights, self.terms[now, before], strict=True)))

    def _combine(
        self,
        terms: list[tuple[Number, Form]],
        pairs: tuple[str, ...] = (),
        multipliers: tuple[Any, ...] = (),
    ) -> Form:
        """Return weighted forms minus the weighted inequalities."""
        inequalities = [self.inequalities[pair] for pair in pairs]
        every = terms + [(-weight, form) for weight, form in zip(multipliers, inequalities, strict=True)]
        form = self.terms["t", "t"][0]
        matrix, function_values = 0 * form.matrix, 0 * form.function_values
        for weight, form in every:
            if weight != 0:
                matrix = matrix + weight * form.matrix
                function_values = function_values + weight * form.function_values
        return Form(matrix, function_values)


def _outer(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix of the product of two linear forms."""
    return (np.outer(left, right) + np.outer(right, left)) / 2


def _function_value(point: str) -> np.ndarray:
    """Return the coefficients of phi at a point; 0 at x*."""
    return np.array([int(point == each) for each in POINTS[1:]], dtype=object)
