"""Passes over samples and sums that a task computes by default, by plain loops over clients."""

import numpy as np
import pytest

from clusterproof.algorithms import Descent, Task
from clusterproof.common import InvalidArgument
from clusterproof.common.arrays import rows
from clusterproof.synthetic import LogisticMixture, NoisyQuadraticMixture, QuadraticMixture, RegressionMixture

SIZES = {"clusters": 2, "clients": 5, "dimension": 3, "seed": 2}
STORED = {
    "regression": RegressionMixture.random(**SIZES, samples=4, data="fixed"),
    "logistic": LogisticMixture.random(**SIZES, support=6, data="population"),
}
CLIENTS = np.array([[3, 0, 4], [1, 2, 0]])


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def vectors(*shape):
    names = ("points", "buffers", "anchors", "corrections")
    return {name: drawn(*shape, 3, seed=seed) for seed, name in enumerate(names)}


def plain(gradients, steps, descent, points, buffers, anchors, corrections):
    """One client: its points (d,) and buffers after its steps, from the gradient of each step at a point."""
    for step in range(steps):
        pull = descent.proximal * (points - anchors)
        buffers = descent.momentum * buffers + gradients(step, points) + corrections + pull
        points = points - descent.step_size * buffers
    return points, buffers


def test_a_buffer_that_is_left_out_is_zero():
    task, points, descent = QuadraticMixture.random(**SIZES, spread=0.5), drawn(3, 3), Descent(0.2, 3, 0.5)
    bare = task.local_steps(points, CLIENTS[0], None, descent)
    given = task.local_steps(points, CLIENTS[0], None, descent, buffers=0 * points)
    np.testing.assert_array_equal(bare.points, given.points)
    np.testing.assert_array_equal(bare.buffers, given.buffers)
    assert task.local_steps(points, CLIENTS[0], None, Descent(0.2, 3)).buffers is None


@pytest.mark.parametrize("passes", [2, np.array([[1], [3], [2]])], ids=["equal", "unequal"])
@pytest.mark.parametrize("name", STORED)
def test_a_reshuffled_step_is_a_gradient_step_on_every_stored_sample_once(name, passes):
    task, clients, given = STORED[name], CLIENTS[0], vectors(3)
    descent, count = Descent(0.05, passes, momentum=0.3, proximal=0.2, reshuffled=True), task.stored_samples
    start, stream = dict(given), np.random.default_rng(7)
    found = task.local_steps(start.pop("points"), clients, np.random.default_rng(7), descent, **start)
    orders = [stream.permuted(np.tile(np.arange(count), (3, 1)), axis=-1) for _ in range(np.max(passes))]
    assert np.array_equal(found.steps, count * passes)
    for at, client in enumerate(clients):
        samples = np.concatenate([order[at] for order in orders])

        def gradient(step, w, client=client, samples=samples):
            sample = samples[step]
            if name == "regression":
                x, error = (values[client, sample] for values in task._fixed_rows)
                return x * (x @ (w - task.optima[task.labels[client]]) - error)
            x = task.features[task.labels[client], sample]
            y = task.targets[task.labels[client], sample]
            return -y * x / (1 + np.exp(y * (x @ w))) + task.ridge * w

        taken = count * int(np.broadcast_to(passes, (3, 1))[at, 0])
        expected = plain(gradient, taken, descent, **{key: values[at] for key, values in given.items()})
        np.testing.assert_allclose(found.points[at], expected[0], rtol=0, atol=1e-12)


def test_replicates_have_orders_of_their_own():
    task, points = STORED["regression"], np.zeros((2, 5, 3))
    ends = task.local_steps(
        points, np.arange(5), np.random.default_rng(0), Descent(0.1, reshuffled=True)
    ).points
    assert (ends[0] != ends[1]).any(axis=-1).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_sums_are_those_of_the_summands(weighted, momentum):
    task = NoisyQuadraticMixture.random(**SIZES, noise=0.5)
    models, assignments = drawn(2, 4, 3), np.array([[1, 0, 1], [3, 3, 0]])
    buffers = drawn(2, 4, 3, seed=1) if momentum else None
    weights = 1 + drawn(2, 3) ** 2 if weighted else None
    descent, stream = Descent(0.2, 3, momentum), np.random.default_rng
    given = {"buffers": buffers, "weights": weights}
    sums, buffer_sums = task.local_sums(models, CLIENTS, assignments, stream(3), descent, **given)
    received = None if buffers is None else rows(buffers, assignments)
    start = rows(models, assignments)
    points, carried, _ = task.local_steps(start, CLIENTS, stream(3), descent, buffers=received)
    gradients = task.gradients(start, CLIENTS, stream(3))
    gradient_sums = Task.gradient_sums(task, models, CLIENTS, assignments, stream(3))
    factors = np.ones((2, 3)) if weights is None else weights
    for replicate, cluster in np.ndindex(2, 4):
        members = assignments[replicate] == cluster
        scale = factors[replicate, members, None]
        expected = (scale * points[replicate, members]).sum(axis=0)
        np.testing.assert_allclose(sums[replicate, cluster], expected, rtol=0, atol=1e-13)
        expected = gradients[replicate, members].sum(axis=0)
        np.testing.assert_allclose(gradient_sums[replicate, cluster], expected, rtol=0, atol=1e-13)
        if buffers is not None:
            expected = (scale * carried[replicate, members]).sum(axis=0)
            np.testing.assert_allclose(buffer_sums[replicate, cluster], expected, rtol=0, atol=1e-13)
    assert (buffer_sums is None) == (buffers is None)


class Bare(Task):
    """The attributes and abstract members, and nothing else."""

    labels, clusters, dimension, settings = np.zeros(3, dtype=int), 1, 2, {"task": "bare"}

    def initial_models(self, count, shape, generator):
        return np.zeros((*shape, count, 2))

    def losses(self, models, clients, generator):
        return np.zeros((*models.shape[:-2], clients.shape[-1], models.shape[-2]))

    def gradients(self, points, clients, generator):
        return points


@pytest.mark.parametrize(
    ("member", "arguments"),
    [
        ("hessian_products", (np.ones((3, 2)), np.ones((3, 2)), np.arange(3), None)),
        ("losses_and_gradients", (np.ones((1, 2)), np.arange(3), None)),
        ("accuracies", (np.ones((3, 2)), np.arange(3))),
        ("sample_gradients", (np.ones((3, 2)), np.arange(3), np.zeros(3, dtype=int))),
        ("client_samples", None),
        ("stored_samples", None),
    ],
)
def test_what_a_task_lacks_is_named_with_a_remedy(member, arguments):
    task = Bare()
    assert task.clients == 3
    assert task.reference_optima("clusters") is None
    with pytest.raises(
        InvalidArgument, match=rf"task is 'Bare', but it must have `{member}`\. Add it to the task, or "
    ):
        _ = getattr(task, member) if arguments is None else getattr(task, member)(*arguments)
