"""Gaussian regression drawn exactly in law: against batches drawn row by row, and sums drawn client by client.

A client-round is what one client does in a round of clustered descent: the losses of P = 4
models on a fresh batch, the choice of the best, and the gradient there on another fresh batch.
Both ways run the same code of ``RegressionMixture`` on a batch of clients at once and are
divided by their number.

The sum of the gradients of all clients of a cluster is one draw from its exact law, too; the alternative draws one
gradient per client and adds. The losses of a round are drawn client by client in both.

``python -m benchmarks.exact_in_law``
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.timing import median_seconds, report_target
from clusterproof.algorithms import CFLMGD, Task
from clusterproof.common import Randomness, generator
from clusterproof.common.arrays import argmin_smallest_index, rows
from clusterproof.synthetic import RegressionMixture

CLUSTERS = 4
CLIENTS = 100
REPLICATES = 20
DIRECT_ENTRIES = 2_000_000  # features held at once by the direct simulation: 16 MB
POOLED_SAMPLES = 1_000_000
TARGETS = {(20, 1000): 300.0, (20, 10_000): 3000.0}


def client_rounds(task: RegressionMixture, shape: tuple[int, ...]) -> Callable[[], object]:
    models = np.broadcast_to(task.optima + 0.1, (*shape, *task.optima.shape))
    clients = np.arange(task.clients)
    stream = generator(0, "benchmark", task.sampling)

    def once() -> object:
        chosen = argmin_smallest_index(task.losses(models, clients, stream))
        return task.gradients(rows(models, chosen), clients, stream)

    return once


def measure(dimension: int, samples: int) -> dict[str, float]:
    """Return the microseconds per client-round: direct, exact in one run, exact in twenty runs at once."""

    def task(clients: int, sampling: str) -> RegressionMixture:
        return RegressionMixture.random(
            clusters=CLUSTERS,
            clients=clients,
            dimension=dimension,
            condition_number=10,
            samples=samples,
            sampling=sampling,
        )

    few = min(CLIENTS, max(CLUSTERS, DIRECT_ENTRIES // (samples * dimension)))
    exact = task(CLIENTS, "exact")
    seconds = median_seconds(
        {
            "direct": client_rounds(task(few, "direct"), ()),
            "one run": client_rounds(exact, ()),
            "batch": client_rounds(exact, (REPLICATES,)),
        },
        repeats=15,
    )
    count = {"direct": few, "one run": CLIENTS, "batch": CLIENTS * REPLICATES}
    return {name: 1e6 * seconds[name] / count[name] for name in seconds}


def measure_pooled(count: int) -> dict[str, float]:
    """Return the seconds of a whole round, of the pooled gradients and of the clients' gradients added."""
    task = RegressionMixture.random(clusters=2, clients=count, dimension=20, samples=POOLED_SAMPLES)
    stream, algorithm = generator(0, "benchmark", "pooling"), CFLMGD(step_size=1.0, momentum=0.5)
    models = task.initial_models(2, (), stream)
    state, randomness = algorithm.initialise(models, task), Randomness.from_seed(0)
    arguments = (models, np.arange(count), task.labels, stream)
    return median_seconds(
        {
            "round": lambda: algorithm.step(state, task, randomness),
            "pooled": lambda: task.gradient_sums(*arguments),
            "added": lambda: Task.gradient_sums(task, *arguments),
        },
        repeats=5,
    )


def main() -> None:
    print(f"one client-round in microseconds; P = {CLUSTERS}, {CLIENTS} clients, one thread")
    print(
        f"'batch' is {REPLICATES} replicates at once, as the engine is used; 'one run' is a single replicate"
    )
    print(f"{'d':>4} {'n':>6} {'direct':>9} {'one run':>8} {'ratio':>7} {'batch':>8} {'ratio':>7}")
    ratios = {}
    for dimension in (20, 100):
        for samples in (100, 1000, 10_000):
            cost = measure(dimension, samples)
            ratios[dimension, samples] = cost["direct"] / cost["batch"]
            print(
                f"{dimension:4d} {samples:6d} {cost['direct']:9.1f} {cost['one run']:8.2f} "
                f"{cost['direct'] / cost['one run']:6.0f}x {cost['batch']:8.2f} "
                f"{ratios[dimension, samples]:6.0f}x"
            )
    for (dimension, samples), target in TARGETS.items():
        report_target(f"ratio at d = {dimension}, n = {samples}", ratios[dimension, samples], target)
    print(f"\nP = 2, d = 20, n = {POOLED_SAMPLES} samples a client; milliseconds, one thread")
    print(f"{'m':>8} {'round':>9} {'gradients pooled':>17} {'added':>9} {'ratio':>7}")
    for count in (1000, 10_000, 100_000, 1_000_000):
        seconds = measure_pooled(count)
        print(
            f"{count:8d} {1e3 * seconds['round']:9.2f} {1e3 * seconds['pooled']:17.3f} "
            f"{1e3 * seconds['added']:9.2f} {seconds['added'] / seconds['pooled']:6.1f}x"
        )
    report_target("seconds of a round, m = 1000000", seconds["round"], 1, at_most=True)


if __name__ == "__main__":
    main()
