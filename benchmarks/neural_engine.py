"""Local training of networks by each engine, against a plain torch loop over the clients.

``python -m benchmarks.neural_engine [--device cpu|cuda]``. Every engine and the loop train the same clients from the
same model on the same minibatches. The star is the engine that ``auto`` takes. The exit status is 1 if models differ
by more than rounding explains, or ``auto`` is more than 10 % slower than ``vmap`` or ``serial``, or slower than the
loop. On a CPU the times are CPU times on one thread; on a GPU they are wall times between synchronisations, without
TF32, and models are compared with those of the loop on the CPU.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmarks.timing import median_seconds
from clusterproof.algorithms import Descent
from clusterproof.neural.client_data import draw_steps
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.engines import choose_engine
from clusterproof.neural.networks import CNN, MLP, Network
from clusterproof.neural.partitions.base import ClientImages, Partition
from clusterproof.neural.task import ImageTask

CLASSES, STEP_SIZE, SAMPLES, REPEATS = 10, 0.1, 100, 5
COLUMNS = "{:36}{:10}{:8}{:>16}{:>15}{:>12}{:>12}{:>11}"
HEADER = ("case", "engine", "device", "ms/client step", "loop / engine", "diff. f32", "diff. f64", "peak MiB")

DOUBLE_TOLERANCE = 1e-12
"""Largest difference of two models in double precision.

Their entries are below 1, and an entry of a gradient is a sum of a few thousand products: sums in another order differ
by some 1e-14.
"""


@dataclass(frozen=True)
class Case:
    """Local training of some clients with 100 samples each.

    Attributes
    ----------
    name
        What is trained, and how.
    network, module
        The network, and the same in ``torch.nn``.
    clients, steps
        Number of clients, and local steps of each.
    batch_size
        Samples of a step.
    """

    name: str
    network: Network
    module: nn.Module
    clients: int
    steps: int
    batch_size: int

    def engines(self, device: str) -> tuple[str, ...]:
        """The engines that are compared on a device."""
        if device == "cuda":
            return ("vmap",)
        return ("vmap", "serial")

    def tolerance(self, dtype: torch.dtype) -> float:
        """Largest difference of two models that rounding explains.

        In single precision some of the millions of ReLUs and maxima have arguments so near to the point where they
        switch that rounding decides. A switch changes a sample's gradient, a product of a number below 1 (pixel or
        activation) and one below 1 (error), and the model by that times the step size over the size of the batch.
        """
        return DOUBLE_TOLERANCE if dtype == torch.float64 else STEP_SIZE / self.batch_size


def perceptron(batch_size: int, clients: int) -> Case:
    """The perceptron of CFL-MGD and IFCA on images of MNIST's shape."""
    module = nn.Sequential(nn.Flatten(), nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, CLASSES))
    batches = "full batches" if batch_size == SAMPLES else f"batches of {batch_size}"
    name = f"perceptron, 1x28x28, {batches}"
    return Case(name, MLP((1, 28, 28), CLASSES), module, clients, steps=5, batch_size=batch_size)


def convolutional(channels: int, side: int, clients: int) -> Case:
    """FedAvg's convolutional network."""
    module = nn.Sequential(
        *(nn.Conv2d(channels, 32, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.LazyLinear(512), nn.ReLU(), nn.Linear(512, CLASSES)),
    )
    shape = (channels, side, side)
    module(torch.zeros(1, *shape))  # determines the inputs of the first linear layer
    name = f"CNN, {channels}x{side}x{side}, batches of 50"
    return Case(name, CNN(shape, CLASSES), module, clients, steps=3, batch_size=50)


def random_images(case: Case) -> Partition:
    """Noise in every pixel, which takes as long as any images."""
    stream = np.random.default_rng(0)
    total = case.clients * SAMPLES
    client_images = ClientImages(
        stream.integers(0, 256, (total, *case.network.image_shape), dtype=np.uint8),
        np.arange(total).reshape(case.clients, SAMPLES),
        stream.integers(0, CLASSES, (case.clients, SAMPLES)),
        np.full(case.clients, SAMPLES),
        np.zeros(case.clients, dtype=np.int64),
    )
    return Partition("benchmark", {"data": "noise"}, 1, CLASSES, client_images, client_images, True)


def minibatches() -> np.random.Generator:
    """Source of the minibatches, the same for the engines and the loop."""
    return np.random.default_rng(1)


class Loop:
    """One client after the other by module, optimiser and autograd, on batches that are ready tensors."""

    def __init__(self, case: Case, partition: Partition, device: str, dtype: torch.dtype) -> None:
        self.module = copy.deepcopy(case.module).to(device, dtype)
        data = partition.train
        scaled = torch.tensor(data.pixels[data.indices] / 255.0, dtype=dtype).to(device)
        targets = torch.as_tensor(data.targets).to(device)
        self.clients = []
        stream = minibatches()
        for client in range(case.clients):
            steps = draw_steps(SAMPLES, case.steps, case.batch_size, Preprocessing(), stream)
            rows = [step.samples for step in steps]
            self.clients.append([(scaled[client, chosen], targets[client, chosen]) for chosen in rows])

    def __call__(self, point: Tensor) -> Tensor:
        """Return the trained models (k, d) of all clients."""
        return torch.stack([self.train(point, client) for client in self.clients])

    def train(self, point: Tensor, client: list[tuple[Tensor, Tensor]]) -> Tensor:
        """Return the trained model (d,) of one client."""
        nn.utils.vector_to_parameters(point.clone(), self.module.parameters())
        optimiser = torch.optim.SGD(self.module.parameters(), lr=STEP_SIZE)
        for images, targets in client:
            optimiser.zero_grad()
            cross_entropy(self.module(images), targets).backward()  # type: ignore[no-untyped-call]  # torch has no types here
            optimiser.step()
        return nn.utils.parameters_to_vector(self.module.parameters()).detach()


def local_training(task: ImageTask, case: Case, point: Tensor) -> Tensor:
    """Return the trained models (k, d) of all clients, by our engine."""
    points, clients = point.expand(case.clients, -1), torch.arange(case.clients)
    trained: Tensor = task.local_steps(points, clients, minibatches(), Descent(STEP_SIZE, case.steps)).points
    return trained


def training(
    case: Case, partition: Partition, engine: str, device: str, dtype: torch.dtype
) -> Callable[[], Tensor]:
    """Return the local training of all clients by an engine, or by the loop."""
    point = torch.from_numpy(case.network.initial((), np.random.default_rng(2))).to(device, dtype)
    if engine == "loop":
        return partial(Loop(case, partition, device, dtype), point)
    task = ImageTask(
        partition=partition,
        network=case.network,
        batch_size=case.batch_size,
        device=device,
        dtype=str(dtype).removeprefix("torch."),
        engine=engine,
    )
    return partial(local_training, task, case, point)


def synchronised(call: Callable[[], Tensor]) -> Tensor:
    """Call, and wait for the device."""
    result = call()
    torch.cuda.synchronize()
    return result


def peak_memory(call: Callable[[], Tensor]) -> float:
    """MiB of device memory that a call allocates at most, on top of the data."""
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    synchronised(call)
    return (torch.cuda.max_memory_allocated() - before) / 2**20


def compare(case: Case, device: str) -> list[str]:
    """Print a row for the loop and for each engine, and return what is wrong, in sentences."""
    partition, names = random_images(case), ("loop", *case.engines(device))
    differences: dict[tuple[str, torch.dtype], float] = {}
    for dtype in (torch.float64, torch.float32):
        calls = {name: training(case, partition, name, device, dtype) for name in names}
        expected = training(case, partition, "loop", "cpu", dtype)()
        for name, call in calls.items():
            differences[name, dtype] = float((call().cpu() - expected).abs().max())
    peaks = {name: peak_memory(call) for name, call in calls.items()} if device == "cuda" else {}
    if device == "cuda":
        calls = {name: partial(synchronised, call) for name, call in calls.items()}
    clock = time.process_time if device == "cpu" else time.perf_counter
    seconds = median_seconds(calls, REPEATS, clock=clock)
    auto = choose_engine("auto", case.network, device).name
    for name in names:
        print(
            COLUMNS.format(
                case.name,
                name + " *" * (name == auto),
                device,
                f"{1e3 * seconds[name] / (case.clients * case.steps):.3f}",
                f"{seconds['loop'] / seconds[name]:.2f}",
                f"{differences[name, torch.float32]:.1e}",
                f"{differences[name, torch.float64]:.1e}",
                f"{peaks[name]:.0f}" if peaks else "",
            ),
            flush=True,
        )
    wrong = [
        f"{case.name}: {name} differs by more than rounding"
        for (name, dtype), value in differences.items()
        if value > case.tolerance(dtype)
    ]
    others = {name: 1.0 if name == "loop" else 1.1 for name in names if name != auto}
    wrong += [
        f"{case.name}: {auto} is slower than {name}"
        for name, share in others.items()
        if seconds[auto] > share * seconds[name]
    ]
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    device = parser.parse_args().device
    if device == "cpu":
        many, few = 16, 4
        torch.set_num_threads(1)
    else:
        many, few = 100, 20  # a GPU takes all clients at a time
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    print(COLUMNS.format(*HEADER))
    cases = (
        perceptron(50, many),
        perceptron(SAMPLES, many),
        convolutional(1, 28, few),
        convolutional(3, 32, few),
    )
    wrong = [sentence for case in cases for sentence in compare(case, device)]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
