"""Local training on distorted images against plain PyTorch, one client after the other."""

from typing import Any

import numpy as np
import pytest
import torch
from local_training import local_training
from small_images import flat, load, module, plain_gradient, random_partition

from clusterproof.algorithms import ALGORITHMS, Descent, InvalidArgument, Randomness
from clusterproof.neural.data.preprocessing import Preprocessing, undistorted
from clusterproof.neural.engines.chunks import torch_threads
from clusterproof.neural.engines.distortion import distorted, draw_distortions
from clusterproof.neural.engines.sampling import Schedule
from clusterproof.neural.networks import CNN, MLP, Network, TutorialCNN
from clusterproof.neural.task import ImageTask

SEEN = Preprocessing(crop=16, flip=True, brightness=0.2, contrast=0.8, standardise=True)
PARTITION = random_partition((9, 4, 9), image_shape=(2, 18, 19))
PERCEPTRON = MLP((2, 16, 16), 3, (4,))
CONVOLUTIONS = CNN((2, 16, 16), 3, (2, 3), (4,))
CLIENTS = torch.tensor([2, 0, 1])


def make(network: Network, **given: Any) -> ImageTask:
    options = {"partition": PARTITION, "preprocessing": SEEN, "dtype": "float64", **given}
    return ImageTask(network=network, **options)


def stored(client: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Images in [0, 1] and classes of a client."""
    held = PARTITION.train
    own = slice(int(held.sizes[client]))
    pixels = held.pixels[held.indices[client, own]]
    return torch.tensor(pixels / 255.0), torch.tensor(held.targets[client, own])


def start(task: ImageTask) -> torch.Tensor:
    return task.initial_models(3, (), np.random.default_rng(4))


def train(task: ImageTask, seed: int = 0, **given: Any) -> torch.Tensor:
    options = {"step_size": 0.1, "momentum": 0.6, "proximal": 0.0, "local_steps": 3, **given}
    points, _ = local_training(task, start(task), None, None, CLIENTS, np.random.default_rng(seed), **options)
    return points


@pytest.mark.parametrize(
    ("network", "engine", "batch_size", "unit"),
    [
        (PERCEPTRON, "vmap", 4, "epoch"),
        (PERCEPTRON, "vmap", None, "step"),
        (PERCEPTRON, "serial", 4, "step"),
        (CONVOLUTIONS, "serial", 4, "epoch"),
        (CONVOLUTIONS, "vmap", None, "step"),
    ],
    ids=str,
)
def test_local_steps_on_distorted_images(
    network: Network, engine: str, batch_size: int | None, unit: str
) -> None:
    task = make(network, engine=engine, batch_size=batch_size, local_unit=unit)
    found = train(task)
    source, sizes = np.random.default_rng(0), PARTITION.train.sizes[CLIENTS.numpy()]
    schedule, steps = None, 3
    if batch_size is not None:
        schedule = Schedule.draw(sizes, batch_size, 3, unit, source)
        steps = int(schedule.steps.max())
    numbers = draw_distortions(SEEN, CLIENTS, steps, batch_size or 9, source)
    for place, client in enumerate(CLIENTS.tolist()):
        images, targets = stored(client)
        plain = module(network).double()
        load(plain, start(task)[place])
        optimiser = torch.optim.SGD(plain.parameters(), lr=0.1, momentum=0.6)
        for step in range(3 if schedule is None else int(schedule.steps[place])):
            which = np.arange(len(images))
            if schedule is not None:
                samples, counts = schedule.batch(np.array([place]), step)
                which = np.asarray(samples)[0, : counts[0]]
            own = numbers[place, step, : len(which)]
            seen = torch.stack(
                [distorted(images[i][None], SEEN, n[None])[0] for i, n in zip(which, own, strict=True)]
            )
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(plain(seen), targets[which]).backward()
            optimiser.step()
        torch.testing.assert_close(found[place], flat(plain), rtol=0, atol=1e-12)
    assert not torch.equal(found, train(task, seed=1))


def test_evaluation_sees_the_centre_and_gradients_do_not() -> None:
    task = make(PERCEPTRON)
    models = start(task)[:2]
    losses = task.losses(models, torch.arange(3), np.random.default_rng(0))
    plain = module(PERCEPTRON).double()
    for client in range(3):
        images, targets = stored(client)
        for index, model in enumerate(models):
            load(plain, model)
            expected = torch.nn.functional.cross_entropy(plain(undistorted(images[None], SEEN)[0]), targets)
            assert float(losses[client, index]) == pytest.approx(float(expected.detach()), abs=1e-12)
    gradients = [task.gradients(start(task), CLIENTS, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert torch.equal(gradients[0], gradients[1])
    assert not torch.equal(gradients[0], gradients[2]), "the batch is the same, its images are not"
    numbers = draw_distortions(SEEN, CLIENTS, 1, 9, np.random.default_rng(0))
    images, targets = stored(2)
    _, expected = plain_gradient(PERCEPTRON, start(task)[0], distorted(images, SEEN, numbers[0, 0]), targets)
    torch.testing.assert_close(gradients[0][0], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("network", "batch_size"), [(PERCEPTRON, 4), (PERCEPTRON, None), (CONVOLUTIONS, 4)], ids=str
)
def test_the_same_bits_on_any_number_of_threads_and_clients_at_a_time(
    network: Network, batch_size: int | None
) -> None:
    found = []
    for threads, chunk in ((1, None), (2, None), (1, 1), (2, 2)):
        torch.set_num_threads(threads)
        task = make(network, batch_size=batch_size, dtype="float32", chunk=chunk)
        models, buffers = start(task)[:2], torch.zeros(2, task.dimension)
        assignments, descent = torch.tensor([1, 0, 1]), Descent(0.1, 3, momentum=0.6)
        stream = np.random.default_rng(0)
        sums, _ = task.local_sums(models, CLIENTS, assignments, stream, descent, buffers=buffers)
        found.append((train(task), sums))
        with torch_threads(3):
            assert torch.get_num_threads() == 3
        assert torch.get_num_threads() == threads
    for points, sums in found[1:]:
        assert torch.equal(points, found[0][0])
        if network is CONVOLUTIONS:
            assert torch.equal(sums, found[0][1])
    assert torch.equal(found[0][1], found[1][1])


def test_sums_of_clusters_are_those_of_their_members() -> None:
    task = make(CONVOLUTIONS, batch_size=4)
    models = start(task)[:1]
    given = {"step_size": 0.1, "momentum": 0.6, "proximal": 0.0, "local_steps": 3}
    assignments, descent = torch.zeros(3, dtype=torch.int64), Descent(0.1, 3, momentum=0.6)
    sums, _ = task.local_sums(models, CLIENTS, assignments, np.random.default_rng(0), descent)
    points, _ = local_training(
        task, models.expand(3, -1).clone(), None, None, CLIENTS, np.random.default_rng(0), **given
    )
    torch.testing.assert_close(sums[0], points.sum(0), rtol=0, atol=1e-12)


def test_gram_matrices_are_of_images_that_stay_as_they_are() -> None:
    for engine in ("vmap", "serial"):
        assert make(PERCEPTRON, engine=engine).settings["engine"] == engine
    assert make(PERCEPTRON).settings["engine"] == "vmap"
    with pytest.raises(InvalidArgument, match="distorted in each"):
        make(PERCEPTRON, engine="gram")
    alike = Preprocessing(standardise=True)
    network = MLP((2, 18, 19), 3, (4,))
    ends = [train(make(network, preprocessing=alike, engine=engine)) for engine in ("gram", "vmap", "auto")]
    torch.testing.assert_close(ends[0], ends[1], rtol=0, atol=1e-12)
    assert make(network, preprocessing=alike).settings["engine"] == "gram"
    assert make(network, preprocessing=alike).settings["preprocessing"] == {"standardise": True}
    assert "preprocessing" not in make(network, preprocessing=Preprocessing()).settings


@pytest.mark.parametrize("name", ["ifca", "gradient-loss", "per-fedavg"])
def test_algorithms_run_on_distorted_images(name: str) -> None:
    task = make(TutorialCNN((2, 12, 12), 3), preprocessing=Preprocessing(crop=12, flip=True), batch_size=4)
    algorithm: Any = ALGORITHMS[name](step_size=0.1)
    randomness = Randomness.from_seed(0, "test")
    models = algorithm.draw_models(task, (), randomness)
    state = algorithm.step(algorithm.initialise(models, task), task, randomness)
    assert torch.isfinite(state.models).all()
    assert not torch.equal(state.models, models)
