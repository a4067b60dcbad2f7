"""The data of FPFC's Table 1: derivatives, passes over mini-batches, laws, the models of the clusters."""

import numpy as np
import pytest

from clusterproof.algorithms import Descent
from clusterproof.common import InvalidArgument
from clusterproof.synthetic.softmax import SoftmaxMixture

SETTINGS = {"clients": 6, "clusters": 2, "features": 4, "classes": 3, "largest": 300, "seed": 2}
SMALL = SoftmaxMixture(**SETTINGS)
NOTHING = np.random.default_rng(0)


def rows_of(data):
    """Return the features (n, f) and classes (n,) of a client."""
    samples, targets = data
    assert (samples[-1] == 1).all()
    return samples[:-1].T, targets


def plain_loss(task, client, model):
    """Return the mean of -log softmax(W x + b)_y, row by row."""
    matrix = model.reshape(task.classes, task.features + 1)
    total = 0.0
    for x, y in zip(*rows_of(task.training[client]), strict=True):
        scores = matrix[:, :-1] @ x + matrix[:, -1]
        total += np.log(np.exp(scores).sum()) - scores[y]
    return total / task.client_samples[client]


def test_losses_are_those_of_the_definition():
    stream = np.random.default_rng(1)
    models, clients = stream.standard_normal((2, 3, SMALL.dimension)), np.array([[4, 1], [0, 4]])
    found = SMALL.losses(models, clients, NOTHING)
    assert found.shape == (2, 2, 3)
    for at in np.ndindex(found.shape):
        expected = plain_loss(SMALL, clients[at[:2]], models[at[0], at[2]])
        assert np.isclose(found[at], expected, rtol=1e-13)
    shared = SMALL.losses(models[0], np.arange(6), NOTHING)
    assert shared.shape == (6, 3)


def test_gradients_and_hessians_are_difference_quotients():
    task = SoftmaxMixture(clients=3, clusters=1, features=4, classes=3, largest=200)
    stream = np.random.default_rng(2)
    points, directions = stream.standard_normal((2, 3, task.dimension))
    clients, step = np.arange(3), 1e-5

    def losses(at):
        each = [task.losses(at[i : i + 1], np.array([i]), NOTHING)[0, 0] for i in range(3)]
        return np.array(each)

    difference_quotients = (losses(points + step * directions) - losses(points - step * directions)) / (
        2 * step
    )
    gradients = task.gradients(points, clients, NOTHING)
    np.testing.assert_allclose((gradients * directions).sum(axis=1), difference_quotients, rtol=0, atol=1e-7)
    ahead = task.gradients(points + step * directions, clients, NOTHING)
    behind = task.gradients(points - step * directions, clients, NOTHING)
    products = task.hessian_products(points, directions, clients, NOTHING)
    np.testing.assert_allclose(products, (ahead - behind) / (2 * step), rtol=0, atol=1e-7)
    sums = task.gradient_sums(points[:2], clients, np.array([0, 1, 0]), NOTHING)
    at_own = task.gradients(points[[0, 1, 0]], clients, NOTHING)
    np.testing.assert_allclose(sums, [at_own[0] + at_own[2], at_own[1]], rtol=0, atol=1e-15)


def test_single_precision_is_the_same_task_rounded():
    single = SoftmaxMixture(**{**SETTINGS, "precision": "single"})
    start = single.initial_models(1, (), np.random.default_rng(0))
    points, clients = np.repeat(start, 6, axis=0), np.arange(6)
    assert points.dtype == np.float32
    gradients = single.gradients(points, clients, NOTHING)
    assert gradients.dtype == np.float32
    expected = SMALL.gradients(points.astype(float), clients, NOTHING)
    np.testing.assert_allclose(gradients, expected, rtol=0, atol=1e-6)


@pytest.mark.slow(reason="several seconds")
def test_the_published_task_is_as_large_as_the_paper_says():
    task = SoftmaxMixture(seed=1)
    assert (task.clients, task.clusters, task.dimension) == (100, 4, 610)
    assert np.bincount(task.labels).tolist() == [25] * 4
    total = (
        np.array([len(rows_of(task.testing[client])[1]) for client in range(task.clients)])
        + task.client_samples
    )
    assert (total % 5 == 0).all()
    assert total.min() >= 250
    # the median of int(exp(N(4, 2))) is 54; of a hundred draws it lies within a factor 1.7
    assert 54 / 1.7 < np.median(total / 5 - 50) < 54 * 1.7
    np.testing.assert_array_equal(task.client_samples, total * 4 // 5)
    rows = np.concatenate([rows_of(task.training[client])[0] for client in range(100)])
    assert rows.min() >= 0
    assert rows.max() <= 1
    assert abs(rows.mean() - 0.5) < 0.001
    assert abs(rows.var() - 1 / 12) < 0.001


def test_a_local_step_is_a_pass_over_mini_batches_of_an_order_of_the_data():
    """With the order that the generator gives, sample by sample; steps may differ between clients."""
    task = SoftmaxMixture(**{**SETTINGS, "batch_size": 70})
    points = np.random.default_rng(1).standard_normal((2, task.dimension))
    clients, passes = np.array([4, 1]), np.array([[2], [1]])
    trained = task.local_steps(points, clients, np.random.default_rng(5), Descent(0.3, passes))
    stream = np.random.default_rng(5)
    for number, client in enumerate(clients):
        (x, y), size = rows_of(task.training[client]), int(task.client_samples[client])
        matrix, taken = points[number].reshape(3, 5).copy(), 0
        assert size % 70 != 0
        for _ in range(passes[number, 0]):
            order = stream.permutation(size)
            for batch in np.split(order, range(70, size, 70)):
                total = np.zeros_like(matrix)
                for sample in batch:
                    extended = np.append(x[sample], 1)
                    likely = np.exp(matrix @ extended) / np.exp(matrix @ extended).sum()
                    total += np.outer(likely - np.eye(3)[y[sample]], extended)
                matrix -= 0.3 * total / len(batch)
                taken += 1
        np.testing.assert_allclose(trained.points[number], matrix.ravel(), rtol=1e-12, atol=1e-13)
        assert trained.steps[number, 0] == taken
    with pytest.raises(InvalidArgument, match="batch_size is 70, but it allows only plain gradient steps"):
        task.local_steps(points, clients, NOTHING, Descent(0.3, proximal=1.0))


def test_accuracies_are_of_the_test_samples():
    points = np.random.default_rng(1).standard_normal((6, SMALL.dimension))
    expected = []
    for client, point in enumerate(points):
        matrix = point.reshape(SMALL.classes, SMALL.features + 1)
        x, y = rows_of(SMALL.testing[client])
        hits = [np.argmax(matrix @ np.append(row, 1)) == label for row, label in zip(x, y, strict=True)]
        expected.append(np.mean(hits))
    np.testing.assert_array_equal(SMALL.accuracies(points, np.arange(6)), expected)


def test_labels_are_those_of_the_cluster_but_for_the_noise():
    published = SoftmaxMixture(clients=20, clusters=4, largest=2000, seed=3)
    clients = np.arange(20)
    own = published.accuracies(published.generating_models[published.labels], clients)
    assert 0.85 < own.mean() < 0.97
    other = published.accuracies(published.generating_models[(published.labels + 1) % 4], clients)
    assert other.mean() < 0.5
    # the share of labels that the noise leaves alone, simulated again on the training rows
    stream, kept = np.random.default_rng(0), []
    for client in clients:
        x, y = rows_of(published.training[client])
        matrix = published.generating_models[published.labels[client]].reshape(10, 61)
        scores = x @ matrix[:, :-1].T + matrix[:, -1]
        again = (scores + 0.5 * stream.standard_normal(scores.shape)).argmax(axis=1)
        kept.append([(again == scores.argmax(axis=1)).mean(), (y == scores.argmax(axis=1)).mean()])
    fresh, drawn = np.mean(kept, axis=0)
    assert abs(fresh - drawn) < 0.01


def test_a_task_is_made_again_from_its_settings():
    arguments = dict(SMALL.settings)
    assert arguments.pop("task") == "softmax"
    again = SoftmaxMixture(**arguments)
    for client in range(6):
        for one, other in zip(rows_of(SMALL.training[client]), rows_of(again.training[client]), strict=True):
            np.testing.assert_array_equal(one, other)
    assert SoftmaxMixture(**{**arguments, "batch_size": 50}).settings["batch_size"] == 50
    assert (SoftmaxMixture(**{**arguments, "seed": 3}).generating_models != SMALL.generating_models).all()
    shorter = SoftmaxMixture(**{**arguments, "clients": 5})
    np.testing.assert_array_equal(rows_of(shorter.training[4])[0], rows_of(SMALL.training[4])[0])


def test_it_answers_all_that_algorithms_ask():
    start = SMALL.initial_models(3, (2,), np.random.default_rng(0))
    assert start.shape == (2, 3, 15)
    assert (start == start[:, :1]).all()
    assert SMALL.reference_optima("clusters") is None
