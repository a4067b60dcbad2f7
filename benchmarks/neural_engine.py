"""Local training of networks and whole rounds, against a loop over the clients and against a round by hand.

The loop is what public federated code does, in the manner of IFCA's: a copy of the model for each client,
``torch.optim.SGD``, and autograd. It gets its data as ready tensors; ours gathers bytes. On one thread CPU
time is measured, which a busy machine disturbs less, and with more threads the time that passes.
``python -m benchmarks.neural_engine``; with the word ``compile``, what ``torch.compile`` does to a step of the CNN.
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, cross_entropy

from benchmarks.reference_round import ReferenceRound
from benchmarks.timing import median_seconds, report_target
from clusterproof.algorithms import CFLMGD, IFCA, Randomness
from clusterproof.algorithms.arrays import to_numpy
from clusterproof.neural.engines.choice import fastest_engine
from clusterproof.neural.engines.crew import numpy_on_one_thread
from clusterproof.neural.engines.gram import GramMatrices
from clusterproof.neural.networks import CNN, MLP, Network
from clusterproof.neural.partitions.partition import Holdings, Partition
from clusterproof.neural.task import ImageTask

CLASSES = 10
STEP_SIZE = 0.1


@dataclass(frozen=True)
class Work:
    """Some clients' local training.

    Attributes
    ----------
    name, network
        What is trained.
    module
        The same network in ``torch.nn``.
    clients, samples
        How many clients, with how many samples each.
    batch_size
        Of a step; all samples where None.
    steps
        Of a client in a round.
    momentum
        Of the steps; where positive a buffer is carried into the round and out of it.
    """

    name: str
    network: Network
    module: Callable[[], nn.Module]
    clients: int
    samples: int
    batch_size: int | None
    steps: int
    momentum: float = 0.0


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, CLASSES))


def convolutional() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(3, 32, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(1600, 512), nn.ReLU(), nn.Linear(512, CLASSES)),
    )


MLP_WORK = Work("MLP 784-200-10", MLP((1, 28, 28), CLASSES), perceptron, 48, 100, None, 10)
MOMENTUM_WORK = replace(MLP_WORK, name="MLP 784-200-10, momentum", momentum=0.9)
CNN_WORK = Work("CNN, 32x32, batches of 50", CNN((3, 32, 32), CLASSES), convolutional, 20, 100, 50, 4)


def images(work: Work) -> Partition:
    """Noisy copies of ten smooth templates, four fifths of the pixels black, as in digits."""
    stream = np.random.default_rng(0)
    coarse = stream.random((CLASSES, work.network.image_shape[0], 7, 7))
    height, width = work.network.image_shape[1:]
    smooth = torch.nn.functional.interpolate(torch.as_tensor(coarse), (height, width), mode="bilinear")
    total = work.clients * work.samples
    classes = stream.integers(0, CLASSES, total)
    drawn = smooth.numpy()[classes] + 0.15 * stream.standard_normal((total, *work.network.image_shape))
    pixels = (255 * np.clip(3 * (drawn - 0.7), 0, 1)).astype(np.uint8)
    holdings = Holdings(
        pixels,
        np.arange(total).reshape(work.clients, -1),
        classes.reshape(work.clients, -1),
        np.full(work.clients, work.samples),
        np.zeros(work.clients, dtype=np.int64),
    )
    return Partition("benchmark", {"data": "templates"}, 1, CLASSES, holdings, holdings, True)


class Loop:
    """One client after the other by module, optimiser and autograd, with batches in their stored order."""

    def __init__(self, work: Work, partition: Partition, device: str) -> None:
        self.work, held = work, partition.train
        scaled = torch.tensor(held.pixels[held.indices] / 255.0, dtype=torch.float32, device=device)
        targets = torch.as_tensor(held.targets, device=device)
        size = work.batch_size or work.samples
        self.data = [
            list(zip(x.split(size), y.split(size), strict=True)) for x, y in zip(scaled, targets, strict=True)
        ]
        self.module = work.module().to(device)

    def train(self, point: Tensor) -> list[nn.Module]:
        """Trained models of all clients, from one model (d,)."""
        nn.utils.vector_to_parameters(point.clone(), self.module.parameters())
        trained = []
        for batches in self.data:
            model = copy.deepcopy(self.module)
            optimiser = torch.optim.SGD(model.parameters(), lr=STEP_SIZE, momentum=self.work.momentum)
            for step in range(self.work.steps):
                inputs, targets = batches[step % len(batches)]
                optimiser.zero_grad()
                cross_entropy(model(inputs), targets).backward()
                optimiser.step()
            trained.append(model)
        return trained

    def whole_round(self, models: Tensor) -> Tensor:
        """Choose by the loss, train, and average each model's clients: (P, d)."""
        chosen = []
        for batches in self.data:
            losses = []
            for model in models:
                nn.utils.vector_to_parameters(model.clone(), self.module.parameters())
                with torch.no_grad():
                    parts = [cross_entropy(self.module(x), y, reduction="sum") for x, y in batches]
                losses.append(float(sum(parts)))
            chosen.append(int(np.argmin(losses)))
        moved = models.clone()
        for index in sorted(set(chosen)):
            own = [at for at, choice in enumerate(chosen) if choice == index]
            everybody, self.data = self.data, [self.data[at] for at in own]
            moved[index] = self.round(models[index]).mean(0)
            self.data = everybody
        return moved

    def round(self, point: Tensor) -> Tensor:
        """The same as vectors, (k, d)."""
        return torch.stack(
            [nn.utils.parameters_to_vector(model.parameters()).detach() for model in self.train(point)]
        )


class StoredOrder(np.random.Generator):
    """Stands in for a generator: every client goes through its data in their stored order."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def random(self, size: tuple[int, ...]) -> np.ndarray:  # type: ignore[override]  # of all that a generator takes, the schedule asks for a shape alone
        """Ascending keys."""
        return np.broadcast_to(np.arange(size[-1]) / size[-1], size)


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
            StoredOrder(),
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
    calls = {name: _call(round_, start, device) for name, round_ in rounds.items()}
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

    Both start from the same two models in every turn, take the batches in their stored order, and give the
    same models.
    """
    torch.set_num_threads(1)
    partition = images(CNN_WORK)
    task = ImageTask(
        partition=partition, network=CNN_WORK.network, batch_size=CNN_WORK.batch_size, device=device
    )
    loop = Loop(CNN_WORK, partition, device)
    algorithm = IFCA(step_size=STEP_SIZE, averaging="model", clusters=2, local_steps=CNN_WORK.steps)
    models = task.initial_models(2, (), np.random.default_rng(1))
    stored = Randomness(*(StoredOrder() for _ in range(5)))
    found = {"ours": models, "loop": models}

    def ours() -> None:
        found["ours"] = algorithm.step(algorithm.initialise(models, task), task, stored).models

    def theirs() -> None:
        found["loop"] = loop.whole_round(models)

    clock = time.process_time if device == "cpu" else time.perf_counter
    waited = {
        name: _call(lambda _, own=own: own(), models, device)
        for name, own in (("loop", theirs), ("ours", ours))
    }
    seconds = median_seconds(waited, repeats, clock=clock)
    np.testing.assert_allclose(to_numpy(found["ours"]), to_numpy(found["loop"]), atol=2e-3)
    print(
        f"a whole round of IFCA, {CNN_WORK.name}, {CNN_WORK.clients} clients, engine {task.chosen_engine.name}: "
        f"{1e3 * seconds['ours']:.0f} ms, loop {1e3 * seconds['loop']:.0f} ms"
    )
    return seconds["loop"] / seconds["ours"]


def _call(round_: Callable[[Tensor], object], start: Tensor, device: str) -> Callable[[], None]:
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


def on_the_cpu() -> None:
    one = compare(MLP_WORK, ("gram", "batched", "serial"), "cpu", 1, 9)
    compare(MOMENTUM_WORK, ("gram", "batched", "serial"), "cpu", 1, 9)
    two = compare(MLP_WORK, ("gram", "batched", "serial"), "cpu", 2, 9)
    cnn = compare(CNN_WORK, ("batched", "serial"), "cpu", 1, 5)
    torch.set_num_threads(1)
    work = CNN_WORK
    trainer = Ours(work, images(work), "cpu", "auto")
    start = trainer.task.initial_models(1, (), np.random.default_rng(1))[0]
    alone = median_seconds(
        {"products": products_alone(work.batch_size or 0), "ours": _call(trainer.round, start, "cpu")},
        5,
        clock=time.process_time,
    )
    share = alone["products"] * work.clients * work.steps / alone["ours"]
    print(f"its convolutions and products alone: {1e3 * alone['products']:.3f} ms a client-step\n")
    ratio = whole_round(15)
    whole = round_of_convolutions(5, "cpu")
    report_target("a whole round of CFL-MGD over one by hand", ratio, 1.1, at_most=True)
    report_target("MLP, loop / auto, one thread", one["loop"] / one["auto"], 4)
    report_target("MLP, loop / auto, two threads", two["loop"] / two["auto"], 6)
    report_target("CNN, loop / auto, one thread", cnn["loop"] / cnn["auto"], 1.2)
    report_target("CNN, a loop's whole round / ours, one thread", whole, 1.2)
    report_target("CNN, share of the time that is convolutions and products", share, 0.7)


def on_the_gpu() -> None:
    for work, target in ((MLP_WORK, 50), (CNN_WORK, 15)):
        seconds = compare(work, ("batched", "serial"), "cuda", 1, 9)
        trainer = Ours(work, images(work), "cuda", "auto")
        start = trainer.task.initial_models(1, (), np.random.default_rng(1))[0]
        report_target(f"{work.name}, loop / auto, GPU", seconds["loop"] / seconds["auto"], target)
        busy = busy_share(_call(trainer.round, start, "cuda"))
        report_target(f"{work.name}, share of our time in which the GPU computes", busy, 0.6)
    report_target("CNN, a loop's whole round / ours, GPU", round_of_convolutions(9, "cuda"), 15)


def busy_share(call: Callable[[], None]) -> float:
    """Share of a call's duration during which the GPU runs one of its kernels."""
    call()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        started = time.perf_counter()
        call()
        seconds = time.perf_counter() - started
    return sum(event.self_device_time_total for event in seen.key_averages()) / 1e6 / seconds


def compiled() -> None:
    """A step of the CNN on one thread, as it is and through ``torch.compile``."""
    torch.set_num_threads(1)
    network, size = CNN_WORK.network, CNN_WORK.batch_size or 0
    start = torch.as_tensor(network.initial((), np.random.default_rng(0)), dtype=torch.float32)
    leaves = {name: view.clone().requires_grad_() for name, view in network.views(start).items()}
    inputs = torch.randn(size, *network.image_shape).contiguous(memory_format=torch.channels_last)
    targets = torch.randint(0, CLASSES, (size,))

    def loss(parameters: dict[str, Tensor], inputs: Tensor, targets: Tensor) -> Tensor:
        return cross_entropy(network.function(parameters, inputs), targets)

    faster = torch.compile(loss)
    calls = {
        name: lambda loss=loss: torch.autograd.grad(loss(leaves, inputs, targets), list(leaves.values()))
        for name, loss in (("as it is", loss), ("compiled", faster))
    }
    began = time.perf_counter()
    calls["compiled"]()
    print(f"compiling takes {time.perf_counter() - began:.1f} s")
    for name, seconds in median_seconds(calls, 9, clock=time.process_time).items():
        print(f"{name:10s}{1e3 * seconds:8.2f} ms a step (CPU)")


def main() -> None:
    on_the_cpu()
    if torch.cuda.is_available():
        on_the_gpu()
    else:
        print("no GPU here: that part was not run")


if __name__ == "__main__":
    compiled() if sys.argv[1:] == ["compile"] else main()
