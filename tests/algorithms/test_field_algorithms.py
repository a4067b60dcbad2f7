"""SCAFFOLD, ProxSkip, FedLin and FedAvg with a server step.

Limits in which each is another algorithm, ProxSkip's identity, and reshuffled passes against all orders.
"""

from itertools import permutations

import numpy as np
import pytest
from plain_loops import gradient

from clusterproof.algorithms import (
    FedAvg,
    FedLin,
    InvalidArgument,
    ProxSkip,
    Randomness,
    Scaffold,
    client_arrays,
    run,
)
from clusterproof.algorithms.base import State, Task
from clusterproof.algorithms.scaffold import ControlState
from clusterproof.synthetic import LogisticMixture, QuadraticMixture, RegressionMixture

SIZES = np.array([2, 5, 3, 1, 4])


def draw_quadratics(clients=5, dimension=3):
    """Clients whose Hessians do not commute, with eigenvalues in [0.2, 1]."""
    stream = np.random.default_rng(7)
    rotations = np.linalg.qr(stream.standard_normal((clients, dimension, dimension)))[0]
    spectra = stream.uniform(0.2, 1, (clients, dimension))
    hessians = (rotations * spectra[:, None, :]) @ np.swapaxes(rotations, -1, -2)
    return QuadraticMixture(
        hessians=(hessians + np.swapaxes(hessians, -1, -2)) / 2,
        centers=2 * stream.standard_normal((clients, dimension)),
        labels=np.zeros(clients, dtype=int),
        client_samples=SIZES[:clients],
    )


QUADRATIC = draw_quadratics()
LOGISTIC = LogisticMixture.random(
    clusters=3, clients=5, dimension=3, condition_number=8, support=12, data="population", seed=2
)


def name_of(value):
    return value.name if hasattr(value, "name") else None


def starts(task, *shape):
    return np.random.default_rng(11).standard_normal((*shape, 1, task.dimension))


# Identities of algorithms


def one_round(algorithm, state=None, task=QUADRATIC):
    state = algorithm.initialise(starts(task), task) if state is None else state
    return algorithm.step(state, task, Randomness.from_seed(0))


def descended(step_size, start=None):
    """A step of gradient descent on the mean loss."""
    start = starts(QUADRATIC)[0] if start is None else start
    return start - step_size * np.mean([gradient(QUADRATIC, i, start) for i in range(5)], axis=0)


def arbitrary_controls():
    controls = np.random.default_rng(5).standard_normal((5, 3))
    return ControlState(starts(QUADRATIC), None, None, controls.mean(axis=0)[None], controls)


@pytest.mark.parametrize("option", ["I", "II"])
def test_scaffold_with_one_local_step_is_gradient_descent(option):
    """Whatever the c_i, with c their mean."""
    made = Scaffold(step_size=0.4, option=option, server_step_size=0.7)
    moved = one_round(made, arbitrary_controls()).models[0]
    np.testing.assert_allclose(moved, descended(0.4 * 0.7), rtol=0, atol=1e-12)


def test_scaffold_whose_controls_are_the_gradients_is_fedlin():
    start = starts(QUADRATIC)
    controls = np.stack([gradient(QUADRATIC, i, start[0]) for i in range(5)])
    state = ControlState(start, None, None, controls.mean(axis=0)[None], controls)
    moved = one_round(Scaffold(step_size=0.3, local_steps=4), state).models
    np.testing.assert_allclose(
        moved, one_round(FedLin(step_size=0.3, local_steps=4)).models, rtol=0, atol=1e-12
    )


SAME = [
    (Scaffold(step_size=0.3, local_steps=4), FedAvg(step_size=0.3, local_steps=4)),  # controls start at 0
    (ProxSkip(step_size=0.3, probability=1.0), FedAvg(step_size=0.3)),
    (FedLin(step_size=0.3), FedAvg(step_size=0.3)),
]


@pytest.mark.parametrize(("algorithm", "other"), SAME, ids=name_of)
def test_it_is_another_algorithm_in_a_special_case(algorithm, other):
    """Over several rounds, or over the first where control variates that start at 0 do not enter yet."""
    rounds = 1 if isinstance(algorithm, Scaffold) else 5
    kept = {"rounds": rounds, "initial": starts(QUADRATIC)}
    found, expected = (run(made, QUADRATIC, **kept).models for made in (algorithm, other))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


# ProxSkip's identity, for every f


@pytest.mark.parametrize("task", [QUADRATIC, LOGISTIC], ids=["quadratic", "logistic"])
@pytest.mark.parametrize(("step_size", "probability"), [(0.3, 0.5), (2.5, 0.2), (0.7, 1.0)])
def test_proxskip_s_expected_lyapunov_function_is_exact(task, step_size, probability):
    """(P): E Psi+ = sum |dx - gamma dg|^2 + (1 - p^2) gamma^2 / p^2 sum |dh|^2, from any x_i and h_i of sum 0."""
    from clusterproof.algorithms.proxskip import SkippingState

    optimum = task.pooled_optimum
    clients, stream = task.clients, np.random.default_rng(4)
    at_optimum = np.stack([gradient(task, i, optimum) for i in range(clients)])
    if task is QUADRATIC:
        optimum = np.linalg.solve(
            task.hessians.sum(axis=0), np.einsum("mij,mj->i", task.hessians, task.centers)
        )
        at_optimum = np.stack([gradient(task, i, optimum) for i in range(clients)])
    np.testing.assert_allclose(at_optimum.mean(axis=0), 0, atol=1e-12)
    points, controls = stream.standard_normal((2, clients, 3))
    controls = controls - controls.mean(axis=0)
    made = ProxSkip(step_size=step_size, probability=probability)
    state = SkippingState(points.mean(axis=0)[None], None, None, points, controls)
    factor = step_size**2 / probability**2
    ends = {}
    for seed in range(60):
        after = made.step(state, task, Randomness.from_seed(seed))
        coin = bool((after.personal == after.personal[0]).all())
        ends[coin] = ((after.personal - optimum) ** 2).sum() + factor * (
            (after.controls - at_optimum) ** 2
        ).sum()
    expected = probability * ends[True] + (1 - probability) * ends.get(False, 0.0)
    gradients = np.stack([gradient(task, i, points[i]) for i in range(clients)])
    moved = (points - optimum) - step_size * (gradients - at_optimum)
    right = (moved**2).sum() + (1 - probability**2) * factor * ((controls - at_optimum) ** 2).sum()
    assert abs(expected - right) <= 1e-12 * right


# Reshuffling (NASTYA)


def enumerate_passes(rows, targets, ridge, start, step_size):
    """Ends of a pass over a client's rows in each of their orders."""
    ends = []
    for order in permutations(range(len(rows))):
        point = start
        for j in order:
            margin = targets[j] * (rows[j] @ point)
            point = point - step_size * (-targets[j] * rows[j] / (1 + np.exp(margin)) + ridge * point)
        ends.append(point)
    return np.stack(ends)


def test_a_reshuffled_pass_is_one_of_the_enumerated_orders_and_uniform():
    """Two clients with three samples: a round ends at one of 36 points; each is as likely as the others."""
    task = LogisticMixture.random(clusters=2, clients=2, dimension=2, support=3, data="population", seed=1)
    made, start = FedAvg(step_size=0.6, reshuffle=True, server_step_size=0.8), np.array([[0.7, -0.4]])
    found = run(made, task, rounds=1, initial=start, replicates=3600).models[1, :, 0]
    ends = [
        enumerate_passes(task.features[p], task.targets[p], task.ridge, start[0], 0.6) for p in task.labels
    ]
    means = (ends[0][:, None] + ends[1][None]).reshape(36, 2) / 2
    expected = start + 0.8 * (means - start)
    distances = np.abs(found[:, None] - expected).max(axis=-1)
    assert distances.min(axis=1).max() <= 1e-12
    counts = np.bincount(distances.argmin(axis=1), minlength=36)
    # 100 expected of each: chi^2 with 35 degrees of freedom exceeds 100 with a probability of 3e-8
    assert ((counts - 100) ** 2 / 100).sum() < 100
    assert counts.min() > 0


def test_a_second_pass_has_a_new_order():
    task = LogisticMixture.random(clusters=1, clients=1, dimension=2, support=2, data="population", seed=1)
    start = np.array([[0.7, -0.4]])
    made = FedAvg(step_size=0.9, reshuffle=True, local_steps=2)
    found = run(made, task, rounds=1, initial=start, replicates=64).models[1, :, 0]
    first = enumerate_passes(task.features[0], task.targets[0], task.ridge, start[0], 0.9)
    ends = np.concatenate(
        [enumerate_passes(task.features[0], task.targets[0], task.ridge, point, 0.9) for point in first]
    )
    distances = np.abs(found[:, None] - ends).max(axis=-1)
    assert distances.min(axis=1).max() <= 1e-12
    assert set(distances.argmin(axis=1)) == {0, 1, 2, 3}


def test_a_reshuffled_pass_over_regression_data_adds_up_to_the_gradient():
    """With small steps the sum of the n samples' gradients is n times the gradient, up to O(step size)."""
    task = RegressionMixture.random(clusters=2, clients=4, dimension=3, samples=6, data="fixed", seed=3)
    start, step_size = np.array([[1.0, -2.0, 0.5]]), 1e-9
    moved = run(FedAvg(step_size=step_size, reshuffle=True), task, rounds=1, initial=start).models[1]
    received = np.repeat(start, 4, axis=0)
    mean = task.gradients(received, np.arange(4), np.random.default_rng(0)).mean(axis=0)
    np.testing.assert_allclose((start - moved)[0] / (6 * step_size), mean, rtol=1e-5)


@pytest.mark.parametrize(
    ("task", "argument"),
    [
        (QUADRATIC, "task"),
        (RegressionMixture.random(clusters=1, clients=2, dimension=2), "data"),
        (LogisticMixture.random(clusters=1, clients=2, dimension=2), "data"),
    ],
    ids=["quadratic", "fresh regression", "fresh logistic"],
)
def test_reshuffling_needs_samples_that_stay(task, argument):
    with pytest.raises(InvalidArgument) as refusal:
        run(FedAvg(step_size=0.1, reshuffle=True), task, rounds=1)
    assert refusal.value.argument == argument


# Refusals


def test_weights_by_samples_need_a_task_that_counts_samples():
    class Unsized(Task):
        labels, clusters, dimension, settings = np.zeros(3, int), 1, 1, {"task": "unsized"}
        initial_models = losses = gradients = None

    with pytest.raises(InvalidArgument, match="client_samples"):
        Scaffold(step_size=0.1, weighting="samples").model_count(Unsized())


@pytest.mark.parametrize("kind", [Scaffold, ProxSkip])
def test_a_state_of_more_than_half_of_the_memory_is_refused_with_its_size(kind, monkeypatch):
    """Five clients with three numbers of eight bytes: 120 bytes, of a memory of 239 and of 240."""
    made, start = kind(step_size=0.1), np.zeros((1, 3))
    monkeypatch.setattr(client_arrays, "_memory", lambda models: 240)
    assert isinstance(made.initialise(start, QUADRATIC), State)
    monkeypatch.setattr(client_arrays, "_memory", lambda models: 239)
    with pytest.raises(
        InvalidArgument, match=r"state of 1\.12e-07 GiB.* half of the memory of 2\.23e-07 GiB"
    ):
        made.initialise(start, QUADRATIC)
