"""Rounds of FedAvg on networks, compared with a user's plain loop and with PFLlib's method, in one run.

``python -m benchmarks.neural_engine [--device cpu|cuda] [--engines] [CASE ...]``. All three train the same clients from
the same model. Ours calls ``FedAvg.step``. ``loop`` is plain torch: one client after the other in one module, on
batches that are already tensors. ``pfllib`` has a module and a ``DataLoader`` for each client, like that library. A
ratio is the median of our time over the other's, on one thread, over alternating repetitions. Memory is the largest
resident set of a separate process that runs one round. With ``--engines``, each engine is timed instead of the one that
``auto`` chooses. The exit status is 1 if models differ by more than rounding explains, or a target is missed.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

from benchmarks.timing import interleaved_seconds, report_target
from clusterproof.algorithms import FedAvg
from clusterproof.algorithms.base import State
from clusterproof.common import Randomness
from clusterproof.neural.client_data import draw_steps
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.networks import CNN, MLP, Network
from clusterproof.neural.partitions.base import ClientImages, Partition
from clusterproof.neural.task import ImageTask

CLASSES, STEP_SIZE, SAMPLES, PASSES = 10, 0.1, 100, 2
CLIENTS = (10, 50, 100)
REPEATS = 5
NOISE = 4
"""Difference in MiB between the memory of two equal processes."""

RIVALS = ("loop", "pfllib")
COLUMNS = "{:22}{:>8}{:>8}{:>15}{:>12}{:>14}{:>12}{:>12}{:>15}"
HEADER = (
    *("case", "clients", "engine", "ms/client step", "ours / loop", "ours / pfllib"),
    *("ours, MiB", "pfllib, MiB", "difference"),
)
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-2}
"""Largest difference between two models.

Their entries are below 1, and an entry of a gradient is a sum of a few thousand products: sums in another order differ
by some 1e-14 in double precision. In single precision, some of the millions of ReLUs and maxima have arguments so close
to their switching point that rounding decides. Such a switch changes a model by at most the step size over the batch
size.
"""


@dataclass(frozen=True)
class Case:
    """A network in our form and in ``torch.nn``, for clients with 100 samples each.

    Attributes
    ----------
    network, module
        The network in both forms.
    batch_size
        Number of samples per step.
    """

    network: Network
    module: Callable[[], nn.Module]
    batch_size: int


def perceptron(width: int, batch_size: int) -> Case:
    """Return a perceptron for images of MNIST's shape."""

    def module() -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(784, width), nn.ReLU(), nn.Linear(width, CLASSES))

    return Case(MLP((1, 28, 28), CLASSES, (width,)), module, batch_size)


def convolutional(shape: tuple[int, int, int], channels: tuple[int, int], hidden: tuple[int, ...]) -> Case:
    """Return two 5x5 convolutions with pooling, followed by linear layers."""

    def module() -> nn.Module:
        layers: list[nn.Module] = []
        for inputs, outputs in ((shape[0], channels[0]), channels):
            layers += [nn.Conv2d(inputs, outputs, 5), nn.ReLU(), nn.MaxPool2d(2)]
        layers.append(nn.Flatten())
        for width in hidden:
            layers += [nn.LazyLinear(width), nn.ReLU()]
        made = nn.Sequential(*layers, nn.LazyLinear(CLASSES))
        made(torch.zeros(1, *shape))  # determines the inputs of the first linear layer
        return made

    return Case(CNN(shape, CLASSES, channels, hidden), module, 50)


CASES = {
    "784-20-10, batches": perceptron(20, 50),
    "784-20-10": perceptron(20, SAMPLES),
    "784-200-10, batches": perceptron(200, 50),
    "784-200-10": perceptron(200, SAMPLES),
    "784-2000-10, batches": perceptron(2000, 50),
    "784-2000-10": perceptron(2000, SAMPLES),
    "LeNet": convolutional((1, 28, 28), (6, 16), (120, 84)),
    "CNN 1x28x28": convolutional((1, 28, 28), (32, 64), (512,)),
    "CNN 3x32x32": convolutional((3, 32, 32), (32, 64), (512,)),
}
"""For perceptrons, a step uses all 100 samples of a client, or a batch of 50; for the others, a batch of 50."""


SMALLEST = "784-20-10"


def random_images(case: Case, clients: int) -> Partition:
    """Return images of noise, which take as long as any others."""
    stream = np.random.default_rng(0)
    total = clients * SAMPLES
    client_images = ClientImages(
        stream.integers(0, 256, (total, *case.network.image_shape), dtype=np.uint8),
        np.arange(total).reshape(clients, SAMPLES),
        stream.integers(0, CLASSES, (clients, SAMPLES)),
        np.full(clients, SAMPLES),
        np.zeros(clients, dtype=np.int64),
    )
    return Partition("benchmark", {"data": "noise"}, 1, CLASSES, client_images, client_images, True)


def streams() -> Randomness:
    """Return the source of the minibatches at its start."""
    return Randomness.from_seed(1)


@dataclass(frozen=True)
class Setting:
    """A comparison: a case with a number of clients, on a device and in a precision."""

    case: str
    clients: int
    device: str
    dtype: torch.dtype

    @property
    def start(self) -> Tensor:
        """Return the server's model (d,)."""
        model = CASES[self.case].network.initial((), np.random.default_rng(2))
        return torch.from_numpy(model).to(self.device, self.dtype)

    def samples(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield each client's scaled images and targets."""
        data = random_images(CASES[self.case], self.clients).train
        for indices, targets in zip(data.indices, data.targets, strict=True):
            scaled = torch.tensor(data.pixels[indices] / 255.0, dtype=self.dtype)
            yield scaled.to(self.device), torch.as_tensor(targets).to(self.device)

    def module(self) -> nn.Module:
        """Return the server's model as a module."""
        module = CASES[self.case].module().to(self.device, self.dtype)
        nn.utils.vector_to_parameters(self.start, module.parameters())
        return module

    def ours(self, engine: str = "auto") -> Callable[[], Tensor]:
        """Return our implementation of a round."""
        case = CASES[self.case]
        task = ImageTask(
            partition=random_images(case, self.clients),
            network=case.network,
            batch_size=case.batch_size,
            local_unit="epoch",
            device=self.device,
            dtype=str(self.dtype).removeprefix("torch."),
            engine=engine,
        )
        state = State(self.start[None], None, None)
        return lambda: FedAvg(step_size=STEP_SIZE, local_steps=PASSES).step(state, task, streams()).models[0]

    def loop(self) -> Callable[[], Tensor]:
        """Return a round as a user would write it, with batches as tensors."""
        batch_size, steps = CASES[self.case].batch_size, PASSES * SAMPLES // CASES[self.case].batch_size
        stream, batches = streams().gradient, []
        for images, targets in self.samples():
            drawn = draw_steps(SAMPLES, steps, batch_size, Preprocessing(), stream)
            batches.append([(images[step.samples], targets[step.samples]) for step in drawn])
        server, module = self.module(), self.module()

        def round_of_loop() -> Tensor:
            total = [torch.zeros_like(parameter) for parameter in server.parameters()]
            for client in batches:
                module.load_state_dict(server.state_dict())
                optimiser = torch.optim.SGD(module.parameters(), lr=STEP_SIZE)
                for images, targets in client:
                    optimiser.zero_grad()
                    cross_entropy(module(images), targets).backward()  # type: ignore[no-untyped-call]
                    optimiser.step()
                for summed, parameter in zip(total, module.parameters(), strict=True):
                    summed += parameter.detach()
            return nn.utils.parameters_to_vector(total) / len(batches)

        return round_of_loop

    def pfllib(self) -> Callable[[], Tensor]:
        """Return a round like PFLlib's: clients hold modules, and lists of samples in a ``DataLoader``."""
        server = self.module()
        clients = [
            (copy.deepcopy(server), list(zip(images, targets, strict=True)))
            for images, targets in self.samples()
        ]
        size = CASES[self.case].batch_size

        def round_of_pfllib() -> Tensor:
            for module, data in clients:
                for sent, kept in zip(server.parameters(), module.parameters(), strict=True):
                    kept.data = sent.data.clone()
                optimiser = torch.optim.SGD(module.parameters(), lr=STEP_SIZE)
                loader: DataLoader[Any] = DataLoader(data, size, drop_last=True, shuffle=True)  # type: ignore[arg-type]  # a list is a data set
                module.train()
                for _ in range(PASSES):
                    for images, targets in loader:
                        loss = nn.CrossEntropyLoss()(module(images), targets)
                        optimiser.zero_grad()
                        loss.backward()
                        optimiser.step()
            uploaded = [copy.deepcopy(module) for module, _ in clients]
            average = copy.deepcopy(uploaded[0])
            for parameter in average.parameters():
                parameter.data.zero_()
            for module in uploaded:
                for mean, parameter in zip(average.parameters(), module.parameters(), strict=True):
                    mean.data += parameter.data.clone() / len(clients)
            return nn.utils.parameters_to_vector(average.parameters()).detach()

        return round_of_pfllib


def synchronised(call: Callable[[], Tensor]) -> Tensor:
    """Call a function, and wait for the device."""
    result = call()
    torch.cuda.synchronize()
    return result


def peak_memory(setting: Setting, name: str) -> float:
    """Return by how many MiB a round, with data and models, raises this process's largest resident set."""
    torch.set_num_threads(1)
    for each in RIVALS:
        getattr(replace(setting, case=SMALLEST, clients=2), each)()()
    replace(setting, case=SMALLEST, clients=2).ours()()  # after the libraries are loaded
    before = _peak()
    getattr(setting, name)()()
    return _peak() - before


def _peak() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def compare(setting: Setting, engine: str) -> tuple[float, float, list[str]]:
    """Print a row; return the ratios of our time to the others' times, and a sentence on each failure."""
    exact = replace(setting, dtype=torch.float64)
    differences, wrong = {}, []
    for each in (exact, setting):
        own, expected = each.ours(engine)(), replace(each, device="cpu").loop()()
        differences[each.dtype] = float((own.cpu() - expected).abs().max())
        if differences[each.dtype] > TOLERANCE[each.dtype]:
            wrong.append(f"{each.case}: differs by {differences[each.dtype]:.1e}")
    calls = {name: getattr(setting, name)() for name in RIVALS} | {"ours": setting.ours(engine)}
    if setting.device == "cuda":
        calls = {name: partial(synchronised, call) for name, call in calls.items()}
    clock = time.process_time if setting.device == "cpu" else time.perf_counter
    seconds = interleaved_seconds(calls, REPEATS, clock=clock)
    loop, pfllib = (
        statistics.median(own / other for own, other in zip(seconds["ours"], seconds[name], strict=True))
        for name in RIVALS
    )
    memory = {}
    for name in ("ours", "pfllib") if setting.device == "cpu" else ():
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            memory[name] = pool.submit(peak_memory, setting, name).result()
    if memory and memory["ours"] > memory["pfllib"] + NOISE:
        wrong.append(f"{setting.case}, {setting.clients} clients: more memory than PFLlib's way")
    case = CASES[setting.case]
    steps = setting.clients * PASSES * SAMPLES // case.batch_size
    print(
        COLUMNS.format(
            setting.case,
            setting.clients,
            engine,
            f"{1e3 * statistics.median(seconds['ours']) / steps:.3f}",
            f"{loop:.2f}",
            f"{pfllib:.2f}",
            *(f"{memory[name]:.0f}" if memory else "" for name in ("ours", "pfllib")),
            f"{differences[torch.float64]:.1e}",
        ),
        flush=True,
    )
    return loop, pfllib, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", choices=(*CASES, []), metavar="CASE", help="all by default")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS)
    parser.add_argument("--engines", action="store_true", help="time each engine")
    options = parser.parse_args()
    if options.device == "cpu":
        torch.set_num_threads(1)
    else:
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    print(COLUMNS.format(*HEADER))
    engines = ("vmap", "serial") if options.engines else ("auto",)
    found = [
        compare(Setting(case, clients, options.device, torch.float32), engine)
        for case in options.cases or CASES
        for clients in options.clients
        for engine in engines
    ]
    wrong = [sentence for *_, sentences in found for sentence in sentences]
    print("\n".join(wrong))
    loop, pfllib = max(to_loop for to_loop, *_ in found), max(to_pfllib for _, to_pfllib, _ in found)
    report_target("ours / loop, the largest", loop, 1.0, at_most=True)
    report_target("ours / PFLlib's way, the largest", pfllib, 1.0, at_most=True)
    return 1 if wrong or max(loop, pfllib) > 1 else 0


if __name__ == "__main__":
    sys.exit(main())
