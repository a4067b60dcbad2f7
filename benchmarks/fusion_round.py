"""A round of FPFC, against the double loop over pairs of the public code.

The loop does what the public code does, in its order: weights and biases of every client apart, joined again at each
visit of a pair; theta and v dense in single precision, written in place; the sum over j of every participant;
participants trained one by one by automatic differentiation in double precision; regions by if and elif with the norm
taken again; every pair of two participants twice.

Ours writes in place too (``reuse_memory``), in single precision and in double. In single precision the server's
parts are of one precision; the training of the public code is more precise than ours there, and less than all of
ours in double. Processor time of one thread is compared.

Task: 100 clients in 4 clusters, softmax regression with 60 features and 10 classes (d = 610), 30 participants, 10
local steps; the rounds after 3, when the penalty acts on about half of the pairs, and after 200, when it acts on
those within clusters.

``python -m benchmarks.fusion_round``
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.timing import report_target
from clusterproof.algorithms import FPFC
from clusterproof.algorithms.fpfc import FusionState
from clusterproof.common import Randomness, generator
from clusterproof.synthetic.softmax import SoftmaxMixture

STRENGTH, CONCAVITY, SMOOTHING, AUGMENTATION = 0.6, 3.7, 1e-3, 1.0
STEP, LOCAL_STEPS, SHARE = 0.1, 10, 0.3
EARLY, LATE, REPETITIONS, ROUNDS = 3, 200, 5, 3
LEAST = {"server": 40.0, "full": 8.0}


class TorchLoop:
    """The loop of the public code."""

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
        self.data = [(torch.tensor(x[:-1].T, dtype=torch.float64), torch.tensor(y)) for x, y in task.training]

    def anchors(self, active: list[int]) -> dict[int, Any]:
        """Return the sum over j for each participant, weights and biases apart."""
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
                gradients = model.weight.grad.clone(), model.bias.grad.clone()
                model.weight.data -= STEP * (gradients[0] + AUGMENTATION * (model.weight.data - weight))
                model.bias.data -= STEP * (gradients[1] + AUGMENTATION * (model.bias.data - bias[:, 0]))

    def joined(self, client: int) -> Any:
        """Return the weights and biases side by side."""
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

    def fill(self, state: FusionState) -> None:
        """Take the dense pair variables of a state."""
        pairs = zip(
            *np.triu_indices(len(state.models), 1), state.pairs.factor, state.pairs.delta, strict=True
        )
        for i, j, s, delta in pairs:
            dense = self.torch.tensor(delta.reshape(10, 61), dtype=self.torch.float)
            for sign, pair in ((1, (i, j)), (-1, (j, i))):
                self.theta[pair] = sign * s * dense
                self.v[pair] = sign * AUGMENTATION * (1 - s) * dense


@dataclass(frozen=True, kw_only=True)
class TimedFPFC(FPFC):
    """FPFC that records the processor time of each server call, and the participants."""

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
    """Return the result of a call and its processor time, which is unaffected by other processes."""
    started = clock()
    result = call(*arguments)
    return result, clock() - started


def start_run(task: SoftmaxMixture, algorithm: FPFC, rounds: int) -> tuple[FusionState, Randomness]:
    """Run some rounds from the common start."""
    start = generator(0, "benchmark", "start").standard_normal((1, task.dimension))
    state = algorithm.initialise(start.astype("f8" if task.precision == "double" else "f4"), task)
    randomness = Randomness.from_seed(1)
    for _ in range(rounds):
        state = algorithm.step(state, task, randomness)
    return state, randomness


def measure(task: SoftmaxMixture, algorithm: TimedFPFC, before: int) -> tuple[dict[str, float], int]:
    """Time rounds of ours after those ``before``, interleaved with the loop's with the same clients.

    Returns
    -------
    tuple
        Mean milliseconds by part over the rounds, which differ, as clients have up to a hundred times the data of
        others; and the number of pairs on which the penalty acts.
    """
    seconds: dict[str, list[float]] = defaultdict(list)
    state, randomness = start_run(task, algorithm, before)
    loop = TorchLoop(task, state.models)
    loop.fill(state)
    for _ in range(REPETITIONS):
        if before < LATE:
            state, randomness = start_run(task, algorithm, before)
        else:  # the caches are full of the loop's numbers
            state = algorithm.step(state, task, randomness)
        algorithm.participants.clear()
        for _ in range(ROUNDS):
            algorithm.server_seconds.clear()
            state, elapsed = timed(algorithm.step, state, task, randomness)
            seconds["full"].append(elapsed)
            seconds["server"].append(sum(algorithm.server_seconds))
        for active in algorithm.participants:
            anchors, first = timed(loop.anchors, active)
            training = timed(loop.train, anchors)[1]
            last = timed(loop.settle, active)[1]
            seconds["full, loop"].append(first + training + last)
            seconds["server, loop"].append(first + last)
    means = {part: 1e3 * statistics.fmean(values) for part, values in seconds.items()}
    return means, int((state.pairs.factor < 1).sum())


def rounds() -> None:
    """Time rounds when the penalty acts on about half of the pairs, and when it acts on those within clusters."""
    import torch

    torch.set_num_threads(1)
    threadpool_limits(1, user_api="blas")
    print("FPFC, m = 100, d = 610, 30 participants, 10 local steps; CPU milliseconds, one thread")
    print(f"{'precision':>9} {'after':>5} {'pairs':>6} {'part':>6} {'ours':>7} {'loop':>7} {'ratio':>6}")
    ratios: dict[tuple[str, str], list[float]] = defaultdict(list)
    for precision in ("single", "double"):
        task = SoftmaxMixture(seed=1, precision=precision)
        algorithm = TimedFPFC(
            step_size=STEP, local_steps=LOCAL_STEPS, strength=STRENGTH, participation=SHARE, reuse_memory=True
        )
        for before in (EARLY, LATE):
            means, acting = measure(task, algorithm, before)
            for part in ("server", "full"):
                ours, theirs = means[part], means[f"{part}, loop"]
                ratios[precision, part].append(theirs / ours)
                columns = f"{precision:>9} {before:5d} {acting:6d} {part:>6} {ours:7.2f} {theirs:7.1f}"
                print(f"{columns} {theirs / ours:5.1f}x", flush=True)
    for (precision, part), values in ratios.items():
        name = f"{part} round, torch loop / ours in {precision}, the smaller"
        report_target(name, min(values), LEAST[part])


if __name__ == "__main__":
    rounds()
