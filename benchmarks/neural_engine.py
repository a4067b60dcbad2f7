"""Local training of networks by each engine, and a whole round, against a plain torch loop.

``python -m benchmarks.neural_engine``. Ratios are medians over interleaved repetitions, of CPU time on one thread.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmarks.timing import median_seconds, report_target
from clusterproof.algorithms import IFCA, Descent, Randomness
from clusterproof.neural.networks import CNN, MLP, Network
from clusterproof.neural.partitions.base import ClientImages, Partition
from clusterproof.neural.task import ImageTask

CLASSES, STEP_SIZE, SAMPLES, REPEATS = 10, 0.1, 100, 5


@dataclass(frozen=True)
class Work:
    """Local training of some clients with 100 samples each, in full batches.

    Attributes
    ----------
    network, module
        What is trained, and the same network in ``torch.nn``.
    engines
        Which engines are timed.
    clients, steps
        How many clients, and local steps of each.
    target
        Of the plain loop's time over that of the engine that ``auto`` chooses.
    """

    network: Network
    module: nn.Module
    engines: tuple[str, ...]
    clients: int
    steps: int
    target: float


PERCEPTRON = Work(
    MLP((1, 28, 28), CLASSES),
    nn.Sequential(nn.Flatten(), nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, CLASSES)),
    ("gram", "vmap", "serial"),
    clients=48,
    steps=10,
    target=4,
)
CONVOLUTIONS = Work(
    CNN((3, 32, 32), CLASSES),
    nn.Sequential(
        *(nn.Conv2d(3, 32, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(1600, 512), nn.ReLU(), nn.Linear(512, CLASSES)),
    ),
    ("vmap", "serial"),
    clients=6,
    steps=3,
    target=1.1,
)


def random_images(work: Work) -> Partition:
    """Noise in every pixel, which takes as long as any images."""
    stream = np.random.default_rng(0)
    total = work.clients * SAMPLES
    client_images = ClientImages(
        stream.integers(0, 256, (total, *work.network.image_shape), dtype=np.uint8),
        np.arange(total).reshape(work.clients, SAMPLES),
        stream.integers(0, CLASSES, (work.clients, SAMPLES)),
        np.full(work.clients, SAMPLES),
        np.zeros(work.clients, dtype=np.int64),
    )
    return Partition("benchmark", {"data": "noise"}, 1, CLASSES, client_images, client_images, True)


class Loop:
    """One client after the other by module, optimiser and autograd, on data that are ready tensors."""

    def __init__(self, work: Work, partition: Partition) -> None:
        self.work, client_images = work, partition.train
        scaled = torch.tensor(client_images.pixels[client_images.indices] / 255.0, dtype=torch.float32)
        self.data = list(zip(scaled, torch.as_tensor(client_images.targets), strict=True))
        self.module = copy.deepcopy(work.module)

    def train(self, point: Tensor, images: Tensor, targets: Tensor) -> Tensor:
        """Return the trained model (d,) of one client."""
        nn.utils.vector_to_parameters(point.clone(), self.module.parameters())
        optimiser = torch.optim.SGD(self.module.parameters(), lr=STEP_SIZE)
        for _ in range(self.work.steps):
            optimiser.zero_grad()
            cross_entropy(self.module(images), targets).backward()
            optimiser.step()
        return nn.utils.parameters_to_vector(self.module.parameters()).detach()

    def local_training(self, point: Tensor) -> Tensor:
        """Return the trained models (k, d) of all clients."""
        return torch.stack([self.train(point, *data) for data in self.data])

    def round(self, models: Tensor) -> Tensor:
        """Choose models by the loss, train, and average each model's clients: (P, d)."""
        chosen = []
        for images, targets in self.data:
            losses = []
            for model in models:
                nn.utils.vector_to_parameters(model.clone(), self.module.parameters())
                with torch.no_grad():
                    losses.append(float(cross_entropy(self.module(images), targets)))
            chosen.append(int(np.argmin(losses)))
        averages = models.clone()
        for cluster in set(chosen):
            members = [data for data, own in zip(self.data, chosen, strict=True) if own == cluster]
            averages[cluster] = torch.stack([self.train(models[cluster], *data) for data in members]).mean(0)
        return averages


def local_training(task: ImageTask, work: Work, point: Tensor) -> Tensor:
    """Return the trained models (k, d) of all clients, by our engine."""
    points, clients = point.expand(work.clients, -1), torch.arange(work.clients)
    descent = Descent(STEP_SIZE, work.steps)
    return torch.as_tensor(task.local_steps(points, clients, np.random.default_rng(0), descent).points)


def one_round(task: ImageTask, work: Work, models: Tensor) -> Tensor:
    """Return the models (P, d) after a round of IFCA."""
    algorithm = IFCA(step_size=STEP_SIZE, averaging="model", clusters=len(models), local_steps=work.steps)
    state = algorithm.step(algorithm.initialise(models, task), task, Randomness.from_seed(0))
    return torch.as_tensor(state.models)


def compare(work: Work) -> None:
    """Check that all compute the same models, and print the ratios of their times."""
    partition = random_images(work)
    loop = Loop(work, partition)
    tasks = {name: ImageTask(partition=partition, network=work.network, engine=name) for name in work.engines}
    auto = ImageTask(partition=partition, network=work.network)
    models = auto.initial_models(2, (), np.random.default_rng(1))
    training = {"loop": partial(loop.local_training, models[0])}
    training |= {name: partial(local_training, task, work, models[0]) for name, task in tasks.items()}
    rounds = {"loop": partial(loop.round, models), "ours": partial(one_round, auto, work, models)}
    for calls in (training, rounds):
        expected = calls["loop"]()
        for name, call in calls.items():
            torch.testing.assert_close(call(), expected, rtol=0, atol=2e-3, msg=name)
    seconds = median_seconds(training, REPEATS, clock=time.process_time)
    chosen = auto.settings["engine"]
    for name, value in seconds.items():
        step = 1e3 * value / (work.clients * work.steps)
        note = "   <- auto" if name == chosen else ""
        print(
            f"{work.network.name}, {name:8s}{step:8.3f} ms a client-step, loop / it {seconds['loop'] / value:.2f}{note}"
        )
    report_target(
        f"{work.network.name}, local training, loop / auto", seconds["loop"] / seconds[chosen], work.target
    )
    seconds = median_seconds(rounds, REPEATS, clock=time.process_time)
    report_target(
        f"{work.network.name}, a round of IFCA, loop / ours", seconds["loop"] / seconds["ours"], work.target
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    for work in (PERCEPTRON, CONVOLUTIONS):
        compare(work)
