"""What a round costs as clients, models and parameters grow, and how large a federation can be simulated.

``python -m benchmarks.planning``: bytes that go down to and up from the clients in a round, counted on the messages and
held against the formulas; the server's time for everything but the clients' answers, a formula fitted to small
federations beside what larger ones take; and pooled rounds of up to 10^9 clients.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.optimize import nnls

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


SERVER: dict[str, tuple[str, Callable[[int, int, int], float]]] = {
    "ifca": ("m P d", lambda m, p, d: m * p * d),
    "ifca, models": ("m P d", lambda m, p, d: m * p * d),
    "cfl-mgd, models": ("m P d", lambda m, p, d: m * p * d),
    "fedavg": ("m d", lambda m, _, d: m * d),
    "fedprox": ("m d", lambda m, _, d: m * d),
    "gradient-loss": ("m P d", lambda m, p, d: m * p * d),
    "sofl": ("m d", lambda m, _, d: m * d),
    "cfl": ("m d", lambda m, _, d: m * d),
    "cfl, splitting": ("m² d", lambda m, _, d: m * m * d),
    "fpfc": ("m d", lambda m, _, d: m * d),
    "fpfc, near pairs": ("m² d", lambda m, _, d: m * m * d),
}
"""What grows fastest in the server's time of a round of all m clients: in words, and as a function of m, P and d."""

FITTED = ((20, 2, 500), (60, 2, 500), (20, 6, 2000), (20, 2, 4000), (60, 6, 2000), (60, 2, 4000))
"""Sizes (m, P, d) from which the formulas' coefficients are found."""

PREDICTED = ((120, 2, 4000), (60, 12, 4000), (60, 2, 12_000))
"""Larger ones, on which they are tried."""


def algorithms(clusters: int, dimension: int) -> dict[str, Algorithm[Any]]:
    """Give those of ``FORMULAS`` and ``SERVER``."""
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
        # between the norms of a mean of many random updates and of one of them: every cluster is ready in each round
        "cfl, splitting": DEPLOYED["cfl"](
            **step,
            warm_up=1,
            mean_threshold=0.6 * math.sqrt(dimension),
            client_threshold=0.6 * math.sqrt(dimension),
        ),
        "fpfc": DEPLOYED["fpfc"](**step, local_steps=1),
        "fpfc, near pairs": DEPLOYED["fpfc"](**step, local_steps=1),
    }


def round_cost(
    algorithm: Algorithm[Any], clients: int, clusters: int, dimension: int, *, spread: float = 1.0
) -> tuple[float, float]:
    """Bytes of a client, down and up, and the server's processor time in the second of two rounds.

    ``spread`` scales the replies: FPFC stores pairs of clients only where their models are near each other.
    """
    stream = np.random.default_rng(0)
    counted, answering = [0], [0.0]

    def exchange(requests: Mapping[int, Request]) -> dict[int, Reply]:
        started = time.process_time()
        replies = {
            client: _any_reply(request, dimension, stream, spread) for client, request in requests.items()
        }
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


def _any_reply(request: Request, dimension: int, stream: np.random.Generator, spread: float) -> Reply:
    """Reply with numbers of no meaning."""
    models = request.arrays.get("models")
    shapes = expected(request, 1 if models is None else len(models), dimension)
    arrays = {name: spread * stream.standard_normal(shape) for name, shape in shapes.items()}
    if "assignment" in shapes:
        chosen = request.arrays.get("assignment", stream.integers(len(models)) if models is not None else 0)
        arrays["assignment"] = np.asarray(int(chosen))
    return Reply(arrays, 100)


def server_seconds(name: str, sizes: tuple[int, int, int], repeats: int = 3) -> float:
    """Least processor time of a server's round over a few repetitions."""
    _, clusters, dimension = sizes
    algorithm = algorithms(clusters, dimension)[name]
    spread = 1e-3 if name == "fpfc, near pairs" else 1.0
    return min(round_cost(algorithm, *sizes, spread=spread)[1] for _ in range(repeats))


def fit(sizes: list[tuple[int, int, int]], seconds: list[float], term: Callable[..., float]) -> np.ndarray:
    """Find a, b, c, e of a + b m + c m d + e term, none negative, by least squares of relative errors."""
    weights = 1 / np.array(seconds)
    design = np.array([features(own, term) for own in sizes]) * weights[:, None]
    scale = design.max(axis=0)
    scale[scale == 0] = 1.0
    found, _ = nnls(design / scale, np.ones(len(sizes)))
    return np.asarray(found / scale)


def features(sizes: tuple[int, int, int], term: Callable[..., float]) -> list[float]:
    """What the coefficients of the formula multiply; where m d is the term itself it stands there once."""
    plain = sizes[0] * sizes[2]
    return [1.0, sizes[0], 0.0 if term(*sizes) == plain else plain, term(*sizes)]


def print_server_time() -> None:
    """Fit the server's time on small federations, and set the formula beside what larger ones take."""
    print(
        "\nserver's milliseconds of processor time a round, beside the clients' answers: a + b m + c m d + e x, fitted"
    )
    print(f"to (m, P, d) = {', '.join(map(str, FITTED))}; then measured / by the formula")
    heads = "".join(f"{own!s:>22}" for own in PREDICTED)
    print(f"{'':<17} {'a':>5} {'b, us':>6} {'c, ns':>6} {'x':>6} {'e, ns':>6} {heads}")
    errors = []
    for name, (words, term) in SERVER.items():
        server_seconds(name, FITTED[0], 1)  # what is compiled or imported then plays no part
        found = fit(list(FITTED), [server_seconds(name, own) for own in FITTED], term)
        shown = []
        for own in PREDICTED:
            taken, formula = server_seconds(name, own), float(found @ features(own, term))
            errors.append(abs(formula / taken - 1))
            shown.append(f"{1e3 * taken:.1f} / {1e3 * formula:.1f} ({formula / taken - 1:+.0%})")
        a, b, c, e = found * (1e3, 1e6, 1e9, 1e9)
        coefficients = f"{a:5.2f} {b:6.1f} {c:6.2f} {words:>6} {e:6.2f}"
        print(f"{name:<17} {coefficients} {''.join(f'{text:>22}' for text in shown)}", flush=True)
    print(f"errors of the formula: {np.median(errors):.0%} in the middle, {max(errors):.0%} at most")


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
            counted, _ = round_cost(algorithms(clusters, dimension)[name], 20, clusters, dimension)
            parts.append(f"{counted:8.0f} {'=' if counted == formula(clusters, dimension) else '!='} formula")
        print(f"{name:<16} {words:<22} {'  '.join(parts)}")
    print_server_time()
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
