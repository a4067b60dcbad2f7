"""How often true runs break Theorems D and A', on settings made to be hard for them.

Run ``python -m benchmarks.coverage`` (``--runs N``; 4000 by default). Two-sided bounds are held against the deviation
from the noise-free run. ``lower`` is the lower Clopper-Pearson end at 99.9 %: the theorem is refuted where it exceeds
what is allowed. ``ratio`` is the bound after the last round over the observed 95 % quantile of the same quantity.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clusterproof.algorithms import CFLMGD, Trace, run
from clusterproof.synthetic import LogCoshMixture, LogisticMixture, Mixture, RegressionMixture
from clusterproof.synthetic.mixture import geometric_spectrum, make_labels
from clusterproof.theory.bounds.run_bound import (
    theorem_a_prime_on,
    theorem_d_on,
)
from clusterproof.theory.checker.statistics import clopper_pearson
from clusterproof.theory.checker.trace_bound import TraceBound

FAILURE = 0.05
BATCH = 400


class Case(NamedTuple):
    """A setting: its task, what runs on it from where, and the theorem that speaks of it."""

    name: str
    task: Mixture
    algorithm: CFLMGD
    rounds: int
    displacement: np.ndarray
    theorem: Callable[..., TraceBound] = theorem_d_on


def optima(clusters: int, dimension: int, separation: float = 2.0) -> np.ndarray:
    """Place optima at one distance of each other: on a line for two, on the axes for more."""
    places = np.zeros((clusters, dimension))
    if clusters == 2:
        places[:, 0] = (separation / 2, -separation / 2)
    elif clusters > 2:
        places[np.arange(clusters), np.arange(clusters)] = separation / np.sqrt(2)
    return places


def regression(covariance: np.ndarray, noise: float, labels: np.ndarray, samples: int) -> RegressionMixture:
    """Make a regression mixture with optima at one distance of each other."""
    places = optima(int(labels.max()) + 1, covariance.shape[-1])
    return RegressionMixture(
        optima=places, covariance=covariance, noise=noise, labels=labels, samples=samples
    )


def cases() -> list[Case]:
    """Return the settings."""
    alone = np.zeros(100, int)
    reverse = geometric_spectrum(4, 2.0)[::-1]
    turned = np.stack([np.diag(reverse[::-1]), np.diag(reverse)])
    fast = regression(geometric_spectrum(30, 100.0), 0.3, make_labels(150, 5, (5, 4, 3, 2, 1)), 2_000_000)
    crowded = regression(np.ones(10), 0.7, make_labels(20_000, 2), 10)
    different = regression(turned, 0.5, make_labels(4000, 2, (3, 1)), 24)
    partial = regression(geometric_spectrum(10, 4.0), 0.5, make_labels(40, 2), 2000)
    smooth = {"optima": optima(2, 2), "valley_curvature": 0.2, "width": 0.05, "noise": 1.0}
    log_cosh = LogCoshMixture(**smooth, labels=make_labels(20, 2), samples=20_000)
    features = np.random.default_rng(5).standard_normal((2, 50, 2))
    features /= np.linalg.norm(features, axis=-1, keepdims=True)
    signs = np.sign(np.einsum("pnd,pd->pn", features, np.array([[1.0, 0.0], [-1.0, 0.0]])))
    rows = {"features": features, "targets": signs, "ridge": 0.05}
    logistic = LogisticMixture(**rows, labels=make_labels(10, 2), samples=200_000)
    steepest = np.zeros((5, 30))
    steepest[:, -1] = 0.04
    near = np.zeros((2, 10))
    near[:, 0] = (-0.3, 0.3)
    light, half = CFLMGD(step_size=1.0, momentum=0.1), {"participation": 0.5, "normalisation": "cluster"}
    tenth = {"participation": 0.1, "normalisation": "cluster", "empty_cluster": "freeze"}
    option_ii = {"averaging": "model", "local_steps": 4, "participation": 0.1}
    return [
        Case(
            "one mode, 400 rounds, the union alone",
            regression(np.ones(1), 1.0, alone, 1000),
            replace(light, momentum=0.0),
            400,
            np.zeros((1, 1)),
        ),
        Case(
            "one mode, critically damped",
            regression(np.ones(1), 1.0, alone[:10], 40),
            CFLMGD(step_size=0.25, momentum=0.25),
            60,
            np.full((1, 1), 0.5),
        ),
        Case(
            "multiplicative noise alone",
            regression(np.ones(20), 0.0, make_labels(40, 2), 100),
            replace(light, momentum=0.2),
            15,
            np.full((2, 20), 0.3 / np.sqrt(20)),
        ),
        Case("kappa 100, start in the fastest mode", fast, replace(light, momentum=0.95), 60, steepest),
        Case("misassigned clients, ten rows", crowded, light, 8, near),
        Case("misassigned, two covariances", different, light, 8, near[:, :4] / 3),
        Case(
            "a tenth take part, by the cluster",
            partial,
            replace(light, momentum=0.3, **tenth),
            12,
            near / 3,
        ),
        Case("half take part, counted false members", crowded, replace(light, **half), 8, near),
        Case(
            "option II, H = 4, empty clusters",
            partial,
            replace(light, momentum=0.5, **option_ii),
            8,
            near / 3,
        ),
        Case(
            "log cosh, two dimensions",
            log_cosh,
            replace(light, momentum=0.3),
            30,
            near[:, :2] / 3,
            theorem_a_prime_on,
        ),
        Case(
            "logistic, bounded rows",
            logistic,
            CFLMGD(step_size=1 / logistic.smoothness, momentum=0.2),
            30,
            near[:, :2] / 3,
            theorem_a_prime_on,
        ),
    ]


def measure(case: Case, runs: int, seed: int) -> tuple[int, int, float, TraceBound]:
    """Count runs that break the bound at any round and after the last; the ratio, and the last batch's bound."""
    broken = last = 0
    observed: list[np.ndarray] = []
    allowed: list[np.ndarray] = []
    for batch in range(-(-runs // BATCH)):
        count = min(BATCH, runs - batch * BATCH)
        trace = run(
            case.algorithm,
            case.task,
            rounds=case.rounds,
            seed=seed + batch,
            replicates=count,
            initial=case.task.optima + case.displacement,
        )
        bound = case.theorem(case.task, trace, failure_probability=FAILURE)
        where = bound.broken(trace)
        broken += int(where.any(axis=(0, 2)).sum())
        last += int(where[-1].any(axis=-1).sum())
        measured, limit = quantity(bound, trace)
        observed.append(measured)
        allowed.append(limit)
    ratio = np.quantile(np.concatenate(allowed) / np.concatenate(observed), 0.05, axis=0)
    return broken, last, float(ratio.min()), bound


def quantity(bound: TraceBound, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """What is bounded after the last round, and its bound, (replicates, P) each."""
    errors = np.asarray(trace.errors)[-1]
    if bound.reference is None or bound.deviation is None:
        return errors, np.broadcast_to(bound.last, errors.shape)
    return np.linalg.norm(trace.models[-1] - bound.reference[-1], axis=-1), bound.deviation[-1]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How often true runs break the bounds")
    parser.add_argument("--runs", type=int, default=4000)
    runs = parser.parse_args().runs
    started = time.perf_counter()
    print(f"{runs} runs a setting, failure probability {FAILURE:g} in all")
    print(f"{'setting':40s}{'any round':>11s}{'last':>7s}{'allowed':>9s}{'lower':>9s}{'ratio':>8s}")
    for number, case in enumerate(cases()):
        broken, last, ratio, bound = measure(case, runs, seed=1000 * number)
        lower = clopper_pearson(broken, runs, 1e-3).lower
        print(
            f"{case.name:40s}{broken:11d}{last:7d}{bound.failure_probability:9.3g}{lower:9.2g}{ratio:8.3g}",
            flush=True,
        )
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
