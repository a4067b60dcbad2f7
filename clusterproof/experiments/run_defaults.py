"""Defaults of runs that end in a page, for the command ``run`` and for figures of such runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof import algorithms
from clusterproof.algorithms import Algorithm, Trace
from clusterproof.experiments import synthetic_options
from clusterproof.synthetic import Mixture, QuadraticMixture

REGRESSION: dict[str, Any] = {
    "clusters": 3,
    "clients": 100,
    "dimension": 20,
    "condition_number": 4.0,
    "separation": 1.6,
    "noise": 0.2,
    "samples": 10_000,
    "proportions": ["5,3,2"],
}
"""With a separation of 2 the optima would be longer than 1, which Theorem 1 of CFL-MGD excludes, with 100 samples noise
would cover the linear phase, and equal shares would hide the smallest one."""

QUADRATIC: dict[str, Any] = {
    "clusters": 4,
    "clients": 40,
    "dimension": 5,
    "condition_number": 4.0,
    "separation": 4.0,
    "spread": 0.05,
    "local_steps": 10,
    "strength": 1.0,
    "smoothing": 0.5,
    "concavity": 3.7,
    "augmentation": 10.0,
    "threshold": 0.5,
}
"""FPFC's groups are found, and the conditions of its Theorem 1 met; with 3 local steps they are, too, and C_1 < 0."""


@dataclass(frozen=True)
class Defaults:
    """Defaults of a run that ends in a page: they hold for one task."""

    task: str
    rounds: int
    replicates: int | None
    settings: Mapping[str, Any]


PAGES = {
    "cfl-mgd": Defaults("regression", 60, 500, REGRESSION),
    "ifca": Defaults("regression", 120, 500, REGRESSION),
    "fpfc": Defaults("quadratic", 300, None, QUADRATIC),
}
"""Algorithms whose runs end in a page."""


def make_algorithm(name: str, options: Mapping[str, Any], task: Mixture) -> Algorithm[Any]:
    """Make an algorithm as ``synthetic_options.make_algorithm`` does; FPFC on quadratics has another default step size.

    Raises
    ------
    InvalidArgument
        If an option is out of range, or one without a default is missing.
    """
    augmentation = options.get("augmentation", 0)
    if name == "fpfc" and isinstance(task, QuadraticMixture) and augmentation > 0:
        # the largest step that Theorem 1 allows for convex losses
        options = {"step_size": 1 / (task.client_smoothness + 2 * augmentation), **options}
    return synthetic_options.make_algorithm(name, options, task)


def common_start(name: str, algorithm: Algorithm[Any], task: Mixture, seed: int) -> np.ndarray | None:
    """Return the start of all replicates; None where the algorithm draws its own."""
    if name not in PAGES or name == "fpfc":
        return None
    start: np.ndarray = algorithms.run(algorithm, task, rounds=0, seed=seed).models[0]
    return start


def default_run(name: str, seed: int) -> tuple[Mixture, Trace]:
    """Return the task and the run of ``clusterproof run NAME`` without further options."""
    defaults = PAGES[name]
    task = synthetic_options.make_task(defaults.task, defaults.settings, seed)
    algorithm = make_algorithm(name, defaults.settings, task)
    trace = algorithms.run(
        algorithm,
        task,
        rounds=defaults.rounds,
        seed=seed,
        replicates=defaults.replicates,
        initial=common_start(name, algorithm, task, seed),
    )
    return task, trace
