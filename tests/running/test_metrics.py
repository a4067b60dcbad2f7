"""Purity and the adjusted Rand index against scikit-learn, and accuracies by counting rows."""

import array_api_compat.torch as torch
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix

from clusterproof.algorithms import CFL, IFCA, Local
from clusterproof.common import InvalidArgument
from clusterproof.running import (
    adjusted_rand_index,
    client_accuracies,
    cluster_count,
    purity,
    received_models,
    run,
)
from clusterproof.synthetic import LogisticMixture, OnArrays, QuadraticMixture

PAIRS = st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 3)), min_size=1, max_size=30)


@given(PAIRS)
def test_both_agree_with_scikit_learn_on_those_present(pairs):
    assignments, labels = np.array(pairs).T
    present = assignments >= 0
    assume(present.any())
    table = contingency_matrix(labels[present], assignments[present])
    assert purity(assignments, labels) == pytest.approx(table.max(axis=0).sum() / table.sum(), abs=1e-15)
    expected = adjusted_rand_score(labels[present], assignments[present])
    assert adjusted_rand_index(assignments, labels) == pytest.approx(expected, abs=1e-12)


@given(PAIRS, st.permutations(range(5)))
def test_names_of_clusters_do_not_matter(pairs, names):
    assignments, labels = np.array(pairs).T
    assume((assignments >= 0).any())
    renamed = np.where(assignments >= 0, np.array(names)[assignments], -1)
    assert purity(renamed, labels) == purity(assignments, labels)
    assert adjusted_rand_index(renamed, labels) == adjusted_rand_index(assignments, labels)


def test_known_partitions():
    labels = np.array([0, 0, 1, 1])
    assert purity(np.array([1, 1, 0, 0]), labels) == adjusted_rand_index(np.array([1, 1, 0, 0]), labels) == 1
    assert purity(np.zeros(4, int), labels) == 0.5
    assert adjusted_rand_index(np.zeros(4, int), labels) == 0
    assert adjusted_rand_index(np.array([0, 1, 0, 1]), labels) == pytest.approx(-0.5)


@given(PAIRS)
def test_clusters_are_counted_over_those_present_and_splitting_never_lowers_the_purity(pairs):
    assignments, labels = np.array(pairs).T
    assert cluster_count(assignments) == len(set(assignments.tolist()) - {-1})
    assume((assignments >= 0).any())
    finer = np.where(assignments >= 0, 5 * np.arange(len(assignments)) % 11 * 5 + assignments, -1)
    assert purity(finer, labels) >= purity(assignments, labels)
    assert cluster_count(finer) >= cluster_count(assignments)


def test_nobody_present_is_not_a_number():
    absent = np.full(3, -1)
    assert cluster_count(absent) == 0
    assert np.isnan(purity(absent, np.arange(3)))
    assert np.isnan(adjusted_rand_index(absent, np.arange(3)))


TASK = LogisticMixture.random(clusters=3, clients=9, dimension=4, data="population", signal=6.0, seed=1)


def counted(task, client, model):
    label = task.labels[client]
    rows = zip(task.features[label], task.targets[label], strict=True)
    return np.mean([float(y * (x @ model) > 0) for x, y in rows])


@pytest.mark.parametrize("lead", [(), (2,)])
def test_both_accuracies_count_right_signs(lead):
    received = np.random.default_rng(0).standard_normal((*lead, 9, 4))
    found = client_accuracies(TASK, received, np.random.default_rng(0), step_size=0.5, local_steps=3)
    for index in np.ndindex((*lead, 9)):
        point, label = received[index], TASK.labels[index[-1]]
        assert found.server_model[index] == counted(TASK, index[-1], point)
        for _ in range(3):
            point = point - 0.5 * TASK.expected_gradient(point, label)
        assert found.after_local_training[index] == counted(TASK, index[-1], point)


def test_each_client_is_scored_on_the_model_that_the_server_has_for_it():
    start = TASK.optima + 0.1
    ifca = IFCA(step_size=0.5)
    trace = run(ifca, TASK, rounds=3, initial=start)
    received = received_models(ifca, trace.models[-1], trace.last_assignments)
    np.testing.assert_array_equal(received, trace.models[-1][trace.last_assignments])
    for algorithm in (Local(step_size=0.5), CFL(step_size=0.5)):
        trace = run(algorithm, TASK, rounds=3)
        assert received_models(algorithm, trace.models[-1], trace.last_assignments) is not None
        np.testing.assert_array_equal(
            received_models(algorithm, trace.models[-1], trace.last_assignments), trace.models[-1]
        )


def test_torch_gives_the_same_accuracies():
    received = np.random.default_rng(0).standard_normal((9, 4))
    kept = {"step_size": 0.5, "local_steps": 2}
    expected = client_accuracies(TASK, received, np.random.default_rng(0), **kept)
    there = OnArrays(TASK, torch)
    found = client_accuracies(there, torch.asarray(received), np.random.default_rng(0), **kept)
    np.testing.assert_array_equal(found.server_model, expected.server_model)
    np.testing.assert_array_equal(found.after_local_training, expected.after_local_training)


def test_what_cannot_be_scored_is_refused():
    quadratic = QuadraticMixture.random(clusters=1, clients=2, dimension=1)
    with pytest.raises(InvalidArgument, match="task is 'QuadraticMixture', but it must have `accuracies`"):
        client_accuracies(quadratic, np.zeros((2, 1)), np.random.default_rng(0), step_size=0.5, local_steps=1)
    with pytest.raises(InvalidArgument, match="must name a model for every client"):
        received_models(IFCA(step_size=0.5), np.zeros((3, 4)), np.array([0, -1, 2]))
