"""Which model a client chooses, and what a client or a cluster that is alone does."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterproof.algorithms import CFLMGD, IFCA, Local
from clusterproof.common.arrays import argmin_smallest_index
from clusterproof.running import Diverged, run
from clusterproof.synthetic import QuadraticMixture, RegressionMixture

ENTRIES = st.sampled_from([0.0, 1.0, 1.5, math.inf, -math.inf, math.nan]) | st.floats(width=16)


@given(st.lists(ENTRIES, min_size=1, max_size=6))
def test_the_first_of_the_smallest_losses_is_chosen_and_nan_is_the_worst(losses):
    order = [math.inf if math.isnan(loss) else loss for loss in losses]
    assert int(argmin_smallest_index(np.array(losses))) == order.index(min(order))


def on_a_line(centers, labels):
    ones = np.ones((len(centers), 1, 1))
    return QuadraticMixture(hessians=ones, centers=np.array(centers)[:, None], labels=labels)


def test_equal_models_are_all_chosen_as_the_first():
    task = on_a_line([-1.0, 1.0, 2.0], [0, 1, 2])
    trace = run(IFCA(step_size=0.5), task, rounds=1, initial=np.full((3, 1), 0.3))
    assert trace.assignments.tolist() == [[0, 0, 0]]
    mirrored = run(
        IFCA(step_size=0.5), on_a_line([0.0, 3.0], [0, 1]), rounds=1, initial=np.array([[1.0], [-1.0]])
    )
    assert mirrored.assignments.tolist() == [[0, 0]]


@pytest.mark.parametrize("averaging", ["gradient", "model"])
def test_a_cluster_that_nobody_chooses_stays_where_it_started(averaging):
    task = on_a_line([0.0, 1.0], [0, 1])
    start = np.array([[0.5], [100.0]])
    trace = run(CFLMGD(step_size=0.5, momentum=0.9, averaging=averaging), task, rounds=5, initial=start)
    np.testing.assert_array_equal(trace.models[:, 1], np.full((6, 1), 100.0))


def test_a_run_that_diverges_to_nan_ends_with_its_round():
    task = QuadraticMixture.random(clusters=2, clients=6, dimension=2, seed=0)
    algorithm = CFLMGD(step_size=1e60, momentum=0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(
            Diverged, match=r"step_size is 1e\+60, but it led in round \d+ to NaN in model \d\. Lower"
        ) as end:
            run(algorithm, task, rounds=12)
        trace = run(algorithm, task, rounds=end.value.rounds)
    assert not np.isnan(trace.models).any()
    assert np.abs(trace.models[-1]).max() > 1e100


def test_a_client_that_diverges_leaves_the_others_alone():
    task = on_a_line([0.0, 1.0, 2.0], [0, 1, 2])
    steep = QuadraticMixture(hessians=[[[0.5]], [[1e9]], [[0.5]]], centers=task.centers, labels=task.labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        trace = run(Local(step_size=1.0), steep, rounds=34, initial=np.full((3, 1), 5.0))
    assert abs(trace.models[-1, 1, 0]) > 1e300
    np.testing.assert_allclose(trace.models[-1, [0, 2], 0], [0.0, 2.0], rtol=0, atol=5 / 2**33)


@pytest.mark.parametrize("sampling", ["exact", "direct"])
def test_choice_and_gradient_are_of_different_batches(sampling):
    """Assumption 5 of CFL-MGD, E[g_i | choices] = Sigma (chi - theta_i): one batch for both would break it."""
    task = RegressionMixture(
        optima=[[0.0], [1.0]], covariance=[1.0], noise=0.5, labels=[0, 1, 1], samples=4, sampling=sampling
    )
    trace = run(
        IFCA(step_size=1.0), task, rounds=1, replicates=20_000, initial=(start := np.array([[-0.1], [0.9]]))
    )
    residuals = (trace.models[0] - trace.models[1]) * task.clients
    for client, label in enumerate(task.labels):
        for model in range(2):
            chose = trace.assignments[0, :, client] == model
            residuals[chose, model] -= task.expected_gradient(start[model], label)
    assert np.abs(residuals.mean(axis=0) / residuals.std(axis=0)).max() * 20_000**0.5 < 5
