"""Drawn functions, sets and operators belong to their class, and their solution is one, exactly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from clusterproof.checker.claims.class_members import Known
from clusterproof.checker.claims.drawn_functions import draw
from clusterproof.checker.kernel import Refused
from clusterproof.checker.kernel.functions import problem
from clusterproof.checker.kernel.interpolation import FunctionClass, OperatorClass, SetClass, slacks_of
from clusterproof.checker.kernel.worlds import ANY

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


def small(world: Any, dimension: int, stream: np.random.Generator) -> Any:
    return world.at(tuple(Fraction(int(entry), 3) for entry in stream.integers(-9, 10, dimension)))


def worlds(
    groups: list[tuple[int, Any]], count: int = 12, reach: Any = None
) -> Iterator[tuple[Any, Any, list[Any]]]:
    """Drawn values, what a claim is given of each, and points."""
    stream = np.random.default_rng(1)
    for _ in range(count):
        drawn = draw(groups, reach, stream)
        world = drawn.world(groups, reach)
        yield drawn, problem(world), [small(world, len(drawn.start), stream) for _ in range(5)]


def is_zero(point: Any) -> bool:
    return not point.terms


def triplets_of(f: Any) -> Any:
    return [[*oracle.known.values(), *oracle.proximal.values()] for oracle in f._world.oracles]


def are_met(f: Any) -> bool:
    """Whether the interpolation conditions, which the kernel asks for, hold of all that was asked."""
    return all(
        slack >= 0
        for oracle, triplets in zip(f._world.oracles, triplets_of(f), strict=True)
        for slack in slacks_of(oracle.definition, triplets, f._world.minimum).values()
    )


def is_function_of(definition: FunctionClass, triplets: Any) -> Iterator[bool]:
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


@pytest.mark.parametrize("definition", [*FUNCTIONS, NONCONVEX], ids=str)
def test_functions_belong_to_their_class(definition: FunctionClass) -> None:
    for _, f, points in worlds([(1, definition)]):
        for point in [f.start, f.start + points[0] / 2**40, *points]:
            f(point)
        for point, step in zip(points, (1, THIRD, 7 if definition.convex else Fraction(1, 5)), strict=False):
            if definition.smoothness is None or definition.convex or step * definition.smoothness < 1:
                y = f.prox(point, step)
                assert definition.smoothness is None or is_zero(y + step * f.gradient(y) - point)
        (triplets,) = triplets_of(f)
        assert all(is_function_of(definition, triplets))
        assert are_met(f)


@pytest.mark.parametrize("definition", FUNCTIONS, ids=str)
def test_no_value_is_below_the_minimum_and_no_point_better_than_a_proximal_one(
    definition: FunctionClass,
) -> None:
    for _, f, points in worlds([(1, definition)], reach=HALF):
        assert f(f.minimiser) == f.minimum
        assert is_zero(f.gradient(f.minimiser))
        assert all(f(point) >= f.minimum for point in [*points, f.start])
        assert 0 < (f.start - f.minimiser) @ (f.start - f.minimiser) <= HALF**2
        for point, step in zip(points, (Fraction(3), THIRD), strict=False):
            y = f.prox(point, step)
            g = (point - y) / step
            assert all(f(z) >= f(y) + g @ (z - y) for z in [*points, f.start, f.minimiser])


def test_the_infimum_of_a_function_that_is_not_convex_is_attained_and_nowhere_undercut() -> None:
    """Where the gradient is 0, found by descent on a grid of steps of the function itself."""
    for drawn, f, points in worlds([(1, NONCONVEX)], 20):
        lowest = min(f(point) for point in points)
        x = f.start
        for _ in range(30):
            x = x - f.gradient(x) / 3
            x = f._world.at(tuple(Fraction(round(e * 2**20), 2**20) for e in _entries(x, drawn)))
        assert f.minimum <= min(lowest, f(x))
    with pytest.raises(Refused, match="proximal step"):
        f.prox(points[0], THIRD)


def _entries(point: Any, drawn: Any) -> list[Fraction]:
    return [point.terms.get(place, Fraction(0)) for place in range(len(drawn.start))]


@pytest.mark.parametrize("definition", SETS, ids=str)
def test_projections_and_linear_minima_of_sets(definition: SetClass) -> None:
    for _, C, points in worlds([(1, definition)], 30):
        inside = [C.project(point) for point in [*points, C.start]]
        lowest = [] if definition.diameter is None else [C.minimise_linear(point) for point in points]
        assert is_zero(C.project(C.solution) - C.solution)
        for point, y in zip(points, inside, strict=False):
            assert is_zero(C.project(y) - y)
            assert all((point - y) @ (z - y) <= 0 for z in [*inside, *lowest])
        for direction, y in zip(points, lowest, strict=False):
            assert all(direction @ (z - y) >= 0 for z in inside)
        assert are_met(C)
        for y, z in product(inside + lowest, repeat=2):
            assert definition.diameter is None or (y - z) @ (y - z) <= definition.diameter**2


def test_an_unknown_word_of_a_set_is_answered_by_the_known_words() -> None:
    _, C, _ = next(worlds([(1, SETS[0])], 1))
    with pytest.raises(AttributeError, match=r"a set has no contains; .* project"):
        _ = C.contains
    assert not hasattr(C, "gradients")


@pytest.mark.parametrize("definition", OPERATORS, ids=str)
def test_operators_belong_to_their_class(definition: OperatorClass) -> None:
    for _, A, points in worlds([(1, definition)], 20):
        image = A.parts[0].gradient
        assert is_zero(image(A.solution) - A.solution if definition.has_fixed_point else image(A.solution))
        for point, step in zip(points, (HALF, Fraction(4)), strict=False):
            if not definition.has_fixed_point or step * definition.lipschitz < 1:  # type: ignore[operator]
                y = A.resolvent(point, step)
                assert is_zero(y + step * image(y) - point)
        for x, y in permutations(points, 2):
            d, r = x - y, image(x) - image(y)
            if definition.monotone:
                assert r @ d >= definition.strong_monotonicity * (d @ d)
            if definition.cocoercivity is not None:
                assert r @ d >= definition.cocoercivity * (r @ r)
            if definition.lipschitz is not None:
                assert r @ r <= definition.lipschitz**2 * (d @ d)
        assert are_met(A)


SUMS = [
    [(3, SMOOTH)],
    [(3, LIPSCHITZ)],
    [(2, FunctionClass(smoothness=ONE, lipschitz=ONE))],
    [(1, SMOOTH), (1, FunctionClass())],
    [(2, SMOOTH), (1, LIPSCHITZ)],
    [(1, SMOOTH), (1, SetClass(diameter=ONE))],
    [(2, SMOOTH), (1, SetClass())],
    [(1, LIPSCHITZ), (1, SetClass(diameter=ONE))],
    [(1, SetClass()), (1, SetClass(diameter=ONE))],
    [(1, OperatorClass(strong_monotonicity=HALF)), (1, SetClass(diameter=ONE))],
    *([(ANY, definition)] for definition in FUNCTIONS),
]


@pytest.mark.parametrize("groups", SUMS, ids=str)
def test_the_solution_of_a_sum_is_one(groups: list[tuple[Any, Any]]) -> None:
    apart = 0
    for drawn, p, points in worlds(groups, 15, ONE):
        world = p._world
        at = [oracle.evaluate(p.solution) for oracle in world.oracles]
        total = sum((g * w for (_, g, _), w in zip(at, world.weights, strict=True)), start=0 * p.start)
        assert is_zero(world.mean(total))
        sets = [o for o in world.oracles if isinstance(o.definition, SetClass)]
        only_functions = all(isinstance(o.definition, FunctionClass | SetClass) for o in world.oracles)
        for point in points if only_functions and len(sets) < 2 else ():
            inside = sets[0].implicitly(point, 1) if sets else world.mean(point)
            values = [o.evaluate(inside)[2] * w for o, w in zip(world.oracles, world.weights, strict=True)]
            assert sum(values) >= p.minimum
        apart += any(g.terms for _, g, _ in at)
        assert (p.start - p.solution) @ (p.start - p.solution) <= 1
        assert are_met(p)
        # the kernel accepts what was asked as members of the classes
        assert Known(json.loads(json.dumps(drawn.code))).world(groups, ONE).minimum == p.minimum
    assert apart > 3 or len(sets) == 2


@pytest.mark.parametrize("definition", [SMOOTH, LIPSCHITZ], ids=str)
def test_two_clients_have_what_is_drawn_for_any_number(definition: FunctionClass) -> None:
    """Means over the clients, computed from the points, gradients and values of both."""
    groups = [(ANY, definition)]
    for drawn, f, points in worlds(groups, 8):
        world: Any = f._world
        asked = [world.mean(points[0]), *points[1:]]
        values = [f.parts(point) for point in asked]
        gradients = [f.parts.gradient(point) for point in asked]
        assert is_zero(f.gradient(asked[0]) - f.parts.mean(gradients[0]))
        several = drawn.code["triplets"]
        assert len(several) == 2
        for point, gradient, value in zip(asked, gradients, values, strict=True):
            first, second = (
                next(t for t in each if _own(t, point, drawn, n)) for n, each in enumerate(several)
            )
            assert value == (Fraction(first[2]) + Fraction(second[2])) / 2
            for vector, k in ((point, 0), (gradient, 1)):
                both = [[Fraction(entry) for entry in triplet[k]] for triplet in (first, second)]
                assert [(a + b) / 2 for a, b in zip(*both, strict=True)] == _entries(
                    world.mean(vector), drawn
                )
                assert vector @ vector == sum(a * a for each in both for a in each) / 2


def _own(triplet: Any, point: Any, drawn: Any, client: int) -> bool:
    """Return whether a client's triplet is at its own point of a clients' vector, which is mean +- rest."""
    mean = point.world.mean(point)
    own = mean + (point - mean) * (1 - 2 * client)
    return [Fraction(entry) for entry in triplet[0]] == _entries(own, drawn)


@pytest.mark.parametrize(
    "definition",
    [*FUNCTIONS, NONCONVEX, *SETS, *(each for each in OPERATORS if not each.only_necessary)],
    ids=str,
)
def test_what_was_asked_is_read_as_it_was_written(definition: Any) -> None:
    groups = [(1, definition)]
    for drawn, f, points in worlds(groups, 8):
        ask = f.project if isinstance(definition, SetClass) else f.parts[0].gradient
        first = [ask(point).terms for point in points] + [f.point().terms for _ in range(3)]
        code = json.loads(json.dumps(drawn.code))
        again = problem(Known(code).world(groups, None))
        ask = again.project if isinstance(definition, SetClass) else again.parts[0].gradient
        moved = [again._world._read([str(e) for e in _entries(point, drawn)]) for point in points]
        assert [ask(point).terms for point in moved] + [again.point().terms for _ in range(3)] == first
        fresh = problem(drawn.world(groups, None))
        assert is_zero(fresh.start - fresh._world.at(drawn.start))


@pytest.mark.slow(reason="several seconds")
def test_huber_functions_come_close_to_the_worst_ratio_of_gradient_descent() -> None:
    stream, rounds = np.random.default_rng(5), 4
    ratios = []
    for _ in range(2000):
        f: Any = problem(draw([(1, SMOOTH)], None, stream).world([(1, SMOOTH)], None))
        x = f.start
        for _ in range(rounds):
            x = x - f.gradient(x) / f.smoothness
        ratios.append((f(x) - f.minimum) * (4 * rounds + 2) / f.distance**2)
    assert 1 - Fraction(1, 1000) < max(ratios) <= 1
