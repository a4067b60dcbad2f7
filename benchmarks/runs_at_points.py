"""What every algorithm does in many of its settings, in digits: ``python -m benchmarks.runs_at_points`` writes them.

Settings are drawn from a few values of every parameter, once, and stored with what they gave. A test runs them
anew, so that a change which no theorem speaks of is seen, too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims_at_points.points import digest
from clusterproof.algorithms import ALGORITHMS, InvalidArgument, Trace, generator, run
from clusterproof.algorithms.atomic import write_whole
from clusterproof.synthetic import LogisticMixture, Mixture, QuadraticMixture, RegressionMixture

STORE = Path(__file__).resolve().parents[1] / "tests" / "algorithms" / "runs_at_points.json"
ROUNDS, REPLICATES, SETTINGS, DRAWS = 6, 2, 20, 600
"""Of a run; settings of each algorithm on each task, and draws to find them, for many are refused."""
VALUES: Mapping[str, tuple[Any, ...]] = {
    "augmentation": (1.0, 2.5),
    "averaging": ("gradient", "model"),
    "cluster_count": ("silhouette", "elbow"),
    "clusters": (None, 2, 4),
    "client_threshold": (None, 0.5),
    "concavity": (None, 2.5),
    "empty_cluster": ("coast", "freeze", "never", "when-empty", "always"),
    "gradient": ("first-order", "second-order"),
    "grid": (3, 2),
    "initialisation": ("sample", "random"),
    "inner_step_size": (None, 0.2),
    "learning_rate": (0.1, 0.4),
    "least_share": (None, 0.15),
    "linkage": ("single", "complete"),
    "local_steps": (1, 3),
    "loss_reduction": ("mean", "sum"),
    "mean_threshold": (None, 0.3),
    "method": ("fedavg", "fedprox", "per-fedavg"),
    "momentum": (0.0, 0.7),
    "momentum_owner": ("server", "client"),
    "noise_ratio": (None, 0.2),
    "normalisation": ("clients", "participants", "cluster"),
    "pair_rule": ("either", "both", "all"),
    "participation": (1.0, 0.5),
    "penalty": ("scad", "l1"),
    "pretraining": (1, 3),
    "proximal": (None, 0.0, 0.3),
    "pull": (None, 0.6),
    "radius": (1.5, 0.8),
    "reset_momentum": (False, True),
    "restarts": (1, 3),
    "reuse_memory": (False, True),
    "schedule": ("as-printed", "robbins-monro"),
    "server_step_size": (1.0, 0.5),
    "sign": ("descent", "as-printed"),
    "similarity": ("cosine", "euclidean"),
    "smoothing": (None, 0.05),
    "start": ("common", "own"),
    "step_size": (0.3, 0.8),
    "strength": (0.6, 0.1, 1.5),
    "threshold": (0.1, 0.5),
    "trial_rounds": (2, 3),
    "trigger": ("round", "stationary"),
    "update_order": ("momentum-first", "as-printed"),
    "updates": (40, 25),
    "variant": ("penalised", "separate"),
    "warm_up": (0, 2),
    "weight": (0.2, 0.7),
    "weighting": ("clients", "samples"),
}
"""Values of parameters that are drawn; a parameter that is not here keeps its default."""


def tasks() -> dict[str, Mixture]:
    """Tasks with unequal clients: exact gradients, fresh batches, and losses that are no quadratics."""
    drawn = QuadraticMixture.random(
        clusters=3, clients=9, dimension=3, condition_number=4, spread=0.3, separation=3, seed=5
    )
    sizes = np.array([4, 30, 9, 17, 6, 25, 12, 8, 21])
    stretched = np.linspace(0.5, 1, 9)[:, None, None] * drawn.hessians
    return {
        "exact": QuadraticMixture(
            hessians=stretched, centers=drawn.centers, labels=drawn.labels, client_samples=sizes
        ),
        "batches": RegressionMixture.random(
            clusters=2,
            clients=8,
            dimension=3,
            condition_number=3,
            separation=2,
            noise=0.5,
            samples=20,
            seed=2,
        ),
        "logistic": LogisticMixture.random(
            clusters=2, clients=6, dimension=3, samples=25, support=40, seed=4
        ),
    }


def settings_of(name: str) -> Iterator[dict[str, Any]]:
    """Draw settings of an algorithm, each once; some that are drawn it refuses."""
    names = [each.name for each in fields(ALGORITHMS[name]) if each.name in VALUES]
    stream, seen = generator(0, "runs at points", name), set()
    for _ in range(DRAWS):
        drawn = {each: VALUES[each][int(stream.integers(len(VALUES[each])))] for each in names}
        text = json.dumps(drawn)
        if text not in seen:
            seen.add(text)
            yield drawn


def outcome(name: str, settings: Mapping[str, Any], task: Mixture) -> dict[str, Any]:
    """Run an algorithm and give its trace in short.

    Raises
    ------
    InvalidArgument
        If the algorithm refuses the settings, or the task.
    """
    algorithm = ALGORITHMS[name](**settings)
    with np.errstate(all="ignore"):
        return in_short(run(algorithm, task, rounds=ROUNDS, seed=3, replicates=REPLICATES))


def in_short(trace: Trace) -> dict[str, Any]:
    """Give the digits of every round's models and errors, and all assignments."""
    frame = trace.frame()
    return {
        "models": [digest(models) for models in trace.models],
        "errors": None if trace.errors is None else [digest(errors) for errors in trace.errors],
        "assignments": trace.assignments.reshape(-1).tolist(),
        "last": [digest(values) for values in (trace.purity, trace.adjusted_rand_index, trace.cluster_count)],
        "frame": [digest(column.cast(float).fill_null(-1).to_numpy()) for column in frame if column.dtype.is_numeric()],
    }  # fmt: skip


def runs(name: str, kind: str, task: Mixture) -> Iterator[dict[str, Any]]:
    """Give what an algorithm does in the settings that it accepts."""
    for settings in settings_of(name):
        with suppress(InvalidArgument):
            found = outcome(name, settings, task)
            yield {"algorithm": name, "task": kind, "settings": settings, "found": found}


def main() -> int:
    """Run all settings and store what they gave."""
    stored: list[dict[str, Any]] = []
    for name in sorted(ALGORITHMS):
        for kind, task in tasks().items():
            stored += islice(runs(name, kind, task), SETTINGS)
    write_whole("runs", STORE, ("[\n" + ",\n".join(map(json.dumps, stored)) + "\n]\n").encode())
    counts = {name: sum(one["algorithm"] == name for one in stored) for name in sorted(ALGORITHMS)}
    print(", ".join(f"{name}: {count}" for name, count in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
