"""Per-FedAvg's local steps, all batches drawn at once, against torch's own gradients one by one."""

import numpy as np
import pytest
import torch
from small_images import client_data, load, module, random_partition
from split_mix import tree_of_numbers

from clusterproof.neural.networks import CNN, MLP
from clusterproof.neural.task import ImageTask

SIZES = (7, 3, 12, 1)
WAYS = [
    (MLP((1, 16, 16), 3, (6,)), "gram"),
    (MLP((1, 16, 16), 3, (6, 5)), "batched"),
    (CNN((1, 16, 16), 3, (2, 3), (5,)), "serial"),
    (CNN((1, 16, 16), 3, (2, 3), (5,)), "batched"),
]
STEPS = {"step_size": 0.3, "inner_step_size": 0.2, "local_steps": 2}


def plain_slope(network, point, data, chosen):
    model = module(network).double()
    load(model, point)
    images, targets = data
    torch.nn.functional.cross_entropy(model(images[chosen]), targets[chosen]).backward()
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{type(way[0]).__name__}-{way[1]}")
def test_each_gradient_has_a_batch_of_its_own(way, batch_size):
    network, engine = way
    partition = random_partition(SIZES, image_shape=(1, 16, 16))
    task = ImageTask(
        partition=partition, network=network, engine=engine, batch_size=batch_size, dtype="float64"
    )
    clients = np.array([2, 0, 3, 1])
    points = task.initial_models(4, (), np.random.default_rng(1))
    before = points.clone()
    found = task.meta_training(points, torch.as_tensor(clients), np.random.default_rng(2), **STEPS)
    keys = tree_of_numbers(np.random.default_rng(2).bit_generator.random_raw(), (4, 4, max(SIZES)))
    for row, client in enumerate(clients):
        data = client_data(partition.train, client, torch.float64)
        point, orders = points[row], np.argsort(keys[row, :, : SIZES[client]], axis=1)[:, :batch_size]
        for step in range(2):
            ahead = point - 0.2 * plain_slope(network, point, data, orders[2 * step])
            point = point - 0.3 * plain_slope(network, ahead, data, orders[2 * step + 1])
        torch.testing.assert_close(found[row], point, rtol=0, atol=1e-12)
    assert torch.equal(points, before)
    if batch_size is None:
        return
    again = task.meta_training(points, torch.as_tensor(clients), np.random.default_rng(2), **STEPS)
    assert torch.equal(again, found)
