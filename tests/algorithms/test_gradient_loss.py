"""GL-CFL without a direction, its pinning at random, and its one batch; its rounds are in ``test_definitions``."""

import numpy as np
import pytest

from clusterproof.algorithms import GradientLoss
from clusterproof.common import Randomness
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture, RegressionMixture

TASK = QuadraticMixture.random(
    clusters=3, clients=9, dimension=3, condition_number=4, spread=0.6, separation=1.5, seed=2
)
SHARED = QuadraticMixture.random(clusters=3, clients=12, dimension=4, condition_number=5, seed=1)
FAR = np.array([[0.2, 0.1, 0.0], [-0.3, 0.4, 0.1], [50.0, 50.0, 50.0]])


def state_after(algorithm, task, rounds, initial, seed=0):
    randomness = Randomness.from_seed(seed)
    state = algorithm.initialise(initial, task)
    for _ in range(rounds):
        state = algorithm.step(state, task, randomness)
    return state


def similarities(algorithm, task, state):
    clients = np.arange(task.clients)
    _, gradients = task.losses_and_gradients(state.models, clients, np.random.default_rng(0))
    return algorithm.similarities(state, gradients)


def test_the_cosine_is_zero_if_the_update_or_the_gradient_is_zero():
    task = QuadraticMixture(hessians=np.ones((3, 1, 1)), centers=[[0.0], [0.0], [4.0]], labels=[0, 0, 1])
    algorithm = GradientLoss(step_size=0.5)
    state = state_after(algorithm, task, 1, np.array([[0.0], [100.0]]))
    assert (state.assignments == 0).all()
    assert state.moves[1, 0] == 0.0
    found = similarities(algorithm, task, state)
    assert (found[:, 1] == 0).all()
    assert np.isfinite(found).all()
    still = state_after(algorithm, task, 3, np.array([[0.0], [4.0]]))
    assert (similarities(algorithm, task, still) == 0).all()
    assert still.assignments.tolist() == [0, 0, 1]


@pytest.mark.parametrize("rule", ["never", "when-empty", "always"])
@pytest.mark.parametrize(
    "task",
    [TASK, QuadraticMixture(hessians=np.ones((4, 1, 1)), centers=np.ones((4, 1)), labels=[0] * 4)],
    ids=["mixture", "identical"],
)
def test_all_equal_models_and_identical_clients_give_numbers(task, rule):
    algorithm = GradientLoss(step_size=0.5, clusters=3, empty_cluster=rule, weight=0.5)
    start = np.zeros((3, task.dimension))
    trace = run(algorithm, task, rounds=20, initial=start)
    assert np.isfinite(trace.models).all()
    assert (trace.assignments[0] == 0).all()  # ties go to the first
    assert (rule == "never") == bool((trace.models[1, 1:] == 0).all())


def test_pinning_trains_every_cluster_and_leaves_the_votes_alone():
    kept = {"rounds": 1, "initial": FAR, "replicates": 50}
    free, needed, always = (
        run(GradientLoss(step_size=0.5, empty_cluster=rule), TASK, **kept)
        for rule in ("never", "when-empty", "always")
    )
    assert (free.models[1, :, 2] == FAR[2]).all()
    for pinned in (needed, always):
        np.testing.assert_array_equal(pinned.assignments, free.assignments)
        # one client alone was pinned to the far model: it takes that client's step, and all occur
        steps = FAR[2] - 0.5 * TASK.gradients(np.broadcast_to(FAR[2], (9, 3)), np.arange(9), None)
        client = np.abs(pinned.models[1, :, 2, None] - steps).max(axis=-1)
        assert (client.min(axis=1) < 1e-12).all()
        assert set(client.argmin(axis=1)) == set(range(9))


def test_as_many_participants_as_clusters_are_enough_to_pin_one_to_each():
    algorithm = GradientLoss(step_size=0.5, participation=1 / 3, empty_cluster="always")
    assert algorithm.model_count(TASK) == 3
    state = state_after(algorithm, TASK, 1, FAR)
    assert len(state.clients) == 3
    assert (state.models != FAR).any(axis=-1).all()


def test_choice_and_step_use_one_batch():
    """A client that chose a model saw rows on which it does well: E[G | choice] is not E[G]."""
    task = RegressionMixture(optima=[[0.0], [1.0]], covariance=[1.0], noise=0.5, labels=[0, 1, 1], samples=4)
    start = np.array([[-0.1], [0.9]])
    trace = run(GradientLoss(step_size=1.0), task, rounds=1, replicates=20_000, initial=start)
    alone = (trace.assignments[0] == [0, 1, 1]).all(axis=-1)
    gradient = start[0] - trace.models[1, alone, 0]
    deviation = (gradient - task.expected_gradient(start[0], 0)).ravel()
    assert abs(deviation.mean()) > 5 * deviation.std() / np.sqrt(len(deviation))


def test_devices_are_pinned_in_the_replicates_that_have_an_empty_cluster_alone():
    near = SHARED.client_optima[[0, 4, 8]] if len(set(SHARED.labels[[0, 4, 8]])) == 3 else SHARED.optima
    far = near + np.array([[0.0], [0.0], [1000.0]])
    starts = np.stack([near, far, near])
    after = {
        rule: state_after(GradientLoss(step_size=0.3, empty_cluster=rule), SHARED, 1, starts).models
        for rule in ("never", "when-empty", "always")
    }
    for replicate in (0, 2):
        np.testing.assert_array_equal(after["when-empty"][replicate], after["never"][replicate])
        assert (after["always"][replicate] != after["never"][replicate]).any()
    np.testing.assert_array_equal(after["never"][1, 2], far[2])
    assert (after["when-empty"][1, 2] != far[2]).any()
    np.testing.assert_array_equal(after["when-empty"][1], after["always"][1])
