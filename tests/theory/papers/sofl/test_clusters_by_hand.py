"""Both sides of SoFL's claims on its clusters, from their statements: every function, all pairs, plain loops."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sides_by_hand import assert_sides, sides_at
from sklearn.cluster import KMeans

from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Outside
from clusterproof.theory.papers.sofl import (
    algorithm_line_30,
    guarded_count,
    initialisation,
    label_shift,
)


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
    found = sides_at("sofl/label-shift-ceiling", {"clusters": clusters}, "equal clusters")
    assert_sides(found, [(Fraction(1, clusters),) * 2])
    shifts = [0, 10, 1, 11][:clusters]
    assert label_shift.ceiling(shifts, [Fraction(1, len(shifts))] * len(shifts), 10) == Fraction(
        2, len(shifts)
    )


def test_the_runs_in_which_the_guard_counts_wrongly(plant: Any) -> None:
    tasks: list[QuadraticMixture] = []
    seeds: set[int] = set()

    def four(task: QuadraticMixture, seed: int) -> int:
        tasks.append(task)
        seeds.add(seed)
        return 4

    plant(guarded_count, "counted", four)
    found = guarded_count.guarded_count(np.random.default_rng(0), 40)
    counts = [len(set(task.labels.tolist())) for task in tasks]
    assert len(seeds) == 40
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
        return int(np.argmax(neurons @ x / np.sqrt((neurons**2).sum(axis=1))))

    for t, x in enumerate(data[order]):
        late = 1 + t / 250
        apart = ((places - places[winner(x)]) ** 2).sum(axis=1)
        neurons += 0.5 / late * np.exp(-apart * late**2 / 2)[:, None] * (x - neurons)
    points = neurons[[winner(x) for x in data]]
    labels = KMeans(4, n_init=10, random_state=int(stream.integers(2**31))).fit(points).labels_
    assert not initialisation.differ(initialisation.by_map(data, np.random.default_rng(3)), labels)
    for seed in range(20):
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
