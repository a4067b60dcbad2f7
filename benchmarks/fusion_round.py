"""A round of FPFC, against the double loop over pairs of the public code, and its memory at scale.

The torch loop does what the public code does, in its order: weights and biases of every client apart, joined
anew at each visit of a pair; theta and v dense in single precision, written in place; the sum over j of every
participant; participants trained one by one by automatic differentiation in double precision; regions by if
and elif with the norm taken anew; every pair of two participants twice. The numpy loop has nothing
superfluous: each pair once, one norm, one vector a model.

Ours writes in place too (``reuse_memory``), in single precision and in double; its loops are compiled where the
extra ``fast`` is installed. In single precision the server's parts are of one precision; the training of the
public code is more precise than ours there, and less than all of ours in double. On one thread processor time
is compared; on two, of which only the training makes use, the wall clock's, on a machine that has them free.

Task: 100 clients in 4 clusters, softmax regression with 60 features and 10 classes (d = 610), 30
participants, 10 local steps; the rounds after 3, when most pairs are stored, and after 200, when those within
clusters are.
``python -m benchmarks.fusion_round``; for the memory, ``python -m benchmarks.fusion_round memory``, and for ten
thousand clients, ``python -m benchmarks.fusion_round many``
"""

from __future__ import annotations

import math
import resource
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.timing import report_target
from clusterproof.algorithms import FPFC, Randomness, generator
from clusterproof.algorithms.parts.compiling import can_compile
from clusterproof.algorithms.fpfc import FusionState
from clusterproof.synthetic.softmax import SoftmaxMixture

STRENGTH, CONCAVITY, SMOOTHING, AUGMENTATION = 0.6, 3.7, 1e-3, 1.0
STEP, LOCAL_STEPS, SHARE = 0.1, 10, 0.3
EARLY, LATE, TURNS, IN_A_TURN = 3, 200, 5, 3
LEAST = {"server": ((50.0, "target"),), "full": ((13.0, "target"), (15.0, "goal"))}


def region_factor(length: float) -> float:
    """Factor of the proximal step, by if and else."""
    lam, a, xi, rho = STRENGTH, CONCAVITY, SMOOTHING, AUGMENTATION
    if length <= xi + lam / rho:
        return xi * rho / (lam + xi * rho)
    if length <= lam + lam / rho:
        return 1 - lam / (rho * length)
    if length <= a * lam:
        return (1 - a * lam / ((a - 1) * rho * length)) / (1 - 1 / ((a - 1) * rho))
    return 1.0


class TorchLoop:
    """The public code's manner."""

    def __init__(self, task: SoftmaxMixture, models: np.ndarray) -> None:
        import torch

        self.torch = torch
        self.models: list[Any] = []
        for model in models.reshape(len(models), 10, 61):
            layer = torch.nn.Linear(60, 10, dtype=torch.float64)
            layer.weight.data, layer.bias.data = (
                torch.tensor(part, dtype=torch.float64) for part in (model[:, :-1], model[:, -1])
            )
            self.models.append(layer)
        shape = (len(models), len(models), 10, 61)
        self.theta = torch.tensor(models[:, None] - models[None, :], dtype=torch.float).reshape(shape)
        self.v = torch.zeros(shape)
        data = [task.training_data(client) for client in range(len(models))]
        self.data = [(torch.tensor(x, dtype=torch.float64), torch.tensor(y)) for x, y in data]

    def anchors(self, active: list[int]) -> dict[int, Any]:
        """Sum over j for each participant, weights and biases apart."""
        zeros, count, result = self.torch.zeros, len(self.models), {}
        weights, biases = zeros((count, 10, 60)), zeros((count, 10, 1))
        for i in range(count):
            weights[i] = self.models[i].weight.data.clone()
            biases[i] = self.models[i].bias.data.clone().reshape(-1, 1)
        for i in active:
            weight, bias = zeros((10, 60)), zeros((10, 1))
            for j in range(count):
                weight += weights[j] + self.theta[i][j][:, :-1] - self.v[i][j][:, :-1] / AUGMENTATION
                bias += (
                    biases[j]
                    + self.theta[i][j][:, -1].reshape(-1, 1)
                    - self.v[i][j][:, -1].reshape(-1, 1) / AUGMENTATION
                )
            result[i] = weight / count, bias / count
        return result

    def train(self, anchors: dict[int, Any]) -> None:
        """Train the participants."""
        loss = self.torch.nn.CrossEntropyLoss()
        for i, (weight, bias) in anchors.items():
            model, (features, targets) = self.models[i], self.data[i]
            for _ in range(LOCAL_STEPS):
                model.zero_grad()
                loss(model(features), targets).backward()
                slopes = model.weight.grad.clone(), model.bias.grad.clone()
                model.weight.data -= STEP * (slopes[0] + AUGMENTATION * (model.weight.data - weight))
                model.bias.data -= STEP * (slopes[1] + AUGMENTATION * (model.bias.data - bias[:, 0]))

    def joined(self, client: int) -> Any:
        """Weights and biases side by side."""
        model = self.models[client]
        return self.torch.cat((model.weight.data, model.bias.data.reshape(-1, 1)), 1)

    def settle(self, active: list[int]) -> None:
        """Update theta and v of the participants' pairs."""
        lam, a, xi, rho = STRENGTH, CONCAVITY, SMOOTHING, AUGMENTATION
        norm = self.torch.norm
        for i in active:
            one = self.joined(i)
            for j in range(len(self.models)):
                other = self.joined(j)
                delta = one.float() - other.float() + 1 / rho * self.v[i][j]
                if norm(delta) <= xi + lam / rho:
                    self.theta[i][j] = xi * rho / (lam + xi * rho) * delta
                elif norm(delta) <= lam + lam / rho:
                    self.theta[i][j] = (1 - lam / (rho * norm(delta))) * delta
                elif norm(delta) <= a * lam:
                    shrunk = (1 - a * lam / ((a - 1) * rho * norm(delta))) * delta
                    self.theta[i][j] = shrunk / (1 - 1 / ((a - 1) * rho))
                else:
                    self.theta[i][j] = delta
                self.theta[j][i] = -self.theta[i][j]
                self.v[i][j] = self.v[i][j] + rho * (one.float() - other.float() - self.theta[i][j])
                self.v[j][i] = -self.v[i][j]


class NumpyLoop:
    """The server's part with nothing superfluous."""

    def __init__(self, models: np.ndarray) -> None:
        self.models = models.copy()
        self.theta = models[:, None] - models[None, :]
        self.v = np.zeros_like(self.theta)

    def anchors(self, active: list[int]) -> dict[int, np.ndarray]:
        """Sum over j for each participant."""
        result = {}
        for i in active:
            total = np.zeros(self.models.shape[1])
            for j in range(len(self.models)):
                total += self.models[j] + self.theta[i, j] - self.v[i, j] / AUGMENTATION
            result[i] = total / len(self.models)
        return result

    def settle(self, active: list[int]) -> None:
        """Update theta and v of the participants' pairs."""
        present = set(active)
        for i in range(len(self.models)):
            for j in range(i + 1, len(self.models)):
                if i not in present and j not in present:
                    continue
                apart = self.models[i] - self.models[j]
                delta = apart + self.v[i, j] / AUGMENTATION
                theta = region_factor(float(np.sqrt(delta @ delta))) * delta
                v = self.v[i, j] + AUGMENTATION * (apart - theta)
                self.theta[i, j], self.theta[j, i] = theta, -theta
                self.v[i, j], self.v[j, i] = v, -v


def fill(loop: Any, state: FusionState, dtype: Any) -> None:
    """Give a loop the models and the dense pair variables of a state."""
    for page, span in state.pairs.spans():
        first, second, factors = (
            part[span] for part in (state.pairs.first, state.pairs.second, state.pairs.factors)
        )
        for i, j, s, delta in zip(first, second, factors, page, strict=True):
            shape = tuple(loop.theta.shape[2:])
            for sign, (p, q) in ((1, (i, j)), (-1, (j, i))):
                loop.theta[p, q] = dtype(sign * s * delta.reshape(shape))
                loop.v[p, q] = dtype(sign * AUGMENTATION * (1 - s) * delta.reshape(shape))


@dataclass(frozen=True, kw_only=True)
class TimedFPFC(FPFC):
    """FPFC that notes the processor time of each call of the server's parts, and who took part."""

    server_seconds: list[float] = field(default_factory=list)
    participants: list[list[int]] = field(default_factory=list)

    def anchors(self, state: FusionState, clients: Any) -> Any:
        """As FPFC."""
        result, seconds = timed(super().anchors, state, clients)
        self.server_seconds.append(seconds)
        self.participants.append(clients.tolist())
        return result

    def update(self, state: FusionState, clients: Any, points: Any) -> FusionState:
        """As FPFC."""
        result: FusionState
        result, seconds = timed(super().update, state, clients, points)
        self.server_seconds.append(seconds)
        return result


def timed(
    call: Callable[..., Any], *arguments: object, clock: Callable[[], float] = time.process_time
) -> tuple[Any, float]:
    """Give what a call returns and its time: the processor's, which others on the machine do not add to."""
    started = clock()
    result = call(*arguments)
    return result, clock() - started


@dataclass
class Rounds:
    """CPU seconds of rounds of ours and of the loops, by part, and how many pairs ours stored."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    stored: list[int] = field(default_factory=list)

    def milliseconds(self, part: str) -> float:
        """Mean of a part over the rounds, which differ: clients have up to a hundred times the data of others."""
        return 1e3 * statistics.fmean(self.seconds[part])


def start_run(task: SoftmaxMixture, algorithm: FPFC, rounds: int) -> tuple[FusionState, Randomness]:
    """Run some rounds from the common start."""
    start = generator(0, "benchmark", "start").standard_normal((1, task.dimension))
    state = algorithm.initialise(start.astype("f8" if task.precision == "double" else "f4"), task)
    randomness = Randomness.from_seed(1)
    for _ in range(rounds):
        state = algorithm.step(state, task, randomness)
    return state, randomness


def measure(task: SoftmaxMixture, algorithm: TimedFPFC, before: int) -> Rounds:
    """Time rounds of ours after those ``before``, turn about with the loops' with the same clients."""
    import torch

    result = Rounds()
    state, randomness = start_run(task, algorithm, before)
    plain, lean = TorchLoop(task, state.models), NumpyLoop(state.models)
    fill(plain, state, lambda values: torch.tensor(values, dtype=torch.float))
    fill(lean, state, np.asarray)
    for _ in range(TURNS):
        if before < LATE:
            state, randomness = start_run(task, algorithm, before)
        else:  # the caches are full of the loops' numbers
            state = algorithm.step(state, task, randomness)
        algorithm.participants.clear()
        for _ in range(IN_A_TURN):
            algorithm.server_seconds.clear()
            state, seconds = timed(algorithm.step, state, task, randomness)
            result.seconds["full"].append(seconds)
            result.seconds["server"].append(sum(algorithm.server_seconds))
            result.stored.append(int(state.pairs.stored.sum()) // 2)
        for active in algorithm.participants:
            anchors, first = timed(plain.anchors, active)
            training = timed(plain.train, anchors)[1]
            last = timed(plain.settle, active)[1]
            result.seconds["full, torch"].append(first + training + last)
            result.seconds["server, torch"].append(first + last)
            numpy = timed(lean.anchors, active)[1] + timed(lean.settle, active)[1]
            result.seconds["server, numpy"].append(numpy)
    return result


def rounds() -> None:
    """Time rounds when most pairs are stored, and when those within clusters are."""
    import torch

    torch.set_num_threads(1)
    if can_compile():
        import numba

        numba.set_num_threads(1)
    print("FPFC, m = 100, d = 610, 30 participants, 10 local steps; CPU milliseconds, one thread")
    print(
        f"{'precision':>9} {'after':>5} {'stored':>6} {'part':>6} {'ours':>7} {'torch':>7} {'ratio':>6} {'numpy':>7}"
    )
    ratios: dict[tuple[str, str], list[float]] = defaultdict(list)
    for precision in ("single", "double"):
        task = SoftmaxMixture(seed=1, precision=precision)
        algorithm = TimedFPFC(
            step_size=STEP, local_steps=LOCAL_STEPS, strength=STRENGTH, participation=SHARE, reuse_memory=True
        )
        for before in (EARLY, LATE):
            found = measure(task, algorithm, before)
            for part in ("server", "full"):
                mine, theirs = found.milliseconds(part), found.milliseconds(f"{part}, torch")
                ratios[precision, part].append(theirs / mine)
                lean = f"{found.milliseconds('server, numpy'):7.1f}" if part == "server" else ""
                print(
                    f"{precision:>9} {before:5d} {statistics.median_low(found.stored):6d} {part:>6} {mine:7.2f} "
                    f"{theirs:7.1f} {theirs / mine:5.1f}x {lean}",
                    flush=True,
                )
    for (precision, part), values in ratios.items():
        for least, name in LEAST[part]:
            report_target(
                f"{name}: {part} round, torch loop / ours in {precision}, the lesser", min(values), least
            )
    two_threads()


def two_threads() -> None:
    """Compare whole rounds by the wall clock, ours with two threads; the loop gains nothing by a second."""
    if not can_compile():
        print("numba is not installed: ours has one thread")
        return
    import numba

    task = SoftmaxMixture(seed=1)
    algorithm = TimedFPFC(
        step_size=STEP, local_steps=LOCAL_STEPS, strength=STRENGTH, participation=SHARE, reuse_memory=True
    )
    ratios = []
    for before in (EARLY, LATE):
        state, randomness = start_run(task, algorithm, before)
        loop, mine, theirs = TorchLoop(task, state.models), [], []
        numba.set_num_threads(min(2, numba.config.NUMBA_NUM_THREADS))
        for _ in range(2 * IN_A_TURN):
            algorithm.participants.clear()
            state, seconds = timed(algorithm.step, state, task, randomness, clock=time.perf_counter)
            mine.append(seconds)
            (active,) = algorithm.participants
            theirs.append(timed(whole_round, loop, active, clock=time.perf_counter)[1])
        numba.set_num_threads(1)
        ratios.append(sum(theirs) / sum(mine))
    report_target("goal: full round on two threads, torch loop / ours in double, the lesser", min(ratios), 20)


def whole_round(loop: TorchLoop, active: list[int]) -> None:
    """Carry out a round of the loop."""
    loop.train(loop.anchors(active))
    loop.settle(active)


class Centred:
    """Clients with phi_i(w) = ||w - c_i||^2 / 2 in single precision."""

    def __init__(self, centers: np.ndarray) -> None:
        self.centers, self.clients = centers, len(centers)

    def gradients(self, points: np.ndarray, clients: np.ndarray, _: np.random.Generator) -> np.ndarray:
        """Gradients at points (..., k, d)."""
        return np.asarray(points - self.centers[clients])


def memory() -> None:
    """Run m = 1000, d = 10000 from local models until every pair within a cluster is stored."""
    clients, dimension, clusters = 1000, 10_000, 4
    stream = generator(0, "benchmark", "memory")
    middles = stream.standard_normal((clusters, dimension), dtype=np.float32)
    spread = 0.002 * stream.standard_normal((clients, dimension), dtype=np.float32)
    task: Any = Centred(middles[np.arange(clients) % clusters] + spread)
    algorithm = FPFC(step_size=0.5, local_steps=2, participation=0.1, start="own", reuse_memory=True)
    began = time.perf_counter()
    state = algorithm.initialise(task.centers, task)
    randomness, done, within = Randomness.from_seed(0), 0, clients * (clients // clusters - 1)
    peak = [0.0]
    while state.pairs.stored.sum() < within:
        state = algorithm.step(state, task, randomness)
        done += 1
        peak.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9)
        if done in (3, 10, 20):
            stored = int(state.pairs.stored.sum()) // 2
            print(f"after {done:3d} rounds: {stored:7d} vectors stored, peak {peak[-1]:.2f} GB", flush=True)
    seconds = (time.perf_counter() - began) / done
    rows = len(state.pairs.factors)
    print(f"after {done:3d} rounds: {rows:7d} vectors, all {within // 2} pairs within the clusters")
    print(
        f"their size {rows * dimension * 4 / 1e9:.2f} GB of {clients * (clients - 1) * dimension * 8 / 1e9:.0f} GB"
    )
    print(f"for dense theta and v; {seconds:.2f} s a round")
    report_target("peak memory in GB", peak[-1], 5.5, at_most=True)


def many() -> None:
    """Run ten thousand clients from local models, in double precision, three in ten of them a round.

    Only pairs that the penalty still pulls at are stored, in full: 8 d + 20 bytes each. After a few rounds that is
    every pair within a cluster, m^2 / (2 P) of them. Beside them lie two booleans a pair, m^2 bytes each, twice
    during a round, and about ten arrays (m, d).
    """
    clients, rounds = 10_000, 8
    for dimension, clusters in ((20, 4), (1000, 100)):
        stream = generator(0, "benchmark", "many", dimension)
        middles = 4 * stream.standard_normal((clusters, dimension))
        spread = 0.1 / dimension**0.5 * stream.standard_normal((clients, dimension))
        task: Any = Centred(middles[np.arange(clients) % clusters] + spread)
        algorithm = FPFC(step_size=0.5, local_steps=2, participation=0.3, start="own", reuse_memory=True)
        state = algorithm.initialise(task.centers, task)
        randomness, began = Randomness.from_seed(0), time.perf_counter()
        for _ in range(rounds):
            state = algorithm.step(state, task, randomness)
        seconds = (time.perf_counter() - began) / rounds
        stored, within = len(state.pairs.factors), clients * (clients // clusters - 1) // 2
        vectors = stored * (8 * dimension + 20)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
        print(
            f"m = {clients}, d = {dimension}, {clusters} clusters: {seconds:.1f} s a round, {stored} of {within} pairs"
        )
        print(
            f"within clusters stored, {vectors / 1e9:.2f} GB; "
            f"dense theta and v: {16 * clients**2 * dimension / 1e9:.0f} GB"
        )
        report_target(f"peak memory in GB at d = {dimension}", peak, 12, at_most=True)
        del state
    # from a common start nearly every pair is stored in the first rounds, as in one cluster
    for dimension in (20, 1000, 10_000):
        least = clients**2 * (8 * dimension + 20) / 2 / (12e9 - 4 * clients**2 - 80 * clients * dimension)
        print(
            f"12 GB hold d = {dimension} from {math.ceil(least)} equal clusters on"
            if least > 0
            else f"12 GB do not hold d = {dimension}"
        )


if __name__ == "__main__":
    {"memory": memory, "many": many}.get(" ".join(sys.argv[1:]), rounds)()
