"""Losses, gradients, curvature and scores of every engine against plain PyTorch, client by client."""

import numpy as np
import pytest
import torch
from local_training import local_training
from small_images import client_data, flat, load, module, plain_gradient, random_partition
from split_mix import tree_of_numbers

from clusterproof.algorithms import (
    InvalidArgument,
)
from clusterproof.neural.engines.sampling import Schedule
from clusterproof.neural.networks import CNN, MLP, ResNet20, TutorialCNN
from clusterproof.neural.task import ImageTask

SIZES, TEST_SIZES = (7, 3, 12, 12, 1), (4, 9, 2, 1, 5)
NETWORKS = {
    "mlp": MLP((1, 16, 16), 3, (6,)),
    "cnn": CNN((1, 16, 16), 3, (2, 3), (5,)),
    "padded": CNN((1, 16, 16), 3, (3, 2), (), padding=(2, 1)),
    "tutorial": TutorialCNN((1, 16, 16), 3),
    "resnet": ResNet20((1, 16, 16), 3),
}
PARTITION = random_partition(SIZES, image_shape=(1, 16, 16), test_sizes=TEST_SIZES)
WAYS = [("mlp", "gram"), ("mlp", "vmap"), ("mlp", "serial"), ("cnn", "vmap"), ("cnn", "serial")]
GRADIENTS = [(network, engine) for network in NETWORKS for engine in ("vmap", "serial")]
BATCHED = [way for way in WAYS if way[1] != "gram"]


def make(way, **options):
    name, engine = way
    given = {"dtype": "float64", **options}
    return ImageTask(partition=PARTITION, network=NETWORKS[name], engine=engine, **given)


def models_of(task, count, seed=0):
    return task.initial_models(count, (), np.random.default_rng(seed))


def plain_scores(task, point, images):
    model = module(task.network).double()
    load(model, point)
    return model(images)


def drawn_data(task, clients, generator):
    """The batches that a call draws: the samples of the smallest uniform numbers, in their order."""
    client_images = task.partition.train
    sizes = client_images.sizes[clients]
    data = [client_data(client_images, client, torch.float64) for client in clients]
    if task.batch_size is None:
        return data
    keys = tree_of_numbers(generator.bit_generator.random_raw(), (len(clients), 1, sizes.max()))[:, 0]
    orders = [np.argsort(row[:size])[: task.batch_size] for row, size in zip(keys, sizes, strict=True)]
    return [(images[order], targets[order]) for (images, targets), order in zip(data, orders, strict=True)]


def test_a_task_has_the_sizes_of_its_partition():
    task = make(("cnn", "serial"))
    assert (task.clients, task.clusters, task.dimension) == (5, 2, task.network.dimension)
    assert task.reference_optima("clusters") is None
    np.testing.assert_array_equal(task.labels, PARTITION.train.labels)


@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize("way", BATCHED, ids=str)
def test_losses_use_all_data_whatever_the_batch(way, batch_size):
    task = make(way, batch_size=batch_size)
    models = models_of(task, 3)
    found = task.losses(models, torch.tensor([4, 0, 2]), np.random.default_rng(0))
    for row, client in enumerate((4, 0, 2)):
        images, targets = client_data(PARTITION.train, client, torch.float64)
        for column, model in enumerate(models):
            expected = torch.nn.functional.cross_entropy(plain_scores(task, model, images), targets)
            torch.testing.assert_close(found[row, column], expected.detach(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_scores_of_all_test_holders_and_accuracies_of_their_own_points(way):
    task = make(way)
    models = models_of(task, 3, seed=2)
    scores = task.scores(models)
    assert scores.losses.shape == scores.accuracies.shape == (5, 3)
    for holder in range(5):
        images, targets = client_data(PARTITION.test, holder, torch.float64)
        for column, model in enumerate(models):
            logits = plain_scores(task, model, images).detach()
            loss = torch.nn.functional.cross_entropy(logits, targets)
            torch.testing.assert_close(scores.losses[holder, column], loss, rtol=0, atol=1e-12)
            share = (logits.argmax(1) == targets).double().mean()
            torch.testing.assert_close(scores.accuracies[holder, column], share, rtol=0, atol=1e-15)
    clients = torch.tensor([3, 1, 1])
    own = task.accuracies(models, clients)
    torch.testing.assert_close(own, scores.accuracies[clients, torch.arange(3)], rtol=0, atol=1e-15)


@pytest.mark.parametrize("batch_size", [None, 4, 50])
@pytest.mark.parametrize(
    "way",
    [
        pytest.param(way, marks=pytest.mark.slow(reason="large networks"))
        if way[0] in ("tutorial", "resnet")
        else way
        for way in GRADIENTS
    ],
    ids=str,
)
def test_gradients_and_their_sums(way, batch_size):
    task = make(way, batch_size=batch_size)
    clients = np.array([4, 0, 2, 3, 1])
    points = models_of(task, 5)
    found = task.gradients(points, torch.as_tensor(clients), np.random.default_rng(3))
    data = drawn_data(task, clients, np.random.default_rng(3))
    for row in range(5):
        expected = plain_gradient(task.network, points[row], *data[row])[1]
        torch.testing.assert_close(found[row], expected, rtol=0, atol=1e-12 * expected.norm().clamp(min=1))
    models, assignments = points[:3], torch.tensor([2, 0, 2, 2, 0])
    sums = task.gradient_sums(models, torch.as_tensor(clients), assignments, np.random.default_rng(3))
    expected = torch.zeros_like(models)
    for row, index in enumerate(assignments.tolist()):
        expected[index] += plain_gradient(task.network, models[index], *data[row])[1]
    torch.testing.assert_close(sums, expected, rtol=0, atol=1e-12 * expected.norm().clamp(min=1))
    assert not sums[1].any(), "a cluster without clients has a sum of zero"
    alone, _, last = task.gradient_sums(
        models, torch.tensor([4]), torch.tensor([2]), np.random.default_rng(3)
    )
    expected = plain_gradient(task.network, models[2], *drawn_data(task, [4], np.random.default_rng(3))[0])[1]
    torch.testing.assert_close(last, expected, rtol=0, atol=1e-12 * expected.norm().clamp(min=1))
    assert not alone.any(), "fewer participants than models"


@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize("way", BATCHED, ids=str)
def test_losses_and_gradients_are_of_one_batch(way, batch_size):
    task = make(way, batch_size=batch_size)
    clients = np.array([2, 0, 4])
    models = models_of(task, 2)
    losses, gradients = task.losses_and_gradients(models, torch.as_tensor(clients), np.random.default_rng(3))
    assert losses.shape == (3, 2)
    assert gradients.shape == (3, 2, task.dimension)
    data = drawn_data(task, clients, np.random.default_rng(3))
    for row in range(3):
        for index in range(2):
            loss, gradient = plain_gradient(task.network, models[index], *data[row])
            torch.testing.assert_close(losses[row, index], loss, rtol=0, atol=1e-12)
            torch.testing.assert_close(gradients[row, index], gradient, rtol=0, atol=1e-12)


@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize("way", BATCHED, ids=str)
def test_hessian_products_are_those_of_double_backward(way, batch_size):
    task = make(way, batch_size=batch_size)
    clients = np.array([2, 0, 4])
    points = models_of(task, 3)
    directions = torch.as_tensor(np.random.default_rng(7).standard_normal(points.shape))
    found = task.hessian_products(points, directions, torch.as_tensor(clients), np.random.default_rng(3))
    data = drawn_data(task, clients, np.random.default_rng(3))
    for row in range(3):
        _, expected = plain_gradient(task.network, points[row], *data[row], along=directions[row])
        torch.testing.assert_close(found[row], expected, rtol=0, atol=1e-11)


def answers(task, points, clients, seed=3):
    """Everything that a task computes at points (..., k, d), as one list of tensors."""

    def stream():
        return np.random.default_rng(seed)

    models = points[..., :2, :]
    assignments = clients % 2
    ahead = 0 * points + 0.1
    motion = {"step_size": 0.2, "momentum": 0.5, "proximal": 0.1, "local_steps": 3}
    trained = local_training(task, points, ahead, points, clients, stream(), **motion)
    return [
        task.losses(models, clients, stream()),
        task.gradients(points, clients, stream()),
        *task.losses_and_gradients(models, clients, stream()),
        task.gradient_sums(models, clients, assignments, stream()),
        task.hessian_products(points, ahead, clients, stream()),
        *trained,
        task.accuracies(points, clients),
        task.scores(models).losses,
    ]


@pytest.mark.parametrize(("dtype", "batch_size"), [("float64", None), ("float32", 4)])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_chunks_change_nothing(way, batch_size, dtype):
    """Not one bit with perceptrons on one thread; to rounding with convolutions."""
    tasks = [make(way, batch_size=batch_size, dtype=dtype, chunk=chunk) for chunk in (1, 3, None)]
    points = models_of(tasks[0], 5)
    found = [answers(task, points, torch.tensor([4, 0, 2, 1, 3])) for task in tasks]
    sums, curvature = 4, 5
    for position, (one, three, all_) in enumerate(zip(*found, strict=True)):
        if way[0] == "mlp" and position not in (sums, curvature):
            assert torch.equal(one, all_)
            assert torch.equal(three, all_)
        else:
            tolerance = 1e-12 if dtype == "float64" else 1e-5
            torch.testing.assert_close(one, all_, rtol=0, atol=tolerance)
            torch.testing.assert_close(three, all_, rtol=0, atol=tolerance)


@pytest.mark.parametrize("way", BATCHED, ids=str)
def test_the_same_seed_gives_the_same_bits(way):
    tasks = [make(way, batch_size=4, dtype="float32") for _ in range(2)]
    points, clients = models_of(tasks[0], 5), torch.tensor([4, 0, 2, 1, 3])
    for one, other in zip(*(answers(task, points, clients) for task in tasks), strict=True):
        assert torch.equal(one, other)
    other = answers(tasks[0], points, clients, seed=4)[1]
    assert not torch.equal(other, answers(tasks[0], points, clients)[1])


def test_a_batch_is_a_uniform_draw_without_replacement():
    """Of 12 samples each is in a batch of 4 with probability 1/3, and none twice: over clients, steps and calls."""
    stream = np.random.default_rng(0)
    sizes = np.array([12] * 100 + [3])
    counted = np.zeros(12)
    for _ in range(10):
        schedule = Schedule.independent(sizes, 4, 3, stream)
        for step in range(3):
            samples, counts = schedule.batch(np.arange(101), step)
            assert counts.tolist() == [4] * 100 + [3]
            assert (np.diff(np.sort(samples[:100])) > 0).all()
            assert sorted(samples[100][:3]) == [0, 1, 2]
            counted += np.bincount(samples[:100].ravel(), minlength=12)
    # binomial: five standard deviations
    assert np.abs(counted - 1000).max() < 5 * np.sqrt(3000 * 2 / 9)


def test_walks_use_every_sample_once_in_a_pass():
    sizes = (7, 3, 12)
    for unit, local_steps, expected in (("epoch", 3, [6, 3, 9]), ("step", 5, [5, 5, 5])):
        walk = Schedule.draw(np.array(sizes), 4, local_steps, unit, np.random.default_rng(0))
        assert walk.steps.tolist() == expected
        seen = {client: [] for client in range(3)}
        for step in range(max(expected)):
            rows = np.flatnonzero(walk.steps > step)
            samples, counts = walk.batch(rows, step)
            for row, batch, count in zip(rows, samples, counts, strict=True):
                seen[row].append(batch[:count].tolist())
        assert [len(batch) for batch in seen[0]] == ([4, 3] * 3)[: expected[0]]
        for client, size in enumerate(sizes):
            samples = np.concatenate(seen[client])
            passes = [samples[start : start + size] for start in range(0, len(samples), size)]
            for samples_of_pass in passes:
                assert len(set(samples_of_pass.tolist())) == len(samples_of_pass), "a sample twice in a pass"
            assert all(sorted(whole) == list(range(size)) for whole in passes[:-1])
            assert unit == "step" or len(passes[-1]) == size
            assert not np.array_equal(passes[0], passes[1]), "the passes have orders of their own"


def test_accuracies_of_others_test_data_are_refused():
    partition = random_partition((3, 3), paired=False)
    task = ImageTask(partition=partition, network=MLP((1, 4, 4), 3, (2,)))
    points = models_of(task, 2)
    with pytest.raises(InvalidArgument, match="test data of other clients"):
        task.accuracies(points, torch.tensor([0, 1]))
    assert task.scores(points).losses.shape == (2, 2)


@pytest.mark.parametrize(("batch_size", "expected"), [(None, None), (1, 1), (2, None), (12, None)])
def test_samples_of_a_gradient(batch_size, expected):
    assert make(("mlp", "auto"), batch_size=batch_size).samples == expected
    equal = random_partition((5, 5))
    task = ImageTask(partition=equal, network=MLP((1, 4, 4), 3, (2,)), batch_size=batch_size)
    assert task.samples == (5 if batch_size in (None, 12) else batch_size)


def test_starting_models_are_float_tensors_of_the_network_law():
    task = make(("mlp", "auto"), dtype="float32")
    found = task.initial_models(3, (), np.random.default_rng(5))
    assert found.dtype == torch.float32
    expected = task.network.initial((3,), np.random.default_rng(5)).astype(np.float32)
    np.testing.assert_array_equal(found.numpy(), expected)
    assert flat(module(task.network)).shape == found.shape[-1:]
