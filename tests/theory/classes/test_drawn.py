"""Drawn functions, sets and operators belong to their class, and their solution is one, exactly."""

import json
from fractions import Fraction
from itertools import pairwise, permutations, product

import numpy as np
import pytest

from clusterproof.theory.classes.concrete import ConcreteWorld
from clusterproof.theory.classes.definitions import FunctionClass, OperatorClass, SetClass
from clusterproof.theory.classes.drawn import draw_world
from clusterproof.theory.classes.function import problem
from clusterproof.theory.classes.interpolated import violated_condition
from clusterproof.theory.classes.vectors import Vector

ONE, HALF, THIRD = Fraction(1), Fraction(1, 2), Fraction(1, 3)
SMOOTH = FunctionClass(smoothness=ONE)
LIPSCHITZ = FunctionClass(lipschitz=Fraction(2))
FUNCTIONS = [
    SMOOTH,
    FunctionClass(smoothness=Fraction(2), strong_convexity=THIRD),
    FunctionClass(smoothness=ONE, strong_convexity=ONE),
    FunctionClass(smoothness=ONE, lipschitz=THIRD),
    FunctionClass(strong_convexity=HALF),
    FunctionClass(),
    LIPSCHITZ,
]
NONCONVEX = FunctionClass(smoothness=Fraction(3), convex=False)
SETS = [SetClass(), SetClass(diameter=Fraction(2))]
OPERATORS = [
    OperatorClass(),
    OperatorClass(strong_monotonicity=HALF),
    OperatorClass(cocoercivity=HALF),
    OperatorClass(strong_monotonicity=THIRD, lipschitz=ONE),
    OperatorClass(strong_monotonicity=THIRD, cocoercivity=HALF),
    OperatorClass(monotone=False, lipschitz=ONE),
    OperatorClass(monotone=False, lipschitz=HALF),
]


def small(stream, dimension):
    return Vector([Fraction(int(entry), 3) for entry in stream.integers(-9, 10, dimension)])


def worlds(definition, count=12, **options):
    stream = np.random.default_rng(1)
    for _ in range(count):
        world = draw_world([definition], (1,), stream, **options)
        yield world, [small(stream, world.start.dimension) for _ in range(5)]


def is_function_of(definition, triplets):
    """Decide the definitions of the class, not its interpolation conditions, at each two points."""
    mu, L, M = definition.strong_convexity, definition.smoothness, definition.lipschitz
    for (x, g, f), (y, h, e) in permutations(triplets, 2):
        d, above = x - y, f - e - h @ (x - y)
        yield not definition.convex or above >= mu / 2 * (d @ d)
        if L is not None:
            yield (g - h) @ (g - h) <= L**2 * (d @ d)
            yield abs(above) <= L / 2 * (d @ d)
        if M is not None:
            yield g @ g <= M**2
            yield (f - e) ** 2 <= M**2 * (d @ d)


@pytest.mark.parametrize("definition", [*FUNCTIONS, NONCONVEX], ids=repr)
def test_functions_belong_to_their_class(definition):
    for world, points in worlds(definition):
        (oracle,) = world.oracles
        near = points[0] + Vector([Fraction(1, 2**40)] * world.start.dimension)
        for point in [world.start, near, *points]:
            oracle.evaluate(point)
        for point, step in zip(points, (1, THIRD, 7 if definition.convex else Fraction(1, 5)), strict=False):
            if definition.convex or step * definition.smoothness < 1:
                oracle.proximal(point, Fraction(step))
        assert all(is_function_of(definition, oracle.triplets))
        assert violated_condition(definition, *zip(*oracle.triplets, strict=True)) is None


@pytest.mark.parametrize("definition", FUNCTIONS, ids=repr)
def test_no_point_is_better_than_a_proximal_point(definition):
    for world, points in worlds(definition):
        f = problem(world)
        for point, step in zip(points, (Fraction(3), THIRD), strict=False):
            y = f.prox(point, step)
            g = (point - y) / step
            assert f.gradient(y) == g
            assert all(f(z) >= f(y) + g @ (z - y) for z in [*points, world.start, world.solution])


@pytest.mark.parametrize("definition", FUNCTIONS, ids=repr)
def test_no_value_is_below_the_minimum(definition):
    for world, points in worlds(definition, distance=HALF):
        f = problem(world, distance=HALF)
        assert f(f.minimiser) == f.minimum
        assert f.gradient(f.minimiser) == 0 * f.start
        assert all(f(point) >= f.minimum for point in [*points, f.start])
        assert 0 < (f.start - f.minimiser) @ (f.start - f.minimiser) == world.squared_distance <= HALF**2


def test_proximal_points_of_functions_that_are_not_convex_are_stationary():
    for world, points in worlds(NONCONVEX):
        f = problem(world)
        y = f.prox(points[0], Fraction(1, 4))
        assert y + f.gradient(y) / 4 == points[0]
        fresh = problem(world.fresh())
        assert fresh.gradient(1 * y) == f.gradient(y)
        with pytest.raises(TypeError, match="not convex"):
            f.prox(points[0], THIRD)


def test_the_infimum_is_the_least_value_between_breaks():
    stream = np.random.default_rng(2)
    for _ in range(40):
        world = draw_world([NONCONVEX], (1,), stream, dimension=1)
        f = problem(world)
        assert world.solution is None
        breaks = sorted(
            {Fraction(str(t)) for oracle in world.oracles for t in oracle.formula.parts[0].breaks}
        )
        ends = [breaks[0] - 1000, *breaks, breaks[-1] + 1000]
        values = [f(Vector([t])) for t in breaks]
        for left, right in pairwise(ends):
            # the quadratic through three values is the function between two breaks
            middle, half = (left + right) / 2, (right - left) / 4
            low, here, high = (f(Vector([middle + k * half])) for k in (-1, 0, 1))
            second, first = (low - 2 * here + high) / half**2, (high - low) / (2 * half)
            if second > 0 and left <= middle - first / second <= right:
                values.append(here - first**2 / (2 * second))
        assert f.minimum == min(values)
        assert min(f(Vector([end])) for end in ends) >= f.minimum  # bounded from below


@pytest.mark.parametrize("definition", SETS, ids=repr)
def test_projections_and_linear_minima_of_sets(definition):
    for world, points in worlds(definition, count=30):
        C = problem(world)
        (oracle,) = world.oracles
        inside = [C.project(point) for point in [*points, world.start]]
        lowest = [C.minimise_linear(point) for point in points]
        assert C.project(world.solution) == world.solution
        for point, y in zip(points, inside, strict=False):
            assert C.project(y) == y
            assert all((point - y) @ (z - y) <= 0 for z in [*inside, *lowest])
        for direction, y in zip(points, lowest, strict=True):
            assert C.project(y) == y
            assert all(direction @ (z - y) >= 0 for z in inside)
        assert violated_condition(definition, *zip(*oracle.triplets, strict=True)) is None
        for y, z in product(inside + lowest, repeat=2):
            assert definition.diameter is None or (y - z) @ (y - z) <= definition.diameter**2


@pytest.mark.parametrize("definition", OPERATORS, ids=repr)
def test_operators_belong_to_their_class(definition):
    for world, points in worlds(definition):
        A = problem(world)
        assert A(A.solution) == (A.solution if definition.has_fixed_point else 0 * A.solution)
        for point, step in zip(points, (HALF, Fraction(4)), strict=False):
            if not definition.has_fixed_point or step * definition.lipschitz < 1:
                y = A.resolvent(point, step)
                assert y + step * A(y) == point
                assert problem(world.fresh())(1 * y) == A(y)
        for x, y in permutations(points, 2):
            d, r = x - y, A(x) - A(y)
            if definition.monotone:
                assert r @ d >= definition.strong_monotonicity * (d @ d)
            if definition.cocoercivity is not None:
                assert r @ d >= definition.cocoercivity * (r @ r)
            if definition.lipschitz is not None:
                assert r @ r <= definition.lipschitz**2 * (d @ d)
        assert violated_condition(definition, *zip(*world.oracles[0].triplets, strict=True)) is None


SUMS = [
    ([SMOOTH] * 3, (3,)),
    ([LIPSCHITZ] * 3, (3,)),
    ([FunctionClass(smoothness=ONE, lipschitz=ONE)] * 2, (2,)),
    ([SMOOTH, FunctionClass()], (1, 1)),
    ([SMOOTH, SMOOTH, LIPSCHITZ], (2, 1)),
    ([SMOOTH, SetClass(diameter=ONE)], (1, 1)),
    ([SMOOTH, SMOOTH, SetClass()], (2, 1)),
    ([LIPSCHITZ, SetClass(diameter=ONE)], (1, 1)),
    ([SetClass(), SetClass(diameter=ONE)], (1, 1)),
]


@pytest.mark.parametrize(("definitions", "groups"), SUMS, ids=repr)
def test_the_solution_of_a_sum_is_its_least_point(definitions, groups):
    stream = np.random.default_rng(3)
    apart = 0
    for _ in range(15):
        world = draw_world(definitions, groups, stream, distance=ONE)
        weights = [Fraction(1, size) for size in groups for _ in range(size)]
        parts = list(zip(weights, definitions, world.oracles, strict=True))
        sets = [oracle for _, definition, oracle in parts if isinstance(definition, SetClass)]
        functions = [
            (weight, oracle) for weight, definition, oracle in parts if isinstance(definition, FunctionClass)
        ]

        def total(point, functions=functions):
            return sum(weight * oracle.evaluate(point)[1] for weight, oracle in functions)

        assert all(oracle.proximal(world.solution, ONE) == world.solution for oracle in sets)
        assert total(world.solution) == world.minimum
        points = [small(stream, world.start.dimension) for _ in range(4)]
        points += [world.solution + (point - world.solution) / 100 for point in points]
        for point in points:
            inside = sets[0].proximal(point, ONE) if len(sets) == 1 else point
            assert len(sets) > 1 or total(inside) >= world.minimum
        apart += any(oracle.evaluate(world.solution)[0] != 0 * world.solution for _, oracle in functions)
        assert world.squared_distance <= 1
        for oracle in world.oracles:
            assert violated_condition(oracle.definition, *zip(*oracle.triplets, strict=True)) is None
    assert apart > 3 or not functions


@pytest.mark.parametrize(
    "definition", [OperatorClass(), OperatorClass(strong_monotonicity=HALF, lipschitz=ONE)]
)
def test_the_solution_of_a_variational_inequality(definition):
    stream = np.random.default_rng(4)
    for _ in range(15):
        world = draw_world([definition, SetClass(diameter=Fraction(3))], (1, 1), stream)
        A, C = problem(world, groups=(1, 1)).parts
        for _ in range(4):
            y = C.project(small(stream, world.start.dimension))
            assert A(world.solution) @ (y - world.solution) >= 0
        assert C.project(world.solution) == world.solution


@pytest.mark.slow(reason="several seconds")
def test_huber_functions_come_close_to_the_worst_ratio_of_gradient_descent():
    stream, rounds = np.random.default_rng(5), 4
    ratios = []
    for _ in range(2000):
        f = problem(draw_world([SMOOTH], (1,), stream, dimension=1))
        x = f.start
        for _ in range(rounds):
            x = x - f.gradient(x) / f.smoothness
        ratios.append((f(x) - f.minimum) * (4 * rounds + 2) / f.distance**2)
    assert 1 - Fraction(1, 1000) < max(ratios) <= 1


@pytest.mark.parametrize("definition", [*FUNCTIONS, NONCONVEX, *SETS, *OPERATORS], ids=repr)
def test_worlds_are_read_as_they_were_written(definition):
    for world, points in worlds(definition, count=8):
        written = json.dumps(world.to_json())
        again = ConcreteWorld.from_json(json.loads(written))
        results = []
        for one in (world, again, world.fresh()):
            (oracle,) = one.oracles
            if isinstance(definition, SetClass):
                results.append([oracle.proximal(point, ONE) for point in points])
            else:
                results.append([oracle.evaluate(point) for point in [one.start, *points]])
            results[-1] += [one.point() for _ in range(5)]
            assert json.dumps(one.to_json()) == written
            assert len(one.evaluated()["points"]) == len(oracle.triplets) > 0
        assert results[0] == results[1] == results[2]
        assert world.fresh().oracles[0].triplets == []
