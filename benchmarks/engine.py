"""A thousand replicates of CFL-MGD at once, against a plain loop over the clients.

The loop is what one would write first: every client draws its rows, evaluates the losses, picks a
model, draws fresh rows and computes its gradient; the server applies momentum. It is timed on few
replicate-rounds, since its cost is proportional to their number. The floor is the cost of the
run's random numbers alone: the draws of one round are recorded and repeated with nothing between.
``python -m benchmarks.engine``
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.timing import median_seconds, report_target
from clusterproof.algorithms import CFLMGD, Randomness, generator, run
from clusterproof.synthetic import RegressionMixture

ROUNDS, REPLICATES = 200, 1000
LOOP_ROUNDS = 20
TASK = RegressionMixture.random(clusters=2, clients=40, dimension=20, condition_number=10, samples=50)
ALGORITHM = CFLMGD(step_size=1.0, momentum=0.5)


def plain_loop(rounds: int) -> np.ndarray:
    """One replicate of the same algorithm on the same task, client by client."""
    stream = generator(0, "benchmark", "loop")
    root = np.sqrt(TASK.covariances.matrices[0].diagonal())
    models = TASK.initial_models(2, (), stream)
    buffers = np.zeros_like(models)

    def draw(label: int) -> tuple[np.ndarray, np.ndarray]:
        features = stream.standard_normal((TASK.samples, TASK.dimension)) * root
        return features, features @ TASK.optima[label] + TASK.noise * stream.standard_normal(TASK.samples)

    for _ in range(rounds):
        sums = np.zeros_like(models)
        for label in TASK.labels:
            features, targets = draw(label)
            losses = [0.5 * np.mean((targets - features @ model) ** 2) for model in models]
            best = int(np.argmin(losses))
            features, targets = draw(label)
            sums[best] += features.T @ (features @ models[best] - targets) / TASK.samples
        buffers = ALGORITHM.momentum * buffers + sums / TASK.clients
        models = models - ALGORITHM.step_size * buffers
    return models


class Recorder:
    """Stands in for a generator and writes down what is drawn from it."""

    def __init__(self, stream: np.random.Generator) -> None:
        self.stream = stream
        self.calls: list[tuple[str, tuple[Any, ...], int]] = []

    def standard_normal(self, size: Any) -> np.ndarray:
        """Draw and write down."""
        return self._record("standard_normal", size)

    def standard_gamma(self, shape: Any, size: Any) -> np.ndarray:
        """Draw and write down."""
        return self._record("standard_gamma", shape, size)

    def _record(self, name: str, *arguments: Any) -> np.ndarray:
        drawn = getattr(self.stream, name)(*arguments)
        self.calls.append((name, arguments, drawn.size))
        return drawn

    def repeat(self) -> None:
        """Make the same calls again."""
        for name, arguments, _ in self.calls:
            getattr(self.stream, name)(*arguments)

    def count(self, name: str) -> int:
        """Count the variates that were drawn by one method."""
        return sum(size for called, _, size in self.calls if called == name)


def recorded_round() -> Recorder:
    """Record what one round draws, after ten rounds that reach the typical assignments."""
    stream = generator(0, "benchmark", "recorder")
    models = TASK.initial_models(2, (REPLICATES,), stream)
    state = ALGORITHM.initialise(models, TASK)
    for _ in range(10):
        state = ALGORITHM.step(state, TASK, Randomness.from_seed(0))
    recorder = Recorder(stream)
    substitute: Any = recorder
    ALGORITHM.step(state, TASK, Randomness(stream, stream, substitute, substitute, stream))
    return recorder


def main() -> None:
    recorder = recorded_round()
    seconds = median_seconds(
        {
            "engine": lambda: run(ALGORITHM, TASK, rounds=ROUNDS, replicates=REPLICATES),
            "loop": lambda: plain_loop(LOOP_ROUNDS),
            "floor": recorder.repeat,
        },
        repeats=7,
    )
    engine = 1e6 * seconds["engine"] / (ROUNDS * REPLICATES)
    loop = 1e6 * seconds["loop"] / LOOP_ROUNDS
    floor = 1e6 * seconds["floor"] / REPLICATES
    normals, gammas = (recorder.count(name) / REPLICATES for name in ("standard_normal", "standard_gamma"))
    print("CFL-MGD, gradient averaging: P = 2, 40 clients, d = 20, n = 50, one thread")
    print(f"engine  {engine:9.2f} us a replicate-round ({REPLICATES} replicates, {ROUNDS} rounds)")
    print(f"loop    {loop:9.2f} us a replicate-round (scaled from 1 replicate, {LOOP_ROUNDS} rounds)")
    print(f"floor   {floor:9.2f} us a replicate-round: {normals:.1f} normals and {gammas:.1f} gammas")
    print(f"ratio loop / engine {loop / engine:.0f}x; engine / floor {engine / floor:.2f}")
    report_target("loop / engine", loop / engine, 60)


if __name__ == "__main__":
    main()
