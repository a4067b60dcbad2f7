"""Local training on the data of FPFC's Table 1: against plain loops over steps, batches and samples."""

import numpy as np
import pytest
from local_training import local_training

from clusterproof.algorithms import CFLMGD, FedAvg, Randomness, run
from clusterproof.synthetic.softmax import SoftmaxMixture
from clusterproof.synthetic.wrapped import WrappedTask

SETTINGS = {"clients": 7, "clusters": 2, "features": 4, "classes": 3, "largest": 400, "seed": 2}
WHOLE = SoftmaxMixture(**SETTINGS)
NOTHING = np.random.default_rng(0)
MOTIONS = [
    {"step_size": 0.3, "momentum": 0.0, "proximal": 0.0},
    {"step_size": 0.1, "momentum": 0.7, "proximal": 0.0},
    {"step_size": 0.2, "momentum": 0.0, "proximal": 0.5},
    {"step_size": 0.1, "momentum": 0.4, "proximal": 1.5},
]


def plain_gradient(x, y, matrix):
    """Return the mean of (softmax(W x) - e_y) x', sample by sample."""
    total = np.zeros_like(matrix)
    for row, target in zip(x, y, strict=True):
        extended = np.append(row, 1.0)
        likely = np.exp(matrix @ extended)
        likely /= likely.sum()
        likely[target] -= 1
        total += np.outer(likely, extended)
    return total / len(y)


def plain_training(task, points, buffers, anchors, clients, generator, motion, steps):
    """Client by client and batch by batch; permutations come pass by pass, in the clients' order."""
    w, u = points.copy(), buffers.copy()
    left = steps.copy()
    while left.any():
        for place in np.flatnonzero(left):
            x, y = task.training_data(int(clients[place]))
            order = generator.permutation(len(y))
            for start in range(0, len(y), task.batch_size):
                if left[place] == 0:
                    break
                batch = order[start : start + task.batch_size]
                gradient = plain_gradient(x[batch], y[batch], w[place].reshape(3, 5)).ravel()
                u[place] = (
                    motion["momentum"] * u[place]
                    + gradient
                    + motion["proximal"] * (w[place] - anchors[place])
                )
                w[place] -= motion["step_size"] * u[place]
                left[place] -= 1
    return w, u


def start(shape=(7,)):
    return np.random.default_rng(5).standard_normal((3, *shape, WHOLE.dimension))


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("precision", ["double", "single"])
def test_on_all_samples_it_is_the_loop_of_gradient_steps_bit_by_bit(motion, precision):
    task = SoftmaxMixture(**SETTINGS, precision=precision)
    w, u, anchors = start((2, 3)).astype(np.float32 if precision == "single" else float)
    clients = np.array([[4, 0, 2], [1, 4, 5]])
    found = local_training(task, w, u, anchors, clients, NOTHING, local_steps=4, **motion)
    for _ in range(4):
        gradient = task.gradients(w, clients, NOTHING)
        if motion["proximal"]:
            gradient = gradient + motion["proximal"] * (w - anchors)
        u = motion["momentum"] * u + gradient if motion["momentum"] else gradient
        w = w - motion["step_size"] * u
    np.testing.assert_array_equal(found[0], w)
    np.testing.assert_array_equal(found[1], u)
    assert found[0].dtype == w.dtype


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize(("unit", "batch_size"), [("epoch", 60), ("step", 60), ("epoch", 350), ("step", 1)])
def test_mini_batches_are_those_of_a_plain_loop(motion, unit, batch_size):
    task = SoftmaxMixture(**SETTINGS, batch_size=batch_size, local_unit=unit)
    sizes = task.sizes
    assert len(np.unique(-(-sizes // 60))) > 1  # clients of unequal numbers of batches,
    assert (sizes % 60).any()  # ... the last of which is smaller
    w, u, anchors = start()
    clients = np.array([3, 0, 6, 1, 2, 5, 4])
    local_steps = 3 if unit == "epoch" else 11
    steps = local_steps * (-(-sizes[clients] // batch_size) if unit == "epoch" else np.ones(7, int))
    found = local_training(
        task, w, u, anchors, clients, np.random.default_rng(9), local_steps=local_steps, **motion
    )
    expected = plain_training(task, w, u, anchors, clients, np.random.default_rng(9), motion, steps)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)
    again = local_training(
        task, w, u, anchors, clients, np.random.default_rng(9), local_steps=local_steps, **motion
    )
    np.testing.assert_array_equal(again[0], found[0])


def test_replicates_and_repeated_clients_are_further_lines_of_the_stack():
    task = SoftmaxMixture(**SETTINGS, batch_size=50, local_unit="epoch")
    w = start((2, 3))[0]
    clients = np.array([[4, 4, 1], [0, 1, 2]])
    motion = {"step_size": 0.2, "momentum": 0.0, "proximal": 0.0, "local_steps": 2}
    found, _ = local_training(task, w, None, None, clients, np.random.default_rng(1), **motion)
    flat, _ = local_training(
        task, w.reshape(6, -1), None, None, clients.ravel(), np.random.default_rng(1), **motion
    )
    np.testing.assert_array_equal(found.reshape(6, -1), flat)
    shared, _ = local_training(task, w, None, None, clients[0], np.random.default_rng(1), **motion)
    np.testing.assert_array_equal(shared[0], found[0])


def test_single_precision_is_the_same_training_rounded():
    settings = {**SETTINGS, "batch_size": 60, "local_unit": "epoch"}
    w = start()[0].astype(np.float32)
    motion = {"step_size": 0.2, "momentum": 0.5, "proximal": 0.0, "local_steps": 2}
    tasks = SoftmaxMixture(**settings, precision="single"), SoftmaxMixture(**settings)
    single, double = (
        local_training(task, w.astype(kind), None, None, np.arange(7), np.random.default_rng(1), **motion)[0]
        for task, kind in zip(tasks, (np.float32, float), strict=True)
    )
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, rtol=0, atol=1e-4)


def test_without_mini_batches_both_units_are_a_step():
    motion = {"step_size": 0.2, "momentum": 0.5, "proximal": 0.0, "local_steps": 3}
    w = start()[0]
    passes = SoftmaxMixture(**SETTINGS, local_unit="epoch")
    found = local_training(passes, w, None, None, np.arange(7), NOTHING, **motion)
    expected = local_training(WHOLE, w, None, None, np.arange(7), NOTHING, **motion)
    np.testing.assert_array_equal(found[0], expected[0])
    wide = SoftmaxMixture(**SETTINGS, local_unit="epoch", batch_size=10**9)
    found = local_training(wide, w, None, None, np.arange(7), NOTHING, **motion)
    np.testing.assert_allclose(found[0], expected[0], rtol=0, atol=1e-13)


def test_batches_are_independent_without_repetition_and_unbiased():
    task = SoftmaxMixture(**SETTINGS, batch_size=40)
    clients, points = np.arange(7), start()[0]
    stream = np.random.default_rng(0)
    drawn = np.array([task.gradients(points, clients, stream) for _ in range(400)])
    expected = WHOLE.gradients(points, clients, NOTHING)
    spread = drawn.std(axis=0, ddof=1)
    assert (spread > 0).all()
    assert np.abs((drawn.mean(axis=0) - expected) / (spread / 20)).max() < 4.5
    # without repetition, the variance is (1 - B / n) S^2 / B
    ratios = []
    for client in clients:
        x, y = task.training_data(client)
        matrix = points[client].reshape(3, 5)
        row_gradients = [plain_gradient(x[i : i + 1], y[i : i + 1], matrix).ravel() for i in range(len(y))]
        variance = np.var(row_gradients, axis=0, ddof=1) / 40 * (1 - 40 / len(y))
        ratios.append((spread[client] ** 2 / variance).mean())
    assert 0.93 < np.mean(ratios) < 1.07  # with repetition: the mean of 1 / (1 - B / n), 1.2
    directions = start()[1]
    products = np.array([task.hessian_products(points, directions, clients, stream) for _ in range(400)])
    error = products.std(axis=0, ddof=1) / 20
    exact = WHOLE.hessian_products(points, directions, clients, NOTHING)
    assert np.abs((products.mean(axis=0) - exact) / error).max() < 4.5
    np.testing.assert_array_equal(
        task.losses(points, clients, stream), WHOLE.losses(points, clients, NOTHING)
    )


def test_losses_and_gradients_are_of_one_batch():
    task = SoftmaxMixture(**SETTINGS, batch_size=1)
    points = start()[0][:2]
    for seed in range(20):
        losses, row_gradients = task.losses_and_gradients(points, np.array([3]), np.random.default_rng(seed))
        x, y = task.training_data(3)
        # a single sample's loss and gradient at both models belong to one of the client's samples
        fits = [
            np.isclose(losses[0, 0], -np.log(np.exp(scores[y[i]]) / np.exp(scores).sum()), atol=1e-12)
            and np.allclose(
                row_gradients[0, 1],
                plain_gradient(x[i : i + 1], y[i : i + 1], points[1].reshape(3, 5)).ravel(),
            )
            for i, scores in enumerate(np.column_stack([x, np.ones(len(x))]) @ points[0].reshape(3, 5).T)
        ]
        assert sum(fits) == 1


def test_algorithms_train_by_passes():
    task = SoftmaxMixture(**SETTINGS, batch_size=50, local_unit="epoch")
    first = np.zeros((1, task.dimension))
    trace = run(FedAvg(step_size=0.2, local_steps=2), task, rounds=1, initial=first, seed=4)
    generator = Randomness.from_seed(4, "softmax", "fedavg").gradient
    steps = 2 * -(-task.sizes // 50)
    zeros = np.zeros((7, task.dimension))
    motion = {"step_size": 0.2, "momentum": 0.0, "proximal": 0.0}
    expected, _ = plain_training(task, zeros, zeros, zeros, np.arange(7), generator, motion, steps)
    np.testing.assert_allclose(trace.models[-1, 0], expected.mean(axis=0), rtol=1e-11, atol=1e-13)


class Stepwise(WrappedTask):
    """Losses and gradients alone."""

    def __init__(self, task):
        self.task = task

    def losses(self, *arguments):
        return self.task.losses(*arguments)

    def gradients(self, *arguments):
        return self.task.gradients(*arguments)


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("order", ["momentum-first", "as-printed"])
def test_clusters_train_with_momentum_as_by_gradient_steps(order, reset):
    options = {"momentum": 0.6, "averaging": "model", "local_steps": 3, "reset_momentum": reset}
    algorithm = CFLMGD(step_size=0.3, update_order=order, clusters=2, **options)
    found, expected = (run(algorithm, task, rounds=3, replicates=2) for task in (WHOLE, Stepwise(WHOLE)))
    np.testing.assert_allclose(found.models, expected.models, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.assignments, expected.assignments)


def test_the_whole_of_a_task_with_batches_has_its_data_and_all_samples():
    task = SoftmaxMixture(**SETTINGS, batch_size=60)
    points, clients = start()[0], np.arange(7)
    assert np.array_equal(
        task.whole.gradients(points, clients, NOTHING), WHOLE.gradients(points, clients, NOTHING)
    )
    assert not np.array_equal(
        task.gradients(points, clients, NOTHING), WHOLE.gradients(points, clients, NOTHING)
    )
    assert np.shares_memory(task.whole.training_data(3)[0], task.training_data(3)[0])
    assert WHOLE.strong_convexity == 0  # adding the same to all classes changes nothing
    shifted = WHOLE.losses(points[:1] + np.tile(np.arange(5.0), 3), clients, NOTHING)
    np.testing.assert_allclose(shifted, WHOLE.losses(points[:1], clients, NOTHING), rtol=1e-12)
