"""SoFL: before, in and after the one round of clustering."""

import numpy as np
import pytest
from plain_map import replay

from clusterproof.algorithms import (
    FedAvg,
    FedProx,
    InvalidArgument,
    PerFedAvg,
    Randomness,
    SoFL,
    adjusted_rand_index,
    run,
)
from clusterproof.algorithms import self_organising_map as som
from clusterproof.algorithms.participation import draw_participants
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.theory.exact import affine_rounds

SEPARATED = QuadraticMixture.random(
    clusters=3, clients=18, dimension=6, condition_number=2, spread=0.15, separation=3, seed=4
)


LOOPED = [
    {"cluster_count": "elbow", "initialisation": "random"},
    {"schedule": "robbins-monro", "learning_rate": 0.4, "radius": 0.8, "weighting": "samples"},
    {
        "trigger": "stationary",
        "step_size": 0.9,
        "updates": 25,
        "initialisation": "random",
        "weighting": "samples",
    },
]


@pytest.mark.parametrize("options", LOOPED, ids=str)
def test_its_groups_are_those_of_the_plain_map(options):
    drawn = QuadraticMixture.random(
        clusters=3, clients=9, dimension=3, condition_number=4, spread=0.3, separation=3, seed=4
    )
    task = QuadraticMixture(
        hessians=drawn.hessians,
        centers=drawn.centers,
        labels=drawn.labels,
        client_samples=[4, 30, 9, 17, 6, 25, 12, 8, 21],
    )
    algorithm = SoFL(**{"step_size": 0.5, "pretraining": 1, "grid": 3, "updates": 40, **options})
    start = np.full((1, 3), 4.0)
    trace = run(algorithm, task, rounds=8, seed=3, initial=start)
    streams = Randomness.from_seed(3, "quadratic", "sofl")
    models, clusters = replay(
        algorithm,
        task,
        start[0],
        8,
        lambda: draw_participants(algorithm.participation, 9, start, streams.participation).tolist(),
        streams.clustering,
    )
    np.testing.assert_array_equal(trace.assignments, clusters)
    assert clusters[-1].any()
    np.testing.assert_allclose(trace.models, models, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("proximal", "single"), [(0.0, FedAvg), (0.3, FedProx), (0.0, PerFedAvg)])
def test_before_the_clustering_it_trains_one_model(proximal, single):
    options = {"proximal": proximal} if single is FedProx else {}
    kept = {"rounds": 5, "replicates": 2, "initial": np.ones((1, 6))}
    expected = run(single(step_size=0.5, local_steps=2, **options), SEPARATED, **kept)
    found = run(
        SoFL(step_size=0.5, local_steps=2, method=single.name, proximal=proximal, pretraining=5),
        SEPARATED,
        **kept,
    )
    assert (found.assignments == 0).all()
    close = np.broadcast_to(expected.models, found.models.shape)
    np.testing.assert_allclose(found.models, close, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("method", "proximal"), [("fedavg", 0.0), ("fedprox", 0.4), ("per-fedavg", 0.0)])
def test_after_it_every_cluster_rests_at_its_own_fixed_point(method, proximal):
    task = SEPARATED
    algorithm = SoFL(step_size=0.6, local_steps=3, method=method, proximal=proximal, pretraining=4)
    trace = run(algorithm, task, rounds=150)
    assert trace.adjusted_rand_index == 1.0
    assert [len(np.unique(each)) for each in trace.assignments[:6]] == [1, 1, 1, 1, 3, 3]
    assert (trace.assignments[4:] == trace.assignments[4]).all()

    def inside(hessians, centers):
        kept = {"step_size": 0.6, "local_steps": 3}
        if method == "per-fedavg":
            return affine_rounds.per_fedavg_rest(
                hessians, centers, inner_step_size=0.3, second_order=False, **kept
            )
        return affine_rounds.fedprox_rest(hessians, centers, proximal=proximal, **kept)

    rest = affine_rounds.within_clusters(inside, task.hessians, task.centers, task.labels)
    np.testing.assert_allclose(trace.models[-1], rest[task.labels], rtol=0, atol=1e-10)


def test_the_round_of_the_clustering_averages_inside_the_new_clusters():
    """Step 7 of the framework: the updates that were clustered are aggregated cluster by cluster."""
    start = np.full((1, 6), 0.5)
    trace = run(SoFL(step_size=0.5, pretraining=0), SEPARATED, rounds=1, initial=start)
    points = start - 0.5 * SEPARATED.gradients(np.repeat(start, 18, axis=0), np.arange(18), None)
    assert trace.adjusted_rand_index == 1.0
    for label in range(3):
        mean = points[SEPARATED.labels == label].mean(axis=0)
        np.testing.assert_allclose(trace.models[1, SEPARATED.labels == label], [mean] * 6, rtol=0, atol=1e-13)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("schedule", "initialisation", "grid"),
    [("as-printed", "sample", 5), ("robbins-monro", "random", 5), ("as-printed", "random", 8)],
)
def test_the_guarded_count_finds_separated_clusters(schedule, initialisation, grid):
    algorithm = SoFL(
        step_size=0.5, pretraining=3, schedule=schedule, initialisation=initialisation, grid=grid
    )
    trace = run(algorithm, SEPARATED, rounds=4, replicates=4)
    assert (trace.adjusted_rand_index > 0.85).all()
    assert np.median(trace.adjusted_rand_index) == 1.0


def test_homogeneous_clients_stay_together_under_the_guard_alone():
    """The published elbow has no outcome of one cluster unless the map has at most two winners."""
    task = RegressionMixture.random(clusters=1, clients=20, dimension=20, noise=1.0, samples=50)
    kept = {"rounds": 6, "replicates": 2, "initial": task.optima + 0.1}
    guarded, printed = (
        run(SoFL(step_size=0.5, pretraining=5, cluster_count=rule), task, **kept)
        for rule in ("silhouette", "elbow")
    )
    assert (guarded.assignments == 0).all()
    assert (printed.assignments[-1].max(axis=-1) > 0).all()


def test_the_stationary_trigger_waits_for_the_mean_update_to_vanish():
    start = np.full((1, 6), 40.0)
    trace = run(SoFL(step_size=0.5, trigger="stationary", pretraining=0), SEPARATED, rounds=40, initial=start)
    clustered = [len(np.unique(each)) > 1 for each in trace.assignments]
    first = clustered.index(True)
    model = run(FedAvg(step_size=0.5), SEPARATED, rounds=40, initial=start).models[:, 0]
    ratios = []
    for point in model:
        updates = SEPARATED.gradients(np.repeat(point[None], 18, axis=0), np.arange(18), None)
        ratios.append(np.linalg.norm(updates.mean(axis=0)) / np.linalg.norm(updates, axis=1).max())
    assert first == next(t for t, ratio in enumerate(ratios) if ratio < 0.1) > 0
    later = run(
        SoFL(step_size=0.5, trigger="stationary", pretraining=30), SEPARATED, rounds=40, initial=start
    )
    assert [len(np.unique(each)) > 1 for each in later.assignments].index(True) == 30
    with pytest.raises(InvalidArgument, match=r"trigger = 'stationary': needs every client's update"):
        SoFL(step_size=0.5, trigger="stationary", participation=0.5)


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


@pytest.mark.parametrize("initialisation", ["sample", "random"])
def test_more_parameters_than_vectors_change_neither_lengths_nor_angles(initialisation):
    """A rotation into 2000 dimensions: the map lives in the span of its 34 vectors, and is the same map."""
    stream = np.random.default_rng(3)
    updates = SEPARATED.centers - SEPARATED.pooled_optimum
    high = updates @ np.linalg.qr(stream.standard_normal((2000, 6)))[0].T
    algorithm = SoFL(step_size=0.5, grid=4, initialisation=initialisation)
    neurons, data = algorithm.train_map(high, np.random.default_rng(0))
    assert data.shape == (18, 34)
    scale = np.linalg.norm(high, axis=1).max()
    np.testing.assert_allclose(data @ data.T, high @ high.T / scale**2, rtol=0, atol=1e-13)
    order_stream = np.random.default_rng(0)
    start = som.initial_neurons(high / scale, (4, 4), initialisation, order_stream)
    order = som.sample_order(18, 300, order_stream)
    direct = som.train(start, high / scale, order, learning_rate=0.1, radius=1.5)
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


def test_a_later_round_does_not_depend_on_the_map():
    """Two seeds of the server's lots, one partition: the same run afterwards."""
    start = np.full((1, 6), 0.5)
    first, second = (
        run(SoFL(step_size=0.5, pretraining=2), SEPARATED, rounds=9, seed=s, initial=start) for s in (0, 1)
    )
    np.testing.assert_array_equal(first.assignments, second.assignments)
    assert first.models.tobytes() == second.models.tobytes()
    assert Randomness.from_seed(0).clustering.random() != Randomness.from_seed(1).clustering.random()
