"""A round of local training by each engine, against the loop.

On one thread CPU time is measured, which a busy machine disturbs less, and with more threads the time that passes.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import conv2d

from benchmarks.neural_engine.loop import Loop
from benchmarks.neural_engine.work import ORDERS, STEP_SIZE, Work, images
from benchmarks.timing import median_seconds
from clusterproof.neural.engines.choice import fastest_engine
from clusterproof.neural.engines.gram_form.gram import GramMatrices
from clusterproof.neural.partitions.partition import Partition
from clusterproof.neural.task import ImageTask


class Ours:
    """The task's local training."""

    def __init__(self, work: Work, partition: Partition, device: str, engine: str) -> None:
        self.work = work
        self.task = ImageTask(
            partition=partition,
            network=work.network,
            batch_size=work.batch_size,
            device=device,
            engine=engine,
        )
        self.everybody = torch.arange(work.clients, device=device)

    def round(self, point: Tensor) -> Tensor:
        """Trained models (k, d) of all clients, from one model (d,)."""
        start = point.expand(self.work.clients, -1)
        return self.task.local_training(
            start,
            torch.zeros_like(start) if self.work.momentum else None,
            None,
            self.everybody,
            np.random.default_rng(ORDERS),
            step_size=STEP_SIZE,
            momentum=self.work.momentum,
            proximal=0.0,
            local_steps=self.work.steps,
        )[0]

    def round_anew(self, point: Tensor) -> Tensor:
        """A round whose Gram matrices have not been formed before."""
        object.__setattr__(self.task.chosen_engine, "matrices", GramMatrices())
        return self.round(point)


def curve(trainer: Loop | Ours, judge: ImageTask, point: Tensor, rounds: int) -> np.ndarray:
    """Mean loss and accuracy of the averaged model after each round, (rounds, 2)."""
    found = []
    for _ in range(rounds):
        point = trainer.round(point).mean(0)
        scores = judge.scores(point[None])
        found.append([float(scores.losses.mean()), float(scores.accuracies.mean())])
    return np.array(found)


def compare(
    work: Work, engines: tuple[str, ...], device: str, threads: int, repeats: int
) -> dict[str, float]:
    """Check that the loop and every engine go the same way, and time a round of each."""
    torch.set_num_threads(threads)
    partition = images(work)
    loop = Loop(work, partition, device)
    auto = Ours(work, partition, device, "auto").task
    # what auto chooses comes first, and is always among them
    names = dict.fromkeys((auto.chosen_engine.name, *engines))
    ours = {engine: Ours(work, partition, device, engine) for engine in names}
    start = auto.initial_models(1, (), np.random.default_rng(1))[0]
    expected = curve(loop, auto, start, 3)
    for engine, trainer in ours.items():
        np.testing.assert_allclose(curve(trainer, auto, start, 3), expected, atol=2e-3, err_msg=engine)
    rounds: dict[str, Callable[[Tensor], object]] = {
        "loop": loop.train,
        **{engine: trainer.round for engine, trainer in ours.items()},
    }
    if "gram" in ours:
        rounds["gram, matrices formed anew"] = ours["gram"].round_anew
    calls = {name: waiting(round_, start, device) for name, round_ in rounds.items()}
    clock = time.process_time if threads == 1 and device == "cpu" else time.perf_counter
    seconds = median_seconds(calls, repeats, clock=clock)
    kind = "CPU" if clock is time.process_time else "wall"
    print(
        f"\n{work.name}, {work.clients} clients, n = {work.samples}, {work.steps} steps; {device}, {threads} thread(s)"
    )
    for name, value in seconds.items():
        each = 1e3 * value / (work.clients * work.steps)
        chosen = "   <- auto" if name == auto.chosen_engine.name else ""
        print(f"{name:28s}{each:8.3f} ms a client-step ({kind}){seconds['loop'] / value:8.2f}x{chosen}")
    chosen, why = fastest_engine(
        work.network, device, samples=work.samples, full_batch=work.batch_size is None, epochs=False
    )
    print(f"auto is {chosen}: {why}")
    losses = ", ".join(f"{loss:.3f}" for loss in expected[:, 0])
    print(f"all with the loop's curve: loss {losses}; accuracy {expected[-1, 1]:.3f}")
    return {**seconds, "auto": seconds[auto.chosen_engine.name]}


def waiting(round_: Callable[[Tensor], object], start: Tensor, device: str) -> Callable[[], None]:
    def call() -> None:
        round_(start)
        if device != "cpu":
            torch.cuda.synchronize()

    return call


def products_alone(batch: int) -> Callable[[], None]:
    """The convolutions and matrix products of a step of the CNN, forward and backward, and no more."""
    last = torch.channels_last

    def convolution(*shape: int, outputs: int) -> tuple[Tensor, Tensor, Tensor]:
        inputs = torch.randn(shape).contiguous(memory_format=last)
        kernel = torch.randn(outputs, shape[1], 5, 5).contiguous(memory_format=last)
        return inputs, kernel, torch.ones_like(conv2d(inputs, kernel))

    first = convolution(batch, 3, 32, 32, outputs=32)
    second = convolution(batch, 32, 14, 14, outputs=64)
    dense = [
        (torch.randn(batch, i), torch.randn(o, i), torch.randn(batch, o)) for i, o in ((1600, 512), (512, 10))
    ]
    backward = torch.ops.aten.convolution_backward
    options = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)

    def call() -> None:
        for index, (inputs, kernel, slopes) in enumerate((first, second)):
            conv2d(inputs, kernel)
            backward(slopes, inputs, kernel, [kernel.shape[0]], *options, [index > 0, True, True])
        for inputs, weight, slopes in dense:
            inputs @ weight.T
            slopes @ weight
            slopes.T @ inputs

    return call


def busy_share(call: Callable[[], None]) -> float:
    """Share of a call's duration during which the GPU runs one of its kernels."""
    call()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        started = time.perf_counter()
        call()
        seconds = time.perf_counter() - started
    return sum(event.self_device_time_total for event in seen.key_averages()) / 1e6 / seconds
