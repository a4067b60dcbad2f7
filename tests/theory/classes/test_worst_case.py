"""Worst cases are those of the literature's closed forms, certificates prove no more, and counterexamples are real."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, permutations
from math import sqrt

import pytest

from clusterproof.theorem import equal, functions, least, operators, suppose
from clusterproof.theory.classes.certificate import Certificate, is_valid, with_faces, with_slack
from clusterproof.theory.classes.explicit import explicit_cases
from clusterproof.theory.classes.path_program import PathProgram
from clusterproof.theory.classes.trace import Trace, paths
from clusterproof.theory.classes.worst_case import WorstCase

Q = Fraction
MU = Q(1, 10)
STRONGLY = functions(smoothness=1, strong_convexity=MU)
TINY = Q(1, 10**6)


def worst(allowed, sides, scale=1):
    """The worst case of measured over scale times bound, of a function that returns these."""

    def make(decisions):
        return Trace(allowed.definitions({}), allowed.weights(), allowed.reach({}), decisions)

    (path,) = paths(make, lambda trace: sides(allowed.problem(trace, {})))
    measured, bound = path.lines
    bound = path.trace.constant(Q(bound)) if isinstance(bound, int) else bound
    return WorstCase(PathProgram(path.trace, measured, scale * bound))


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
def test_worst_cases_are_those_of_the_literature_exactly(form):
    allowed, sides, known = form
    case = worst(allowed, sides)
    assert case.ratio == pytest.approx(float(known), rel=1e-6)
    assert case.tight is not None
    assert case.tight.ratio == known
    assert is_valid(case.path, case.tight)


@CASES
def test_the_bound_itself_is_certified_and_one_percent_less_never(form):
    allowed, sides, known = form
    at_the_bound = worst(allowed, sides, known)
    assert not at_the_bound.exceeds
    assert at_the_bound.certificate is not None
    assert at_the_bound.certificate.ratio <= 1
    below = worst(allowed, sides, known * Q(99, 100))
    assert below.exceeds
    assert below.certificate is None
    assert with_slack(below.path, below.solution, Q(1), below.forced) is None
    assert with_faces(below.path, Q(1)) is None


def test_an_irrational_worst_case_is_certified_with_a_little_more():
    """One step of SGD on two functions, with a step 1, R = 2 and variance 1: the formula of PEPit's documentation."""

    def sides(f):
        x = f.minimiser
        suppose("variance", sum(part.gradient(x) @ part.gradient(x) for part in f.parts) / 2 <= 1)
        after = [f.start - part.gradient(f.start) - x for part in f.parts]
        return sum(y @ y for y in after) / 2, 1

    mu = float(MU)
    known = ((1 - mu) + sqrt((1 + mu) ** 2 * (1 - 2 / (1 + mu)) ** 2 + 1)) ** 2
    allowed = functions(smoothness=1, strong_convexity=MU, distance=2, count=2)
    case = worst(allowed, sides, Q(str(round(known, 9))))
    assert case.ratio == pytest.approx(1, rel=1e-7)
    assert case.slack_certificate is not None
    assert case.slack_certificate.ratio == 1 + TINY
    assert is_valid(case.path, case.slack_certificate)


FORGED = ("gradient descent 2", "subgradient 3", "nonconvex 2", "Polyak's step 2", "Halpern 2")


@pytest.mark.parametrize("name", FORGED)
def test_forged_certificates_are_refused(name):
    allowed, sides, _ = CLOSED_FORMS[name]
    case = worst(allowed, sides)
    right = case.tight
    assert right is not None
    forged = [replace(right, ratio=right.ratio - TINY), replace(right, ratio=-right.ratio)]
    for number, weight in enumerate(right.weights):
        for other in (weight + TINY, weight - TINY, -weight):
            changed = (*right.weights[:number], other, *right.weights[number + 1 :])
            forged += [replace(right, weights=changed)] if other != weight else []
    for field in ("multipliers", "free"):
        for number, value in getattr(right, field).items():
            for other in (value + TINY, value - TINY, -value):
                if other != value:
                    forged.append(replace(right, **{field: {**getattr(right, field), number: other}}))
    assert len(forged) > 6
    assert [each for each in forged if is_valid(case.path, each)] == []


def test_a_negative_multiplier_proves_nothing():
    """|T x - x*| <= |x - x*| times -1 would prove the opposite, of which the worst case has no bound."""

    def sides(T):
        after = T(T.start) - T.solution
        return T.distance**2, after @ after

    case = worst(operators(monotone=False, lipschitz=1), sides)
    forged = [Certificate(Q(1), (Q(1),), {k: Q(-1)}, {}) for k in range(len(case.path.inequalities))]
    assert not any(is_valid(case.path, each) for each in forged)
    assert case.exceeds
    assert case.certificate is None


def test_a_negative_weight_proves_nothing():
    case = worst(STRONGLY, lambda f: (least(f.distance**2, 4 * f.distance**2), f.distance**2))
    assert case.ratio == pytest.approx(1)
    assert not is_valid(case.path, Certificate(Q(-2), (Q(2), Q(-1)), {}, {}))


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_an_explicit_case_meets_every_condition_and_breaks_a_bound_that_is_too_small(steps):
    """L R^2 / (8 N) of gradient descent: everything is checked here, in fractions, from the numbers alone."""
    allowed, sides, _ = gradient_descent(steps, 1)
    case = worst(allowed, sides, Q(1, 8 * steps))
    assert case.exceeds
    explicit = next(explicit_cases(case.path))
    (triplets,) = explicit.triplets

    def dot(x, y):
        return sum(a * b for a, b in zip(x, y, strict=True))

    def minus(x, y):
        return tuple(a - b for a, b in zip(x, y, strict=True))

    for x, g, value in triplets:
        assert {type(number) for number in (*x, *g, value)} == {Fraction}
        assert len(x) == len(g) == explicit.dimension
    for (x, g, value), (y, h, other) in permutations(triplets, 2):
        # f(x) >= f(y) + <h, x - y> + |g - h|^2 / (2 L): there is a convex, 1-smooth function through the triplets
        assert value >= other + dot(h, minus(x, y)) + dot(minus(g, h), minus(g, h)) / 2
    (solution,) = [each for each in triplets if each[0] == explicit.solution]
    assert not any(solution[1])
    assert solution[2] == explicit.minimum
    iterates = [each for each in triplets if each is not solution]
    assert len(iterates) == steps + 1
    assert iterates[0][0] == explicit.start
    for (x, g, _), (y, *_) in pairwise(iterates):
        assert y == minus(x, g)
    distance = minus(explicit.start, explicit.solution)
    assert iterates[-1][2] - explicit.minimum > dot(distance, distance) / (8 * steps)
