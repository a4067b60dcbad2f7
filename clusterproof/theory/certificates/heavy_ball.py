"""A rate of heavy ball on smooth strongly convex functions: the claims that state it, and how they are proved.

Let L = 1 (distances and gradients scale). The Lyapunov function is a quadratic form of the error, the one before and
the gradient, plus multiples of the function's values, ``energy``. Three claims together are a rate of the distance from
rest, by induction over the rounds, and two more bound what a disturbance does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker.freeze import freeze
from clusterproof.checker.kernel.functions import problem
from clusterproof.checker.kernel.interpolation import FunctionClass
from clusterproof.checker.kernel.traces import Trace
from clusterproof.checker.search.duals import multipliers
from clusterproof.checker.search.paths import Coordinates, Terms
from clusterproof.checker.search.semidefinite import minimum, triangles
from clusterproof.theory.certificates.document import Document, stated
from clusterproof.theory.certificates.parameters import Parameters, root_above

PREFACTOR_DIGITS = 6
DIGITS = 12
"""Significant digits kept of the Lyapunov function, relative to its largest number."""
MORE, MOVED = Fraction(10**6 + 1, 10**6), Fraction(10**5 + 1, 10**5)
"""By what the Lyapunov function, and constants that hold with equality, are raised, so that a proof has a margin."""
GRADIENT_PART = (2, 4, 5)
"""Entries of the matrix that multiply the gradient."""


# ---- what the claims say, in the kernel's language


def energy(f: Any, now: Any, before: Any, matrix: Any, weights: Any) -> Any:
    """z' (P (x) I) z + c_0 (f(now) - f*) + c_1 (f(before) - f*), z the errors and the gradient now."""
    z = (now - f.minimiser, before - f.minimiser, f.gradient(now))
    total = weights[0] * (f(now) - f.minimum) + weights[1] * (f(before) - f.minimum)
    place = 0
    for i in range(3):
        for j in range(i, 3):
            total = total + (1 if i == j else 2) * matrix[place] * (z[i] @ z[j])
            place = place + 1
    return total


def following(f: Any, now: Any, before: Any, step: Any, momentum: Any) -> Any:
    """Return x_(t+1)."""
    return now - step * f.gradient(now) + momentum * (now - before)


def slope(f: Any, now: Any, before: Any, matrix: Any, weights: Any) -> Any:
    """Derivative of the energy with respect to x_t, of a matrix without gradient part."""
    e, d = now - f.minimiser, before - f.minimiser
    return 2 * matrix[0] * e + 2 * matrix[1] * d + weights[0] * f.gradient(now)


SOURCE = '''"""{statement}"""

from fractions import Fraction
from typing import Annotated, Any

from clusterproof.theorem import Function, Sides, at_most, claim, functions

STEP = {step!r}
MOMENTUM = {momentum!r}
RATE = {rate!r}
PREFACTOR = {prefactor!r}
MATRIX = {matrix!r}
WEIGHTS = {weights!r}
Loss = Annotated[Function, functions(smoothness=1, strong_convexity={strong_convexity!r})]


{energy}

{following}

@claim("certificate/contraction")
def contraction(f: Loss) -> Sides:
    """A round multiplies the energy by RATE^2 at most."""
    now, before = f.start, f.point()
    after = following(f, now, before, STEP, MOMENTUM)
    return at_most(
        energy(f, after, now, MATRIX, WEIGHTS), before=RATE**2 * energy(f, now, before, MATRIX, WEIGHTS)
    )


@claim("certificate/distance")
def distance(f: Loss) -> Sides:
    """The squared distance is at most the energy."""
    now, before = f.start, f.point()
    return at_most((now - f.minimiser) @ (now - f.minimiser), energy=energy(f, now, before, MATRIX, WEIGHTS))


@claim("certificate/start")
def start(f: Loss) -> Sides:
    """At rest the energy is at most PREFACTOR^2 times the squared distance."""
    return at_most(energy(f, f.start, f.start, MATRIX, WEIGHTS), start=PREFACTOR**2 * f.distance**2)
'''
DISTURBED = '''

DISTURBANCE = {disturbance!r}


{slope}

@claim("certificate/moved")
def moved(f: Loss) -> Sides:
    """Moving x_t by v raises the energy by <slope, v> + DISTURBANCE^2 |v|^2 at most."""
    now, before, v = f.start, f.point(), f.point() - f.minimiser
    return at_most(
        energy(f, now + v, before, MATRIX, WEIGHTS),
        before=energy(f, now, before, MATRIX, WEIGHTS),
        slope=slope(f, now, before, MATRIX, WEIGHTS) @ v,
        square=DISTURBANCE**2 * (v @ v),
    )


@claim("certificate/slope")
def short(f: Loss) -> Sides:
    """|slope|^2 is at most 4 DISTURBANCE^2 times the energy, whose root moving by v raises by DISTURBANCE |v|."""
    now, before = f.start, f.point()
    derivative = slope(f, now, before, MATRIX, WEIGHTS)
    return at_most(
        derivative @ derivative, energy=4 * DISTURBANCE**2 * energy(f, now, before, MATRIX, WEIGHTS)
    )
'''


# ---- what is proved


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A convergence rate, and the document that proves it.

    Attributes
    ----------
    parameters
        The dynamics.
    function_class
        ``"quadratic"``: quadratics with every eigenvalue of the Hessian in [mu, L]; ``"smooth"``: L-smooth mu-strongly
        convex functions.
    rate, prefactor
        r and C_0: |x_t - x*| <= C_0 r^t |x_0 - x*| for every t >= 0, where x_(-1) = x_0. They bound the distance, not
        its square.
    disturbance
        C_1, the effect of a unit disturbance of an iterate; None if the proof does not bound it.
    matrix, weights
        P, on and above its diagonal, and c_0, c_1 of ``energy``; empty for quadratics.
    document
        Claims and evidence.
    """

    parameters: Parameters
    function_class: str
    rate: Fraction
    prefactor: Fraction
    disturbance: Fraction | None
    matrix: tuple[Fraction, ...] = ()
    weights: tuple[Fraction, ...] = ()
    document: Document

    @property
    def informative_from(self) -> int:
        """First round at which the bound is below the distance of the start."""
        excess = np.log(max(float(self.prefactor), 1.0))
        return int(np.floor(excess / -np.log(float(self.rate)))) + 1

    @property
    def statement(self) -> str:
        """The sentence that is proved."""
        return sentence(self.parameters, self.function_class, self.rate, self.prefactor, self.disturbance)


def sentence(
    p: Parameters, function_class: str, rate: Fraction, prefactor: Fraction, disturbance: Fraction | None
) -> str:
    """Return the sentence that claims of a rate make together."""
    members = {
        "quadratic": "quadratic phi with all eigenvalues of its Hessian in [mu, L]",
        "smooth": "L-smooth and mu-strongly convex phi",
    }[function_class]
    text = (
        f"For every {members}, L = {p.condition_number} mu, in any dimension, and"
        f" x_(t+1) = x_t - ({p.largest}) / L * grad phi(x_t) + ({p.momentum}) * (x_t - x_(t-1))"
        f" from rest, x_(-1) = x_0: |x_t - x*| <= ({prefactor}) * ({rate})^t * |x_0 - x*|"
        f" for all t >= 0 (step_size * L = {p.step_size}, proportion {p.proportion})."
    )
    if disturbance is None:
        return text
    if function_class == "quadratic":
        return f"{text} Adding delta to x_t changes x_(t+k) by at most ({disturbance}) * rate^k * |delta|."
    return text + (
        " There is V >= |x_t - x*|^2, at most the square of that prefactor times |x_0 - x*|^2 from rest,"
        f" with V(next) <= rate^2 V and sqrt(V) raised by at most ({disturbance}) * |delta| when delta is added to x_t."
    )


def proved(
    parameters: Parameters,
    rate: Fraction,
    matrix: Sequence[Fraction],
    weights: Sequence[Fraction],
    *,
    disturbance: bool,
) -> Certificate | None:
    """State the claims of a rate and a Lyapunov function, and prove them; None if that fails."""
    momentum, strong_convexity, step = parameters.normalised
    start = least_prefactor_squared(strong_convexity, matrix, weights)
    if start is None:
        return None
    prefactor = root_above(start * MORE, PREFACTOR_DIGITS)
    impulse = root_above((matrix[0] + weights[0] / 2) * MOVED, PREFACTOR_DIGITS) if disturbance else None
    source = (SOURCE + (DISTURBED if disturbance else "")).format(
        statement=sentence(parameters, "smooth", rate, prefactor, impulse),
        step=step,
        momentum=momentum,
        rate=rate,
        prefactor=prefactor,
        matrix=tuple(matrix),
        weights=tuple(weights),
        strong_convexity=strong_convexity,
        disturbance=impulse,
        **{each.__name__: inspect.getsource(each) for each in (energy, following, slope)},
    )
    evidence = evidence_for(source)
    if evidence is None:
        return None
    return Certificate(
        parameters=parameters,
        function_class="smooth",
        rate=rate,
        prefactor=prefactor,
        disturbance=impulse,
        matrix=tuple(matrix),
        weights=tuple(weights),
        document=Document(source, evidence),
    )


def evidence_for(source: str) -> list[dict[str, Any]] | None:
    """Return multipliers for every claim of a source about functions of a class; None if some are not found."""
    evidence = []
    with stated(source) as claims:
        for claim in claims:
            statement = freeze(claim, {"": ("",)}, compared=False).statement("")
            if (dual := multipliers(statement, "")) is None:
                return None
            evidence.append({"claim": claim.id, "statement": "", "line": "", **dual})
    return evidence


# ---- the search for a Lyapunov function

UNITS = [(tuple(row[:6]), tuple(row[6:])) for row in np.eye(8, dtype=int).tolist()]
"""Each entry of the matrix alone, then each weight alone."""
LYAPUNOV = slice(2, 10)
"""Their places among the unknowns of a program."""
SHARES = (0.001, 0.01, 0.1, 0.3, 0.6, 0.9, 0.99)
"""Shares of the largest margin that are left for the exact proof, tried one after another."""


class _Line:
    """Forms of one of the claims, in floats: numbers for each unit, |x_t - x*|^2, and the conditions of the class.

    Parameters
    ----------
    strong_convexity
        m.
    make
        Of a traced function, a function from matrix and weights to numbers.
    """

    def __init__(
        self, strong_convexity: Fraction, make: Callable[[Any], Callable[..., Sequence[Any]]]
    ) -> None:
        trace = Trace([(1, FunctionClass(Fraction(1), strong_convexity))], None, [])
        f: Any = problem(trace)
        numbers = make(f)
        units = [numbers(*unit) for unit in UNITS]
        error = (f.start - f.minimiser) @ (f.start - f.minimiser)
        conditions = [form.terms for name, form in trace.facts([])[0].items() if name != "1"]
        every: list[Terms] = [each.terms for row in units for each in row] + [error.terms, *conditions]
        coordinates = Coordinates(every)
        self.order = len(coordinates.vectors)

        def columns(several: Sequence[Terms]) -> tuple[np.ndarray, np.ndarray]:
            matrices = np.array([coordinates.matrix(each) for each in several])
            return triangles(matrices), np.array([coordinates.others(each)[:-1] for each in several])

        self.numbers = [columns([row[k].terms for row in units]) for k in range(len(units[0]))]
        self.error, self.conditions = columns([error.terms]), columns(conditions)
        self.count = len(conditions)


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
        momentum, self._strong_convexity, step = parameters.normalised

        def contraction(f: Any) -> Callable[..., Sequence[Any]]:
            now, before = f.start, f.point()
            after = following(f, now, before, step, momentum)
            return lambda *unit: (energy(f, now, before, *unit), energy(f, after, now, *unit))

        def distance(f: Any) -> Callable[..., Sequence[Any]]:
            now, before = f.start, f.point()
            return lambda *unit: (energy(f, now, before, *unit),)

        def start(f: Any) -> Callable[..., Sequence[Any]]:
            return lambda *unit: (energy(f, f.start, f.start, *unit),)

        self._lines = [_Line(self._strong_convexity, make) for make in (contraction, distance, start)]

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
            line: _Line, place: int, entries: Sequence[tuple[Any, Any]], *, margin: bool
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

        def scaled(line: tuple[np.ndarray, np.ndarray], factor: float) -> list[np.ndarray]:
            return [factor * each for each in line]

        before, after = contraction.numbers
        change = [rate_squared * b - a for b, a in zip(before, after, strict=True)]
        (energies,), (at_rest,) = distance.numbers, start.numbers
        of_distance = rows(distance, 1, [(LYAPUNOV, energies), (1, scaled(distance.error, -1))], margin=True)
        parts = [
            rows(contraction, 0, [(LYAPUNOV, change)], margin=True),
            of_distance,
            rows(start, 2, [(LYAPUNOV, scaled(at_rest, -1)), (10, start.error)], margin=False),
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
    strong_convexity: Fraction, matrix: Sequence[Fraction], weights: Sequence[Fraction]
) -> Fraction | None:
    """Return about the least C_0^2 with V(x, x) <= C_0^2 |x - x*|^2; None if the solver fails."""
    line = _Line(strong_convexity, lambda f: lambda *unit: (energy(f, f.start, f.start, *unit),))
    known = np.array([float(each) for each in (*matrix, *weights)])
    scale = np.abs(known).max()
    ((forms, values),) = line.numbers
    columns = np.vstack([line.error[0], -line.conditions[0]]).T
    equations = np.vstack([line.error[1], -line.conditions[1]]).T
    signs = -np.eye(1 + line.count)
    table = np.vstack([equations, signs, -columns])
    right = np.concatenate([known @ values / scale, np.zeros(len(signs)), -(known @ forms) / scale])
    cost = np.eye(1 + line.count)[0]
    found = minimum(table, right, cost, (len(equations), len(signs), (line.order,)))
    return None if found is None else Fraction(float(found.unknowns[0] * scale))
