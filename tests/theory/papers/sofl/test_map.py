"""SoFL's map, elbow and second clustering: other libraries, simulations, refusals; and its tables, read twice."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from catalogue import checked
from scipy.optimize import root
from scipy.stats import binom
from sides_by_hand import assert_sides, sides_at
from sklearn.cluster import KMeans

from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.sofl import elbow as guarded_count
from clusterproof.theory.papers.sofl import equations_8_15 as equations_14_15
from clusterproof.theory.papers.sofl import map_claims, tables, theorem_1_parts
from clusterproof.theory.papers.sofl.label_shift import ceiling


def test_the_mean_field_of_four_neurons_at_every_radius() -> None:
    def cells(points: np.ndarray) -> tuple[list[float], list[float]]:
        ends = [0.0, *((x + y) / 2 for x, y in itertools.pairwise(points)), 1.0]
        return [y - x for x, y in itertools.pairwise(ends)], [
            (x + y) / 2 for x, y in itertools.pairwise(ends)
        ]

    distance, allowed, errors = [], [], []
    for radius in (0.15, 0.2, 0.3, 0.5, 1.0, 1.5):
        near = [[math.exp(-((j - k) ** 2) / 2 / radius**2) for k in range(4)] for j in range(4)]

        def update(points: np.ndarray, near: Any = near) -> list[float]:
            widths, middles = cells(points)
            return [
                sum(near[j][k] * widths[k] * (middles[k] - points[j]) for k in range(4)) for j in range(4)
            ]

        points = root(update, (np.arange(4) + 0.5) / 4, tol=1e-14).x
        widths, middles = cells(points)
        weight = [[near[j][k] * widths[k] for k in range(4)] for j in range(4)]
        distance.append([abs(x - m) for x, m in zip(points, middles, strict=True)])
        reach = [max(abs(m - middle) for m in middles) for middle in middles]
        allowed.append([(sum(weight[j]) - weight[j][j]) / sum(weight[j]) * reach[j] for j in range(4)])
        errors.append(np.mean(np.square(distance[-1])) / (np.mean(np.square(widths)) / 12))
    one, middles = {"neurons": 4}, [1 / 8, 3 / 8, 5 / 8, 7 / 8]
    found = sides_at("sofl/mean-field-fixed-point", one, line="bound")
    np.testing.assert_allclose(found.measured, distance, atol=1e-11)
    np.testing.assert_allclose(found.terms["pull"], allowed, rtol=1e-9)
    found = sides_at("sofl/mean-field-fixed-point", one, line="monotone")
    np.testing.assert_allclose([*found.measured, found.terms["wider"][-1]], errors, rtol=1e-9, atol=1e-18)
    np.testing.assert_allclose(found.terms["wider"], errors[1:], rtol=1e-9, atol=1e-18)
    assert_sides(sides_at("sofl/mean-field-fixed-point", one, line="zero"), [(middles, middles)])
    with pytest.raises(ArithmeticError, match="in 3 iterations"):
        theorem_1_parts.mean_field_fixed_point(4, 1.5, most=3)


def points_at(*rows: Sequence[int]) -> list[tuple[Fraction, ...]]:
    return [tuple(map(Fraction, row)) for row in rows]


def square(x: Sequence[Fraction], y: Sequence[Fraction]) -> Fraction:
    return sum(((a - b) ** 2 for a, b in zip(x, y, strict=True)), Fraction(0))


PLANE = points_at([0, 0], [1, 3], [4, 1], [5, 5], [2, 2])


@pytest.mark.parametrize("seed", range(6))
def test_the_half_steps_14_and_15_in_loops(seed: int) -> None:
    points, stream = PLANE, np.random.default_rng(seed)
    count = int(stream.integers(1, 5))
    starts = centres = [points[i] for i in stream.choice(5, count, replace=False)]
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
    assert equations_14_15.half_steps(points, starts) == (sums, rounds)


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 2)])
def test_the_distortion_before_and_after_an_update(rate: Fraction) -> None:
    found, draws = map_claims.mean_square_distortion_nearest(np.random.default_rng(3), 3, rate), []
    stream = np.random.default_rng(3)
    samples, neurons = (points_at(*stream.integers(1, 10, (n, 2)).tolist()) for n in (6, 3))
    for _ in range(2):
        own = [min(range(3), key=lambda k: square(x, neurons[k])) for x in samples]
        draws.append(sum(square(x, neurons[k]) for x, k in zip(samples, own, strict=True)))
        for k in set(own):
            members = [x for x, chosen in zip(samples, own, strict=True) if chosen == k]
            mean = [sum(column) / len(members) for column in zip(*members, strict=True)]
            neurons[k] = tuple(w + rate * (m - w) for w, m in zip(neurons[k], mean, strict=True))
    assert_sides(found, draws[1], before=draws[0])


def test_ceilings_by_hand() -> None:
    quarter, twentieth = Fraction(1, 4), Fraction(1, 20)
    assert ceiling([0, 2, 4, 6], [quarter] * 4, 10) == quarter
    # 20 clients in 8 clusters of 3, 3, 3, 3, 2, 2, 2, 2
    clients = [*[c for c in range(4) for _ in range(3)], *[c for c in range(4, 8) for _ in range(2)]]
    assert ceiling(clients, [twentieth] * 20, 10) == Fraction(3, 20)
    assert ceiling([0, 10], [Fraction(1, 2)] * 2, 10) == 1


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
    data = map_claims.updates_of_clients(np.random.default_rng(2))
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
    assert not map_claims.differ(map_claims.by_map(data, np.random.default_rng(3)), labels)
    for seed in range(20):
        start = int(np.random.default_rng(seed).integers(2**31))
        labels = KMeans(4, init="random", n_init=1, random_state=start).fit(data).labels_
        assert map_claims.by_k_means(data, np.random.default_rng(seed)).tolist() == labels.tolist()


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
        plant(map_claims, name, scripted)
    found = map_claims.initialisation(np.random.default_rng(0), 4)
    assert (found.events.tolist(), found.allowed) == ([True, False, True, False], 0.1)
    found = map_claims.initialisation_of_k_means(np.random.default_rng(0), 4)
    assert (found.events.tolist(), found.allowed) == ([False, True, False, True], 0.6)
    assert all((x == y).all() for x, y in zip(seen[::2], seen[1::2], strict=True))
    assert (seen[0] != seen[2]).all()


# a second transcription, made row by row from the page, apart from the columns in ``tables``
SECOND_READING = """
T3 FedAvg  78.18 39.5 71.89 38.3
T3 FedProx 78.02 38.9 72.83 38.8
T3 CFL     87.25 45.8 87.50 47.2
T3 IFCA    83.43 44.2 82.95 45.6
T3 SoFL    91.08 48.2 89.45 48.3
T4 FedAvg  48.50 25.17 15.84 33.22 19.68 13.15
T4 FedProx 48.36 26.74 14.12 33.70 20.50 13.64
T4 CFL     93.45 91.74 90.40 49.36 46.94 43.72
T4 IFCA    90.11 90.56 89.35 48.10 46.15 41.76
T4 SoFL    93.53 92.30 90.63 49.20 47.34 43.92
T5 FedAvg  26.75 25.39 24.78 19.65 19.20 18.67
T5 FedProx 25.68 25.22 23.62 20.52 19.94 18.22
T5 CFL     91.89 91.79 89.47 46.03 47.02 45.93
T5 IFCA    91.17 90.03 90.43 42.18 42.34 41.55
T5 SoFL    91.23 92.25 91.86 46.22 47.70 47.94
"""
COLUMNS: dict[str, list[Any]] = {
    "T3": [(skew, data) for skew in ("feature", "label") for data in ("MNIST", "CIFAR-10")],
    "T4": [(data, clusters) for data in ("MNIST", "CIFAR-10") for clusters in (2, 4, 8)],
    "T5": [
        (data, phi) for data in ("MNIST", "CIFAR-10") for phi in (Fraction(1, 2), Fraction(1), Fraction(10))
    ],
}


READ: dict[tuple[str, Any], dict[str, Fraction]] = {}
for line in SECOND_READING.split("\n")[1:-1]:
    table, method, *numbers = line.split()
    for key, number in zip(COLUMNS[table], numbers, strict=True):
        READ.setdefault((table, key), {})[method] = Fraction(number)


def test_the_tables_are_read_alike_twice() -> None:
    stored: dict[str, Any] = {"T3": tables.TABLE_3, "T4": tables.TABLE_4, "T5": tables.TABLE_5}
    assert {(table, key): column for table in stored for key, column in stored[table].items()} == READ
    assert {len(column) for column in READ.values()} == {5}


def test_table_2_is_read_alike_twice() -> None:
    """Of each client the clusters by k-means, the map, and both, as a row of the page."""
    pages = """
        000 010 020 030 020 141 141 151 141 151
        062 062 062 072 272 383 383 383 393 383
    """
    rows = pages.split()
    found = zip(*tables.TABLE_2.values(), strict=True)
    assert ["".join(map(str, row)) for row in found] == rows


def test_table_3_on_mnist_is_beyond_chance_for_any_division_of_the_images() -> None:
    """Means over twenty clients, some with two images: no draw in a million is near 71.89 %."""
    lines = {one.name: one for one in checked("sofl/tables").lines}
    bound = lines["Table 3, server's model"].bound
    assert bound == pytest.approx(0.25 + math.sqrt(math.log(1e4) / 80))
    # with two images each, forty independent ones: the chance of Hoeffding's bound is that of far fewer right
    assert binom.sf(math.ceil(0.5893 * 40) - 1, 40, 1 / 4) <= 1e-4
    sizes = np.array([2] * 10 + [10] * 5 + [386] * 5)
    stream = np.random.default_rng(0)
    means = (stream.binomial(sizes, 0.25, (200_000, 20)) / sizes).mean(axis=1)
    assert (means > bound).mean() <= 1e-4
