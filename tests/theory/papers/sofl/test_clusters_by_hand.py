"""Both sides of SoFL's claims on clusters, from their statements: every partition, every function, plain loops."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sides_by_hand import assert_sides, sides_at
from sklearn.cluster import KMeans

from clusterproof.algorithms import self_organising_map as som
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.checker.sides import Outside
from clusterproof.theory.papers.sofl import (
    algorithm_line_30,
    elbow,
    elbow_below_chord,
    equations_3_4,
    equations_14_15,
    guarded_count,
    initialisation,
    label_shift,
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
        found = sides_at("sofl/elbow-below-chord", {"points": points}, name=branch)
        assert_sides(found, measured, **allowed)


THREE = {"x1": 3, "y1": 1, "x2": 0, "y2": 4, "x3": 2, "y3": 3}


def test_the_elbow_of_three_winners(plant: Any) -> None:
    assert_sides(sides_at("sofl/elbow-exact-winners", THREE), 3, answer=2)
    assert_sides(sides_at("sofl/one-cluster", THREE), 2, one=1)
    for along in ({"x1": 0, "y1": 2}, {"x3": 6, "y3": 2}, {"x3": 0, "y3": 1}, {"x2": 0, "y2": 0}):
        with pytest.raises(Outside, match="direction of its own"):
            sides_at("sofl/one-cluster", THREE | along)
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
    pairs = [one for one in itertools.product((0, 1), repeat=4) if len(set(one)) == 2]
    for places in itertools.combinations_with_replacement((0, 1, 2, 5, 9, 12), 4):
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
    assert_sides(sides_at("sofl/equation-6", {"task": whole_task()}, name="losses"), [(half, half)])
    both = sum(
        2 * square(x, y) for each in groups(points, labels) for x, y in itertools.combinations(each, 2)
    )
    assert_sides(sides_at("sofl/equation-6", {"task": whole_task()}, name="pairs"), [(both, both)])
    sides_at("sofl/equation-6", {"task": whole_task(first=-999.0)}, name="pairs")
    for task, hypothesis in (
        (whole_task(hessian=1.5), "phi_i"),
        (whole_task(first=0.5), "whole"),
        (whole_task(first=1000.0), "1000"),
        (whole_task(first=-1000.0), "1000"),
    ):
        with pytest.raises(Outside, match=hypothesis):
            sides_at("sofl/equation-6", {"task": task}, name="pairs")


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


def test_line_30_in_loops() -> None:
    one = {"first": 2, "second": 3, "other": 6}
    assert_sides(sides_at("sofl/algorithm-1-line-30", one), [(Fraction(5, 11), 1)])
    members = np.array([0, 1, 0, 2, 1, 0])
    stream = np.random.default_rng(3)
    received, updates = stream.standard_normal((6, 2))[members], stream.standard_normal((6, 2))
    means, largest, smallest = np.empty((3, 6, 2))
    for client, own in enumerate(members):
        for k in range(2):
            sent = [received[i, k] + updates[i, k] for i in range(6) if members[i] == own]
            means[client, k], largest[client, k], smallest[client, k] = np.mean(sent), max(sent), min(sent)
    found = algorithm_line_30.aggregation_in_cluster(members, 2, np.random.default_rng(3))
    assert_sides(found["mean"], [(means, means)])
    assert_sides(found["hull, above"], means, largest=largest)
    assert_sides(found["hull, below"], means, smallest=smallest)


def test_the_thresholds_of_section_4_1() -> None:
    one = {"largest": "7/2", "factor": "12"}
    assert_sides(sides_at("sofl/clustering-condition", one), Fraction(7, 2), delta_2=Fraction(42, 10))
    sides_at("sofl/clustering-condition", one | {"factor": "10"})
    with pytest.raises(Outside, match="delta_2"):
        sides_at("sofl/clustering-condition", one | {"factor": "99/10"})


@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_all_functions_under_label_shifts(seed: int) -> None:
    """Each input's best label collects the weights of the clusters whose labels it then has."""
    stream = np.random.default_rng(seed)
    truth, shifts = stream.integers(0, 4, 3).tolist(), stream.integers(0, 6, 4).tolist()
    weights, masses = (
        [Fraction(x, sum(n)) for x in n] for n in (stream.integers(1, 10, k).tolist() for k in (4, 3))
    )
    best = Fraction(0)
    for label, mass in zip(truth, masses, strict=True):
        votes = [
            sum(
                (w for s, w in zip(shifts, weights, strict=True) if (label + s - answer) % 4 == 0),
                Fraction(0),
            )
            for answer in range(4)
        ]
        best += mass * max(votes)
    found = label_shift.label_shift_ceiling(4, 3, 4, np.random.default_rng(seed))
    assert_sides(found, [(best, best)])


@pytest.mark.parametrize("clusters", [2, 4, 8])
def test_equal_clusters_of_distinct_shifts(clusters: int) -> None:
    found = sides_at("sofl/label-shift-ceiling", {"clusters": clusters}, "the paper's partitions")
    assert_sides(found, [(Fraction(1, clusters),) * 2])
    shifts = [0, 10, 1, 11][:clusters]
    assert label_shift.ceiling(shifts, [Fraction(1, len(shifts))] * len(shifts), 10) == Fraction(
        2, len(shifts)
    )


def test_the_runs_in_which_the_guard_counts_wrongly(plant: Any) -> None:
    tasks: list[QuadraticMixture] = []

    def four(task: QuadraticMixture, seed: int) -> int:
        tasks.append(task)
        return 4

    plant(guarded_count, "counted", four)
    found = guarded_count.guarded_count(np.random.default_rng(0), 40)
    counts = [len(set(task.labels.tolist())) for task in tasks]
    assert found.events.tolist() == [count != 4 for count in counts]
    assert (found.allowed, found.exactly, set(counts)) == (0.05, False, {1, 2, 4, 8})
    cosines: dict[tuple[int, bool], list[float]] = {}
    for task, count in zip(tasks, counts, strict=True):
        assert np.bincount(task.labels).tolist() == [24 // count] * count
        for i, j in itertools.combinations(range(24), 2):
            x, y = task.centers[[i, j]]
            same = bool(task.labels[i] == task.labels[j])
            cosines.setdefault((count, same), []).append(x @ y / np.linalg.norm(x) / np.linalg.norm(y))
    for (count, same), each in cosines.items():
        assert np.mean(each) == pytest.approx((0.8 if count > 1 else 0.1) if same else 0, abs=0.02)


def test_clusters_of_the_same_updates_from_two_starts() -> None:
    stream = np.random.default_rng(2)
    middles, noise = stream.standard_normal((4, 30)), stream.standard_normal((20, 30))
    data = initialisation.updates_of_clients(np.random.default_rng(2))
    np.testing.assert_allclose(data, [middles[i // 5] + noise[i] / 2 for i in range(20)])
    stream = np.random.default_rng(3)
    neurons = stream.random((36, 30)) * 2 - 1
    neurons /= np.linalg.norm(neurons, axis=1, keepdims=True)
    order = np.arange(500) % 20
    stream.shuffle(order)

    places = np.array([(row, column) for row in range(6) for column in range(6)])

    def winner(x: np.ndarray) -> int:
        return int(np.argmax([x @ neuron / np.sqrt(neuron @ neuron) for neuron in neurons]))

    for t, x in enumerate(data[order]):
        late = 1 + t / 250
        apart = ((places - places[winner(x)]) ** 2).sum(axis=1)
        neurons += 0.5 / late * np.exp(-apart * late**2 / 2)[:, None] * (x - neurons)
    points = neurons[[winner(x) for x in data]]
    labels = KMeans(4, n_init=10, random_state=int(stream.integers(2**31))).fit(points).labels_
    assert not initialisation.differ(initialisation.by_map(data, np.random.default_rng(3)), labels)
    for seed in range(10):
        start = int(np.random.default_rng(seed).integers(2**31))
        labels = KMeans(4, init="random", n_init=1, random_state=start).fit(data).labels_
        assert initialisation.by_k_means(data, np.random.default_rng(seed)).tolist() == labels.tolist()


def test_which_pairs_of_starts_are_counted(plant: Any) -> None:
    seen: list[np.ndarray] = []

    def scripted(data: np.ndarray, stream: np.random.Generator) -> np.ndarray:
        """Return the same clusters under other names, then others, in turn."""
        seen.append(data)
        return (
            np.arange(20) // 10
            if len(seen) % 2
            else [1 - np.arange(20) // 10, np.arange(20) // 9][len(seen) // 2 % 2]
        )

    for name in ("by_map", "by_k_means"):
        plant(initialisation, name, scripted)
    found = initialisation.initialisation(np.random.default_rng(0), 4)
    assert (found.events.tolist(), found.allowed) == ([True, False, True, False], 0.1)
    found = initialisation.initialisation_of_k_means(np.random.default_rng(0), 4)
    assert (found.events.tolist(), found.allowed) == ([False, True, False, True], 0.6)
    assert all((x == y).all() for x, y in zip(seen[::2], seen[1::2], strict=True))
    assert (seen[0] != seen[2]).all()


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
