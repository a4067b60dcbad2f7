"""A round with a million clients of a million samples each.

The sum of the gradients of all clients of a cluster is one draw from its exact law; the
alternative draws (also exactly in law) one gradient a client and adds. The losses are drawn
client by client in both. ``python -m benchmarks.pooling``
"""

from __future__ import annotations

import numpy as np

from benchmarks.timing import median_seconds, report_target
from clusterproof.algorithms import CFLMGD, Randomness, generator, sum_gradients
from clusterproof.synthetic import RegressionMixture

SAMPLES = 1_000_000
ALGORITHM = CFLMGD(step_size=1.0, momentum=0.5)


def measure(count: int) -> dict[str, float]:
    """Seconds of a whole round, of the pooled gradients and of the clients' gradients added."""
    task = RegressionMixture.random(clusters=2, clients=count, dimension=20, samples=SAMPLES)
    stream = generator(0, "benchmark", "pooling")
    models = task.initial_models(2, (), stream)
    state = ALGORITHM.initialise(models, task)
    randomness = Randomness.from_seed(0)
    clients, chosen = np.arange(count), task.labels
    return median_seconds(
        {
            "round": lambda: ALGORITHM.step(state, task, randomness),
            "pooled": lambda: task.gradient_sums(models, clients, chosen, stream),
            "added": lambda: sum_gradients(task, models, clients, chosen, stream),
        },
        repeats=5,
    )


def main() -> None:
    print(f"P = 2, d = 20, n = {SAMPLES} samples a client; milliseconds, one thread")
    print(f"{'m':>8} {'round':>9} {'gradients pooled':>17} {'added':>9} {'ratio':>7}")
    for count in (1000, 10_000, 100_000, 1_000_000):
        seconds = measure(count)
        print(
            f"{count:8d} {1e3 * seconds['round']:9.2f} {1e3 * seconds['pooled']:17.3f} "
            f"{1e3 * seconds['added']:9.2f} {seconds['added'] / seconds['pooled']:6.1f}x"
        )
    report_target("seconds of a round, m = 1000000", seconds["round"], 1, at_most=True)


if __name__ == "__main__":
    main()
