"""Per-FedAvg's local steps on networks, each gradient on a separate batch, against torch's own gradients."""

import numpy as np
import pytest
import torch
from small_images import client_data, plain_gradient, random_partition
from split_mix import tree_of_numbers

from clusterproof.algorithms.per_fedavg import meta_descent
from clusterproof.neural.networks import CNN, MLP
from clusterproof.neural.task import ImageTask

SIZES = (7, 3, 12, 1)
WAYS = [
    (MLP((1, 16, 16), 3, (6,)), "gram"),
    (MLP((1, 16, 16), 3, (6, 5)), "vmap"),
    (CNN((1, 16, 16), 3, (2, 3), (5,)), "serial"),
    (CNN((1, 16, 16), 3, (2, 3), (5,)), "vmap"),
]
STEPS = {"step_size": 0.3, "inner_step_size": 0.2, "local_steps": 2}


@pytest.mark.parametrize("second_order", [False, True], ids=["first", "second"])
@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{type(way[0]).__name__}-{way[1]}")
def test_each_gradient_and_hessian_has_a_batch_of_its_own(way, batch_size, second_order):
    network, engine = way
    how, drawn = {**STEPS, "second_order": second_order}, 3 if second_order else 2
    partition = random_partition(SIZES, image_shape=(1, 16, 16))
    task = ImageTask(
        partition=partition, network=network, engine=engine, batch_size=batch_size, dtype="float64"
    )
    clients = np.array([2, 0, 3, 1])
    points = task.initial_models(4, (), np.random.default_rng(1))
    before = points.clone()
    found = meta_descent(task, points, torch.as_tensor(clients), np.random.default_rng(2), **how)
    stream = np.random.default_rng(2).bit_generator
    keys = np.stack(
        [tree_of_numbers(stream.random_raw(), (4, 1, max(SIZES)))[:, 0] for _ in range(2 * drawn)], axis=1
    )
    for row, client in enumerate(clients):
        images, targets = client_data(partition.train, client, torch.float64)

        def gradient_at(point, chosen, along=None, images=images, targets=targets):
            return plain_gradient(network, point, images[chosen], targets[chosen], along)[1]

        point, orders = points[row], np.argsort(keys[row, :, : SIZES[client]], axis=1)[:, :batch_size]
        for step in range(2):
            first, second, *third = orders[drawn * step : drawn * (step + 1)]
            gradient = gradient_at(point - 0.2 * gradient_at(point, first), second)
            for own in third:
                gradient = gradient - 0.2 * gradient_at(point, own, gradient)
            point = point - 0.3 * gradient
        torch.testing.assert_close(found[row], point, rtol=0, atol=1e-12)
    assert torch.equal(points, before)
