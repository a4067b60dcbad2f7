"""Whole rounds of every network, engine and algorithm: autograd, one client at a time, in double precision.

Clients have unequal numbers of samples. In the first table all take full batches; in the second, of CFL-MGD,
clusters lose all their clients and get some again, minibatches are drawn from their definition, and clients with
fewer batches finish earlier.
"""

import numpy as np
import pytest
import torch
from plain_loops import comes_back, replay
from plain_training import plain_training
from small_images import client_data, load, module, random_partition
from torch import nn

from clusterproof.algorithms import ALGORITHMS, CFLMGD, Randomness
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


UNEQUAL = (7, 3, 12, 10, 1, 5)
CLIENTS, CLUSTERS, ROUNDS = 6, 3, 7


class ModelAveraging:
    """Option II: a cluster without participants keeps its model and the momentum with which the round starts."""

    def __init__(self, models, derivatives):
        self.derivatives = derivatives
        self.buffers = torch.zeros_like(models)

    def round(self, algorithm, task, models, clients, choices, stream):
        buffers = 0 * self.buffers if algorithm.reset_momentum else self.buffers
        names = ("step_size", "momentum", "local_steps", "update_order")
        options = {"proximal": 0.0, **{name: getattr(algorithm, name) for name in names}}
        start = models[choices]
        points, momenta = plain_training(task, start, buffers[choices], start, clients, stream, options)
        moved, self.buffers = models.clone(), buffers.clone()
        for p in range(len(models)):
            members = choices == p
            if members.any():
                moved[p], self.buffers[p] = points[members].mean(0), momenta[members].mean(0)
        return moved


class GradientAveraging:
    """Option I with a buffer a cluster: one without participants gets a zero gradient, or is frozen."""

    def __init__(self, models, derivatives):
        self.derivatives = derivatives
        self.buffers = torch.zeros_like(models)

    def round(self, algorithm, task, models, clients, choices, stream):
        moved, self.buffers = models.clone(), self.buffers.clone()
        for p, model in enumerate(models):
            members = clients[choices == p]
            divisor = {"clients": CLIENTS, "participants": len(clients), "cluster": max(1, len(members))}
            gradients = [torch.as_tensor(self.derivatives.gradient(client, model)) for client in members]
            total = sum(gradients, torch.zeros_like(model))
            if len(members) or algorithm.empty_cluster == "coast":
                arriving = total / divisor[algorithm.normalisation]
                self.buffers[p] = algorithm.momentum * self.buffers[p] + arriving
                moved[p] = model - algorithm.step_size * self.buffers[p]
        return moved


MODEL = {"averaging": "model", "momentum": 0.9, "step_size": 2.0}
GRADIENT = {"momentum": 0.9, "step_size": 2.0, "normalisation": "cluster"}
CASES = {
    "model": (MODEL, {}, 9),
    "model, several steps": ({**MODEL, "local_steps": 2, "step_size": 4.0}, {}, 2),
    "model, as printed": ({**MODEL, "update_order": "as-printed", "step_size": 1.0}, {}, 4),
    "model, reset": ({**MODEL, "reset_momentum": True, "local_steps": 2}, {}, 2),
    "model, epochs": ({**MODEL, "step_size": 1.0}, {"batch_size": 4, "local_unit": "epoch"}, 0),
    "model, minibatches": ({**MODEL, "local_steps": 4, "step_size": 1.0}, {"batch_size": 4}, 11),
    "gradient, coast": (GRADIENT, {}, 17),
    "gradient, freeze": ({**GRADIENT, "empty_cluster": "freeze"}, {}, 9),
    "gradient, by participants": ({**GRADIENT, "normalisation": "participants", "step_size": 4.0}, {}, 23),
}
"""Options, those of the task, and a seed with which a cluster of all clients comes back; with half of them 5 does."""
WAYS = [("mlp", case, "vmap", participation) for case in CASES for participation in (1.0, 0.5)] + [
    (network, case, engine, participation)
    for network, engine in ENGINES
    if network not in LARGE and (network, engine) != ("mlp", "vmap")
    for case, participation in (("model", 0.5), ("model, epochs", 1.0), ("model, minibatches", 0.5))
    if engine != "gram" or case == "model"
]


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(("network", "case", "engine", "participation"), WAYS)
def test_rounds_of_cfl_mgd_with_empty_clusters_and_minibatches(network, case, engine, participation):
    options, training, seed = CASES[case]
    partition = random_partition(UNEQUAL, image_shape=NETWORKS[network].image_shape)
    task = ImageTask(
        partition=partition, network=NETWORKS[network], dtype="float64", engine=engine, **training
    )
    derivatives = Derivatives(task)
    algorithm = CFLMGD(clusters=CLUSTERS, participation=participation, **options)
    randomness, streams = (Randomness.from_seed(seed if participation == 1 else 5) for _ in range(2))
    models = 2 * task.initial_models(CLUSTERS, (), randomness.initialisation)
    kind = ModelAveraging if algorithm.averaging == "model" else GradientAveraging
    state, server, rounds = algorithm.initialise(models, task), kind(models, derivatives), []
    for _ in range(ROUNDS):
        state = algorithm.step(state, task, randomness)
        clients = to_numpy(state.clients)
        assert len(set(clients.tolist())) == round(participation * CLIENTS)
        losses = [[derivatives.loss(client, model) for model in models] for client in clients]
        choices = np.argmin(losses, axis=1)
        np.testing.assert_array_equal(state.assignments, choices)
        models = server.round(algorithm, task, models, clients, choices, streams.gradient)
        torch.testing.assert_close(state.models, models, rtol=0, atol=1e-10)
        torch.testing.assert_close(state.buffers, server.buffers, rtol=0, atol=1e-10)
        rounds.append(choices)
    if network == "mlp":
        assert comes_back(rounds, CLUSTERS)
