"""What a round sends as clients, models and parameters grow, and how large a federation can be simulated.

``python -m benchmarks.planning``: bytes that go down to and up from a client in a round, by each algorithm's definition
(``algorithms/costs.py``), compared with the formulas of ``notes/planning-a-federation.md``; and pooled rounds of up to
10^9 clients.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import report_target
from clusterproof.algorithms import CFL, CFLMGD, FPFC, IFCA, Algorithm, FedAvg, FedProx, GradientLoss, SoFL
from clusterproof.algorithms.costs import cost_of_a_round
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.synthetic.population import RegressionPopulation, run_pooled

ROUNDS = 20
"""Pooled rounds."""
STEP: dict[str, Any] = {"step_size": 0.1}

SENT: dict[str, tuple[Algorithm[Any], str, Callable[[int, int], int]]] = {
    "ifca": (IFCA(**STEP), "8 (P d + d)", lambda p, d: 8 * (p * d + d)),
    "ifca, models": (IFCA(**STEP, averaging="model"), "8 (P d + d)", lambda p, d: 8 * (p * d + d)),
    "cfl-mgd, models": (
        CFLMGD(**STEP, momentum=0.5, averaging="model"),
        "8 (2 P d + 2 d)",
        lambda p, d: 8 * (2 * p * d + 2 * d),
    ),
    "fedavg": (FedAvg(**STEP), "16 d", lambda _, d: 16 * d),
    "fedprox": (FedProx(**STEP), "16 d", lambda _, d: 16 * d),
    "gradient-loss": (GradientLoss(**STEP), "8 (2 P d + d)", lambda p, d: 8 * (2 * p * d + d)),
    "sofl": (SoFL(**STEP), "16 d", lambda _, d: 16 * d),
    "cfl": (CFL(**STEP), "16 d", lambda _, d: 16 * d),
    "fpfc": (FPFC(**STEP), "16 d", lambda _, d: 16 * d),
}
"""Bytes of float64 arrays, down and up together, of a client and a round: in words, and as a function of P and d."""


def pooled_round(clients: int, models: int) -> tuple[float, float]:
    """Seconds of a pooled round, and the largest error after ``ROUNDS`` of them."""
    task = RegressionMixture.random(
        clusters=models,
        clients=models,
        dimension=20,
        condition_number=4.0,
        separation=2.0,
        noise=1.0,
        samples=20,
    )
    sizes = tuple(map(int, np.diff(np.linspace(0, clients, models + 1).astype(np.int64))))
    population = RegressionPopulation(task, sizes, models)
    algorithm = CFLMGD(step_size=1.0, momentum=0.5)
    started = time.perf_counter()
    trace = run_pooled(algorithm, population, rounds=ROUNDS)
    assert trace.errors is not None
    return (time.perf_counter() - started) / ROUNDS, float(trace.errors[-1].max())


def main() -> None:
    """Print both."""
    print("bytes of arrays a client and round, by the algorithm's definition")
    different = 0
    for name, (algorithm, words, formula) in SENT.items():
        parts = []
        for clusters, dimension in ((2, 10), (2, 1000), (8, 1000)):
            task = QuadraticMixture.random(clusters=clusters, clients=20, dimension=dimension)
            cost = cost_of_a_round(algorithm, task)
            sent = 8 * (cost.down + cost.up)
            different += sent != formula(clusters, dimension)
            parts.append(f"{sent:8d} {'=' if sent == formula(clusters, dimension) else '!='} formula")
        print(f"{name:<16} {words:<18} {'  '.join(parts)}")
    report_target("formulas that differ from the definition", different, 0, at_most=True)
    print(f"\npooled rounds of CFL-MGD: milliseconds, and the largest error after {ROUNDS}")
    slowest = 0.0
    for models in (2, 4):
        for clients in (10**3, 10**6, 10**9):
            seconds, error = pooled_round(clients, models)
            slowest = max(slowest, seconds if models == 2 else 0.0)
            law = "exact in law" if models == 2 or clients <= 4e5 else "shares of 100000 drawn choices"
            print(f"P = {models}, m = {clients:>10}: {1e3 * seconds:9.2f} ms, error {error:.3g}; {law}")
    report_target("seconds of a round, P = 2, m = 10^9", slowest, 1, at_most=True)


if __name__ == "__main__":
    main()
