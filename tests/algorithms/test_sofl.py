"""SoFL's round of clustering: when it is due, clients without clusters, and its map against MiniSom, bit for bit."""

import copy

import numpy as np
import pytest
from minisom import MiniSom

from clusterproof.algorithms import SoFL
from clusterproof.algorithms import self_organising_map as som
from clusterproof.running import adjusted_rand_index, run
from clusterproof.synthetic import QuadraticMixture

SEPARATED = QuadraticMixture.random(
    clusters=3, clients=18, dimension=6, condition_number=2, spread=0.15, separation=3, seed=4
)


def test_replicates_are_clustered_when_each_is_due():
    starts = SEPARATED.pooled_optimum + np.array([0.0, 60.0])[:, None, None]
    algorithm = SoFL(step_size=0.5, trigger="stationary", pretraining=0)
    trace = run(algorithm, SEPARATED, rounds=30, replicates=2, initial=starts)
    firsts = [
        [len(np.unique(each)) > 1 for each in trace.assignments[:, replicate]].index(True)
        for replicate in (0, 1)
    ]
    assert firsts[0] == 0 < firsts[1]
    assert (trace.adjusted_rand_index == 1.0).all()


def test_all_clients_take_part_in_the_round_of_the_clustering():
    class Counting(QuadraticMixture):
        def gradients(self, points, clients, generator):
            seen.append(clients.shape[-1])
            return super().gradients(points, clients, generator)

    seen = []
    task = Counting(hessians=SEPARATED.hessians, centers=SEPARATED.centers, labels=SEPARATED.labels)
    trace = run(SoFL(step_size=0.5, pretraining=3, participation=0.5), task, rounds=6)
    assert seen == [9, 9, 9, 18, 9, 9]
    assert trace.adjusted_rand_index == 1.0


@pytest.mark.parametrize("rule", ["silhouette", "elbow"])
@pytest.mark.parametrize("initialisation", ["sample", "random"])
@pytest.mark.parametrize(
    "centers",
    [np.ones((4, 2)), np.zeros((4, 2)), [[0.0, 0.0], [1.0, 0.0]], [[3.0, 1.0]], [[0.0, 0.0]]],
    ids=["identical", "all at rest", "one at rest", "one client", "one client at rest"],
)
def test_degenerate_clients_give_numbers(centers, initialisation, rule):
    count = len(centers)
    task = QuadraticMixture(hessians=[np.eye(2)] * count, centers=centers, labels=[0] * count)
    algorithm = SoFL(step_size=0.5, pretraining=1, initialisation=initialisation, cluster_count=rule)
    trace = run(algorithm, task, rounds=5, initial=np.zeros((1, 2)))
    assert np.isfinite(trace.models).all()
    if len(np.unique(np.asarray(centers), axis=0)) == 1:
        assert (trace.assignments == 0).all()


def test_a_map_of_one_neuron_leaves_one_cluster():
    trace = run(SoFL(step_size=0.5, pretraining=1, grid=1), SEPARATED, rounds=10)
    assert (trace.assignments == 0).all()
    assert np.isfinite(trace.models).all()


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e150])
def test_the_unit_of_the_updates_does_not_matter(scale):
    updates = SEPARATED.centers - SEPARATED.pooled_optimum
    algorithm = SoFL(step_size=0.5)
    found = algorithm.cluster(scale * updates, np.random.default_rng(0))
    assert found.tolist() == algorithm.cluster(updates, np.random.default_rng(0)).tolist()
    assert adjusted_rand_index(found, SEPARATED.labels) == 1.0


TRAINED = [
    {"initialisation": "sample"},
    {"initialisation": "random", "updates": 25},
    {"schedule": "robbins-monro", "learning_rate": 0.4, "radius": 0.8},
]


@pytest.mark.parametrize("options", TRAINED, ids=str)
@pytest.mark.parametrize("width", [6, 2000])
def test_the_map_is_trained_as_asked_on_updates_of_any_dimension(width, options):
    """Rotated into 2000 dimensions: the map lives in the span of its 34 vectors, and is the same map."""
    stream = np.random.default_rng(3)
    updates = SEPARATED.centers - SEPARATED.pooled_optimum
    high = updates @ np.linalg.qr(stream.standard_normal((width, 6)))[0].T
    algorithm = SoFL(step_size=0.5, grid=4, **options)
    neurons, data = algorithm.train_map(high, np.random.default_rng(0))
    assert data.shape == (18, min(width, 34))
    scale = np.linalg.norm(high, axis=1).max()
    np.testing.assert_allclose(data @ data.T, high @ high.T / scale**2, rtol=0, atol=1e-13)
    order_stream, initialisation = np.random.default_rng(0), options.get("initialisation", "sample")
    start = som.initial_neurons(high / scale, (4, 4), initialisation, order_stream)
    order = som.sample_order(18, options.get("updates", 300), order_stream)
    given = {"learning_rate": 0.1, "radius": 1.5}
    given |= {name: options[name] for name in (*given, "schedule") if name in options}
    direct = som.train(start, high / scale, order, **given)
    np.testing.assert_allclose(som.distance_map(neurons), som.distance_map(direct), rtol=0, atol=1e-12)
    found = algorithm.cluster(high, np.random.default_rng(0))
    assert adjusted_rand_index(found, SEPARATED.labels) == 1.0


@pytest.mark.parametrize("rule", ["silhouette", "elbow"])
@pytest.mark.parametrize("dimension", [2, 200])
def test_rounding_errors_are_no_clusters(rule, dimension):
    stream = np.random.default_rng(0)
    updates = stream.standard_normal(dimension) * (1 + 1e-15 * stream.integers(-2, 3, (12, dimension)))
    assert len(np.unique(updates, axis=0)) > 3
    for initialisation in ("sample", "random"):
        algorithm = SoFL(step_size=0.5, cluster_count=rule, initialisation=initialisation)
        assert (algorithm.cluster(updates, np.random.default_rng(1)) == 0).all()


def minisom(shape, width, distance, *, rate=0.1, radius=1.0, seed=0):
    return MiniSom(
        *shape, width, sigma=radius, learning_rate=rate, activation_distance=distance, random_seed=seed
    )


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (1, 4), (1, 1)])
@pytest.mark.parametrize(("start", "shuffled"), [("random", True), ("sample", False)])
@pytest.mark.parametrize("scale", [1.0, 1e-4])  # at the smaller one the 1e-8 of its cosine decides
def test_it_is_minisom_to_the_bit(shape, distance, start, shuffled, scale):
    data = scale * np.random.default_rng(1).standard_normal((20, 6))
    theirs = minisom(shape, 6, distance, radius=1.5 if min(shape) > 1 else 1.0)
    if start == "sample":
        theirs.random_weights_init(data)
    before = theirs.get_weights().copy()
    order = np.arange(301) % 20
    if shuffled:
        copy.deepcopy(theirs._random_generator).shuffle(order)
    theirs.train(data, 301, random_order=shuffled)
    ours = som.train(before, data, order, learning_rate=0.1, radius=theirs._sigma, distance=distance)
    assert ours.tobytes() == theirs.get_weights().tobytes()
    coordinates = [theirs.winner(sample) for sample in data]
    winners = som.best_matching_units(ours, data, distance)
    assert winners.tolist() == [int(i * shape[1] + j) for i, j in coordinates]


@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (1, 4)])
def test_the_distance_map_is_minisoms(shape):
    theirs = minisom(shape, 4, "euclidean")
    expected = theirs.distance_map(scaling="mean")
    found = som.distance_map(theirs.get_weights())
    np.testing.assert_allclose(found / found.max(), expected, rtol=1e-12)
    assert som.distance_map(np.ones((1, 1, 3))).tolist() == [[0.0]]


def test_radius_zero_moves_the_winner_alone():
    before = np.array([[[0.0], [10.0]], [[20.0], [30.0]]])
    kept = {"learning_rate": 0.5, "radius": 0.0, "distance": "euclidean"}
    after = som.train(before, np.array([[12.0]]), np.array([0]), **kept)
    assert before.ravel().tolist() == [0.0, 10.0, 20.0, 30.0]
    assert after.ravel().tolist() == [0.0, 11.0, 20.0, 30.0]


def test_the_printed_schedule_ends_at_a_third_and_the_other_meets_robbins_and_monro():
    for updates in (300, 30_000):
        assert som.decayed(0.1, updates, updates, "as-printed") == pytest.approx(0.1 / 3)
    rates = np.array([som.decayed(0.1, t, 10**5, "robbins-monro") for t in range(0, 10**5, 10)])
    assert rates[-1] < 1e-4
    # the sum of 0.1 / (1 + t/60) grows like 6 log t, and the sum of the squares stays below 0.01 + 0.6
    assert 10 * rates.sum() > 6 * np.log(10**5 / 60)
    assert 10 * (rates**2).sum() < 0.72


def test_neurons_are_samples_or_unit_vectors_and_orders_are_balanced():
    stream = np.random.default_rng(0)
    data = stream.standard_normal((7, 3))
    sampled = som.initial_neurons(data, (2, 4), "sample", stream)
    assert (sampled[..., None, :] == data).all(axis=-1).any(axis=-1).all()
    neurons = som.initial_neurons(np.zeros((3, 5)), (4, 6), "random", stream)
    np.testing.assert_allclose(np.linalg.norm(neurons, axis=-1), np.ones((4, 6)), rtol=1e-14)
    counts = np.bincount(som.sample_order(7, 50, stream))
    assert sorted(counts) == [7] * 6 + [8]


def test_ties_go_to_the_first_neuron():
    assert som.best_matching_units(np.ones((2, 2, 3)), np.ones((4, 3))).tolist() == [0] * 4
