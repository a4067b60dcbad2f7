"""A rate of heavy ball on smooth strongly convex functions: the claims that state it, and how they are proved.

Let L = 1 (distances and gradients scale). The Lyapunov function is a quadratic form of the error, the one before and
the gradient, plus multiples of the function's values, ``energy``. Three claims together are a rate of the distance from
rest, by induction over the rounds, and two more bound what a disturbance does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker.kernel.functions import problem
from clusterproof.checker.kernel.interpolation import FunctionClass
from clusterproof.checker.kernel.traces import Trace
from clusterproof.checker.search.duals import proof_of
from clusterproof.checker.search.paths import Coordinates, Path, Terms, sum_of
from clusterproof.checker.search.semidefinite import minimum, triangles
from clusterproof.theory.rates.claims_file import ClaimsFile
from clusterproof.theory.rates.outcome import HeavyBallRate
from clusterproof.theory.rates.parameters import Parameters, root_above

PREFACTOR_DIGITS = 6
DIGITS = 12
"""Significant digits kept of the Lyapunov function, relative to its largest number."""
MORE, MOVED = Fraction(10**6 + 1, 10**6), Fraction(10**5 + 1, 10**5)
"""By what the Lyapunov function, and constants that hold with equality, are raised, so that a proof has a margin."""
GRADIENT_PART = (2, 4, 5)
"""Entries of the matrix that multiply the gradient."""


# ---- what the claims say, in the kernel's language


@dataclass(frozen=True)
class Numbers:
    """Step and momentum of the method, r and C_0, P on and above its diagonal, c_0 and c_1, and C_1."""

    step: Any
    momentum: Any
    rate: Any
    prefactor: Any
    matrix: Any
    weights: Any
    disturbance: Any


def energy(f: Any, now: Any, before: Any, n: Any) -> Any:
    """z' (P (x) I) z + c_0 (f(now) - f*) + c_1 (f(before) - f*), z the errors and the gradient now."""
    z = (now - f.minimiser, before - f.minimiser, f.gradient(now))
    total = n.weights[0] * (f(now) - f.minimum) + n.weights[1] * (f(before) - f.minimum)
    place = 0
    for i in range(3):
        for j in range(i, 3):
            total = total + (1 if i == j else 2) * n.matrix[place] * (z[i] @ z[j])
            place = place + 1
    return total


def slope(f: Any, now: Any, before: Any, n: Any) -> Any:
    """Derivative of the energy with respect to x_t, of a matrix without gradient part."""
    e, d = now - f.minimiser, before - f.minimiser
    return 2 * n.matrix[0] * e + 2 * n.matrix[1] * d + n.weights[0] * f.gradient(now)


def contraction(f: Any, n: Any) -> Any:
    """A round multiplies the energy by r^2 at most."""
    now, before = f.start, f.point()
    after = now - n.step * f.gradient(now) + n.momentum * (now - before)
    return energy(f, after, now, n), n.rate**2 * energy(f, now, before, n)


def distance(f: Any, n: Any) -> Any:
    """The squared distance is at most the energy."""
    now, before = f.start, f.point()
    return (now - f.minimiser) @ (now - f.minimiser), energy(f, now, before, n)


def start(f: Any, n: Any) -> Any:
    """At rest the energy is at most C_0^2 times the squared distance."""
    return energy(f, f.start, f.start, n), n.prefactor**2 * (
        (f.start - f.minimiser) @ (f.start - f.minimiser)
    )


def moved(f: Any, n: Any) -> Any:
    """Moving x_t by v raises the energy by <slope, v> + C_1^2 |v|^2 at most."""
    now, before, v = f.start, f.point(), f.point() - f.minimiser
    return (
        energy(f, now + v, before, n),
        energy(f, now, before, n) + slope(f, now, before, n) @ v + n.disturbance**2 * (v @ v),
    )


def short_slope(f: Any, n: Any) -> Any:
    """|slope|^2 is at most 4 C_1^2 times the energy, whose root moving by v raises by C_1 |v|."""
    now, before = f.start, f.point()
    derivative = slope(f, now, before, n)
    return derivative @ derivative, 4 * n.disturbance**2 * energy(f, now, before, n)


Line = Callable[[Any, Any], Any]
"""Of a function and numbers, what is measured and what it is at most."""
LINES: tuple[Line, ...] = (contraction, distance, start)
DISTURBED: tuple[Line, ...] = (moved, short_slope)

SOURCE = '''"""{statement}"""

from fractions import Fraction

from clusterproof.theorem import Function, Sides, at_most, claim, functions
from clusterproof.theory.rates.smooth_losses import {names}

LOSSES = functions(smoothness=1, strong_convexity={strong_convexity!r})
NUMBERS = {numbers!r}
'''
CLAIM = '''

@claim("rate/{id}")
def {name}_holds(f: Function = LOSSES) -> Sides:
    """{doc}"""
    measured, allowed = {name}(f, NUMBERS)
    return at_most(measured, allowed)
'''


# ---- what is proved


@dataclass(frozen=True, kw_only=True)
class SmoothRate(HeavyBallRate):
    """A rate on L-smooth mu-strongly convex functions.

    Attributes
    ----------
    matrix, weights
        P, on and above its diagonal, and c_0, c_1 of ``energy``.
    multipliers
        By the name of a line, multipliers of the conditions of the class, as the kernel reads them.
    """

    matrix: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    multipliers: dict[str, dict[str, str]] = field(default_factory=dict, repr=False)

    members = "L-smooth and mu-strongly convex phi"
    of_disturbance = (
        "There is V >= |x_t - x*|^2, at most the square of that prefactor times |x_0 - x*|^2 from rest, with"
        " V(next) <= rate^2 V and sqrt(V) raised by at most ({}) * |delta| when delta is added to x_t."
    )

    @property
    def is_norm(self) -> bool:
        """Whether it has no function values (c_0 = c_1 = 0)."""
        return not any(self.weights)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines that are the rate together."""
        return LINES if self.disturbance is None else (*LINES, *DISTURBED)

    @property
    def numbers(self) -> Numbers:
        """The numbers of the lines."""
        momentum, _, step = self.parameters.normalised
        return Numbers(step, momentum, self.rate, self.prefactor, self.matrix, self.weights, self.disturbance)

    @property
    def claims_file(self) -> ClaimsFile:
        """A claim for each line, and the multipliers as the kernel reads them."""
        source = SOURCE.format(
            statement=self.statement,
            strong_convexity=self.parameters.normalised[1],
            names=", ".join([Numbers.__name__, *(line.__name__ for line in self.lines)]),
            numbers=self.numbers,
        )
        evidence = []
        for line in self.lines:
            name = line.__name__.replace("_", "-")
            source += CLAIM.format(id=name, name=line.__name__, doc=line.__doc__)
            paths = [[{"multipliers": self.multipliers[line.__name__]}]]
            record = {"claim": f"rate/{name}", "statement": "", "line": "", "rule": "dual"}
            evidence.append({**record, "settings": [{"setting": {}, "paths": paths}]})
        return ClaimsFile(source, evidence)


def proved(
    parameters: Parameters,
    rate: Fraction,
    matrix: Sequence[Fraction],
    weights: Sequence[Fraction],
    *,
    disturbance: bool,
) -> SmoothRate | None:
    """Prove a rate by a Lyapunov function, in exact arithmetic; None if that fails."""
    least = least_prefactor_squared(parameters, matrix, weights)
    if least is None:
        return None
    found = SmoothRate(
        parameters=parameters,
        rate=rate,
        prefactor=root_above(least * MORE, PREFACTOR_DIGITS),
        disturbance=root_above((matrix[0] + weights[0] / 2) * MOVED, PREFACTOR_DIGITS)
        if disturbance
        else None,
        matrix=tuple(matrix),
        weights=tuple(weights),
    )
    multipliers = {}
    for line in found.lines:
        trace, (measured, allowed) = traced(parameters, line, found.numbers)
        slack = sum_of([(1, allowed.terms), (-1, measured.terms)])
        proof = proof_of(Path(trace, (slack,), None, conditions_of(trace), {}, ()))
        if proof is None:
            return None
        multipliers[line.__name__] = proof["multipliers"]
    return replace(found, multipliers=multipliers)


def traced(parameters: Parameters, line: Line, numbers: Numbers) -> tuple[Trace, Any]:
    """Return a trace of a function of the class, and a line's two sides there."""
    trace = Trace([(1, FunctionClass(Fraction(1), parameters.normalised[1]))], None, [])
    return trace, line(problem(trace), numbers)


def conditions_of(trace: Trace) -> dict[str, Terms]:
    """Return the conditions of the class at the points of a trace, by the kernel's names."""
    return {name: form.terms for name, form in trace.facts([])[0].items()}


# ---- the search for a Lyapunov function

UNITS = [(tuple(row[:6]), tuple(row[6:])) for row in np.eye(8, dtype=int).tolist()]
"""Each entry of the matrix alone, then each weight alone."""
LYAPUNOV = slice(2, 10)
"""Their places among the unknowns of a program."""
SHARES = (0.001, 0.01, 0.1, 0.3, 0.6, 0.9, 0.99)
"""Shares of the largest margin that are left for the exact proof, tried one after another."""


class _Forms:
    """The two sides of a line, in floats: the forms that each unit gives, and the conditions of the class.

    Parameters
    ----------
    parameters
        The dynamics.
    line
        The line, for r = 1 and C_0 = 1.
    """

    def __init__(self, parameters: Parameters, line: Line) -> None:
        momentum, _, step = parameters.normalised
        each = [traced(parameters, line, Numbers(step, momentum, 1, 1, *unit, None)) for unit in UNITS]
        measured, allowed = ([sides[k].terms for _, sides in each] for k in range(2))
        conditions = [terms for name, terms in conditions_of(each[0][0]).items() if name != "1"]
        coordinates = Coordinates([*measured, *allowed, *conditions])
        self.order, self.count = len(coordinates.vectors), len(conditions)

        def columns(several: Sequence[Terms]) -> tuple[np.ndarray, np.ndarray]:
            matrices = np.array([coordinates.matrix(each) for each in several])
            return triangles(matrices), np.array([coordinates.others(each)[:-1] for each in several])

        self.measured, self.allowed, self.conditions = map(columns, (measured, allowed, conditions))


class Search:
    """Lyapunov functions of given dynamics that may contract, in floats.

    Unknown are a margin t, the least s with V >= s |x_t - x*|^2, P, c, C_0^2, and the multipliers of the three claims.

    Parameters
    ----------
    parameters
        The dynamics.
    disturbance
        Restrict V to the form that bounds how disturbances propagate.
    norm
        Restrict it further to squared norms, without function values.
    """

    def __init__(self, parameters: Parameters, *, disturbance: bool, norm: bool = False) -> None:
        self._disturbance, self._norm = disturbance, norm
        self._strong_convexity = parameters.normalised[1]
        self._lines = [_Forms(parameters, line) for line in LINES]

    def margin(self, rate_squared: float) -> float | None:
        """Largest t such that the forms of contraction and distance, of trace 1, exceed t; None if unsolved."""
        found = self._solve(rate_squared, constants=False)
        return None if found is None else float(found[0])

    def candidates(self, rate: Fraction) -> Iterator[tuple[list[Fraction], list[Fraction]]]:
        """Yield P and c, rounded, with small prefactors first.

        C_0^2 (under a disturbance C_0^2 + C_1^2) is 1, t is a share of its largest value, and s is as large as it can
        be then: the prefactor is 1 / sqrt(s) once V >= |x_t - x*|^2.
        """
        widest = self._solve(float(rate) ** 2, constants=True)
        if widest is None or not (widest[0] > 0 and widest[1] > 0):
            return
        for share in SHARES:
            found = self._solve(float(rate) ** 2, constants=True, margin=share * float(widest[0]))
            if found is not None and found[1] > 0:
                yield self._rounded(found)
        yield self._rounded(widest)

    def _rounded(self, found: np.ndarray) -> tuple[list[Fraction], list[Fraction]]:
        numbers = found[2:10] / found[1] * float(MORE)
        scale = 10 ** max(DIGITS - int(np.ceil(np.log10(np.abs(numbers).max()))), 0)
        exact = [Fraction(round(float(number) * scale), scale) for number in numbers]
        if self._disturbance:
            for place in GRADIENT_PART:
                exact[place] = Fraction(0)
            exact[6:] = [Fraction(0)] * 2 if self._norm else [max(each, Fraction(0)) for each in exact[6:]]
        return exact[:6], exact[6:]

    def _solve(
        self, rate_squared: float, *, constants: bool, margin: float | None = None
    ) -> np.ndarray | None:
        """Maximise t, or s at a given t, where the constants, or the trace of the form of distance, are 1."""
        contraction, distance, start = self._lines
        width = 11 + sum(line.count for line in self._lines)
        multiplied = np.cumsum([11, *(line.count for line in self._lines)])

        def rows(
            line: _Forms, place: int, entries: Sequence[tuple[Any, Any]], *, margin: bool
        ) -> tuple[Any, Any]:
            found = []
            for kind in range(2):
                table = np.zeros((width, line.conditions[kind].shape[1]))
                for at, values in entries:
                    table[at] = values[kind]
                table[multiplied[place] : multiplied[place + 1]] = -line.conditions[kind]
                found.append(table)
            if margin:
                found[0][0] = -triangles(np.eye(line.order))
            return found[0].T, found[1].T

        before, after = contraction.allowed, contraction.measured
        change = [rate_squared * b - a for b, a in zip(before, after, strict=True)]
        errors = [[each[0] for each in sides] for sides in (distance.measured, start.allowed)]
        of_distance = rows(
            distance, 1, [(LYAPUNOV, distance.allowed), (1, [-each for each in errors[0]])], margin=True
        )
        parts = [
            rows(contraction, 0, [(LYAPUNOV, change)], margin=True),
            of_distance,
            rows(start, 2, [(LYAPUNOV, [-each for each in start.measured]), (10, errors[1])], margin=False),
        ]
        unit = np.eye(width)
        m = float(self._strong_convexity)
        impulse = unit[2] + unit[8] / 2
        normal = unit[10] + (impulse if self._disturbance else 0.0)
        if not constants:
            diagonal = triangles(np.eye(distance.order)) > 0
            trace = of_distance[0][diagonal].sum(axis=0)
            trace[0] = 0.0
            normal = trace + unit[1]
        fixed = unit[:1] if margin is not None else unit[:0]
        equal, signs = [normal[None], fixed, *(part[1] for part in parts)], [unit[1:2], unit[11:]]
        matrices, orders = [part[0] for part in parts], [line.order for line in self._lines]
        if self._disturbance or m == 1:
            equal.append(unit[[2 + place for place in GRADIENT_PART]])
        if self._disturbance:
            (equal if self._norm else signs).append(unit[8:10])
            root = np.sqrt(2.0)
            matrices.append(np.array([unit[2] + m / 2 * unit[8], root * unit[3], unit[5] + m / 2 * unit[9]]))
            orders.append(2)
        equations, inequalities = np.vstack(equal), np.vstack(signs)
        table = np.vstack([equations, -inequalities, *(-each for each in matrices)])
        right = np.zeros(len(table))
        right[0] = 1.0
        cost = -unit[0]
        if margin is not None:
            right[1], cost = margin, -unit[1]
        found = minimum(table, right, cost, (len(equations), len(inequalities), orders))
        return None if found is None else found.unknowns


def least_prefactor_squared(
    parameters: Parameters, matrix: Sequence[Fraction], weights: Sequence[Fraction]
) -> Fraction | None:
    """Return about the least C_0^2 with V(x, x) <= C_0^2 |x - x*|^2; None if the solver fails."""
    line = _Forms(parameters, start)
    known = np.array([float(each) for each in (*matrix, *weights)])
    scale = np.abs(known).max()
    forms, values = line.measured
    columns, equations = (
        np.vstack([error[:1], -of_class]).T
        for error, of_class in zip(line.allowed, line.conditions, strict=True)
    )
    signs = -np.eye(1 + line.count)
    table = np.vstack([equations, signs, -columns])
    right = np.concatenate([known @ values / scale, np.zeros(len(signs)), -(known @ forms) / scale])
    cost = np.eye(1 + line.count)[0]
    found = minimum(table, right, cost, (len(equations), len(signs), (line.order,)))
    return None if found is None else Fraction(float(found.unknowns[0] * scale))
