"""Time rounds when most pairs are stored, and when those within clusters are."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.fusion_round.loops import LOCAL_STEPS, SHARE, STEP, STRENGTH, NumpyLoop, TorchLoop, fill
from benchmarks.timing import report_target
from clusterproof.algorithms import FPFC, Randomness, generator
from clusterproof.algorithms.fpfc import FusionState
from clusterproof.synthetic.softmax import SoftmaxMixture

EARLY, LATE, TURNS, IN_A_TURN = 3, 200, 5, 3
LEAST = {"server": 40.0, "full": 8.0}


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
    threadpool_limits(1, user_api="blas")
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
        report_target(
            f"{part} round, torch loop / ours in {precision}, the smaller", min(values), LEAST[part]
        )
