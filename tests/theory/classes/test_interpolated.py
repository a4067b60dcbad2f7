"""The function through triplets gives them back, belongs to the class, and exists where its conditions say so."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from clusterproof.theory.classes.concrete import ConcreteOracle, ConcreteWorld
from clusterproof.theory.classes.definitions import FunctionClass, OperatorClass, SetClass
from clusterproof.theory.classes.drawn import draw_world
from clusterproof.theory.classes.interpolated import interpolated, violated_condition
from clusterproof.theory.classes.vectors import Vector

ONE, HALF, THIRD = Fraction(1), Fraction(1, 2), Fraction(1, 3)
NONCONVEX = FunctionClass(smoothness=Fraction(2), convex=False)
FUNCTIONS = [
    FunctionClass(smoothness=ONE),
    FunctionClass(smoothness=Fraction(2), strong_convexity=THIRD),
    FunctionClass(smoothness=ONE, strong_convexity=ONE),
    FunctionClass(smoothness=ONE, lipschitz=THIRD),
    FunctionClass(strong_convexity=HALF),
    FunctionClass(lipschitz=Fraction(2)),
    NONCONVEX,
]


def small(stream, dimension):
    return Vector([Fraction(int(entry), 3) for entry in stream.integers(-9, 10, dimension)])


def drawn_triplets(definition, seed):
    """Triplets of a drawn function: its solution, its start and three further points."""
    stream = np.random.default_rng(seed)
    world = draw_world([definition], (1,), stream)
    (oracle,) = world.oracles
    for point in [world.start, *(small(stream, world.start.dimension) for _ in range(3))]:
        oracle.evaluate(point)
    if world.solution is not None:
        oracle.evaluate(world.solution)
    return world, oracle.triplets


@pytest.mark.parametrize("definition", FUNCTIONS, ids=repr)
@pytest.mark.parametrize("seed", range(6))
def test_the_function_gives_its_triplets_back_and_belongs_to_the_class(definition, seed):
    world, triplets = drawn_triplets(definition, seed)
    points, gradients, values = zip(*triplets, strict=True)
    oracle = interpolated(definition, points, gradients, values)
    for x, g, f in triplets:
        assert oracle.fresh().evaluate(x) == (g, f)
        if definition.smoothness is not None:  # without the list of known subgradients
            assert ConcreteOracle(definition, oracle.formula).evaluate(x) == (g, f)
        assert oracle.fresh().proximal(x + g / 3, THIRD) == x
    stream = np.random.default_rng(seed)
    for _ in range(3):
        oracle.evaluate(small(stream, world.start.dimension))
        oracle.proximal(small(stream, world.start.dimension), THIRD)
    for (x, g, f), (y, h, e) in permutations(oracle.triplets, 2):
        d, above = x - y, f - e - h @ (x - y)
        assert not definition.convex or above >= definition.strong_convexity / 2 * (d @ d)
        if definition.smoothness is not None:
            assert abs(above) <= definition.smoothness / 2 * (d @ d)
            assert (g - h) @ (g - h) <= definition.smoothness**2 * (d @ d)
        if definition.lipschitz is not None:
            assert g @ g <= definition.lipschitz**2
    assert violated_condition(definition, *zip(*oracle.triplets, strict=True)) is None


def test_the_infimum_of_a_function_that_is_not_convex_is_the_given_one():
    for seed in range(8):
        world, triplets = drawn_triplets(NONCONVEX, seed)
        points, gradients, values = zip(*triplets, strict=True)
        minimum = min(f - g @ g / 4 for _, g, f in triplets)
        assert minimum >= world.minimum
        for least in (minimum, minimum - 3):
            oracle = interpolated(NONCONVEX, points, gradients, values, minimum=least)
            assert all(oracle.evaluate(x) == (g, f) for x, g, f in triplets)
            # of each quadratic, |x/2 - z_i|^2 scaled: the stationary point 2 z_i
            stationary = [oracle.evaluate(2 * z) for z in oracle.formula.points]
            assert min(value for _, value in stationary) == least
            stream = np.random.default_rng(seed)
            for _ in range(20):
                g, f = oracle.evaluate(small(stream, world.start.dimension))
                assert f - least >= g @ g / 4
        with pytest.raises(ValueError, match=r"f\*"):
            interpolated(NONCONVEX, points, gradients, values, minimum=minimum + THIRD)


def test_a_set_is_the_hull_of_its_points_and_prefers_the_given_ones():
    # three corners of a square; <(0, 1), .> is least on a whole edge
    points = [Vector([0, 0]), Vector([1, 0]), Vector([0, 1])]
    normals = [Vector([-1, -1]), Vector([0, -1]), Vector([-1, 3])]
    oracle = interpolated(SetClass(diameter=Fraction(3, 2)), points, normals, [Fraction(0)] * 3)
    assert oracle.minimise_linear(Vector([0, 1])) == points[1]
    assert oracle.proximal(Vector([1, 1]), ONE) == Vector([HALF, HALF])
    assert oracle.proximal(points[2] + normals[2], ONE) == points[2]


def test_an_operator_is_known_at_its_points_only():
    points, images = [Vector([0]), Vector([1])], [Vector([0]), Vector([2])]
    oracle = interpolated(OperatorClass(cocoercivity=HALF), points, images, [Fraction(0)] * 2)
    assert oracle.evaluate(points[1]) == (images[1], 0)
    assert oracle.proximal(Vector([3]), ONE) == points[1]
    for call in (lambda: oracle.evaluate(Vector([2])), lambda: oracle.proximal(Vector([2]), ONE)):
        with pytest.raises(TypeError, match="known at 2 points"):
            call()
    both = OperatorClass(strong_monotonicity=HALF, lipschitz=Fraction(3))
    with pytest.raises(ValueError, match="necessary only"):
        interpolated(both, points, images, [Fraction(0)] * 2)


ABSOLUTE = ([-1, 2], [-1, 1], [1, 2])
"""|x| at -1 and 2."""


@pytest.mark.parametrize(
    ("definition", "triplets", "condition"),
    [
        (FunctionClass(), ABSOLUTE, None),
        (FunctionClass(), ([-1, 2], [-1, 1], [1, 5]), "f_1 - f_2 >= <g_2, x_1 - x_2>"),
        (FunctionClass(lipschitz=ONE), ABSOLUTE, None),
        (FunctionClass(lipschitz=HALF), ABSOLUTE, "|g_1| <= M"),
        # 1 - 2 + 3 = |1 + 1|^2/(2 L) at L = 1
        (FunctionClass(smoothness=ONE), ABSOLUTE, None),
        (
            FunctionClass(smoothness=Fraction(99, 100)),
            ABSOLUTE,
            "f_1 - f_2 >= <g_2, x_1 - x_2> + |g_1 - g_2|^2/(2 L)",
        ),
        (
            FunctionClass(smoothness=ONE, strong_convexity=HALF),
            ([0, 1], [0, Fraction(2, 5)], [0, Fraction(1, 5)]),
            "f_1 - f_2 >= <g_2, x_1 - x_2> + mu/2 |x_1 - x_2|^2 + |g_1 - g_2 - mu (x_1 - x_2)|^2/(2 (L - mu))",
        ),
        (FunctionClass(smoothness=ONE, strong_convexity=ONE), ([0, 2], [0, 2], [0, 2]), None),
        (
            FunctionClass(smoothness=ONE, strong_convexity=ONE),
            ([0, 2], [0, 1], [0, 2]),
            "g_1 - g_2 = mu (x_1 - x_2)",
        ),
        (FunctionClass(smoothness=ONE, convex=False), ([0, 1], [0, -1], [0, -HALF]), None),
        (
            FunctionClass(smoothness=ONE, convex=False),
            ([0, 1], [0, -2], [0, -1]),
            "f_1 - f_2 >= <g_2, x_1 - x_2> + (-L)/2 |x_1 - x_2|^2 + |g_1 - g_2 - (-L) (x_1 - x_2)|^2/(2 (L - (-L)))",
        ),
        (SetClass(), ([0, 3], [-1, 1], [0, 0]), None),
        (SetClass(diameter=Fraction(2)), ([0, 3], [-1, 1], [0, 0]), "|x_1 - x_2| <= D"),
        (SetClass(), ([0, 3], [1, 1], [0, 0]), "<g_1, x_2 - x_1> <= 0"),
        (SetClass(), ([0, 3], [-1, 1], [0, 1]), "f_2 = 0"),
        (OperatorClass(strong_monotonicity=ONE), ([0, 1], [0, 1], [0, 0]), None),
        (
            OperatorClass(strong_monotonicity=ONE),
            ([0, 1], [0, HALF], [0, 0]),
            "<A_1 - A_2, x_1 - x_2> >= mu |x_1 - x_2|^2",
        ),
        (
            OperatorClass(cocoercivity=ONE),
            ([0, 1], [0, 2], [0, 0]),
            "<A_1 - A_2, x_1 - x_2> >= beta |A_1 - A_2|^2",
        ),
        (OperatorClass(monotone=False, lipschitz=ONE), ([0, 1], [0, -1], [0, 0]), None),
        (
            OperatorClass(monotone=False, lipschitz=ONE),
            ([0, 1], [0, -2], [0, 0]),
            "|A_1 - A_2| <= L |x_1 - x_2|",
        ),
    ],
)
def test_conditions_are_those_computed_by_hand(definition, triplets, condition):
    points, gradients, values = triplets
    vectors = [Vector([x]) for x in points], [Vector([g]) for g in gradients]
    numbers = [Fraction(f) for f in values]
    assert violated_condition(definition, *vectors, numbers) == condition
    if condition is not None:
        with pytest.raises(ValueError, match="violated"):
            interpolated(definition, *vectors, numbers)


def test_a_world_of_interpolated_functions_is_read_as_it_was_written():
    points, gradients = [Vector([-1]), Vector([0])], [Vector([-1]), Vector([0])]
    oracle = interpolated(FunctionClass(), points, gradients, [ONE, Fraction(0)])
    world = ConcreteWorld([oracle], points[0], points[1], Fraction(0), [Vector([HALF])])
    again = ConcreteWorld.from_json(world.to_json())
    for one in (world, again):
        assert one.to_json()["formula"] == "max(-x, 0)"
        assert one.oracles[0].evaluate(one.solution) == (gradients[1], 0)
        assert one.point() == Vector([HALF])
    assert again.evaluated() == {"points": [{"at": ["0"], "gradient": ["0"], "value": "0"}]}
