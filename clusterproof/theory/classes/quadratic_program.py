"""The small quadratic program behind envelopes, maxima and convex hulls, solved exactly by an active-set method."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq, fmpq_mat

from clusterproof.theory.classes.vectors import Vector, combination, inner
from clusterproof.theory.squares.exact import Rational


def least_weights(
    points: Sequence[Vector], costs: Sequence[Rational], target: Vector, curvature: Rational
) -> list[Rational]:
    """Return weights a >= 0 with sum 1 of least curvature/2 |target - sum a_i points_i|^2 + sum a_i costs_i.

    An active-set method, as Wolfe's for the nearest point of a polytope (Math. Program. 11, 1976): the points
    with positive weight are affinely independent, each of its points is the least with these points alone, and
    the objective falls strictly from one to the next. It ends, therefore, at an exact optimum.
    """
    z = [point - target for point in points]
    start = min(range(len(z)), key=lambda i: curvature * inner(z[i], z[i]) / 2 + costs[i])
    weights = {start: fmpq(1)}
    while True:
        residual = combination(list(weights.values()), [z[i] for i in weights])
        derivatives = [
            curvature * inner(point, residual) + cost for point, cost in zip(z, costs, strict=True)
        ]
        entering = min(range(len(z)), key=derivatives.__getitem__)
        if derivatives[entering] >= derivatives[next(iter(weights))]:
            return [weights.get(i, fmpq(0)) for i in range(len(z))]
        weights[entering] = fmpq(0)
        optimal = False
        while not optimal:
            support = list(weights)
            move, optimal = _move(
                [[curvature * inner(z[i], z[j]) for j in support] for i in support],
                [costs[i] for i in support],
                list(weights.values()),
            )
            steps = [-weights[i] / change for i, change in zip(support, move, strict=True) if change < 0]
            step = min([fmpq(1), *steps]) if optimal else min(steps)
            optimal = optimal and step == 1
            moved = {i: weights[i] + step * change for i, change in zip(support, move, strict=True)}
            weights = {i: weight for i, weight in moved.items() if weight > 0}


def _move(
    gram: list[list[Rational]], costs: list[Rational], weights: list[Rational]
) -> tuple[list[Rational], bool]:
    """Return the way to the least value on the affine hull, and True; or, if there is none, a way down, and False.

    There is none if the points are affinely dependent: the last, which has no weight yet, is an affine
    combination of the others, and the objective falls linearly as it takes weight from them.
    """
    size = len(costs)
    rows = [[*line, fmpq(1)] for line in gram] + [[fmpq(1)] * size + [fmpq(0)]]
    try:
        solution = fmpq_mat(rows).solve(fmpq_mat([[-cost] for cost in costs] + [[fmpq(1)]]))
    except ZeroDivisionError:
        # the combination of the others: the same equations without the last point, whose own row they imply
        others = [[*line[:-2], line[-1]] for line in rows[:-2]] + [[fmpq(1)] * (size - 1) + [fmpq(0)]]
        right = [[-line[-2]] for line in rows[:-2]] + [[fmpq(-1)]]
        null = fmpq_mat(others).solve(fmpq_mat(right))
        return [*(null[i, 0] for i in range(size - 1)), fmpq(1)], False
    return [solution[i, 0] - weights[i] for i in range(size)], True
