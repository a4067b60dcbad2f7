"""The weights of least value fulfil the optimality conditions, exactly, on degenerate programs too."""

import numpy as np
from flint import fmpq

from clusterproof.theory.classes.quadratic_program import least_weights
from clusterproof.theory.classes.vectors import Vector, combination, inner


def test_no_point_has_a_smaller_slope_than_those_with_weight():
    stream = np.random.default_rng(0)
    for _ in range(300):
        dimension, count, largest = (int(stream.integers(*ends)) for ends in ((1, 5), (1, 12), (1, 6)))

        def integers(size, largest=largest):
            return [int(entry) for entry in stream.integers(-largest, largest + 1, size)]

        points = [Vector(integers(dimension)) for _ in range(count)]
        costs = [fmpq(cost, 2) for cost in integers(count)]
        target, curvature = Vector(integers(dimension)) / 3, fmpq(int(stream.integers(1, 4)), 2)
        weights = least_weights(points, costs, target, curvature)
        assert sum(weights) == 1
        assert min(weights) >= 0
        rest = combination(weights, points) - target
        derivatives = [curvature * inner(z, rest) + cost for z, cost in zip(points, costs, strict=True)]
        assert all(
            derivative == min(derivatives)
            for derivative, weight in zip(derivatives, weights, strict=True)
            if weight > 0
        )


def test_a_point_that_took_weight_can_lose_it_again():
    # the second point enters before the third; at the least value the derivatives are 5/2, 8/3, 5/2, 25/6
    points = [Vector(point) for point in ((2, 4), (4, 4), (-4, -2), (1, 1))]
    weights = least_weights(points, [fmpq(cost) for cost in (0, 2, 1, 4)], Vector([0, 0]), fmpq(1))
    assert weights == [fmpq(37, 72), 0, fmpq(35, 72), 0]
