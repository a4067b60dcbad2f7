"""Faulty runs, and the fraction of single ones that break Theorem D's bound of the intended run in some round.

The setting: P = 2, m = 40, n' = 20 000, d = 20, kappa = 4, s = 1/2, T = 50, beta = 1/2, eta = 1, one start at a
distance of 1/8.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.common import generator
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.mixture import geometric_spectrum, make_labels
from clusterproof.theory.bounds.gaussian import (
    DEFAULT_FAILURE,
    along_eigenvectors,
    divide_failure,
    gaussian_dynamics,
    reference_models,
)
from clusterproof.theory.bounds.theorem_d import theorem_d
from clusterproof.theory.exact.heavy_ball import propagators

ROUNDS = 50
DISTANCE = 0.125
MEANT = CFLMGD(step_size=1.0, momentum=0.5)
FAILURE = (0.01, 0.02, 0.02)
"""delta_1, delta_2 and delta_3 of the sensitive mode."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A faulty run.

    Attributes
    ----------
    algorithm
        Algorithm of the run.
    changes
        Fields of the task that differ.
    swapped
        Clients whose gradients are exchanged after they chose; None if all are right.
    """

    algorithm: CFLMGD = MEANT
    changes: dict[str, Any] = field(default_factory=dict)
    swapped: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class SwappedGradients(RegressionMixture):
    """A regression in which the gradients of two clients are exchanged after the choice of the cluster."""

    swapped: tuple[int, int] = (0, 1)

    def gradient_sums(
        self, models: np.ndarray, clients: np.ndarray, assignments: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Sums of gradients, (..., P, d), with the two clients' assignments exchanged."""
        first, second = self.swapped
        exchanged = np.array(assignments)
        exchanged[..., first], exchanged[..., second] = assignments[..., second], assignments[..., first]
        return np.asarray(super().gradient_sums(models, clients, exchanged, generator))


FAULTS: dict[str, Fault] = {
    "none": Fault(),
    "noise x 1.3": Fault(changes={"noise": 0.65}),
    "noise x 2": Fault(changes={"noise": 1.0}),
    "half of the rows": Fault(changes={"samples": 10_000}),
    **{f"momentum {beta:g}": Fault(algorithm=replace(MEANT, momentum=beta)) for beta in (0.4, 0.0)},
    **{f"step {step:g}": Fault(algorithm=replace(MEANT, step_size=step)) for step in (0.9, 1.2)},
    "divided by the cluster": Fault(algorithm=replace(MEANT, normalisation="cluster")),
    "half take part, divided by m": Fault(algorithm=replace(MEANT, participation=0.5)),
    "option II, H = 2": Fault(algorithm=replace(MEANT, averaging="model", local_steps=2)),
    "kappa 6": Fault(changes={"covariance": geometric_spectrum(20, 6.0)}),
    "one client of 20 swapped": Fault(swapped=(0, 20)),
}
"""By name."""


def meant_task() -> RegressionMixture:
    """Return the task of the intended run."""
    optima = np.zeros((2, 20))
    optima[:, 0] = (1.0, -1.0)
    return RegressionMixture(
        optima=optima,
        covariance=geometric_spectrum(20, 4.0),
        labels=make_labels(40, 2),
        noise=0.5,
        samples=20_000,
    )


def power(fault: Fault, *, replicates: int, seed: int) -> tuple[float, float]:
    """Return the fractions of single runs that break Theorem D's deviation in some round, and that at 1e-9.

    Parameters
    ----------
    fault
        Fault of the runs.
    replicates, seed
        Number and seed of the runs; their common start is drawn from the seed.
    """
    task = meant_task()
    direction = generator(seed, "power", "start").standard_normal((2, 20))
    initial = task.optima + DISTANCE * direction / np.linalg.norm(direction, axis=-1, keepdims=True)
    faulty = replace(task, **fault.changes)
    if fault.swapped is not None:
        settings = {item.name: getattr(task, item.name) for item in fields(task) if item.init}
        faulty = SwappedGradients(**settings, swapped=fault.swapped)
    trace = run(fault.algorithm, faulty, rounds=ROUNDS, seed=seed, replicates=replicates, initial=initial)
    dynamics, start = gaussian_dynamics(task, MEANT), along_eigenvectors(task, initial)
    response, _ = propagators(0.5 * dynamics.spectra, MEANT.momentum, ROUNDS)
    away = np.linalg.norm(trace.models - reference_models(task, start, response)[:, None], axis=-1)
    usual, rare = (
        theorem_d(dynamics, start, rounds=ROUNDS, failure=failure)
        for failure in (FAILURE, divide_failure(DEFAULT_FAILURE))
    )
    broken = [away > tube.deviation[:, None] + 1e-12 for tube in (usual, rare)]
    return broken[0].any(axis=(0, 2)).mean(), broken[1].any(axis=(0, 2)).mean()
