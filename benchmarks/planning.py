"""What a round costs as clients, models and parameters grow, and how large a federation can be simulated.

``python -m benchmarks.planning``: bytes that go down to and up from the clients in a round, counted on the messages and
held against the formulas; the server's time for everything but the clients' answers; and pooled rounds of up to 10^9
clients.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.timing import report_target
from clusterproof.algorithms import CFLMGD, Algorithm, Randomness
from clusterproof.deployment.federation import DEPLOYED
from clusterproof.deployment.messages import Reply, Request, expected
from clusterproof.deployment.remote_task import RemoteTask
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.population import RegressionPopulation, run_pooled

ROUNDS = 20
"""Pooled rounds."""

FORMULAS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "ifca": ("8 (P d + d + P + d)", lambda p, d: 8 * (p * d + d + p + d)),
    "ifca, models": ("8 (P d + d + 1)", lambda p, d: 8 * (p * d + d + 1)),
    "cfl-mgd, models": ("8 (2 P d + 2 d + 1)", lambda p, d: 8 * (2 * p * d + 2 * d + 1)),
    "fedavg": ("8 (2 d + 2)", lambda _, d: 8 * (2 * d + 2)),
    "fedprox": ("8 (2 d + 2)", lambda _, d: 8 * (2 * d + 2)),
    "gradient-loss": ("8 (2 P d + P)", lambda p, d: 8 * (2 * p * d + p)),
    "sofl": ("16 d", lambda _, d: 16 * d),
    "cfl": ("24 d", lambda _, d: 24 * d),
    "fpfc": ("24 d", lambda _, d: 24 * d),
}
"""Bytes of arrays, down and up together, that a client and a round cost: in words, and as a function of P and d."""


def algorithms(clusters: int) -> dict[str, Algorithm[Any]]:
    """Give those of ``FORMULAS``."""
    step = {"step_size": 0.1}
    return {
        "ifca": DEPLOYED["ifca"](**step, clusters=clusters),
        "ifca, models": DEPLOYED["ifca"](**step, clusters=clusters, averaging="model"),
        "cfl-mgd, models": CFLMGD(step_size=0.1, momentum=0.5, clusters=clusters, averaging="model"),
        "fedavg": DEPLOYED["fedavg"](**step),
        "fedprox": DEPLOYED["fedprox"](**step),
        "gradient-loss": DEPLOYED["gradient-loss"](**step, clusters=clusters),
        "sofl": DEPLOYED["sofl"](**step),
        "cfl": DEPLOYED["cfl"](**step),
        "fpfc": DEPLOYED["fpfc"](**step, local_steps=1),
    }


def round_cost(algorithm: Algorithm[Any], clients: int, clusters: int, dimension: int) -> tuple[float, float]:
    """Bytes of a client, down and up, and the server's processor time in the second of two rounds."""
    stream = np.random.default_rng(0)
    counted, answering = [0], [0.0]

    def exchange(requests: Mapping[int, Request]) -> dict[int, Reply]:
        started = time.process_time()
        replies = {client: _any_reply(request, dimension, stream) for client, request in requests.items()}
        for client, request in requests.items():
            arrays = [*request.arrays.values(), *replies[client].arrays.values()]
            counted[0] += sum(array.nbytes for array in arrays)
        answering[0] += time.process_time() - started
        return replies

    task = RemoteTask(clients=clients, clusters=clusters, dimension=dimension, exchange=exchange)
    randomness = Randomness.from_seed(0)
    state = algorithm.initialise(stream.standard_normal((algorithm.model_count(task), dimension)), task)
    for _ in range(2):
        task.begin_round()
        counted[0], answering[0] = 0, 0.0
        started = time.process_time()
        state = algorithm.step(state, task, randomness)
        seconds = time.process_time() - started - answering[0]
    return counted[0] / clients, seconds


def _any_reply(request: Request, dimension: int, stream: np.random.Generator) -> Reply:
    """Reply with numbers of no meaning: what they are does not change what they cost."""
    models = request.arrays.get("models")
    shapes = expected(request, 1 if models is None else len(models), dimension)
    arrays = {name: stream.standard_normal(shape) for name, shape in shapes.items()}
    if "assignment" in shapes:
        chosen = request.arrays.get("assignment", stream.integers(len(models)) if models is not None else 0)
        arrays["assignment"] = np.asarray(int(chosen))
    return Reply(arrays, 100)


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
    """Print all of it."""
    print("bytes of arrays a client and round, m = 20: counted, and by the formula")
    for name in FORMULAS:
        words, formula = FORMULAS[name]
        parts = []
        for clusters, dimension in ((2, 10), (2, 1000), (8, 1000)):
            counted, _ = round_cost(algorithms(clusters)[name], 20, clusters, dimension)
            parts.append(f"{counted:8.0f} {'=' if counted == formula(clusters, dimension) else '!='} formula")
        print(f"{name:<16} {words:<22} {'  '.join(parts)}")
    print("\nserver's milliseconds of processor time a round beside the clients' answers; (m, P, d)")
    cases = ((50, 2, 1000), (200, 2, 1000), (50, 2, 10_000), (50, 8, 1000))
    print(f"{'':<16} {''.join(f'{case!s:>16}' for case in cases)}")
    for name in FORMULAS:
        costs = [1e3 * round_cost(algorithms(case[1])[name], *case)[1] for case in cases]
        print(f"{name:<16} {''.join(f'{cost:16.1f}' for cost in costs)}")
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
