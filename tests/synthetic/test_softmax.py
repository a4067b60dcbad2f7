"""The data of FPFC's Table 1: derivatives, laws, the constant of smoothness, the optimum."""

import numpy as np
import pytest

from clusterproof.algorithms import (
    FPFC,
    InvalidArgument,
    client_accuracies,
    run,
)
from clusterproof.algorithms.fpfc import group_averages
from clusterproof.synthetic import softmax_sample
from clusterproof.synthetic.softmax import SoftmaxMixture

SETTINGS = {"clients": 6, "clusters": 2, "features": 4, "classes": 3, "largest": 300, "seed": 2}
SMALL = SoftmaxMixture(**SETTINGS)
NOTHING = np.random.default_rng(0)


def plain_loss(task, client, model):
    """Return the mean of -log softmax(W x + b)_y, row by row."""
    matrix = model.reshape(task.classes, task.features + 1)
    total = 0.0
    for x, y in zip(*task.training_data(client), strict=True):
        scores = matrix[:, :-1] @ x + matrix[:, -1]
        total += np.log(np.exp(scores).sum()) - scores[y]
    return total / task.sizes[client]


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


@pytest.mark.parametrize("distribution", ["published", "li"])
def test_gradients_and_hessians_are_difference_quotients(distribution):
    task = SoftmaxMixture(
        clients=3, clusters=1, features=4, classes=3, largest=200, distribution=distribution
    )
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
    both, each = task.losses_and_gradients(points, clients, NOTHING)
    np.testing.assert_array_equal(both, task.losses(points, clients, NOTHING))
    np.testing.assert_array_equal(each[clients, clients], gradients)
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


def test_many_rows_are_summed_block_by_block(plant):
    points, clients = np.random.default_rng(1).standard_normal((6, 15)), np.arange(6)
    questions = (SMALL.losses, SMALL.gradients)
    whole = [ask(points, clients, NOTHING) for ask in questions]
    product = SMALL.hessian_products(points, points, clients, NOTHING)
    plant(softmax_sample, "BLOCK", 7)
    for ask, expected in zip(questions, whole, strict=True):
        np.testing.assert_allclose(ask(points, clients, NOTHING), expected, rtol=0, atol=1e-14)
    again = SMALL.hessian_products(points, points, clients, NOTHING)
    np.testing.assert_allclose(again, product, rtol=0, atol=1e-14)


def test_no_curvature_exceeds_the_smoothness_and_two_even_classes_reach_it():
    stream = np.random.default_rng(3)
    for client in range(6):
        limit = SMALL.client_smoothness[client]
        x, _ = SMALL.training_data(client)
        wide = np.column_stack([x, np.ones(len(x))])
        top = np.linalg.eigh(wide.T @ wide / len(x))[1][:, -1]
        even = np.zeros((3, 5))
        even[2, -1] = -1000.0
        direction = np.outer([1.0, -1.0, 0.0], top).ravel() / np.sqrt(2)
        bent = SMALL.hessian_products(even.reshape(1, -1), direction[None], np.array([client]), NOTHING)
        assert np.isclose(bent[0] @ direction, limit, rtol=1e-12)
        for _ in range(20):
            point = stream.standard_normal((1, 15)) * stream.uniform(0, 3)
            hessian = [
                SMALL.hessian_products(point, unit[None], np.array([client]), NOTHING)[0]
                for unit in np.eye(15)
            ]
            assert np.linalg.eigvalsh(hessian)[-1] <= limit * (1 + 1e-12)
    assert SMALL.smoothness == SMALL.client_smoothness.max()


@pytest.mark.slow(reason="several seconds")
def test_the_published_task_is_as_large_as_the_paper_says():
    task = SoftmaxMixture(seed=1)
    assert (task.clients, task.clusters, task.dimension) == (100, 4, 610)
    assert np.bincount(task.labels).tolist() == [25] * 4
    total = np.array([len(task.testing_data(client)[1]) for client in range(task.clients)]) + task.sizes
    assert (total % 5 == 0).all()
    assert total.min() >= 250
    # the median of int(exp(N(4, 2))) is 54; of a hundred draws it lies within a factor 1.7
    assert 54 / 1.7 < np.median(total / 5 - 50) < 54 * 1.7
    np.testing.assert_array_equal(task.sizes, total * 4 // 5)
    rows = np.concatenate([task.training_data(client)[0] for client in range(100)])
    assert rows.min() >= 0
    assert rows.max() <= 1
    assert abs(rows.mean() - 0.5) < 0.001
    assert abs(rows.var() - 1 / 12) < 0.001
    assert 7.9 < task.smoothness < 8.4  # 8.18 was measured on the published data of another seed


def test_accuracies_are_of_the_test_samples():
    points = np.random.default_rng(1).standard_normal((6, SMALL.dimension))
    expected = []
    for client, point in enumerate(points):
        matrix = point.reshape(SMALL.classes, SMALL.features + 1)
        x, y = SMALL.testing_data(client)
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
        x, y = published.training_data(client)
        matrix = published.generating_models[published.labels[client]].reshape(10, 61)
        scores = x @ matrix[:, :-1].T + matrix[:, -1]
        again = (scores + 0.5 * stream.standard_normal(scores.shape)).argmax(axis=1)
        kept.append([(again == scores.argmax(axis=1)).mean(), (y == scores.argmax(axis=1)).mean()])
    fresh, drawn = np.mean(kept, axis=0)
    assert abs(fresh - drawn) < 0.01
    li = SoftmaxMixture(clients=20, clusters=4, largest=500, distribution="li", seed=3)
    assert (li.accuracies(li.generating_models[li.labels], clients) == 1).all()


def test_the_other_distribution_has_the_moments_of_li():
    task = SoftmaxMixture(clients=40, clusters=4, distribution="li", seed=5)
    within = np.zeros(60)
    middles = []
    for client in range(40):
        x, _ = task.training_data(client)
        middles.append(x.mean(axis=0))
        within += ((x - x.mean(axis=0)) ** 2).sum(axis=0)
    variances = within / (task.sizes.sum() - 40)
    np.testing.assert_allclose(variances, np.arange(1, 61) ** -1.2, rtol=0.1)
    middles = np.array(middles)
    assert abs(middles.var(axis=1).mean() - 1) < 0.1  # v_i around B_i
    assert 0.4 < middles.mean(axis=1).var() < 2  # B_i around 0
    assert task.sizes.min() >= 40
    assert (task.sizes < 60).mean() > 0.05


def test_a_task_is_made_again_from_its_settings():
    arguments = dict(SMALL.settings)
    assert arguments.pop("task") == "softmax"
    again = SoftmaxMixture(**arguments)
    for client in range(6):
        for one, other in zip(SMALL.training_data(client), again.training_data(client), strict=True):
            np.testing.assert_array_equal(one, other)
    trained = SoftmaxMixture(**{**arguments, "batch_size": 50, "local_unit": "epoch"}).settings
    assert (trained["batch_size"], trained["local_unit"]) == (50, "epoch")
    assert (SoftmaxMixture(**{**arguments, "seed": 3}).generating_models != SMALL.generating_models).all()
    shorter = SoftmaxMixture(**{**arguments, "clients": 5})
    np.testing.assert_array_equal(shorter.training_data(4)[0], SMALL.training_data(4)[0])


def test_it_answers_all_that_algorithms_ask():
    start = SMALL.initial_models(3, (2,), np.random.default_rng(0))
    assert start.shape == (2, 3, 15)
    assert (start == start[:, :1]).all()
    assert SMALL.reference_optima("clusters") is None


@pytest.mark.slow(reason="several seconds")
def test_fpfc_finds_the_clusters_and_the_accuracy_of_the_generating_models():
    task = SoftmaxMixture(clients=16, clusters=4, features=20, classes=5, largest=2000, seed=4)
    algorithm = FPFC(step_size=1 / (task.smoothness + 1), strength=0.6, participation=0.5)
    trace = run(algorithm, task, rounds=300)
    assert trace.adjusted_rand_index == 1.0
    averaged = group_averages(trace.models[-1], trace.last_assignments, task.sizes.astype(float))
    scores = client_accuracies(task, averaged, NOTHING, step_size=0.1)
    ceiling = task.accuracies(task.generating_models[task.labels], np.arange(16)).mean()
    assert ceiling - 0.1 < scores.server_model.mean() <= ceiling + 0.02


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"features": 0}, "features"),
        ({"classes": 1}, "classes"),
        ({"clients": 2, "clusters": 3}, "clusters"),
        ({"distribution": "mnist"}, "distribution"),
        ({"largest": 2}, "largest"),
        ({"precision": "half"}, "precision"),
        ({"seed": -1}, "seed"),
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 1.5}, "batch_size"),
        ({"local_unit": "round"}, "local_unit"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments, argument):
    with pytest.raises(InvalidArgument) as raised:
        SoftmaxMixture(**arguments)
    assert raised.value.argument == argument
