"""Fresh batches of Gaussian regression: drawn exactly in law, against drawn row by row.

A client-round is what one client does in a round of clustered descent: the losses of P = 4
models on a fresh batch, the choice of the best, and the gradient there on another fresh batch.
Both ways run the same code of ``RegressionMixture`` on a batch of clients at once and are
divided by their number. ``python -m benchmarks.exact_in_law``
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.timing import median_seconds, report_target
from clusterproof.algorithms import generator
from clusterproof.algorithms.arrays import argmin_smallest_index, rows
from clusterproof.synthetic import RegressionMixture

CLUSTERS = 4
CLIENTS = 100
REPLICATES = 20
DIRECT_ENTRIES = 2_000_000  # features held at once by the direct simulation: 16 MB
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
    """Microseconds a client-round: direct, exact in one run, exact in twenty runs at once."""

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


if __name__ == "__main__":
    main()
