"""SCAFFOLD and its like train networks: every round against torch.nn and autograd, client by client."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from plain_field import (
    PlainFedAvg,
    PlainScaffold,
)
from small_images import client_data, plain_gradient, random_partition

from clusterproof.algorithms import FedAvg, Randomness, Scaffold
from clusterproof.neural.networks import MLP
from clusterproof.neural.task import ImageTask

SIZES = (8, 3, 5, 8, 1, 6)
PARTITION = random_partition(SIZES, image_shape=(1, 6, 5))
NETWORK = MLP((1, 6, 5), 3, (7,))
HALF = {"participation": 0.5}
CASES = [
    (PlainFedAvg, FedAvg(step_size=0.4, local_steps=3, server_step_size=0.6, **HALF)),
    (PlainScaffold, Scaffold(step_size=0.4, local_steps=3, server_step_size=0.8, **HALF)),
    (PlainScaffold, Scaffold(step_size=0.4, local_steps=2, option="I", weighting="samples")),
]


def autograd(client, point):
    """Gradient of a client's mean cross-entropy, by a module of torch.nn."""
    data = client_data(PARTITION.train, client, torch.float64)
    return plain_gradient(NETWORK, torch.from_numpy(point), *data)[1].numpy()


@pytest.mark.parametrize(("plain", "algorithm"), CASES, ids=lambda value: getattr(value, "name", None))
def test_a_network_s_rounds_are_those_of_a_plain_torch_loop(plain, algorithm, monkeypatch):
    monkeypatch.setattr(plain, "g", lambda self, client, point: autograd(client, point))
    task = ImageTask(partition=PARTITION, network=NETWORK, dtype="float64")
    randomness = Randomness.from_seed(3)
    models = task.initial_models(1, (), randomness.initialisation)
    state = algorithm.initialise(models, task)
    facts = SimpleNamespace(clients=len(SIZES), client_samples=np.array(SIZES))
    loop = plain(algorithm, facts, models[0].numpy())
    for _ in range(3):
        state = algorithm.step(state, task, randomness)
        loop.round([int(client) for client in state.clients])
        for name, expected in loop.kept().items():
            np.testing.assert_allclose(getattr(state, name).numpy(), expected, rtol=0, atol=1e-12)
