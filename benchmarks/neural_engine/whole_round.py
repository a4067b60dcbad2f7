"""Whole rounds with all that belongs to them, against one written by hand and against the loop."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import torch

from benchmarks.neural_engine.local_training import waiting
from benchmarks.neural_engine.loop import Loop
from benchmarks.neural_engine.reference_round import ReferenceRound
from benchmarks.neural_engine.work import CLASSES, CNN_WORK, MLP_WORK, ORDERS, STEP_SIZE, images
from benchmarks.timing import median_seconds
from clusterproof.algorithms import CFLMGD, IFCA, Randomness
from clusterproof.algorithms.arrays import to_numpy
from clusterproof.neural.engines.crew import numpy_on_one_thread
from clusterproof.neural.partitions.partition import Holdings, Partition
from clusterproof.neural.task import ImageTask


def whole_round(repeats: int) -> float:
    """Time a round of CFL-MGD with all that belongs to it, over that of the round written by hand.

    As on MNIST: 2400 clients with 100 samples each in 4 clusters, of whom a tenth takes 10 local steps. The
    images are those of ``images``, shifted in brightness from cluster to cluster.
    """
    torch.set_num_threads(1)
    source = images(replace(MLP_WORK, clients=60)).train
    stream = np.random.default_rng(1)
    labels = np.arange(2400) % 4
    drawn = stream.integers(0, len(source.pixels), (len(labels), MLP_WORK.samples))
    turned = np.concatenate([np.rot90(source.pixels, turn, (2, 3)) for turn in range(4)])
    held = Holdings(
        turned,
        drawn + len(source.pixels) * labels[:, None],
        source.targets.ravel()[drawn],
        np.full(len(labels), MLP_WORK.samples),
        labels,
    )
    partition = Partition("benchmark", {"data": "templates"}, 4, CLASSES, held, held, True)
    task = ImageTask(partition=partition, network=MLP_WORK.network)
    algorithm = CFLMGD(
        step_size=STEP_SIZE, momentum=0.9, averaging="model", local_steps=MLP_WORK.steps, participation=0.1
    )
    reference = ReferenceRound(partition, MLP_WORK.network.widths[1], STEP_SIZE, 0.9, MLP_WORK.steps)
    randomness = Randomness.from_seed(0, "benchmark")
    models = task.initial_models(4, (), randomness.initialisation)
    state = algorithm.initialise(models, task)
    by_hand = (models.numpy(), np.zeros_like(models.numpy()))
    ratios = []
    with numpy_on_one_thread():
        for turn in range(repeats + 3):  # the first turns form Gram matrices
            began = time.process_time()
            state = algorithm.step(state, task, randomness)
            ours = time.process_time() - began
            began = time.process_time()
            *by_hand, chosen = reference(*by_hand, to_numpy(state.clients))
            theirs = time.process_time() - began
            np.testing.assert_array_equal(chosen, to_numpy(state.assignments))
            np.testing.assert_allclose(by_hand[0], to_numpy(state.models), rtol=0, atol=2e-2)
            if turn >= 3:
                ratios.append(ours / theirs)
                print(f"round {turn}: {1e3 * ours:.0f} ms, by hand {1e3 * theirs:.0f} ms (CPU)")
    return float(np.median(ratios))


def round_of_convolutions(repeats: int, device: str) -> float:
    """Time a loop's whole round of IFCA on the CNN over ours: assignment, local training of 20 clients, average.

    Both start from the same two models in every turn, take the same batches, and give the same models.
    """
    torch.set_num_threads(1)
    partition = images(CNN_WORK)
    task = ImageTask(
        partition=partition, network=CNN_WORK.network, batch_size=CNN_WORK.batch_size, device=device
    )
    loop = Loop(CNN_WORK, partition, device)
    algorithm = IFCA(step_size=STEP_SIZE, averaging="model", clusters=2, local_steps=CNN_WORK.steps)
    models = task.initial_models(2, (), np.random.default_rng(1))
    found = {"ours": models, "loop": models}

    def ours() -> None:
        streams = Randomness(*(np.random.default_rng(ORDERS) for _ in range(5)))
        found["ours"] = algorithm.step(algorithm.initialise(models, task), task, streams).models

    def theirs() -> None:
        found["loop"] = loop.whole_round(models)

    clock = time.process_time if device == "cpu" else time.perf_counter
    waited = {
        name: waiting(lambda _, own=own: own(), models, device)
        for name, own in (("loop", theirs), ("ours", ours))
    }
    seconds = median_seconds(waited, repeats, clock=clock)
    np.testing.assert_allclose(to_numpy(found["ours"]), to_numpy(found["loop"]), atol=2e-3)
    print(
        f"a whole round of IFCA, {CNN_WORK.name}, {CNN_WORK.clients} clients, engine {task.chosen_engine.name}: "
        f"{1e3 * seconds['ours']:.0f} ms, loop {1e3 * seconds['loop']:.0f} ms"
    )
    return seconds["loop"] / seconds["ours"]
