"""Samples as weights on images: the average is that of the clients' own models by their sizes."""

from functools import partial

import numpy as np
import pytest
import torch
from small_images import random_partition

from clusterproof.algorithms import FedAvg, FedProx, PerFedAvg, Randomness
from clusterproof.neural.networks import MLP
from clusterproof.neural.task import ImageTask

SIZES = (6, 9, 4, 27, 5)


@pytest.mark.parametrize(
    "algorithm", [partial(FedAvg, local_steps=2), partial(FedProx, local_steps=2), PerFedAvg]
)
@pytest.mark.parametrize("weighting", ["clients", "samples"])
@pytest.mark.parametrize("engine", ["gram", "batched", "serial"])
def test_the_server_averages_by_size(engine, weighting, algorithm):
    partition = random_partition(SIZES, test_sizes=SIZES, paired=True)
    task = ImageTask(partition=partition, network=MLP((1, 4, 4), 3, (5,)), dtype="float64", engine=engine)
    assert task.client_samples.tolist() == list(SIZES)
    made = algorithm(step_size=0.5, weighting=weighting)
    models = task.initial_models(1, (), np.random.default_rng(0))
    streams = [Randomness.from_seed(0, "weights") for _ in range(2)]
    found = made.step(made.initialise(models, task), task, streams[0]).models[0]
    everybody = torch.arange(len(SIZES))
    own = made.descend(models.expand(len(SIZES), -1), everybody, task, streams[1])
    weights = SIZES if weighting == "samples" else np.ones(len(SIZES))
    expected = np.average(own.numpy(), axis=0, weights=weights)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)
