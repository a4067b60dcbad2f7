"""Both sides of SoFL's claims on its objective and its elbow, from their statements: every partition, in loops."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sides_by_hand import assert_sides, sides_at

from clusterproof.algorithms import self_organising_map as som
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Outside
from clusterproof.theory.papers.sofl import (
    algorithm_line_30,
    elbow,
    elbow_below_chord,
    equations_3_4,
    equations_14_15,
)

Points = Sequence[tuple[Fraction, ...]]


def points_at(*rows: Sequence[int]) -> list[tuple[Fraction, ...]]:
    return [tuple(map(Fraction, row)) for row in rows]


def square(x: Sequence[Fraction], y: Sequence[Fraction]) -> Fraction:
    return sum(((a - b) ** 2 for a, b in zip(x, y, strict=True)), Fraction(0))


def groups(points: Points, labels: Sequence[int]) -> list[Any]:
    return [[x for x, one in zip(points, labels, strict=True) if one == k] for k in sorted(set(labels))]


def within(points: Points, labels: Sequence[int]) -> Fraction:
    """Sum over the clusters of the squared distances of all pairs, over their sizes."""
    sums = (
        sum(square(x, y) for x, y in itertools.combinations(each, 2)) / Fraction(len(each))
        for each in groups(points, labels)
    )
    return sum(sums, Fraction(0))


def least_sums(points: Points) -> list[Fraction]:
    """WCSS_1 .. WCSS_z over all functions from the points to the clusters."""
    every = [list(itertools.product(range(k), repeat=len(points))) for k in range(1, len(points) + 1)]
    return [min(within(points, one) for one in each if len(set(one)) == max(one) + 1) for each in every]


SETS = {
    "on a line": points_at([0], [1], [4], [6]),
    "in the plane": points_at([0, 0], [1, 3], [4, 1], [5, 5], [2, 2]),
    "a simplex": points_at([3, 0, 0], [0, 3, 0], [0, 0, 3]),
    "nearly a simplex": points_at([0, 0], [4, 0], [2, 3]),
}


@pytest.mark.parametrize("name", SETS)
def test_the_elbow_and_its_chord(name: str) -> None:
    points, curve = SETS[name], least_sums(SETS[name])
    z = len(points)
    chord = [curve[0] * (z - k) / (z - 1) for k in range(1, z + 1)]
    regular = len({square(x, y) for x, y in itertools.combinations(points, 2)}) == 1
    depths = [line - value for line, value in zip(chord, curve, strict=True)]
    answer = depths.index(max(depths)) + 1 if max(depths) > 0 else 1
    assert regular == (name == "a simplex") == (max(depths) == 0)
    for branch, measured, allowed in (
        ("below", curve, {"chord": chord}),
        ("equality", [(regular, regular)], {}),
        ("one", [(answer == 1, regular)], {}),
        ("never z", answer, {"fewer": z - 1}),
    ):
        found = sides_at("sofl/elbow-below-chord", {"points": points}, line=branch)
        assert_sides(found, measured, **allowed)


THREE = {"x1": 3, "y1": 1, "x2": 0, "y2": 4, "x3": 2, "y3": 3}


def test_the_elbow_of_three_winners(plant: Any) -> None:
    assert_sides(sides_at("sofl/elbow-exact-winners", THREE), 3, answer=2)
    for along in ({"x1": 0, "y1": 2}, {"x3": 6, "y3": 2}, {"x3": 0, "y3": 1}, {"x2": 0, "y2": 0}):
        with pytest.raises(Outside, match="direction of its own"):
            sides_at("sofl/elbow-exact-winners", THREE | along)
    triple = elbow.ThreeWinners(**THREE)
    elbow.run_the_map(triple)
    train, seen = som.train, []

    def reversed_neurons(*arguments: Any, **named: Any) -> np.ndarray:
        seen.append(arguments)
        return train(*arguments, **named)[:, ::-1]

    plant(som, "train", reversed_neurons)
    with pytest.raises(ArithmeticError, match=r"\[2, 2, 2, 1, 1, 1, 0, 0, 0\]"):
        elbow.run_the_map(triple)
    neurons, clients, order = seen[0]
    assert neurons.tolist() == [[[3, 1], [0, 4], [2, 3]]]
    assert clients.tolist() == [[3, 1]] * 3 + [[0, 4]] * 3 + [[2, 3]] * 3
    assert sorted(set(order.tolist())) == list(range(9))


def test_the_objectives_3_and_4_over_every_partition() -> None:
    names = ("b1", "b2", "b3", "b4")
    assert_sides(
        sides_at("sofl/equation-3", dict(zip(names, (0, 1, 4, 6), strict=True))), 4, fewer_than_clients=3
    )
    assert_sides(
        sides_at("sofl/equation-3", dict(zip(names, (0, 0, 4, 6), strict=True))), 3, fewer_than_clients=3
    )
    distinct = equations_3_4.equation_3.statements[0].space.instances(200) or ()
    assert {tuple(one.values()) for one in distinct} == set(itertools.combinations(range(9), 4))
    pairs = [one for one in itertools.product((0, 1), repeat=4) if len(set(one)) == 2]
    for places in itertools.combinations_with_replacement((0, 1, 2, 5, 9), 4):
        points, reached = points_at(*([place] for place in places)), []
        sums = [within(points, one) for one in pairs]
        for power in (1, 2):
            scores = [
                sum(
                    2 * abs(x - y) ** power
                    for each in groups(points, one)
                    for (x,), (y,) in itertools.combinations(each, 2)
                )
                for one in pairs
            ]
            reached.append(
                min(total for total, score in zip(sums, scores, strict=True) if score == min(scores))
            )
        found = sides_at("sofl/equation-4", dict(zip(names, places, strict=True)))
        assert_sides(found, min(reached), least=min(sums))


def whole_task(hessian: float = 1.0, first: float = 3.0) -> QuadraticMixture:
    centers = np.array([[first, 1.0], [0.0, -2.0], [5.0, 5.0], [7.0, -4.0], [6.0, 2.0]])
    hessians = np.broadcast_to(np.diag([1.0, hessian]), (5, 2, 2))
    return QuadraticMixture(hessians=hessians, centers=centers, labels=np.array([0, 0, 1, 1, 1]))


def test_equation_6_on_two_and_three_clients() -> None:
    points, labels = points_at([3, 1], [0, -2], [5, 5], [7, -4], [6, 2]), [0, 0, 1, 1, 1]
    half = within(points, labels) / 2
    assert_sides(sides_at("sofl/equation-6", {"task": whole_task()}, line="losses"), [(half, half)])
    both = sum(
        2 * square(x, y) for each in groups(points, labels) for x, y in itertools.combinations(each, 2)
    )
    assert_sides(sides_at("sofl/equation-6", {"task": whole_task()}, line="pairs"), [(both, both)])
    sides_at("sofl/equation-6", {"task": whole_task(first=-999.0)}, line="pairs")
    for task, hypothesis in (
        (whole_task(hessian=1.5), "phi_i"),
        (whole_task(first=0.5), "whole"),
        (whole_task(first=1000.0), "1000"),
        (whole_task(first=-1000.0), "1000"),
    ):
        with pytest.raises(Outside, match=hypothesis):
            sides_at("sofl/equation-6", {"task": task}, line="pairs")


@pytest.mark.parametrize("seed", range(6))
def test_the_half_steps_14_and_15_in_loops(seed: int) -> None:
    points, stream = SETS["in the plane"], np.random.default_rng(seed)
    count = int(stream.integers(1, 5))
    centres = [points[i] for i in stream.choice(5, count, replace=False)]
    sums, rounds = [], 0
    while True:
        labels = [min(range(count), key=lambda k: square(x, centres[k])) for x in points]
        sums.append(sum(square(x, centres[k]) for x, k in zip(points, labels, strict=True)))
        before = centres
        own = [[x for x, k in zip(points, labels, strict=True) if k == c] for c in range(count)]
        centres = [
            tuple(sum(column) / Fraction(len(each)) for column in zip(*each, strict=True)) for each in own
        ]
        sums.append(sum(square(x, centres[k]) for x, k in zip(points, labels, strict=True)))
        if centres == before:
            break
        rounds += 1
    found = equations_14_15.equations_14_15(points, np.random.default_rng(seed))
    assert_sides(found["falls"], [*sums[1:], sums[-1]], before=sums)
    assert_sides(found["rests"], rounds, longest=49)


def test_an_empty_cluster_keeps_its_centre() -> None:
    kept = equations_14_15.means(points_at([0], [5]), points_at([1], [9]), [0, 0])
    assert kept == [(Fraction(5, 2),), (9,)]


def test_drawn_points_and_clusters_are_those_of_the_statements() -> None:
    sizes, kinds = set(), set()
    for seed in range(150):
        stream = np.random.default_rng(seed)
        points = elbow_below_chord.random_points(stream)
        assert elbow_below_chord.read_points(elbow_below_chord.write_points(points)) == points
        kinds.add(len({square(x, y) for x, y in itertools.combinations(points, 2)}) == 1)
        members = algorithm_line_30.draw_members(stream).tolist()
        assert algorithm_line_30.read_members(members).tolist() == members
        task = equations_3_4.whole_mixture(stream)
        assert sorted(set(task.labels.tolist())) == [0, 1]
        assert np.abs(task.centers).max() <= 9
        sizes |= {("points", len(points)), ("members", len(members)), ("clients", task.clients)}
        sizes |= {("clusters", len(set(members))), ("dimension", task.dimension)}
    for name, low, high in (
        ("points", 3, 6),
        ("members", 2, 12),
        ("clients", 3, 8),
        ("dimension", 1, 3),
        ("clusters", 1, 4),
    ):
        assert {size for what, size in sizes if what == name} == set(range(low, high + 1))
    assert kinds == {True, False}
    for refused in (
        [[0], [1]],
        [[0], [1], [1]],
        [[0], [1], [2, 3]],
        [[0.5], [1], [2]],
        [[i] for i in range(7)],
    ):
        with pytest.raises(ValueError, match="three to six"):
            elbow_below_chord.read_points(refused)  # type: ignore[arg-type]
    for wrong in ([1, 0], [0, 2, 1], [[0, 1]]):
        with pytest.raises(ValueError, match="first appearance"):
            algorithm_line_30.read_members(wrong)  # type: ignore[arg-type]
