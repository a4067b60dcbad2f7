"""Peak memory of long vectors, and of ten thousand clients."""

from __future__ import annotations

import math
import resource
import time
from typing import Any

import numpy as np

from benchmarks.timing import report_target
from clusterproof.algorithms import FPFC, Randomness, generator


class Centred:
    """Clients with phi_i(w) = ||w - c_i||^2 / 2 in single precision."""

    def __init__(self, centers: np.ndarray) -> None:
        self.centers, self.clients = centers, len(centers)

    def gradients(self, points: np.ndarray, clients: np.ndarray, _: np.random.Generator) -> np.ndarray:
        """Gradients at points (..., k, d)."""
        return np.asarray(points - self.centers[clients])


def memory() -> None:
    """Run m = 1000, d = 10000 from local models until every pair within a cluster is stored."""
    clients, dimension, clusters = 1000, 10_000, 4
    stream = generator(0, "benchmark", "memory")
    middles = stream.standard_normal((clusters, dimension), dtype=np.float32)
    spread = 0.002 * stream.standard_normal((clients, dimension), dtype=np.float32)
    task: Any = Centred(middles[np.arange(clients) % clusters] + spread)
    algorithm = FPFC(step_size=0.5, local_steps=2, participation=0.1, start="own", reuse_memory=True)
    began = time.perf_counter()
    state = algorithm.initialise(task.centers, task)
    randomness, done, within = Randomness.from_seed(0), 0, clients * (clients // clusters - 1)
    peak = [0.0]
    while state.pairs.stored.sum() < within:
        state = algorithm.step(state, task, randomness)
        done += 1
        peak.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9)
        if done in (3, 10, 20):
            stored = int(state.pairs.stored.sum()) // 2
            print(f"after {done:3d} rounds: {stored:7d} vectors stored, peak {peak[-1]:.2f} GB", flush=True)
    seconds = (time.perf_counter() - began) / done
    rows = len(state.pairs.factors)
    print(f"after {done:3d} rounds: {rows:7d} vectors, all {within // 2} pairs within the clusters")
    print(
        f"their size {rows * dimension * 4 / 1e9:.2f} GB of {clients * (clients - 1) * dimension * 8 / 1e9:.0f} GB"
    )
    print(f"for dense theta and v; {seconds:.2f} s a round")
    report_target("peak memory in GB", peak[-1], 5.5, at_most=True)


def many() -> None:
    """Run ten thousand clients from local models, in double precision, three in ten of them a round.

    Only pairs that the penalty still pulls at are stored, in full: 8 d + 20 bytes each. After a few rounds that is
    every pair within a cluster, m^2 / (2 P) of them. Beside them lie two booleans a pair, m^2 bytes each, twice
    during a round, and about ten arrays (m, d).
    """
    clients, rounds = 10_000, 8
    for dimension, clusters in ((20, 4), (1000, 100)):
        stream = generator(0, "benchmark", "many", dimension)
        middles = 4 * stream.standard_normal((clusters, dimension))
        spread = 0.1 / dimension**0.5 * stream.standard_normal((clients, dimension))
        task: Any = Centred(middles[np.arange(clients) % clusters] + spread)
        algorithm = FPFC(step_size=0.5, local_steps=2, participation=0.3, start="own", reuse_memory=True)
        state = algorithm.initialise(task.centers, task)
        randomness, began = Randomness.from_seed(0), time.perf_counter()
        for _ in range(rounds):
            state = algorithm.step(state, task, randomness)
        seconds = (time.perf_counter() - began) / rounds
        stored, within = len(state.pairs.factors), clients * (clients // clusters - 1) // 2
        vectors = stored * (8 * dimension + 20)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
        print(
            f"m = {clients}, d = {dimension}, {clusters} clusters: {seconds:.1f} s a round, {stored} of {within} pairs"
        )
        print(
            f"within clusters stored, {vectors / 1e9:.2f} GB; "
            f"dense theta and v: {16 * clients**2 * dimension / 1e9:.0f} GB"
        )
        report_target(f"peak memory in GB at d = {dimension}", peak, 12, at_most=True)
        del state
    # from a common start nearly every pair is stored in the first rounds, as in one cluster
    for dimension in (20, 1000, 10_000):
        least = clients**2 * (8 * dimension + 20) / 2 / (12e9 - 4 * clients**2 - 80 * clients * dimension)
        print(
            f"12 GB hold d = {dimension} from {math.ceil(least)} equal clusters on"
            if least > 0
            else f"12 GB do not hold d = {dimension}"
        )
