"""Runs of the right algorithms in drawn settings, held against their laws and every bound of the catalogue.

``python tests/helpers/right_runs.py 500`` counts what is said of 500 runs.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from catalogue import read_catalogue

from clusterproof import theory
from clusterproof.algorithms import CFLMGD, FPFC, IFCA, Algorithm, InvalidArgument, Trace, run
from clusterproof.synthetic import Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.checker.run_check import compare
from clusterproof.theory.checker.same_law import same_law


def draw_setting(seed: int) -> tuple[Mixture, Algorithm[Any], np.ndarray | None]:
    """Draw P 2..6, kappa 1..1000, participation .1..1, momentum 0...95 and unequal clusters; a fifth has no noise."""
    stream = np.random.default_rng(seed)
    count = int(stream.integers(2, 7))
    shares = stream.dirichlet(np.full(count, 2.0)) * 0.8 + 0.2 / count
    arguments: dict[str, Any] = {
        "clusters": count,
        "clients": int(stream.integers(4 * count, 30)),
        "dimension": int(stream.integers(max(2, count - 1), 8)),
        "proportions": tuple(shares / shares.sum()),
        "condition_number": float(10 ** stream.uniform(0, 3)),
        "separation": 2.0,
        "seed": seed,
    }
    task: Mixture = QuadraticMixture.random(**arguments, spread=float(stream.uniform(0, 0.5)))
    if stream.random() < 0.8:
        samples, noise = int(10 ** stream.uniform(0.5, 4)), float(stream.uniform(0, 1))
        task = RegressionMixture.random(**arguments, samples=samples, noise=noise)
    participation = 1.0 if stream.random() < 0.5 else float(stream.uniform(0.1, 1))
    step = float(stream.uniform(0.1, 1)) / task.smoothness
    away = stream.standard_normal(task.optima.shape)
    start = None if stream.random() < 0.3 else task.optima + stream.uniform(0, 0.2) * away
    kind = stream.choice(["cfl-mgd", "ifca", "fpfc"], p=[0.5, 0.25, 0.25])
    averaging = str(stream.choice(["gradient", "gradient", "model"]))
    if kind == "cfl-mgd":
        momentum = float(stream.choice([0.0, stream.uniform(0, 0.95)]))
        return (
            task,
            CFLMGD(step_size=step, momentum=momentum, participation=participation, averaging=averaging),
            start,
        )
    if kind == "ifca":
        return task, IFCA(step_size=step, participation=participation, averaging=averaging), start
    smoothing = float(stream.uniform(0.01, 0.5))
    augmentation = float(stream.uniform(1, 3)) * 2 * 0.6 / smoothing
    largest = getattr(task, "client_smoothness", task.smoothness)
    fusion = FPFC(
        step_size=float(stream.uniform(0.3, 1)) / (largest + augmentation),
        strength=0.6,
        smoothing=smoothing,
        augmentation=augmentation,
        threshold=0.5,
        local_steps=int(stream.integers(1, 6)),
        participation=participation,
    )
    return task, fusion, None if start is None else task.optima.mean(axis=0, keepdims=True)


def verdicts(task: Mixture, trace: Trace) -> Iterable[tuple[str, str, str]]:
    """Yield what is said of a run: by its law, and by each true claim that bounds runs; with the reason."""
    yield ("same law", *same_law(task, trace))
    rows = read_catalogue()
    for claim in theory.catalogue():
        if claim.bound_trace is not None and rows[claim.id].verdict != "violated":
            try:
                answer = compare(claim.id, task, trace)
                yield claim.id, answer.kind, answer.sentence
            except InvalidArgument as error:
                yield claim.id, "hypotheses fail", str(error)


def judge_runs(seeds: Iterable[int], replicates: int = 150) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Count by what is asked and what is said; list wrong accusations, with the seed."""
    counts: Counter[tuple[str, str]] = Counter()
    wrong = []
    for seed in seeds:
        task, algorithm, start = draw_setting(seed)
        trace = run(algorithm, task, rounds=6, seed=seed, replicates=replicates, initial=start)
        for asked, kind, sentence in verdicts(task, trace):
            counts[algorithm.name + " " + asked, kind] += 1
            if kind in ("differs", "broken"):
                wrong.append(f"seed {seed}, {algorithm.name}, {asked}: {sentence}")
    return counts, wrong


if __name__ == "__main__":
    first, last = (int(text) for text in (["0", *sys.argv[1:]])[-2:])
    total: Counter[tuple[str, str]] = Counter()
    for seed in range(first, last):
        counts, wrong = judge_runs([seed])
        total += counts
        print(*wrong, sep="\n", end="\n" if wrong else "", flush=True)
        if (seed + 1 - first) % 25 == 0 or seed == last - 1:
            print(f"after {seed + 1 - first} runs:")
            for key, number in sorted(total.items()):
                print(" ", number, *key, flush=True)
