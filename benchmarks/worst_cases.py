"""Fifteen worst cases from PEPit's documentation: our number and PEPit's, both times, and our certificates.

PEPit's numbers come from its own examples, with CLARABEL instead of its default solver. If a step size is irrational,
both use the fraction given here. ``python -m benchmarks.worst_cases``
"""

from __future__ import annotations

import contextlib
import io
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from importlib import import_module
from itertools import pairwise
from statistics import median
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.timing import report_target
from clusterproof.checker.claims.class_ranges import OfClass
from clusterproof.checker.kernel.evaluation import evaluating
from clusterproof.checker.kernel.functions import problem
from clusterproof.checker.kernel.traces import Trace
from clusterproof.checker.kernel.vocabulary import EXACT, Sides
from clusterproof.checker.search.duals import proof_of
from clusterproof.checker.search.paths import Path, entries_of
from clusterproof.checker.search.worst_functions import SLACK
from clusterproof.checker.search.worst_ratio import worst_ratio
from clusterproof.theorem import functions, operators, sets

REPETITIONS = 3
suppose, at_most, equal, least = EXACT.suppose, EXACT.at_most, EXACT.equal, EXACT.least
MU = Fraction(1, 10)
CONVEX = functions(smoothness=1)
STRONGLY = functions(smoothness=1, strong_convexity=MU)


@dataclass(frozen=True)
class Example:
    """A worst case, stated for Clusterproof and for PEPit.

    Attributes
    ----------
    name
        Name of the method.
    allowed
        Class of the method's functions or operators.
    sides
        Function that returns (measured, bound) for a traced member of the class.
    theirs
        Module and function of PEPit's examples, and its settings.
    """

    name: str
    allowed: OfClass
    sides: Callable[[Any], tuple[Any, Any]]
    theirs: tuple[str, dict[str, Any]]


EXAMPLES: list[Example] = []


def example(name: str, allowed: OfClass, theirs: str, **settings: Any) -> Callable[[Any], Any]:
    def add(sides: Any) -> Any:
        EXAMPLES.append(Example(name, allowed, sides, (theirs, settings)))
        return sides

    return add


@example("gradient descent", CONVEX, "unconstrained_convex_minimization.gradient_descent", L=1, gamma=1, n=4)
def gradient_descent(f: Any) -> tuple[Any, Any]:
    x = f.start
    for _ in range(4):
        x = x - f.gradient(x)
    return f(x) - f.minimum, f.distance**2


@example(
    "heavy ball",
    STRONGLY,
    "unconstrained_convex_minimization.heavy_ball_momentum",
    **{"mu": 0.1, "L": 1, "alpha": 0.5, "beta": 0.69, "n": 3},
)
def heavy_ball(f: Any) -> tuple[Any, Any]:
    before = x = f.start
    for _ in range(3):
        before, x = x, x - f.gradient(x) / 2 + Fraction(69, 100) * (x - before)
    return f(x) - f.minimum, f(f.start) - f.minimum


@example(
    "accelerated gradient",
    CONVEX,
    "unconstrained_convex_minimization.accelerated_gradient_convex_simplified",
    **{"mu": 0, "L": 1, "n": 4},
)
def accelerated_gradient(f: Any) -> tuple[Any, Any]:
    x = y = f.start
    for k in range(4):
        before, x = x, y - f.gradient(y)
        y = x + Fraction(k, k + 3) * (x - before)
    return f(x) - f.minimum, f.distance**2


@example("optimised gradient", CONVEX, "unconstrained_convex_minimization.optimized_gradient", L=1, n=3)
def optimised_gradient(f: Any) -> tuple[Any, Any]:
    theta = [1.0]
    for factor in (4, 4, 8):
        theta.append((1 + math.sqrt(factor * theta[-1] ** 2 + 1)) / 2)
    x = y = f.start
    for old, new in pairwise(theta):
        a, b = (Fraction(round(number * 10**12), 10**12) for number in ((old - 1) / new, old / new))
        before, x = x, y - f.gradient(y)
        y = x + a * (x - before) + b * (x - y)
    return f(y) - f.minimum, f.distance**2


@example("proximal point", functions(), "unconstrained_convex_minimization.proximal_point", gamma=1, n=3)
def proximal_point(f: Any) -> tuple[Any, Any]:
    x = f.start
    for _ in range(3):
        x = f.prox(x, 1)
    return f(x) - f.minimum, f.distance**2


@example(
    "proximal gradient",
    STRONGLY + functions(),
    "composite_convex_minimization.proximal_gradient",
    **{"L": 1, "mu": 0.1, "gamma": 1, "n": 2},
)
def proximal_gradient(p: Any) -> tuple[Any, Any]:
    f, g = p.parts
    x = p.start
    for _ in range(2):
        x = g.prox(x - f.gradient(x), 1)
    return (x - p.minimiser) @ (x - p.minimiser), p.distance**2


@example(
    "Douglas-Rachford",
    STRONGLY + functions(),
    "composite_convex_minimization.douglas_rachford_splitting_contraction",
    **{"mu": 0.1, "L": 1, "alpha": 3, "theta": 1, "n": 2},
)
def douglas_rachford(p: Any) -> tuple[Any, Any]:
    f, g = p.parts

    def steps(w: Any) -> Any:
        for _ in range(2):
            x = g.prox(w, 3)
            w = w + f.prox(2 * x - w, 3) - x
        return w

    first, second = p.start, p.point()
    moved, before = steps(first) - steps(second), first - second
    return moved @ moved, before @ before


@example(
    "Frank-Wolfe",
    CONVEX + sets(diameter=1),
    "composite_convex_minimization.frank_wolfe",
    **{"L": 1, "D": 1, "R": math.inf, "center": None, "n": 3},
)
def frank_wolfe(p: Any) -> tuple[Any, Any]:
    f, C = p.parts
    x = C.project(p.start)
    for k in range(3):
        x = Fraction(k, k + 2) * x + Fraction(2, k + 2) * C.minimise_linear(f.gradient(x))
    return f(x) - p.minimum, 1


@example(
    "subgradient",
    functions(lipschitz=1, distance=1),
    "unconstrained_convex_minimization.subgradient_method",
    **{"M": 1, "n": 3, "gamma": 0.5},
)
def subgradient(f: Any) -> tuple[Any, Any]:
    x = f.start
    values = [f(x) - f.minimum]
    for _ in range(3):
        x = x - f.gradient(x) / 2
        values.append(f(x) - f.minimum)
    return least(*values), 1


@example(
    "inexact gradient",
    STRONGLY,
    "unconstrained_convex_minimization.inexact_gradient_descent",
    **{"L": 1, "mu": 0.1, "epsilon": 0.1, "n": 2},
)
def inexact_gradient(f: Any) -> tuple[Any, Any]:
    x = f.start
    for _ in range(2):
        g, direction = f.gradient(x), f.point() - f.minimiser
        error = direction - g
        suppose("|error| <= |gradient| / 10", error @ error <= (g @ g) / 100)
        x = x - Fraction(200, 119) * direction
    return f(x) - f.minimum, f(f.start) - f.minimum


@example(
    "past extragradient",
    operators(lipschitz=1) + sets(),
    "monotone_inclusions_variational_inequalities.past_extragradient",
    **{"n": 2, "gamma": 0.25, "L": 1},
)
def past_extragradient(p: Any) -> tuple[Any, Any]:
    F, C = p.parts
    before = x = C.project(p.start)
    V = F(x)
    for _ in range(2):
        V = F(C.project(x - V / 4))
        before, x = x, C.project(x - V / 4)
    return (x - before) @ (x - before), p.distance**2


@example("Halpern", operators(monotone=False, lipschitz=1), "fixed_point_problems.halpern_iteration", n=4)
def halpern(T: Any) -> tuple[Any, Any]:
    x = T.start
    for k in range(4):
        x = Fraction(1, k + 2) * T.start + Fraction(k + 1, k + 2) * T(x)
    return (x - T(x)) @ (x - T(x)), T.distance**2


@example(
    "SGD, one of five",
    functions(smoothness=1, strong_convexity=MU, distance=2, count=5),
    "stochastic_and_randomized_convex_minimization.sgd",
    **{"L": 1, "mu": 0.1, "gamma": 1, "v": 1, "R": 2, "n": 5},
)
def sgd(f: Any) -> tuple[Any, Any]:
    x = f.minimiser
    suppose("variance at most 1", sum(part.gradient(x) @ part.gradient(x) for part in f.parts) / 5 <= 1)
    after = [f.start - part.gradient(f.start) - x for part in f.parts]
    return sum(y @ y for y in after) / 5, 1


@example(
    "SAGA, one of three",
    functions(smoothness=1, strong_convexity=MU, count=3) + functions(),
    "stochastic_and_randomized_convex_minimization.saga",
    **{"L": 1, "mu": 0.1, "n": 3},
)
def saga(p: Any) -> tuple[Any, Any]:
    f, h = p.parts
    step = 1 / (2 * (3 * MU + 1))
    factor = 1 / (2 * step * (1 - MU * step) * 3)
    x, best = p.start, p.minimiser
    stored = [p.point() for _ in f.parts]
    gradients = [part.gradient(y) for part, y in zip(f.parts, stored, strict=True)]

    def energy(points: Any, x: Any) -> Any:
        gaps = [
            part(y) - part(best) - part.gradient(best) @ (y - best)
            for part, y in zip(f.parts, points, strict=True)
        ]
        return sum(gaps) / 3 + factor * ((x - best) @ (x - best))

    after = []
    for drawn, part in enumerate(f.parts):
        direction = part.gradient(x) - gradients[drawn] + sum(gradients) / 3
        points = [x if number == drawn else y for number, y in enumerate(stored)]
        after.append(energy(points, h.prox(x - step * direction, step)))
    return sum(after) / 3, energy(stored, x)


@example(
    "Polyak's step",
    STRONGLY,
    "adaptive_methods.polyak_steps_in_distance_to_optimum",
    **{"L": 1, "mu": 0.1, "gamma": 1.5},
)
def polyak_step(f: Any) -> tuple[Any, Any]:
    x, g = f.start, f.gradient(f.start)
    suppose("Polyak's step is 3/2", equal((Fraction(3, 2) * (g @ g), 2 * (f(x) - f.minimum))))
    y = x - Fraction(3, 2) * g - f.minimiser
    return y @ y, f.distance**2


def path_of(each: Example, scale: Fraction = Fraction(1)) -> Path:
    """Trace an example, which must have one path, with the bound multiplied by a number."""
    reach = each.allowed.distance({})
    with evaluating() as evaluation:
        trace = Trace(each.allowed.classes({}), reach)
        measured, bound = each.sides(problem(trace))
        line, whole = at_most(measured, scale * bound), at_most(0, scale * bound)
    both = Sides((*line.slacks, *whole.slacks))
    (path,) = entries_of(trace, both, evaluation.now, bounds=True)
    return path


def ours(each: Example) -> float:
    """Return our worst case."""
    found = worst_ratio(path_of(each))
    assert found is not None
    return found.value


def theirs(each: Example) -> float:
    """Return PEPit's worst case."""
    module, settings = each.theirs
    function = getattr(import_module(f"PEPit.examples.{module}"), f"wc_{module.rpartition('.')[2]}")
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(function(**settings, wrapper="cvxpy", solver="CLARABEL", verbose=-1)[0])


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    value = call()
    return value, time.perf_counter() - began


def is_proved(each: Example, ratio: float, more: Fraction = Fraction(0)) -> bool:
    """Return whether a simple fraction near a ratio, or the ratio raised by a share, is proved."""
    if more:
        return proof_of(path_of(each, Fraction(str(round(ratio, 12))) * (1 + more))) is not None
    bounds = [Fraction(ratio).limit_denominator(largest) for largest in (100, 10_000, 100_000)]
    close = [bound for bound in bounds if abs(float(bound) - ratio) < 1e-6]
    return any(proof_of(path_of(each, bound)) is not None for bound in close)


def main() -> None:
    """Print the table, and which targets are reached."""
    threadpool_limits(1, user_api="blas")
    print(f"{'':21}{'worst case':>22}{'':12}{'seconds':>11}{'':6}exact certificate{'':20}1e-6 more")
    print(
        f"{'':21}{'ours':>11}{'PEPit':>11}  difference{'ours':>7}{'PEPit':>7}{'':28}{'seconds':>9}{'seconds':>9}"
    )
    differences, ratios, exact, raised = [], [], 0, 0
    for each in EXAMPLES:
        mine, pepit = partial(ours, each), partial(theirs, each)
        mine(), pepit()  # both modules are imported
        runs = [(*timed(mine), *timed(pepit)) for _ in range(REPETITIONS)]
        ratio, number = runs[-1][0], runs[-1][2]
        seconds, their_seconds = (median(run[k] for run in runs) for k in (1, 3))
        differences.append(abs(ratio - number) / abs(number))
        ratios.append(seconds / their_seconds)
        tight, certified = timed(partial(is_proved, each, ratio))
        more, raising = timed(partial(is_proved, each, ratio, SLACK))
        exact, raised = exact + tight, raised + (more or tight)
        print(
            f"{each.name:21}{ratio:11.8f}{number:11.8f}{differences[-1]:12.1e}{seconds:7.3f}{their_seconds:7.3f}"
            f"  {'yes' if tight else 'no':26}{certified:9.2f}{f'{raising:.2f}' if more else 'no':>9}",
            flush=True,
        )
    report_target("largest relative difference", max(differences), 1e-6, at_most=True)
    report_target("our time over PEPit's, the largest", max(ratios), 1, at_most=True)
    report_target("exact certificates", exact, 10)
    report_target("certificates, exact or with 1e-6 more", raised, len(EXAMPLES))


if __name__ == "__main__":
    main()
