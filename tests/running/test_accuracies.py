"""Accuracies of the server's model and after local training, by counting rows."""

import array_api_compat.torch as torch
import numpy as np
import pytest

from clusterproof.algorithms import CFL, IFCA, Local
from clusterproof.common import InvalidArgument
from clusterproof.running import client_accuracies, received_models, run
from clusterproof.synthetic import LogisticMixture, OnArrays, QuadraticMixture

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
