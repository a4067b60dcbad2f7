"""The Lyapunov function of heavy ball on smooth strongly convex functions, and claims about this function.

Distances and gradients are scaled such that L = 1. The function ``energy`` is a quadratic form of the error, the
previous error and the gradient, plus multiples of function values. By induction over the rounds, three claims
together prove a rate of the distance, if there is no initial momentum. Two other claims bound the effect of a
disturbance. All claims are in the kernel's language.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from clusterproof.checker.kernel.functions import problem
from clusterproof.checker.kernel.interpolation import FunctionClass
from clusterproof.checker.kernel.traces import Trace
from clusterproof.checker.search.paths import Terms
from clusterproof.theory.rates.parameters import Parameters


@dataclass(frozen=True)
class Numbers:
    """The numbers in the claims: step size, momentum, r, C_0, entries of P on and above the diagonal, c_0, c_1, C_1."""

    step: Any
    momentum: Any
    rate: Any
    prefactor: Any
    matrix: Any
    weights: Any
    disturbance: Any


def energy(f: Any, now: Any, before: Any, n: Any) -> Any:
    """Return z' (P (x) I) z + c_0 (f(now) - f*) + c_1 (f(before) - f*), where z has both errors and the gradient."""
    z = (now - f.minimiser, before - f.minimiser, f.gradient(now))
    total = n.weights[0] * (f(now) - f.minimum) + n.weights[1] * (f(before) - f.minimum)
    place = 0
    for i in range(3):
        for j in range(i, 3):
            total = total + (1 if i == j else 2) * n.matrix[place] * (z[i] @ z[j])
            place = place + 1
    return total


def slope(f: Any, now: Any, before: Any, n: Any) -> Any:
    """Return the derivative of the energy with respect to x_t, if the matrix has no gradient part."""
    e, d = now - f.minimiser, before - f.minimiser
    return 2 * n.matrix[0] * e + 2 * n.matrix[1] * d + n.weights[0] * f.gradient(now)


def contraction(f: Any, n: Any) -> Any:
    """A round multiplies the energy by at most r^2."""
    now, before = f.start, f.point()
    after = now - n.step * f.gradient(now) + n.momentum * (now - before)
    return energy(f, after, now, n), n.rate**2 * energy(f, now, before, n)


def distance(f: Any, n: Any) -> Any:
    """The squared distance is at most the energy."""
    now, before = f.start, f.point()
    return (now - f.minimiser) @ (now - f.minimiser), energy(f, now, before, n)


def start(f: Any, n: Any) -> Any:
    """Without momentum, the energy is at most C_0^2 times the squared distance."""
    return energy(f, f.start, f.start, n), n.prefactor**2 * (
        (f.start - f.minimiser) @ (f.start - f.minimiser)
    )


def moved(f: Any, n: Any) -> Any:
    """Adding v to x_t increases the energy by at most <slope, v> + C_1^2 |v|^2."""
    now, before, v = f.start, f.point(), f.point() - f.minimiser
    return (
        energy(f, now + v, before, n),
        energy(f, now, before, n) + slope(f, now, before, n) @ v + n.disturbance**2 * (v @ v),
    )


def short_slope(f: Any, n: Any) -> Any:
    """|slope|^2 is at most 4 C_1^2 times the energy, so adding v to x_t increases its root by at most C_1 |v|."""
    now, before = f.start, f.point()
    derivative = slope(f, now, before, n)
    return derivative @ derivative, 4 * n.disturbance**2 * energy(f, now, before, n)


Line = Callable[[Any, Any], Any]
"""A line: a function of a loss and numbers that returns the left side and the bound."""
LINES: tuple[Line, ...] = (contraction, distance, start)
DISTURBED: tuple[Line, ...] = (moved, short_slope)


def traced(parameters: Parameters, line: Line, numbers: Numbers) -> tuple[Trace, Any]:
    """Evaluate a line with a symbolic function of the class; return the function's points and the two sides."""
    trace = Trace([(1, FunctionClass(Fraction(1), parameters.normalised[1]))], None)
    return trace, line(problem(trace), numbers)


@lru_cache(maxsize=16)
def conditions_of(parameters: Parameters, line: Line) -> dict[str, Terms]:
    """Return the interpolation conditions of the class at the points of a line, indexed by the kernel's names."""
    momentum, _, step = parameters.normalised
    trace, _ = traced(parameters, line, Numbers(step, momentum, 1, 1, (1,) * 6, (1,) * 2, 1))
    return {name: form.terms for name, form in trace.facts([])[0].items()}
