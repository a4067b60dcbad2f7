"""What holds of every algorithm: partitions, convex hulls, and one set of numbers on sixty clients."""

import array_api_compat.torch as torch
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from option_combinations import EVERY, describe, make_some

from clusterproof.algorithms import (
    ALGORITHMS,
    CFL,
    FPFC,
    FedLin,
    Local,
    ProxSkip,
    Scaffold,
    SoFL,
    run,
)
from clusterproof.experiments.synthetic_runs import make_algorithm
from clusterproof.synthetic import OnArrays, QuadraticMixture, RegressionMixture, strategies

ALL = pytest.mark.parametrize("combination", EVERY, ids=describe)
SIXTY = RegressionMixture.random(
    clusters=4, clients=60, dimension=10, condition_number=3, separation=2, noise=0.5, samples=50, seed=1
)


@ALL
@settings(max_examples=3)
@given(
    strategies.quadratic_mixtures(clusters=(1, 3), clients=(3, 7), spread=(0, 1)),
    st.sampled_from([1.0, 0.5]),
    st.integers(0, 3),
)
def test_every_round_assigns_each_participant_to_one_model(combination, task, participation, seed):
    kind, options = combination
    if options.get("empty_cluster") in ("when-empty", "always"):
        participation = 1.0  # fewer participants than clusters cannot be pinned
    algorithm = make_some(kind, step_size=0.5, participation=participation, **options)
    trace = run(algorithm, task, rounds=5, seed=seed, replicates=2)
    count = max(1, round(participation * task.clients))
    if isinstance(algorithm, CFL | SoFL | FPFC | ProxSkip):
        count = task.clients  # the server places the absent, too, or there are none
    assert ((trace.assignments >= 0).sum(axis=-1) == count).all()
    assert trace.assignments.max() < trace.models.shape[-2]
    assert np.isfinite(trace.models).all()
    assert (trace.cluster_count >= 1).all()


SPHERICAL = [
    (kind, options)
    for kind, options in EVERY
    # momentum, multipliers and control variates overshoot; the others average
    if kind not in (FPFC, Scaffold, FedLin, ProxSkip)
    and not any("momentum" in name for name in kind.__dataclass_fields__)
]


@pytest.mark.parametrize("combination", SPHERICAL, ids=describe)
@pytest.mark.parametrize("participation", [1.0, 0.7])
def test_models_stay_in_the_convex_hull_of_start_and_optima(combination, participation):
    """With Hessians a_i I, a_i <= 1, each step of at most 1 moves straight towards b_i or an average."""
    stream = np.random.default_rng(2)
    curvatures = stream.uniform(0.2, 1.0, 9)
    centers = np.array([[4.0, 0, 0], [0, 5.0, 0], [0, 0, 6.0]])[np.arange(9) % 3] + stream.standard_normal(
        (9, 3)
    )
    task = QuadraticMixture(
        hessians=curvatures[:, None, None] * np.eye(3), centers=centers, labels=np.arange(9) % 3
    )
    kind, options = combination
    strength = options.get("proximal", 0.0)
    algorithm = make_some(kind, step_size=0.9 / (1 + strength), participation=participation, **options)
    trace = run(algorithm, task, rounds=10, replicates=2)
    directions = stream.standard_normal((200, 3))
    for replicate in range(2):
        points = np.concatenate([centers, trace.models[0, replicate]])
        limit = (points @ directions.T).max(axis=0)
        reached = (trace.models[:, replicate] @ directions.T).max(axis=(0, 1))
        assert (reached <= limit + 1e-12).all()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_name_runs_on_sixty_clients_to_the_same_numbers_in_torch(name):
    algorithm = make_algorithm(name, {}, SIXTY)
    expected = run(algorithm, SIXTY, rounds=30, seed=3)
    found = run(algorithm, OnArrays(SIXTY, torch), rounds=30, seed=3)
    assert found.models.dtype == np.float64
    np.testing.assert_allclose(found.models, expected.models, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(found.assignments, expected.assignments)
    assert np.isfinite(expected.models).all()
    assert 0 < expected.purity <= 1


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("name", ["ifca", "cfl-mgd", "gradient-loss", "cfl", "sofl", "fpfc"])
def test_clustered_algorithms_find_the_four_clusters_of_sixty_clients(name):
    """Optima at the corners of a simplex; SoFL's guard may merge clusters whose updates are alike."""
    task = RegressionMixture(
        optima=2 * np.eye(4, 10),
        covariance=np.linspace(0.4, 1.0, 10),
        noise=0.5,
        labels=np.arange(60) % 4,
        samples=50,
    )
    trace = run(make_algorithm(name, {}, task), task, rounds=60, replicates=5)
    assert np.median(trace.adjusted_rand_index) == 1.0
    assert np.median(trace.cluster_count) == 4


def test_local_gives_every_client_its_own_model():
    assert run(Local(step_size=0.5), SIXTY, rounds=1).cluster_count == 60
