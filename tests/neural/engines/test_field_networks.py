"""SCAFFOLD and FedAvg train networks: every round is the definition's, with gradients of torch.nn and autograd."""

import numpy as np
import pytest
import torch
from small_images import client_data, plain_gradient, random_partition

from clusterproof.algorithms import FedAvg, Randomness, Scaffold
from clusterproof.neural.networks import MLP
from clusterproof.neural.task import ImageTask
from clusterproof.theory.definitions.fedavg import fedavg_round
from clusterproof.theory.definitions.scaffold import scaffold_round

SIZES = (8, 3, 5, 8, 1, 6)
PARTITION = random_partition(SIZES, image_shape=(1, 6, 5))
NETWORK = MLP((1, 6, 5), 3, (7,))
HALF = {"participation": 0.5}
CASES = [
    FedAvg(step_size=0.4, local_steps=3, server_step_size=0.6, **HALF),
    Scaffold(step_size=0.4, local_steps=3, server_step_size=0.8, **HALF),
    Scaffold(step_size=0.4, local_steps=2, option="I", weighting="samples"),
]


def autograd(client):
    """Return the gradient of a client's mean cross-entropy, by a module of torch.nn."""
    data = client_data(PARTITION.train, client, torch.float64)
    return lambda point: plain_gradient(NETWORK, torch.from_numpy(point), *data)[1].numpy()


@pytest.mark.parametrize("algorithm", CASES, ids=lambda value: value.name)
def test_a_network_s_rounds_are_those_of_the_definition(algorithm):
    task = ImageTask(partition=PARTITION, network=NETWORK, dtype="float64")
    randomness = Randomness.from_seed(3)
    models = task.initial_models(1, (), randomness.initialisation)
    state = algorithm.initialise(models, task)
    x = models[0].numpy()
    control, controls = 0 * x, [0 * x] * len(SIZES)
    for _ in range(3):
        state = algorithm.step(state, task, randomness)
        who = [int(client) for client in state.clients]
        sizes = np.array(SIZES)[who] if algorithm.weighting == "samples" else np.ones(len(who))
        given = [autograd(client) for client in who], x
        steps = [algorithm.local_steps] * len(who)
        options = {"weights": sizes / sizes.sum(), "server_step": algorithm.server_step_size}
        if isinstance(algorithm, FedAvg):
            x = fedavg_round(*given, algorithm.step_size, steps, **options)
        else:
            own = [controls[client] for client in who]
            option = {"option": algorithm.option, "clients": len(SIZES)}
            x, control, new = scaffold_round(
                *given, control, own, algorithm.step_size, steps, **option, **options
            )
            for client, after in zip(who, new, strict=True):
                controls[client] = after
            np.testing.assert_allclose(state.control.numpy()[0], control, rtol=0, atol=1e-12)
            np.testing.assert_allclose(state.controls.numpy(), controls, rtol=0, atol=1e-12)
        np.testing.assert_allclose(state.models.numpy()[0], x, rtol=0, atol=1e-12)
