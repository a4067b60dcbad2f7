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

The points are traced as those of a claim are. The same code serves the solver (floats) and the proof (rationals): all
forms are linear in the unknowns, and a number is what ``number`` makes of a fraction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np

from clusterproof.theory.classes.definitions import FunctionClass
from clusterproof.theory.classes.forms import Form, Frame, conditions
from clusterproof.theory.classes.trace import Trace
from clusterproof.theory.classes.traced_numbers import TracedNumber

POINTS = ("*", "t-1", "t", "t+1")
PAIRS = tuple(f"{i},{j}" for i, j in permutations(POINTS, 2))
POSITIVITY_PAIRS = tuple(pair for pair in PAIRS if "t+1" not in pair)
START_PAIRS = ("*,t", "t,*")
ENTRIES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
"""Entries of P that are stored."""

GRADIENT_PART = (2, 4, 5)
"""Indices of the entries of P that multiply the gradient."""


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

    matrix: tuple[Fraction, ...]
    values: tuple[Fraction, ...]
    contraction: tuple[Fraction, ...]
    positivity: tuple[Fraction, ...]
    start: tuple[Fraction, ...]

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


class System:
    """The three conditions for given dynamics.

    Parameters
    ----------
    momentum, strong_convexity, step
        beta, m = 1 / kappa and alpha = S l.
    number
        Makes a number of a fraction: ``rational`` or ``float``.

    Attributes
    ----------
    linear
        Whether kappa = 1.
    inequalities
        Q_ij by pair, such as ``"t,*"``, over e_t, e_(t-1), g_(t-1), g_t, g_(t+1), for kappa = 1 over the first two.
        Values are phi(x_(t-1)), phi(x_t), phi(x_(t+1)).
    terms
        Forms that the entries of P, then c_0 and c_1, multiply in V, by the points of x_t and x_(t-1).
    """

    def __init__(
        self,
        momentum: Fraction,
        strong_convexity: Fraction,
        step: Fraction,
        number: Callable[[Fraction], Any],
    ) -> None:
        self._number = number
        self.strong_convexity, self.zero = number(strong_convexity), number(Fraction(0))
        self.linear = strong_convexity == 1
        trace = Trace([FunctionClass(Fraction(1), strong_convexity)], [Fraction(1)])
        (oracle,), origin, now, before = trace.oracles, trace.origin, trace.start, trace.point()
        gradients, values = {"*": 0 * now}, {"*": trace.constant(Fraction(0))}
        errors = {"*": 0 * now, "t-1": before - origin, "t": now - origin}
        for name in POINTS[1:]:
            if name == "t+1":
                errors[name] = (1 + momentum) * errors["t"] - momentum * errors["t-1"] - step * gradients["t"]
            gradients[name], value = oracle.evaluate(origin + errors[name])
            if self.linear:
                gradients[name] = errors[name]
            values[name] = value - oracle.offset
        self._frame, self._size = Frame(trace), 2 if self.linear else 5
        no_form = 0 * self._form(values["t"])
        self.inequalities = dict.fromkeys(PAIRS, no_form)
        for each in () if self.linear else conditions(trace):
            form = self._frame.condition(each, oracle.definition)
            scale = (1 - strong_convexity) / max(map(abs, form.linear))
            self.inequalities[f"{POINTS[each.first]},{POINTS[each.second]}"] = self._scaled(form, scale)
        self.terms = {}
        for at, last in (("t", "t-1"), ("t+1", "t"), ("t", "t")):
            z = (errors[at], errors[last], gradients[at])
            products = [(1 if i == j else 2) * (z[i] @ z[j]) for i, j in ENTRIES]
            self.terms[at, last] = [self._form(each) for each in (*products, values[at], values[last])]

    def _form(self, number: TracedNumber) -> Form:
        unit, ((form,),) = self._frame.forms(number)
        return self._scaled(form, Fraction(1, unit))

    def _scaled(self, form: Form, factor: Fraction) -> Form:
        """Return the form of errors and gradients, without x* and phi*."""
        rows = slice(1, 1 + self._size)
        numbers = np.vectorize(lambda entry: self._number(entry * factor), otypes=[object])
        return Form(numbers(form.matrix[rows, rows]), numbers(form.linear[1:4]))

    def contraction(self, unknowns: Unknowns, rate_squared: Any) -> Form:
        """r^2 V_t - V_(t+1) - sum lambda_ij Q_ij."""
        now = self._lyapunov(unknowns, "t", "t-1")
        after = self._lyapunov(unknowns, "t+1", "t")
        return self._less(rate_squared * now - after, PAIRS, unknowns.contraction)

    def positivity(self, unknowns: Unknowns, least: Any = 1) -> Form:
        """V_t - least |e_t|^2 - sum mu_ij Q_ij."""
        excess = self._lyapunov(unknowns, "t", "t-1") - least * self.terms["t", "t"][0]
        form = self._less(excess, POSITIVITY_PAIRS, unknowns.positivity)
        return Form(form.matrix[:4, :4], form.linear)  # x_(t+1) does not occur

    def start(self, unknowns: Unknowns, prefactor_squared: Any) -> Form:
        """C_0^2 |e|^2 - V(e, e, g) - sum nu_ij Q_ij."""
        excess = prefactor_squared * self.terms["t", "t"][0] - self._lyapunov(unknowns, "t", "t")
        form = self._less(excess, START_PAIRS, unknowns.start)
        rows = [0] if self.linear else [0, 3]  # e_t and g_t
        return form.only(rows, range(3))

    def disturbance(self, unknowns: Unknowns) -> np.ndarray:
        """P + m/2 diag(c_0, c_1), without the row of the gradient."""
        first, mixed, _, second, _, _ = unknowns.matrix
        halves = [self.strong_convexity * value / 2 for value in unknowns.values]
        return np.array([[first + halves[0], mixed], [mixed, second + halves[1]]])

    def _lyapunov(self, unknowns: Unknowns, now: str, before: str) -> Form:
        """Return V with x_t and x_(t-1) at the named points."""
        weights = (*unknowns.matrix, *unknowns.values)
        return sum(
            (weight * form for weight, form in zip(weights, self.terms[now, before], strict=True) if weight),
            start=0 * self.terms["t", "t"][0],
        )

    def _less(self, form: Form, pairs: Sequence[str], multipliers: Sequence[Any]) -> Form:
        """Subtract the weighted inequalities."""
        for pair, multiplier in zip(pairs, multipliers, strict=True):
            if multiplier:
                form = form - multiplier * self.inequalities[pair]
        return form
