"""The kernel's interpolation conditions against those of PEPit and of AutoLyap, as numbers at random triplets."""

from collections.abc import Callable
from fractions import Fraction
from itertools import permutations
from typing import Any

import autolyap.problemclass as autolyap
import numpy as np
import pytest
from PEPit import PEP, Expression, Point
from PEPit import functions as functions_of_pepit
from PEPit import operators as operators_of_pepit

from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.interpolation import Class, FunctionClass, OperatorClass, SetClass, slacks_of

L, MU, M, BETA, D = Fraction(3), Fraction(1, 4), Fraction(5, 2), Fraction(2, 3), Fraction(7, 2)
DRAWS, DIMENSION = 12, 3
f, o, a = functions_of_pepit, operators_of_pepit, autolyap
CLASSES: list[tuple[Class, tuple[Any, dict[str, Any]] | None, list[Callable[[], Any]]]] = [
    (FunctionClass(), (f.ConvexFunction, {}), [lambda: a.Convex()]),
    (FunctionClass(smoothness=L), (f.SmoothConvexFunction, {"L": L}), [lambda: a.SmoothConvex(float(L))]),
    (
        FunctionClass(smoothness=L, strong_convexity=MU),
        (f.SmoothStronglyConvexFunction, {"L": L, "mu": MU}),
        [lambda: a.SmoothStronglyConvex(float(MU), float(L))],
    ),
    (
        FunctionClass(strong_convexity=MU),
        (f.StronglyConvexFunction, {"mu": MU}),
        [lambda: a.StronglyConvex(float(MU))],
    ),
    (FunctionClass(lipschitz=M), (f.ConvexLipschitzFunction, {"M": M}), []),
    (
        FunctionClass(smoothness=L, lipschitz=M),
        (f.SmoothConvexLipschitzFunction, {"L": L, "M": M}),
        [],
    ),
    (SetClass(), (f.ConvexIndicatorFunction, {}), [lambda: a.IndicatorFunctionOfClosedConvexSet()]),
    (SetClass(diameter=D), (f.ConvexIndicatorFunction, {"D": D}), []),
    (OperatorClass(), (o.MonotoneOperator, {}), [lambda: a.MaximallyMonotone()]),
    (
        OperatorClass(strong_monotonicity=MU),
        (o.StronglyMonotoneOperator, {"mu": MU}),
        [lambda: a.StronglyMonotone(float(MU))],
    ),
    (
        OperatorClass(cocoercivity=BETA, monotone=False),
        (o.CocoerciveOperator, {"beta": BETA}),
        [lambda: a.Cocoercive(float(BETA))],
    ),
    (
        OperatorClass(lipschitz=L, monotone=False),
        (o.LipschitzOperator, {"L": L}),
        [lambda: a.LipschitzOperator(float(L))],
    ),
    (
        OperatorClass(lipschitz=Fraction(1), monotone=False),
        (o.NonexpansiveOperator, {}),
        [lambda: a.LipschitzOperator(1.0)],
    ),
    (
        OperatorClass(strong_monotonicity=MU, lipschitz=L),
        (o.LipschitzStronglyMonotoneOperatorCheap, {"mu": MU, "L": L}),
        [lambda: a.StronglyMonotone(float(MU)), lambda: a.LipschitzOperator(float(L))],
    ),
    (
        OperatorClass(strong_monotonicity=MU, cocoercivity=BETA),
        (o.CocoerciveStronglyMonotoneOperatorCheap, {"mu": MU, "beta": BETA}),
        [lambda: a.StronglyMonotone(float(MU)), lambda: a.Cocoercive(float(BETA))],
    ),
]
Triplets = list[tuple[np.ndarray, np.ndarray, Fraction]]


def vector_of(*entries: int | Fraction) -> np.ndarray:
    """A point in fractions."""
    return np.array([Fraction(entry) for entry in entries], dtype=object)


def drawn(definition: Class, stream: np.random.Generator) -> Triplets:
    """Draw two triplets, which fulfil nothing but that sets and operators have no values."""

    def vector() -> np.ndarray:
        return vector_of(*(Fraction(int(entry), 7) for entry in stream.integers(-20, 21, DIMENSION)))

    has_values = isinstance(definition, FunctionClass)
    value = [Fraction(int(entry), 5) if has_values else Fraction(0) for entry in stream.integers(-20, 21, 2)]
    return [(vector(), vector(), value[0]), (vector(), vector(), value[1])]


def of_kernel(definition: Class, triplets: Triplets) -> list[float]:
    """What must be at least 0."""
    return [float(slack) for slack in slacks_of(definition, triplets, Fraction(0)).values()]


def of_pepit(kind: Any, constants: dict[str, Any], triplets: Triplets) -> list[float]:
    """What must be at least 0; equations are left out, of which both signs must."""
    problem = PEP()
    member = problem.declare_function(kind, **{name: float(value) for name, value in constants.items()})
    numbers: dict[Any, Any] = {1: 1.0}
    for x, g, value in triplets:
        point, gradient, height = Point(), Point(), Expression()
        member.add_point((point, gradient, height))
        numbers |= {point: x, gradient: g, height: float(value)}
    member.set_class_constraints()
    return [-_value(each.expression, numbers) for each in member.list_of_class_constraints]


def _value(expression: Any, numbers: dict[Any, Any]) -> float:
    total = 0.0
    for key, weight in expression.decomposition_dict.items():
        part = float(numbers[key[0]] @ numbers[key[1]]) if isinstance(key, tuple) else numbers[key]
        total += float(weight) * part
    return total


def of_autolyap(classes: list[Callable[[], Any]], triplets: Triplets) -> list[float]:
    """What must be at least 0, from M and a of a'F + Q(M, (x_1, x_2, g_1, g_2)) <= 0, for both orders."""
    found = []
    for make in classes:
        for data in make().get_data():
            matrix, vector, indices = data[0], (data[1] if len(data) == 4 else None), data[-1]
            if str(getattr(indices, "value", indices)) == "r1":
                continue  # the value of an indicator is 0
            for (x, g, e), (y, h, k) in permutations(triplets, 2):
                z = np.array([[float(entry) for entry in each] for each in (x, y, g, h)])
                quadratic = float(np.sum(np.asarray(matrix) * (z @ z.T)))
                linear = 0.0 if vector is None else float(np.asarray(vector) @ [float(e), float(k)])
                found.append(-(quadratic + linear))
    return found


def assert_same(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Each condition, as a function of the triplets, is a positive multiple of one of the others, and vice versa."""

    def scaled(table: np.ndarray) -> np.ndarray:
        columns = table[:, np.abs(table).max(axis=0) > 0]
        return columns / np.abs(columns).max(axis=0)

    ours, theirs = scaled(ours), scaled(theirs)
    assert ours.shape[1]
    for left, right in ((ours, theirs), (theirs, ours)):
        apart = np.abs(left[:, :, None] - right[:, None, :]).max(axis=0).min(axis=1)
        assert apart.max() < 1e-9


@pytest.mark.parametrize(("definition", "pepit", "classes"), CLASSES, ids=[str(each[0]) for each in CLASSES])
def test_conditions_are_those_of_pepit_and_autolyap(definition: Class, pepit: Any, classes: Any) -> None:
    stream = np.random.default_rng(3)
    several = [drawn(definition, stream) for _ in range(DRAWS)]
    ours = np.array([of_kernel(definition, each) for each in several])
    assert_same(ours, np.array([of_pepit(*pepit, each) for each in several]))
    if classes:
        assert_same(ours, np.array([of_autolyap(classes, each) for each in several]))


def test_functions_that_need_not_be_convex() -> None:
    """Two points; and of one the condition of the least value is that of PEPit with the point x - g/L at rest."""
    definition = FunctionClass(smoothness=L, convex=False)
    stream = np.random.default_rng(4)
    pairs, alone, at_rest = [], [], []
    for _ in range(DRAWS):
        (x, g, e), (_, _, k) = triplets = drawn(definition, stream)
        both = [
            each for i, j in permutations(range(2)) for each in definition.of_two(triplets[i], triplets[j])
        ]
        pepit = of_pepit(f.SmoothFunction, {"L": L}, triplets)
        pairs.append((list(map(float, both)), pepit, of_autolyap([lambda: a.Smooth(float(L))], triplets)))
        (slack,) = definition.of_one((x, g, e), k)
        alone.append([float(slack)])
        rest = (x - g / L, g - g, k)
        at_rest.append(of_pepit(f.SmoothFunction, {"L": L}, [(x, g, e), rest])[:1])
    ours, pepit_pairs, autolyap_pairs = (np.array(each) for each in zip(*pairs, strict=True))
    assert_same(ours, pepit_pairs)
    assert_same(ours, autolyap_pairs)
    assert_same(np.array(alone), np.array(at_rest))


def test_a_smooth_function_that_is_as_strongly_convex_is_quadratic() -> None:
    """L = mu: conditions of the limit, f_i - f_j - <g_j, d> - mu/2 |d|^2 >= 0 and g_i - g_j = mu d."""
    definition = FunctionClass(smoothness=L, strong_convexity=L)
    x, y = vector_of(1, 2, 0), vector_of(0, -1, 3)
    quadratic = [(each, each * L, (each @ each) * L / 2) for each in (x, y)]
    assert set(slacks_of(definition, quadratic, Fraction(0)).values()) == {0}
    (p, g, e), other = quadratic
    for spoiled in ((p, g, e + 1), (p, g, e - 1), (p, g * Fraction(101, 100), e)):
        assert min(slacks_of(definition, [spoiled, other], Fraction(0)).values()) < 0


def test_an_operator_has_constants_that_mu_times_the_identity_has() -> None:
    """It is 1/mu-cocoercive and mu-Lipschitz, and no better."""
    OperatorClass(strong_monotonicity=L, cocoercivity=1 / L, lipschitz=L)
    little = Fraction(1, 10**9)
    for more in ({"cocoercivity": 1 / L + little}, {"lipschitz": L - little}):
        with pytest.raises(Refused, match="mu times the identity"):
            OperatorClass(strong_monotonicity=L, **more)
