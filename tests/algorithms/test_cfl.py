"""CFL against loops with an exhaustive search for the cut, and what must hold of its splits."""

import copy
import itertools

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterproof.algorithms import CFL, FedAvg, Randomness, run
from clusterproof.algorithms.participation import draw_participants
from clusterproof.synthetic import QuadraticMixture, RegressionMixture, strategies
from clusterproof.theory.exact import fixed_points

SIZES = np.array([4, 30, 9, 17, 6, 25, 12, 8])
INTERLEAVED = QuadraticMixture(
    hessians=np.ones((12, 1, 1)) * np.eye(2),
    centers=np.array([[9.0, 0.0], [-4.0, 5.0], [-4.0, -5.5]])[np.tile([0, 1, 2], 4)],
    labels=np.tile([0, 1, 2], 4),
)


def cosine(first, second):
    lengths = np.linalg.norm(first) * np.linalg.norm(second)
    return first @ second / lengths if lengths else 0.0


def cut_by_search(updates):
    """The bipartition of least largest cosine; the first in the order of the smallest side's ids."""
    count = len(updates)
    best = None
    for bits in itertools.product([0, 1], repeat=count - 1):
        side = [0, *bits]
        if not any(bits):
            continue
        pairs = [(i, j) for i in range(count) for j in range(count) if side[i] < side[j]]
        worst = max(cosine(updates[i], updates[j]) for i, j in pairs)
        if best is None or worst < best[0] - 1e-12:
            best = (worst, side)
    return best[1]


def cut_by_merging(updates):
    """Complete linkage: merge the two groups whose least cosine is the largest until two are left."""
    groups = [[i] for i in range(len(updates))]
    while len(groups) > 2:
        alike = {
            (a, b): min(cosine(updates[i], updates[j]) for i in groups[a] for j in groups[b])
            for a, b in itertools.combinations(range(len(groups)), 2)
        }
        a, b = max(alike, key=alike.get)
        groups[a] += groups.pop(b)
    return [int(i not in groups[0]) for i in range(len(updates))]


def is_ready(algorithm, updates, sizes, reference):
    if len(updates) <= 2:
        return False
    mean = np.linalg.norm(sum(n * u for n, u in zip(sizes, updates, strict=True)) / sum(sizes))
    largest = max(np.linalg.norm(update) for update in updates)
    if algorithm.mean_threshold is None:
        return mean < largest / 10 and largest > reference / 4
    return mean < algorithm.mean_threshold and largest > algorithm.client_threshold


def cut(algorithm, ids, updates):
    """The two parts of a cluster; itself where noise may explain the cut."""
    side = (cut_by_search if algorithm.linkage == "single" else cut_by_merging)(updates)
    parts = [[i for i, s in zip(ids, side, strict=True) if s == which] for which in (0, 1)]
    first, second = ([u for u, s in zip(updates, side, strict=True) if s == which] for which in (0, 1))
    nearest = max(cosine(u, v) for u in first for v in second)
    if algorithm.noise_ratio is not None and np.sqrt((1 - nearest) / 2) <= algorithm.noise_ratio:
        return [ids]
    return parts


def replay(algorithm, task, start, participants):
    """Return the clusters as lists of client ids, one client at a time; an absent client is asked before a split."""
    clusters, models = [list(range(task.clients))], [np.array(start)]
    history = [[models[0]] * task.clients]
    reference = None
    size = task.client_samples if algorithm.weighting == "samples" else np.ones(task.clients)
    for done, present in enumerate(participants):
        next_clusters, next_models = [], []
        for ids, model in zip(clusters, models, strict=True):
            updates = {}
            for i in ids:
                point = model
                for _ in range(algorithm.local_steps):
                    point = point - algorithm.step_size * task.hessians[i] @ (point - task.centers[i])
                updates[i] = point - model
            heard, parts = [i for i in ids if i in present], [ids]
            reference = reference or max(np.linalg.norm(updates[i]) for i in heard)
            ready = is_ready(algorithm, [updates[i] for i in heard], size[heard], reference)
            if done >= algorithm.warm_up and ready:
                heard = ids
                if is_ready(algorithm, list(updates.values()), size[ids], reference):
                    parts = cut(algorithm, ids, list(updates.values()))
            for part in parts:
                sent = [i for i in part if i in heard]
                total = sum((size[i] * updates[i] for i in sent), 0 * model)
                next_clusters.append(part)
                next_models.append(model + total / sum(size[sent]) if sent else model)
        clusters, models = next_clusters, next_models
        owner = {i: model for ids, model in zip(clusters, models, strict=True) for i in ids}
        history.append([owner[i] for i in range(task.clients)])
    return clusters, np.array(history)


def partition(assignments):
    return sorted(np.flatnonzero(assignments == cluster).tolist() for cluster in np.unique(assignments))


LOW = {"mean_threshold": 0.5, "client_threshold": 0.5}


@pytest.mark.parametrize("participation", [1.0, 0.7])
@pytest.mark.parametrize(
    "options",
    [
        {},
        LOW,
        {"linkage": "complete", **LOW},
        {"noise_ratio": 0.6, **LOW},
        {"weighting": "samples", "local_steps": 1, **LOW},
        {"weighting": "samples", "linkage": "complete", "noise_ratio": 0.3, "warm_up": 0},
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", range(3))
def test_a_run_is_that_of_the_plain_loops(seed, options, participation):
    drawn = QuadraticMixture.random(
        clusters=3, clients=8, dimension=4, condition_number=3, spread=0.3, seed=seed
    )
    task = QuadraticMixture(
        hessians=drawn.hessians, centers=drawn.centers, labels=drawn.labels, client_samples=SIZES
    )
    algorithm = CFL(
        **{"step_size": 0.7, "local_steps": 2, "warm_up": 3, "participation": participation, **options}
    )
    start = np.random.default_rng(seed).standard_normal((1, 4))
    trace = run(algorithm, task, rounds=25, seed=seed, initial=start)
    stream = Randomness.from_seed(seed, "quadratic", "cfl").participation
    participants = [draw_participants(participation, 8, start, stream).tolist() for _ in range(25)]
    clusters, history = replay(algorithm, task, start[0], participants)
    assert partition(trace.assignments[-1]) == sorted(clusters)
    assert len(clusters) > 1 or options not in (LOW, {"linkage": "complete", **LOW})
    np.testing.assert_allclose(trace.models, history, rtol=0, atol=1e-10)


def test_clients_keep_their_ids_through_repeated_splits():
    """The public notebook stores positions inside the cluster, right for the first split only."""
    trace = run(CFL(step_size=0.5, warm_up=5), INTERLEAVED, rounds=80)
    assert len(np.unique(trace.assignments[-1])) == 3
    assert trace.adjusted_rand_index == 1.0
    first = next(a for a in trace.assignments if len(np.unique(a)) == 2)
    parts = [np.flatnonzero(first == cluster) for cluster in (0, 1)]
    larger = max(parts, key=len)
    positions = np.flatnonzero(INTERLEAVED.labels[larger] == INTERLEAVED.labels[larger[0]])
    assert set(positions) != set(larger[positions])  # the notebook's ids would be other clients


def test_before_the_first_split_it_is_fedavg():
    task = RegressionMixture.random(clusters=2, clients=6, dimension=3, separation=1)
    kept = {"rounds": 4, "replicates": 3, "initial": np.ones((1, 3))}
    single = run(FedAvg(step_size=0.5, local_steps=2), task, **kept)
    found = run(CFL(step_size=0.5, local_steps=2, warm_up=4), task, **kept)
    assert (found.assignments == 0).all()
    assert found.models.shape[-2] == 6
    # the same law, not the same draws: streams are named after the algorithm
    noiseless = QuadraticMixture.random(clusters=2, clients=6, dimension=3, spread=1)
    single, found = (run(kind(step_size=0.5, local_steps=2), noiseless, **kept) for kind in (FedAvg, CFL))
    np.testing.assert_allclose(
        found.models, np.broadcast_to(single.models, found.models.shape), rtol=0, atol=1e-14
    )


def test_a_replicate_is_compared_with_its_own_first_updates():
    """Thresholds that are shares of the first updates: from afar they are much longer."""
    algorithm = CFL(step_size=0.5, warm_up=2)
    task = QuadraticMixture.random(clusters=2, clients=6, dimension=3, spread=1)
    starts = task.optima.mean(axis=0) + np.array([[[0.0]], [[1000.0]]])
    together = run(algorithm, task, rounds=40, replicates=2, initial=starts)
    for replicate, start in enumerate(starts):
        alone = run(algorithm, task, rounds=40, initial=start)
        np.testing.assert_array_equal(together.assignments[:, replicate], alone.assignments)
    assert (together.assignments[:, 0] != together.assignments[:, 1]).any()


@pytest.mark.parametrize("linkage", ["single", "complete"])
@pytest.mark.parametrize("clusters", [2, 3, 4])
def test_separated_clusters_are_found_and_rest_at_their_fixed_points(clusters, linkage):
    task = QuadraticMixture.random(clusters=clusters, clients=12, dimension=5, condition_number=2)
    trace = run(CFL(step_size=0.9, local_steps=3, linkage=linkage), task, rounds=150)
    assert trace.adjusted_rand_index == 1.0

    def inside(hessians, centers):
        return fixed_points.fedavg(hessians, centers, step_size=0.9, local_steps=3)

    rest = fixed_points.within_clusters(inside, task.hessians, task.centers, task.labels)
    np.testing.assert_allclose(trace.models[-1], rest[task.labels], rtol=0, atol=1e-10)
    assert trace.errors.shape == (151, 12)


@settings(max_examples=examples(30))
@given(strategies.quadratic_mixtures(clusters=(2, 3), clients=(2, 8), spread=(0, 1)), st.integers(0, 3))
def test_clusters_only_ever_get_finer_and_share_a_model(task, seed):
    algorithm = CFL(step_size=0.5, warm_up=2, participation=0.6)
    trace = run(algorithm, task, rounds=15, seed=seed)
    before = np.zeros(task.clients, dtype=int)
    for now, models in zip(trace.assignments, trace.models[1:], strict=True):
        assert len(np.unique(np.stack([before, now]), axis=1).T) == len(np.unique(now))
        assert set(now) == set(range(now.max() + 1))
        for cluster in np.unique(now):
            assert (models[now == cluster] == models[now == cluster][0]).all()
        before = now
    assert np.isfinite(trace.models).all()


@pytest.mark.parametrize("thresholds", [{}, {"mean_threshold": 1.0, "client_threshold": 1.0}])
def test_identical_clients_are_never_split(thresholds):
    task = QuadraticMixture(hessians=np.ones((5, 1, 1)), centers=np.ones((5, 1)), labels=[0] * 5)
    algorithm = CFL(step_size=0.1, warm_up=0, **thresholds)
    trace = run(algorithm, task, rounds=30, initial=np.array([[7.0]]))
    assert (trace.assignments == 0).all()
    at_rest = run(algorithm, task, rounds=5, initial=np.array([[1.0]]))
    assert (at_rest.assignments == 0).all()
    assert (at_rest.models == 1.0).all()


def test_a_client_whose_update_is_zero_is_placed_and_nothing_is_nan():
    task = QuadraticMixture(
        hessians=np.ones((5, 1, 1)), centers=[[-2.0], [-2.0], [0.0], [2.0], [2.0]], labels=[0, 0, 0, 1, 1]
    )
    trace = run(CFL(step_size=0.5, warm_up=0), task, rounds=10, initial=np.array([[0.0]]))
    assert len(np.unique(trace.assignments[-1])) >= 2
    assert trace.assignments[-1][0] == trace.assignments[-1][1]
    assert trace.assignments[-1][3] == trace.assignments[-1][4] != trace.assignments[-1][0]
    assert np.isfinite(trace.models).all()


def test_partial_participation_does_not_shatter_the_clusters():
    """Absent clients as zero updates give dozens of clusters (FPFC, Table 1); here they are asked."""
    task = RegressionMixture.random(clusters=3, clients=60, dimension=10, separation=3, noise=0.3, seed=3)
    algorithm = CFL(step_size=1.0, participation=0.3, mean_threshold=0.7, client_threshold=1.0)
    trace = run(algorithm, task, rounds=60, replicates=4)
    for replicate in range(4):
        assert len(np.unique(trace.assignments[-1, replicate])) == 3
    assert (trace.adjusted_rand_index == 1.0).all()


class Shifted(QuadraticMixture):
    """Every request of gradients has a number of its own, which is added to them."""

    def gradients(self, points, clients, generator):
        return super().gradients(points, clients, generator) + generator.standard_normal()


def test_a_participant_s_update_is_the_one_that_it_sent_before_all_were_asked():
    centers = np.array([[100.0, 7.0], [-100.0, -7.0]])[[0, 1, 1, 0, 1, 0, 0, 1]]
    task = Shifted(hessians=np.ones((8, 1, 1)) * np.eye(2), centers=centers, labels=[0, 1, 1, 0, 1, 0, 0, 1])
    algorithm = CFL(step_size=0.5, warm_up=0, participation=5 / 8, mean_threshold=40, client_threshold=40)
    start, randomness = np.zeros((1, 2)), Randomness.from_seed(3, "test")
    twin = copy.deepcopy(randomness)
    state = algorithm.step(algorithm.initialise(start, task), task, randomness)
    present = draw_participants(5 / 8, 8, start, twin.participation)
    first, second = twin.gradient.standard_normal(2)
    shifts = np.where(np.isin(np.arange(8), present), first, second)[:, None]
    updates = 0.5 * (centers - shifts)
    expected = [updates[task.labels == label].mean(axis=0) for label in task.labels]
    np.testing.assert_allclose(state.models, expected, rtol=1e-12)
