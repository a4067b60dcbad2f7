"""Whole rounds of every engine and algorithm, with autograd's gradients, against the definitions; and minibatches.

In double precision; clients have unequal numbers of samples, and take full batches.
"""

from collections import Counter
from itertools import chain, permutations

import numpy as np
import pytest
import torch
from scipy import stats
from small_images import client_data, flat, load, module, plain_gradient, random_partition

from clusterproof.algorithms import ALGORITHMS, Descent
from clusterproof.common import Randomness
from clusterproof.conformance import DEFINITIONS
from clusterproof.neural.client_data import distorted, draw_steps, groups
from clusterproof.neural.data.preprocessing import Preprocessing, undistorted
from clusterproof.neural.networks import CNN, MLP
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


NOTHING = Preprocessing()


def drawn(size, steps, batch_size, stream):
    return [step.samples.tolist() for step in draw_steps(size, steps, batch_size, NOTHING, stream)]


def test_passes_go_through_independent_uniform_orders():
    """Of three samples in batches of two: the 36 pairs of orders of two passes are equally likely."""
    stream = np.random.default_rng(0)
    counted = Counter()
    for _ in range(3600):
        batches = drawn(3, 4, 2, stream)
        assert [len(batch) for batch in batches] == [2, 1, 2, 1]
        counted[tuple(chain(*batches))] += 1
    orders = [one + other for one in permutations(range(3)) for other in permutations(range(3))]
    assert set(counted) <= set(orders)
    assert stats.chisquare([counted[order] for order in orders]).pvalue > 1e-4


def test_a_first_batch_is_uniform_without_replacement_and_a_pass_may_be_left_early():
    stream = np.random.default_rng(1)
    counted = Counter(tuple(sorted(drawn(5, 1, 2, stream)[0])) for _ in range(2000))
    assert len(counted) == 10
    assert stats.chisquare(list(counted.values())).pvalue > 1e-4
    assert drawn(4, 3, 4, stream) == drawn(4, 3, 9, stream) == [[0, 1, 2, 3]] * 3
    assert drawn(4, 0, 2, stream) == []
    assert sorted(chain(*drawn(4, 4, 1, stream))) == [0, 1, 2, 3]


def test_clients_that_share_a_call_have_batches_of_the_same_sizes():
    stream = np.random.default_rng(0)
    plans = [
        draw_steps(size, steps, 4, NOTHING, stream)
        for size, steps in ((9, 2), (8, 2), (5, 2), (9, 2), (5, 2))
    ]
    assert [found.tolist() for found in groups(plans, 2)] == [[0, 1], [3], [2, 4]]


SEEN = Preprocessing(crop=15, flip=True, brightness=0.2, contrast=0.5, standardise=True)
PARTITION = random_partition((7, 3, 9), image_shape=(2, 18, 19))


def test_every_step_has_distortions_of_its_own():
    steps = draw_steps(9, 4, 5, SEEN, np.random.default_rng(0))
    drawn_rows = np.concatenate([step.distortions for step in steps])
    assert len(np.unique(drawn_rows, axis=0)) == len(drawn_rows) == 5 + 4 + 5 + 4


NETWORKS = {"mlp": MLP((2, 15, 15), 3, (4,)), "cnn": CNN((2, 15, 15), 3, (2, 3), (4,), padding=(2, 1))}
CLIENTS = torch.tensor([2, 0, 1])


def make(network, **given):
    options = {"partition": PARTITION, "preprocessing": SEEN, "dtype": "float64", **given}
    return ImageTask(network=NETWORKS[network], **options)


def start(task):
    return task.initial_models(3, (), np.random.default_rng(4))


def seen(client, step):
    """Images of a client as a step sees them, and their classes."""
    images, targets = client_data(PARTITION.train, client, torch.float64)
    numbers = torch.from_numpy(step.distortions)
    return distorted(images[step.samples], SEEN, numbers), targets[step.samples]


@pytest.mark.parametrize(
    ("network", "engine", "batch_size"),
    [
        ("mlp", "vmap", 4),
        ("mlp", "vmap", None),
        ("mlp", "serial", 4),
        ("cnn", "serial", 4),
        ("cnn", "vmap", None),
    ],
)
def test_local_steps_on_distorted_images(network, engine, batch_size):
    task = make(network, engine=engine, batch_size=batch_size)
    points = start(task)

    def train(seed):
        return task.local_steps(points, CLIENTS, np.random.default_rng(seed), Descent(0.1, 3, 0.6)).points

    found, source = train(0), np.random.default_rng(0)
    for place, client in enumerate(CLIENTS.tolist()):
        plain = module(task.network).double()
        load(plain, points[place])
        optimiser = torch.optim.SGD(plain.parameters(), lr=0.1, momentum=0.6)
        for step in draw_steps(int(PARTITION.train.sizes[client]), 3, batch_size or 9, SEEN, source):
            images, targets = seen(client, step)
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(plain(images), targets).backward()
            optimiser.step()
        torch.testing.assert_close(found[place], flat(plain), rtol=0, atol=1e-12)
    assert not torch.equal(found, train(1))


def test_evaluation_sees_the_centre_and_gradients_do_not():
    task = make("mlp")
    models = start(task)
    losses = task.losses(models, CLIENTS, np.random.default_rng(0))
    gradients = task.gradients(models, CLIENTS, np.random.default_rng(0))
    zeros, source = torch.zeros(3, dtype=torch.int64), np.random.default_rng(0)
    sums = task.gradient_sums(models[:1], CLIENTS, zeros, np.random.default_rng(0))
    expected = torch.zeros_like(models[0])
    for row, client in enumerate(CLIENTS.tolist()):
        images, targets = client_data(PARTITION.train, client, torch.float64)
        loss, _ = plain_gradient(task.network, models[1], undistorted(images, SEEN, 1), targets)
        torch.testing.assert_close(losses[row, 1], loss, rtol=0, atol=1e-12)
        batch = seen(client, draw_steps(len(images), 1, 9, SEEN, source)[0])
        gradient = plain_gradient(task.network, models[row], *batch)[1]
        torch.testing.assert_close(gradients[row], gradient, rtol=0, atol=1e-12)
        expected += plain_gradient(task.network, models[0], *batch)[1]
    torch.testing.assert_close(sums[0], expected, rtol=0, atol=1e-12)
