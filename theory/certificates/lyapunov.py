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

from clusterproof.theory.certificates.exact import Matrix

POINTS = ("*", "t-1", "t", "t+1")
PAIRS = tuple(f"{i},{j}" for i in POINTS for j in POINTS if i != j)
POSITIVITY_PAIRS = tuple(pair for pair in PAIRS if "t+1" not in pair)
START_PAIRS = ("*,t", "t,*")
ENTRIES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
"""Entries of P that are stored."""

GRADIENT_PART = (2, 4, 5)
"""Indices of the entries of P that multiply the gradient."""

Number = Any
Vector = list[Any]


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

    matrix: Matrix
    function_values: Vector


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
    size
        Dimension of the forms: 5, or 2 where kappa = 1.
    inequalities
        Q_ij by pair, such as ``"t,*"``.
    terms
        Forms that the entries of P, then c_0 and c_1, multiply in V, by the points of x_t and x_(t-1).
    """

    def __init__(self, momentum: Number, strong_convexity: Number, step: Number) -> None:
        self.zero = momentum - momentum
        self.one = self.zero + 1
        self.strong_convexity = strong_convexity
        self.linear = bool(strong_convexity == 1)
        size = 2 if self.linear else 5
        basis = [[self.one if i == k else self.zero for i in range(size)] for k in range(size)]
        nothing = [self.zero] * size
        current, previous = basis[0], basis[1]
        gradients = {"t-1": previous, "t": current} if self.linear else {"t-1": basis[2], "t": basis[3]}
        following = [
            (1 + momentum) * e - momentum * p - step * g
            for e, p, g in zip(current, previous, gradients["t"], strict=True)
        ]
        self.errors = {"*": nothing, "t-1": previous, "t": current, "t+1": following}
        self.gradients = {"*": nothing, **gradients, "t+1": following if self.linear else basis[4]}
        self.size = size
        self.inequalities = {pair: self._inequality(pair) for pair in PAIRS}
        self.terms = {steps: self._terms(*steps) for steps in (("t", "t-1"), ("t+1", "t"), ("t", "t"))}

    def contraction(self, unknowns: Unknowns, rate_squared: Number) -> Form:
        """r^2 V_t - V_(t+1) - sum lambda_ij Q_ij."""
        now = self._lyapunov(unknowns, "t", "t-1")
        after = self._lyapunov(unknowns, "t+1", "t")
        form = _combine([(rate_squared, now), (-self.one, after)])
        return self._subtract(form, PAIRS, unknowns.contraction)

    def positivity(self, unknowns: Unknowns) -> Form:
        """V_t - |e_t|^2 - sum mu_ij Q_ij."""
        norm = Form(_outer(self.errors["t"], self.errors["t"]), [self.zero] * 3)
        form = _combine([(self.one, self._lyapunov(unknowns, "t", "t-1")), (-self.one, norm)])
        form = self._subtract(form, POSITIVITY_PAIRS, unknowns.positivity)
        size = min(self.size, 4)  # x_(t+1) does not occur
        return Form([row[:size] for row in form.matrix[:size]], form.function_values)

    def start(self, unknowns: Unknowns, prefactor_squared: Number) -> Form:
        """C_0^2 |e|^2 - V(e, e, g) - sum nu_ij Q_ij."""
        norm = Form(_outer(self.errors["t"], self.errors["t"]), [self.zero] * 3)
        value = self._lyapunov(unknowns, "t", "t")
        form = _combine([(prefactor_squared, norm), (-self.one, value)])
        form = self._subtract(form, START_PAIRS, unknowns.start)
        rows = [0] if self.linear else [0, 3]  # e_t and g_t
        return Form([[form.matrix[i][j] for j in rows] for i in rows], form.function_values)

    def disturbance(self, unknowns: Unknowns) -> Matrix:
        """P + m/2 diag(c_0, c_1), without the row of the gradient."""
        first, mixed, _, second, _, _ = unknowns.matrix
        halves = [self.strong_convexity * value / 2 for value in unknowns.values]
        return [[first + halves[0], mixed], [mixed, second + halves[1]]]

    def _inequality(self, pair: str) -> Form:
        i, j = pair.split(",")
        m = self.strong_convexity
        distance = [a - b for a, b in zip(self.errors[i], self.errors[j], strict=True)]
        difference = [a - b for a, b in zip(self.gradients[i], self.gradients[j], strict=True)]
        matrix = _add(
            [
                (m - 1, _outer(self.gradients[j], distance)),
                (-self.one / 2, _outer(difference, difference)),
                (-m / 2, _outer(distance, distance)),
                (m, _outer(difference, distance)),
            ]
        )
        values = [(1 - m) * ((i == point) - (j == point)) for point in POINTS[1:]]
        return Form(matrix, values)

    def _terms(self, now: str, before: str) -> list[Form]:
        z = [self.errors[now], self.errors[before], self.gradients[now]]
        empty = [[self.zero] * self.size for _ in range(self.size)]
        none = [self.zero] * 3
        squares = [
            Form(_add([(self.one if i == j else 2 * self.one, _outer(z[i], z[j]))]), none) for i, j in ENTRIES
        ]
        values = [
            Form(empty, [self.one if point == step else self.zero for point in POINTS[1:]])
            for step in (now, before)
        ]
        return [*squares, *values]

    def _lyapunov(self, unknowns: Unknowns, now: str, before: str) -> Form:
        """Return V with x_t and x_(t-1) at the named points."""
        weights = (*unknowns.matrix, *unknowns.values)
        return _combine(list(zip(weights, self.terms[now, before], strict=True)))

    def _subtract(self, form: Form, pairs: tuple[str, ...], multipliers: tuple[Any, ...]) -> Form:
        """Return a form minus the weighted inequalities."""
        weighted = zip(pairs, multipliers, strict=True)
        return _combine(
            [
                (self.one, form),
                *((-weight, self.inequalities[pair]) for pair, weight in weighted if weight != 0),
            ]
        )


def _outer(left: Vector, right: Vector) -> Matrix:
    """Return the symmetric matrix of the product of two linear forms."""
    return [
        [(a * d + c * b) / 2 for b, d in zip(left, right, strict=True)]
        for a, c in zip(left, right, strict=True)
    ]


def _add(terms: list[tuple[Number, Matrix]]) -> Matrix:
    size = range(len(terms[0][1]))
    return [[sum(weight * matrix[i][j] for weight, matrix in terms) for j in size] for i in size]


def _combine(terms: list[tuple[Number, Form]]) -> Form:
    values = [sum(weight * form.function_values[k] for weight, form in terms) for k in range(3)]
    return Form(_add([(weight, form.matrix) for weight, form in terms]), values)
