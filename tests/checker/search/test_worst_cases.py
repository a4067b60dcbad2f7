"""Worst cases are those of the literature's closed forms, multipliers prove no more, and counterexamples are real."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, permutations
from math import sqrt
from typing import Any

import pytest

from clusterproof.checker.claims.class_members import Known
from clusterproof.checker.kernel import Refused
from clusterproof.checker.kernel.evaluation import evaluating
from clusterproof.checker.kernel.functions import problem
from clusterproof.checker.kernel.rules import _require_multipliers
from clusterproof.checker.kernel.traces import Trace
from clusterproof.checker.kernel.vocabulary import EXACT, Sides
from clusterproof.checker.search.duals import proof_of
from clusterproof.checker.search.paths import Path, entries_of
from clusterproof.checker.search.worst_functions import at_setting, worst_functions
from clusterproof.checker.search.worst_ratio import worst_ratio
from clusterproof.theorem import functions, operators

Q = Fraction
suppose, at_most, equal, least = EXACT.suppose, EXACT.at_most, EXACT.equal, EXACT.least
MU = Q(1, 10)
STRONGLY = functions(smoothness=1, strong_convexity=MU)
TINY = Q(1, 10**6)


@dataclass(frozen=True, eq=False)
class Case:
    """A line on its only path, and what the kernel says of multipliers for it."""

    path: Path
    line: Sides
    facts: list[Any]

    def shows(self, proof: Any) -> bool:
        trace = self.path.trace
        try:
            _require_multipliers(trace, self.line, trace.facts(self.facts), [proof])
        except (Refused, KeyError):
            return False
        return True


def worst(allowed: Any, sides: Any, scale: Any = 1) -> Case:
    """The case of measured at most scale times bound, of a function that returns these."""
    reach = allowed.distance({})
    with evaluating() as evaluation:
        trace = Trace(allowed.classes({}), reach)
        measured, bound = sides(problem(trace))
        line, whole = at_most(measured, scale * bound), at_most(0, scale * bound)
    both = Sides((*line.slacks, *whole.slacks))
    (path,) = entries_of(trace, both, evaluation.now, bounds=True)
    return Case(path, line, evaluation.now.facts)


def descent(f, steps, step):
    x = f.start
    for _ in range(steps):
        x = x - step * f.gradient(x)
    return x


def gradient_descent(steps, top):
    def sides(f):
        return f(descent(f, steps, Q(1, top))) - f.minimum, f.distance**2

    return functions(smoothness=top), sides, Q(top, 4 * steps + 2)


def contraction(step):
    def sides(f):
        x = descent(f, 1, step) - f.minimiser
        return x @ x, f.distance**2

    return STRONGLY, sides, max((1 - step * MU) ** 2, (1 - step) ** 2)


def proximal_point(steps, step):
    def sides(f):
        x = f.start
        for _ in range(steps):
            x = f.prox(x, step)
        return f(x) - f.minimum, f.distance**2

    return functions(), sides, 1 / (4 * step * steps)


def halpern(steps):
    def sides(T):
        x = T.start
        for k in range(steps):
            x = Q(1, k + 2) * T.start + Q(k + 1, k + 2) * T(x)
        rest = x - T(x)
        return rest @ rest, T.distance**2

    return operators(monotone=False, lipschitz=1), sides, Q(2, steps + 1) ** 2


def resolvent(step):
    def sides(A):
        x = A.resolvent(A.start, step) - A.solution
        return x @ x, A.distance**2

    return operators(strong_monotonicity=MU), sides, 1 / (1 + step * MU) ** 2


def subgradient(steps, root):
    def sides(f):
        x, values = f.start, []
        for _ in range(steps):
            values.append(f(x) - f.minimum)
            x = x - f.gradient(x) / root
        return least(*values, f(x) - f.minimum), 1

    assert root**2 == steps + 1
    return functions(lipschitz=1, distance=1), sides, Q(1, root)


def nonconvex(steps):
    def sides(f):
        x, gradients = f.start, []
        for _ in range(steps):
            gradients.append(f.gradient(x))
            x = x - gradients[-1]
        gradients.append(f.gradient(x))
        return least(*(g @ g for g in gradients)), f(f.start) - f(x)

    return functions(smoothness=1, convex=False), sides, Q(4, 3 * steps)


def polyak_step(step):
    def sides(f):
        g = f.gradient(f.start)
        suppose("Polyak's step", equal((step * (g @ g), 2 * (f(f.start) - f.minimum))))
        x = f.start - step * g - f.minimiser
        return x @ x, f.distance**2

    return STRONGLY, sides, (step - 1) * (1 - step * MU) / (step * (1 + MU) - 1)


def inexact_gradient(share):
    top, low = 1 + share, (1 - share) * MU

    def sides(f):
        g, direction = f.gradient(f.start), f.point() - f.minimiser
        suppose("relative error", (direction - g) @ (direction - g) <= share**2 * (g @ g))
        return f(f.start - 2 / (top + low) * direction) - f.minimum, f(f.start) - f.minimum

    return STRONGLY, sides, ((top - low) / (top + low)) ** 2


def proximal_gradient(steps, step):
    def sides(p):
        f, g = p.parts
        x = p.start
        for _ in range(steps):
            x = g.prox(x - step * f.gradient(x), step)
        return (x - p.minimiser) @ (x - p.minimiser), p.distance**2

    return STRONGLY + functions(), sides, max((1 - step * MU) ** 2, (1 - step) ** 2) ** steps


def douglas_rachford(cycles, step):
    def sides(p):
        f, g = p.parts

        def after(w):
            for _ in range(cycles):
                x = g.prox(w, step)
                w = w + f.prox(2 * x - w, step) - x
            return w

        first, second = p.start, p.point()
        moved, before = after(first) - after(second), first - second
        return moved @ moved, before @ before

    return STRONGLY + functions(), sides, max(1 / (1 + step * MU), step / (1 + step)) ** (2 * cycles)


CLOSED_FORMS = {
    # Drori and Teboulle (2014), Theorem 3.1
    **{f"gradient descent {n}": gradient_descent(n, 1) for n in (1, 2, 3, 4)},
    "gradient descent, L = 3": gradient_descent(2, 3),
    # textbooks: of gradient steps on quadratic functions with the curvatures mu and L
    **{f"contraction {s}": contraction(s) for s in (Q(1, 2), Q(3, 2), Q(20, 11), Q(19, 10))},
    # Taylor, Hendrickx and Glineur (2017, SIAM), Theorem 4.1
    **{f"proximal point {n}": proximal_point(n, Q(2, 3)) for n in (1, 2, 3)},
    # Lieder (2021), Theorem 2.1
    **{f"Halpern {n}": halpern(n) for n in (1, 2, 3)},
    "resolvent": resolvent(Q(3)),
    # Nesterov (2003), section 3.2.3: M R / sqrt(N + 1); attained, Drori and Teboulle (2016)
    "subgradient 3": subgradient(3, 2),
    # Taylor (2017), page 190; Abbaszadehpeivasti, de Klerk and Zamani (2022); with a step 1 / L
    **{f"nonconvex {n}": nonconvex(n) for n in (1, 2)},
    # Barre, Taylor and d'Aspremont (2020), Proposition 1
    **{f"Polyak's step {s}": polyak_step(s) for s in (Q(3, 2), Q(2), Q(5))},
    # de Klerk, Glineur and Taylor (2020), Theorem 5.3
    **{f"inexact gradient {s}": inexact_gradient(s) for s in (Q(1, 10), Q(1, 3))},
    # Taylor, Hendrickx and Glineur (2018), Theorem 3.1
    "proximal gradient": proximal_gradient(2, Q(1)),
    # Giselsson and Boyd (2016), Theorem 2; the ratio of the first solution is off by 1e-6
    "Douglas-Rachford": douglas_rachford(2, Q(3)),
}
CASES = pytest.mark.parametrize("form", CLOSED_FORMS.values(), ids=CLOSED_FORMS)


@CASES
def test_worst_cases_are_those_of_the_literature(form):
    allowed, sides, known = form
    found = worst_ratio(worst(allowed, sides).path)
    assert found is not None
    assert found.value == pytest.approx(float(known), rel=1e-6)


@CASES
def test_the_bound_itself_is_proved_and_one_percent_less_never(form):
    allowed, sides, known = form
    case = worst(allowed, sides, known)
    proof = proof_of(case.path)
    assert case.shows(proof)
    below = worst(allowed, sides, known * Q(99, 100))
    assert proof_of(below.path) is None
    assert not below.shows(proof)
    at = at_setting({}, [[below.path]])
    assert (at.proofs, at.raised, at.exceeded is not None) == (None, False, True)


def sgd_on_two(f):
    x = f.minimiser
    suppose("variance", sum(part.gradient(x) @ part.gradient(x) for part in f.parts) / 2 <= 1)
    after = [f.start - part.gradient(f.start) - x for part in f.parts]
    return sum(y @ y for y in after) / 2, 1


def sgd_on_any_number(f):
    x = f.minimiser
    suppose("variance", f.parts.gradient(x) @ f.parts.gradient(x) <= 1)
    after = f.start - f.parts.gradient(f.start) - x
    return after @ after, 1


@pytest.mark.parametrize(("count", "sides"), [(2, sgd_on_two), ("any", sgd_on_any_number)])
def test_an_irrational_worst_case_is_proved_with_a_little_more(count, sides):
    """One step of SGD, with a step 1, R = 2 and variance 1: the formula of PEPit's documentation, for every n."""
    mu = float(MU)
    known = ((1 - mu) + sqrt((1 + mu) ** 2 * (1 - 2 / (1 + mu)) ** 2 + 1)) ** 2
    allowed = functions(smoothness=1, strong_convexity=MU, distance=2, count=count)
    bound = Q(str(round(known, 9)))
    case, more = (worst(allowed, sides, bound * factor) for factor in (1, 1 + TINY))
    assert worst_ratio(case.path).value == pytest.approx(1, rel=1e-7)
    raised = proof_of(case.path, TINY)
    assert more.shows(raised)
    assert not case.shows(raised)


def test_two_clients_break_a_bound_for_any_number_that_is_too_small():
    """The kernel reads the functions of both, and finds for a step of SGD more than 99/100 of the worst case."""
    mu = float(MU)
    known = ((1 - mu) + sqrt((1 + mu) ** 2 * (1 - 2 / (1 + mu)) ** 2 + 1)) ** 2
    bound = Q(str(round(0.99 * known, 9)))
    allowed = functions(smoothness=1, strong_convexity=MU, distance=2, count="any")
    found = next(worst_functions([[worst(allowed, sgd_on_any_number, bound).path]]))
    assert len(found["triplets"]) == 2
    with evaluating() as evaluation:
        measured, _ = sgd_on_any_number(allowed.passed(Known(found), {}))
    assert measured > bound
    assert not evaluation.now.facts


FORGED = ("gradient descent 2", "subgradient 3", "nonconvex 2", "Polyak's step 2", "Halpern 2")


@pytest.mark.parametrize("name", FORGED)
def test_forged_multipliers_are_refused(name):
    allowed, sides, known = CLOSED_FORMS[name]
    case = worst(allowed, sides, known)
    right = proof_of(case.path)
    assert case.shows(right)
    assert not worst(allowed, sides, known - TINY).shows(right)
    forged = [
        {**right, "multipliers": {**right["multipliers"], name: str(other)}}
        for name, code in right["multipliers"].items()
        for other in (Q(code) + TINY, Q(code) - TINY, -Q(code))
    ]
    for number, code in enumerate(right.get("weights", ())):
        for other in (Q(code) + TINY, -Q(code)):
            weights = [*right["weights"][:number], str(other), *right["weights"][number + 1 :]]
            forged += [{**right, "weights": weights}] if other != Q(code) else []
    assert len(forged) > 6
    assert not any(map(case.shows, forged))


def test_a_negative_multiplier_proves_nothing():
    """|T x - x*| <= |x - x*| times -1 would prove the opposite, of which the worst case has no bound."""

    def sides(T):
        after = T(T.start) - T.solution
        return T.distance**2, after @ after

    case = worst(operators(monotone=False, lipschitz=1), sides)
    assert not any(case.shows({"multipliers": {name: -1}}) for name in case.path.nonnegative)
    assert proof_of(case.path) is None


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_worst_function_meets_every_condition_and_breaks_a_bound_that_is_too_small(steps):
    """L R^2 / (8 N) of gradient descent: everything is checked here, in fractions, from the numbers alone."""
    allowed, sides, _ = gradient_descent(steps, 1)
    found = next(worst_functions([[worst(allowed, sides, Q(1, 8 * steps)).path]]))
    (several,) = found["triplets"]
    triplets = [(tuple(map(Q, x)), tuple(map(Q, g)), Q(f)) for x, g, f in several]
    start, minimiser = (tuple(map(Q, found[name])) for name in ("start", "solution"))

    def dot(x, y):
        return sum(a * b for a, b in zip(x, y, strict=True))

    def minus(x, y):
        return tuple(a - b for a, b in zip(x, y, strict=True))

    for (x, g, value), (y, h, other) in permutations(triplets, 2):
        # f(x) >= f(y) + <h, x - y> + |g - h|^2 / (2 L): there is a convex, 1-smooth function through the triplets
        assert value >= other + dot(h, minus(x, y)) + dot(minus(g, h), minus(g, h)) / 2
    (solution,) = [each for each in triplets if each[0] == minimiser]
    assert not any(solution[1])
    assert solution[2] == Q(found["minimum"])
    iterates = [each for each in triplets if each is not solution]
    assert len(iterates) == steps + 1
    assert iterates[0][0] == start
    for (x, g, _), (y, *_) in pairwise(iterates):
        assert y == minus(x, g)
    distance = minus(start, minimiser)
    assert iterates[-1][2] - solution[2] > dot(distance, distance) / (8 * steps)
