"""Rounds on stored regression data, compared with NumPy on the clients' samples: a loop over clients, and one batch.

Loop and batch compute the gradient from the residuals, one replicate after the other. If a client has more samples than
parameters, a batch of Gram matrices is timed as well.

``python -m benchmarks.fixed_data``
"""

from __future__ import annotations

import statistics
import time
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.timing import interleaved_seconds, report_target
from clusterproof.algorithms import CFLMGD, IFCA, FedAvg
from clusterproof.common import Randomness
from clusterproof.synthetic import RegressionMixture

SIZES = [
    *((100, 20, 100), (10_000, 20, 100), (100, 100, 100)),
    *((40, 1000, 50), (40, 1000, 100), (40, 1000, 400), (100, 1000, 100)),
]
ALGORITHMS: list[Any] = [IFCA(step_size=0.1), CFLMGD(step_size=0.1, momentum=0.5), FedAvg(step_size=0.1)]


def by_loop(X: np.ndarray, y: np.ndarray, chi: np.ndarray, sums: np.ndarray) -> None:
    for features, targets in zip(X, y, strict=True):
        residuals = features @ chi.T - targets[:, None]
        best = (residuals * residuals).sum(axis=0).argmin()
        sums[best] += residuals[:, best] @ features / len(targets)


def by_batch(X: np.ndarray, y: np.ndarray, chi: np.ndarray, sums: np.ndarray) -> None:
    residuals = X @ chi.T - y[..., None]
    best = (residuals * residuals).sum(axis=1).argmin(axis=-1)
    sums += np.eye(len(chi))[best].T @ (residuals[np.arange(len(X)), None, :, best] @ X)[:, 0] / y.shape[1]


def by_gram(gram: np.ndarray, cross: np.ndarray, chi: np.ndarray, sums: np.ndarray) -> None:
    gradients = chi @ gram - cross[:, None, :]
    best = (chi * (gradients - cross[:, None, :])).sum(axis=-1).argmin(axis=-1)
    sums += np.eye(len(chi))[best].T @ gradients[np.arange(len(best)), best]


def every_replicate(call: Any, first: np.ndarray, second: np.ndarray, models: np.ndarray) -> np.ndarray:
    """Return the sums of all replicates, (R, P, d)."""
    sums = np.zeros_like(models)
    for chi, total in zip(models, sums, strict=True):
        call(first, second, chi, total)
    return sums


def main() -> None:
    """Print times, and the largest ratio of our time to the better of loop and batch."""
    threadpool_limits(1, user_api="blas")
    print(
        "CPU ms, one thread, R replicates\n     m     d    n   R  algorithm   ratio    ours    loop   batch    gram"
    )
    worst = 0.0
    for m, d, n in SIZES:
        task = RegressionMixture.random(clusters=4, clients=m, dimension=d, samples=n, data="fixed")
        X, errors = task._fixed_rows
        y = (X @ task.client_optima[..., None])[..., 0] + errors
        moments = (X.swapaxes(1, 2) @ X / n, (y[:, None] @ X)[:, 0] / n) if n > d else None
        for algorithm, replicates in ((each, count) for each in ALGORITHMS for count in (1, 10)):
            models = task.initial_models(algorithm.model_count(task), (replicates,), np.random.default_rng(0))
            calls = {
                call.__name__: partial(every_replicate, call, X, y, models) for call in (by_loop, by_batch)
            }
            if moments:
                calls["by_gram"] = partial(every_replicate, by_gram, *moments, models)
            state, randomness = algorithm.initialise(models, task), Randomness.from_seed(0)
            calls = {"ours": partial(algorithm.step, state, task, randomness), **calls}
            found = interleaved_seconds(calls, 7, clock=time.process_time)
            seconds = {name: statistics.median(values) for name, values in found.items()}
            better = min(("by_loop", "by_batch"), key=lambda name: seconds[name])
            pairs = zip(found["ours"], found[better], strict=True)
            ratio = statistics.median(ours / other for ours, other in pairs)
            worst = max(worst, ratio)
            times = "".join(f"{1e3 * value:8.2f}" for value in seconds.values())
            ratio_text = f"{ratio:8.2f}"
            print(f"{m:6d} {d:5d} {n:4d} {replicates:3d}  {algorithm.name:9}{ratio_text}{times}", flush=True)
    report_target("ours / the better of loop and batch, the largest", worst, 1.1, at_most=True)


if __name__ == "__main__":
    main()
