"""Whole rounds of every engine and algorithm are those of the definitions, with autograd's gradients.

In double precision; clients have unequal numbers of samples, and take full batches.
"""

import numpy as np
import pytest
import torch
from small_images import client_data, plain_gradient, random_partition

from clusterproof.algorithms import ALGORITHMS
from clusterproof.common import Randomness
from clusterproof.conformance import DEFINITIONS
from clusterproof.neural.networks import MLP
from clusterproof.neural.task import ImageTask

SIZES = (7, 3, 12, 10, 1)
ENGINES = ("vmap", "serial")
NETWORK = MLP((1, 4, 4), 3, (4,))
MODEL_AVERAGING = {"averaging": "model", "local_steps": 2, "momentum": 0.7}
ROUNDS_OF = {
    "cfl-mgd": [
        {"momentum": 0.7, "empty_cluster": "freeze", "participation": 0.4},
        {"momentum": 0.7, "momentum_owner": "client", "update_order": "as-printed"},
        {**MODEL_AVERAGING, "participation": 0.6},
        {**MODEL_AVERAGING, "update_order": "as-printed", "reset_momentum": True},
    ],
    "ifca": [{}, {"averaging": "model", "local_steps": 3, "participation": 0.4}],
    "fedavg": [
        {"local_steps": 3, "participation": 0.6, "server_step_size": 0.6},
        {"local_steps": 2, "weighting": "samples"},
    ],
    "scaffold": [
        {"local_steps": 3, "server_step_size": 0.8, "participation": 0.6},
        {"local_steps": 2, "option": "I", "weighting": "samples"},
    ],
    "fedlin": [{}, {"local_steps": 2}],
    "fedprox": [{"local_steps": 3, "proximal": 0.3, "participation": 0.6, "weighting": "samples"}],
    "fedbcd": [
        {"local_steps": 2, "proximal": 0.4},
        {"variant": "separate", "local_steps": 2, "pull": 0.2},
    ],
    "local": [{"local_steps": 2, "participation": 0.6}],
    "per-fedavg": [
        {"local_steps": 2, "participation": 0.6, "weighting": "samples", "inner_step_size": 0.1},
        {"gradient": "second-order", "inner_step_size": 0.2},
    ],
    "gradient-loss": [{"weight": 0.5}],
}


class AutogradTask:
    """What definitions ask of a task, by modules of torch.nn and autograd."""

    groups = None

    def __init__(self, task, models):
        self.network, self.clients, self.samples = task.network, task.clients, np.array(SIZES)
        self.start, self.starts, self.dimension = models[0], models, task.dimension
        self.data = [client_data(task.partition.train, i, torch.float64) for i in range(task.clients)]

    def derivatives(self, client, model, vector=None):
        along = None if vector is None else torch.from_numpy(np.array(vector))
        return plain_gradient(self.network, torch.from_numpy(np.array(model)), *self.data[client], along)

    def loss(self, client, model):
        return self.derivatives(client, model)[0].item()

    def gradient(self, client, model):
        return self.derivatives(client, model)[1].numpy()

    def hessian_product(self, client, model, vector):
        return self.derivatives(client, model, vector)[1].numpy()


@pytest.mark.parametrize(
    ("name", "options"), [(name, options) for name, each in ROUNDS_OF.items() for options in each], ids=str
)
def test_rounds_of_all_algorithms_are_those_of_the_definitions(name, options):
    partition, algorithm = random_partition(SIZES), ALGORITHMS[name](step_size=0.4, **options)
    tasks = [
        ImageTask(partition=partition, network=NETWORK, dtype="float64", engine=each) for each in ENGINES
    ]
    streams = [Randomness.from_seed(3) for _ in ENGINES]
    starts = [
        task.initial_models(algorithm.model_count(task), (), one.initialisation)
        for task, one in zip(tasks, streams, strict=True)
    ]
    models = starts[0]
    assert all(torch.equal(each, models) for each in starts)
    if name == "local":  # whose definition has one start
        models = models[:1].repeat(tasks[0].clients, 1)
    states = [algorithm.initialise(models, task) for task in tasks]
    settings = {**DEFINITIONS[name].defaults(), **vars(algorithm)}
    if hasattr(algorithm, "local_steps"):
        settings["local_epochs"] = algorithm.local_steps
    definition = DEFINITIONS[name](AutogradTask(tasks[0], models.numpy()), settings)
    initial, scale = definition.model, np.abs(definition.model).max()
    for _ in range(4):
        states = [algorithm.step(*each) for each in zip(states, tasks, streams, strict=True)]
        participants = states[0].clients.tolist()
        definition.round(participants)
        for engine, state in zip(ENGINES, states, strict=True):
            assert state.clients.tolist() == participants
            for quantity in ("model", "control", "controls"):
                if hasattr(definition, quantity):
                    found = getattr(state, "models" if quantity == "model" else quantity).numpy()
                    expected = np.reshape(getattr(definition, quantity), found.shape)
                    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * scale, err_msg=engine)
            if hasattr(definition, "assignments"):
                assert state.assignments.tolist() == definition.assignments[participants].tolist(), engine
    assert np.abs(definition.model - initial).max() > 1e-4 * scale
