"""Whole rounds of every network, engine and algorithm: autograd, one client at a time, in double precision.

Clients have unequal numbers of samples, and take full batches.
"""

import numpy as np
import pytest
import torch
from plain_loops import replay
from small_images import client_data, load, module, random_partition
from torch import nn

from clusterproof.algorithms import ALGORITHMS, Randomness
from clusterproof.algorithms.arrays import to_numpy
from clusterproof.neural.custom.module_network import ModuleNetwork
from clusterproof.neural.networks import CNN, MLP, ResNet20, TutorialCNN
from clusterproof.neural.task import ImageTask

SIZES = (7, 3, 12, 10, 1)
NETWORKS = {
    "mlp": MLP((1, 4, 4), 3, (4,)),
    "cnn": CNN((1, 16, 16), 3, (2, 3), (4,)),
    "tutorial": TutorialCNN((1, 3, 4), 3),
    "resnet": ResNet20((1, 4, 4), 3),
    "module": ModuleNetwork(
        "test:Net",
        {},
        lambda: nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.GroupNorm(2, 8), nn.Tanh(), nn.Flatten(), nn.Linear(32, 3)
        ),
        torch.rand(4, 1, 4, 4, generator=torch.Generator().manual_seed(0)),
        3,
    ),
}
MODEL_AVERAGING = {"averaging": "model", "local_steps": 2, "momentum": 0.7}
ROUNDS_OF = {
    "cfl-mgd": [
        {"momentum": 0.7, "empty_cluster": "freeze", "participation": 0.4},
        {"momentum": 0.7, "momentum_owner": "client", "update_order": "as-printed"},
        {**MODEL_AVERAGING, "participation": 0.6},
        {**MODEL_AVERAGING, "update_order": "as-printed", "reset_momentum": True},
    ],
    "ifca": [{}, {"averaging": "model", "local_steps": 3, "participation": 0.4}],
    "fedavg": [{"local_steps": 3, "participation": 0.6}, {"local_steps": 2, "weighting": "samples"}],
    "fedprox": [{"local_steps": 3, "proximal": 0.3, "participation": 0.6, "weighting": "samples"}],
    "fedbcd": [{"local_steps": 2, "proximal": 0.4}, {"variant": "separate", "local_steps": 2}],
    "local": [{"local_steps": 2, "participation": 0.6}],
    "per-fedavg": [
        {"local_steps": 2, "participation": 0.6, "weighting": "samples"},
        {"gradient": "second-order", "inner_step_size": 0.2},
    ],
    "gradient-loss": [{"weight": 0.5, "empty_cluster": "never"}],
}
ENGINES = [("mlp", "gram")] + [(network, engine) for network in NETWORKS for engine in ("vmap", "serial")]
LARGE = ("tutorial", "resnet")
EACH_ANSWER = (("cfl-mgd", 0), ("cfl-mgd", 2), ("fedprox", 0), ("per-fedavg", 1))
"""Rounds that ask a task for everything: losses, sums of gradients, local steps and Hessian-vector products."""


def rows_of(network, engine):
    """Return every algorithm of a small network, and some of a large one; the fast tests try all with perceptrons."""
    for name, variants in ROUNDS_OF.items():
        for place, options in enumerate(variants):
            if network in LARGE and place != (2 if name == "cfl-mgd" else 1):
                continue
            reason = "large networks" if network in LARGE else "each answer of a task is fast"
            fast = network == "mlp" or (network not in LARGE and (name, place) in EACH_ANSWER)
            marks = () if fast else pytest.mark.slow(reason=reason)
            yield pytest.param(network, engine, name, options, marks=marks)


class Derivatives:
    """Losses, gradients and Hessian-vector products of a task's clients by autograd, as NumPy arrays."""

    def __init__(self, task):
        self.module = module(task.network).double()
        self.parameters = list(self.module.parameters())
        self.data = [client_data(task.partition.train, i, torch.float64) for i in range(task.clients)]

    def _loss(self, client, model):
        load(self.module, torch.as_tensor(model))
        images, targets = self.data[client]
        return nn.functional.cross_entropy(self.module(images), targets)

    def _gradient(self, client, model, **options):
        gradients = torch.autograd.grad(self._loss(client, model), self.parameters, **options)
        return torch.cat([gradient.flatten() for gradient in gradients])

    def loss(self, client, model):
        return self._loss(client, model).item()

    def gradient(self, client, model):
        return self._gradient(client, model).numpy()

    def hessian(self, client, model):
        return Hessian(self, client, model)


class Hessian:
    """What is multiplied by a number and then by a vector."""

    def __init__(self, derivatives, client, model, scale=1.0):
        self.derivatives, self.client, self.model, self.scale = derivatives, client, model, scale

    def __rmul__(self, scale):
        return Hessian(self.derivatives, self.client, self.model, scale)

    def __matmul__(self, direction):
        gradient = self.derivatives._gradient(self.client, self.model, create_graph=True)
        along = gradient @ torch.as_tensor(direction)
        products = torch.autograd.grad(along, self.derivatives.parameters)
        return self.scale * torch.cat([product.flatten() for product in products]).numpy()


class PlainTask:
    """The little of a task that the plain loops use."""

    def __init__(self, task):
        self.clients, self.dimension, self.samples = task.clients, task.dimension, task.samples
        self.client_samples, self.derivatives = task.client_samples, Derivatives(task)


@pytest.mark.parametrize(
    ("network", "engine", "name", "options"),
    [row for network, engine in ENGINES for row in rows_of(network, engine)],
    ids=str,
)
def test_rounds_of_all_algorithms_are_those_of_plain_loops(network, engine, name, options):
    partition = random_partition(SIZES, image_shape=NETWORKS[network].image_shape)
    task = ImageTask(partition=partition, network=NETWORKS[network], dtype="float64", engine=engine)
    algorithm = ALGORITHMS[name](step_size=0.02 if network in LARGE else 0.4, **options)
    randomness = Randomness.from_seed(3)
    models = task.initial_models(algorithm.model_count(task), (), randomness.initialisation)
    state = algorithm.initialise(models, task)
    initial, history, recorded = state.models.numpy().copy(), [], []
    for _ in range(2 if network in LARGE else 4):
        state = algorithm.step(state, task, randomness)
        history.append(state.models.numpy().copy())
        assignments = np.full(task.clients, -1)
        assignments[to_numpy(state.clients)] = to_numpy(state.assignments)
        recorded.append(assignments)
    expected, choices = replay(algorithm, PlainTask(task), initial, recorded, [None] * len(recorded))
    np.testing.assert_array_equal(choices, recorded)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(np.array(history), expected[1:], rtol=0, atol=1e-10 * scale)
    assert np.abs(expected[-1] - initial).max() > 1e-4 * scale
