"""Whole rounds of CFL-MGD on small perceptrons: autograd, one client after the other, in double precision.

Clusters lose all their clients and get some again; minibatches are drawn from their definition.
"""

import numpy as np
import pytest
import torch
from plain_loops import comes_back
from plain_training import plain_training
from small_images import client_data, load, module, random_partition

from clusterproof.algorithms import CFLMGD, Randomness
from clusterproof.algorithms.arrays import to_numpy
from clusterproof.neural.networks import MLP
from clusterproof.neural.task import ImageTask

NETWORK = MLP((1, 4, 4), 3, (4,))
PLAIN = module(NETWORK).double()
PARTITION = random_partition((7, 3, 12, 10, 1, 5))
CLIENTS, CLUSTERS, ROUNDS = 6, 3, 7


def loss_of(client, model):
    load(PLAIN, model)
    images, targets = client_data(PARTITION.train, client, torch.float64)
    return torch.nn.functional.cross_entropy(PLAIN(images), targets)


def gradient_of(client, model):
    gradients = torch.autograd.grad(loss_of(client, model), list(PLAIN.parameters()))
    return torch.cat([gradient.flatten() for gradient in gradients])


class ModelAveraging:
    """Option II: a cluster without participants keeps model and momentum."""

    def __init__(self, models):
        self.buffers = torch.zeros_like(models)

    def round(self, algorithm, task, models, clients, choices, stream):
        buffers = 0 * self.buffers if algorithm.reset_momentum else self.buffers
        names = ("step_size", "momentum", "local_steps", "update_order")
        options = {"proximal": 0.0, **{name: getattr(algorithm, name) for name in names}}
        start = models[choices]
        points, momenta = plain_training(task, start, buffers[choices], start, clients, stream, options)
        moved, self.buffers = models.clone(), self.buffers.clone()
        for p in range(len(models)):
            members = choices == p
            if members.any():
                moved[p], self.buffers[p] = points[members].mean(0), momenta[members].mean(0)
        return moved


class GradientAveraging:
    """Option I with a buffer a cluster: one without participants gets a zero gradient, or is frozen."""

    def __init__(self, models):
        self.buffers = torch.zeros_like(models)

    def round(self, algorithm, task, models, clients, choices, stream):
        moved, self.buffers = models.clone(), self.buffers.clone()
        for p, model in enumerate(models):
            members = clients[choices == p]
            divisor = {"clients": CLIENTS, "participants": len(clients), "cluster": max(1, len(members))}
            total = sum((gradient_of(client, model) for client in members), torch.zeros_like(model))
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
    "model, epochs": ({**MODEL, "step_size": 1.0}, {"batch_size": 4, "local_unit": "epoch"}, 6),
    "model, minibatches": ({**MODEL, "local_steps": 4, "step_size": 1.0}, {"batch_size": 4}, 17),
    "gradient, coast": (GRADIENT, {}, 17),
    "gradient, freeze": ({**GRADIENT, "empty_cluster": "freeze"}, {}, 9),
    "gradient, by participants": ({**GRADIENT, "normalisation": "participants", "step_size": 4.0}, {}, 23),
}
"""Options, those of the task, and a seed with which a cluster of all clients comes back; with half of them 4 does."""
WAYS = [(case, "batched", participation) for case in CASES for participation in (1.0, 0.5)] + [
    (case, engine, participation)
    for engine in ("gram", "serial")
    for case, participation in (("model", 0.5), ("model, epochs", 1.0), ("model, minibatches", 0.5))
]


@pytest.mark.parametrize(("case", "engine", "participation"), WAYS)
def test_rounds_are_those_of_autograd(case, engine, participation):
    options, training, seed = CASES[case]
    task = ImageTask(partition=PARTITION, network=NETWORK, dtype="float64", engine=engine, **training)
    algorithm = CFLMGD(clusters=CLUSTERS, participation=participation, **options)
    randomness, streams = (Randomness.from_seed(seed if participation == 1 else 4) for _ in range(2))
    models = 2 * task.initial_models(CLUSTERS, (), randomness.initialisation)
    kind = ModelAveraging if algorithm.averaging == "model" else GradientAveraging
    state, server, rounds = algorithm.initialise(models, task), kind(models), []
    for _ in range(ROUNDS):
        state = algorithm.step(state, task, randomness)
        clients = to_numpy(state.clients)
        assert len(set(clients.tolist())) == round(participation * CLIENTS)
        losses = [[loss_of(client, model).item() for model in models] for client in clients]
        choices = np.argmin(losses, axis=1)
        np.testing.assert_array_equal(state.assignments, choices)
        models = server.round(algorithm, task, models, clients, choices, streams.gradient)
        torch.testing.assert_close(state.models, models, rtol=0, atol=1e-10)
        torch.testing.assert_close(state.buffers, server.buffers, rtol=0, atol=1e-10)
        rounds.append(choices)
    assert comes_back(rounds, CLUSTERS)
