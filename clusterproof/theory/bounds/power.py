"""Power of the bounds: the fraction of single faulty runs that break a bound in some round.

The setting: P = 2, m = 40, n' = 20 000, d = 20, kappa = 4, s = 1/2, T = 50, beta = 1/2, eta = 1, one start at a
distance of 1/8. A faulty run is compared with the bound of the intended run. How often the bounds on ||e_t|| alone
detect a wrong step, momentum or condition number depends on the direction of the start; the deviation detects them
from any start with a component along the modes that they change.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from clusterproof.algorithms import CFLMGD, generator, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.mixture import geometric_spectrum, make_labels
from clusterproof.theory.bounds.bound_parts import Bound
from clusterproof.theory.bounds.gaussian import (
    DEFAULT_FAILURE,
    along_eigenvectors,
    divide_failure,
    gaussian_dynamics,
    reference_models,
)
from clusterproof.theory.bounds.setting import setting_of
from clusterproof.theory.bounds.theorem_b import TheoremB
from clusterproof.theory.bounds.theorem_d import theorem_d
from clusterproof.theory.bounds.tube import ROUNDING
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
    name
        Name of the fault.
    algorithm
        Algorithm of the run.
    changes
        Fields of the task that differ.
    swapped
        Clients whose gradients are exchanged after they chose; None if all are right.
    """

    name: str
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


def _with(**parameters: Any) -> CFLMGD:
    return replace(MEANT, **parameters)


FAULTS: tuple[Fault, ...] = (
    Fault(name="none"),
    *(Fault(name=f"noise x {factor:g}", changes={"noise": 0.5 * factor}) for factor in (1.2, 1.3, 1.5, 2)),
    Fault(name="half of the rows", changes={"samples": 10_000}),
    Fault(name="a quarter of the rows", changes={"samples": 5_000}),
    *(
        Fault(name=f"momentum {beta:g}", algorithm=_with(momentum=beta))
        for beta in (0.6, 0.55, 0.52, 0.45, 0.4, 0.3, 0.0)
    ),
    *(Fault(name=f"step {step:g}", algorithm=_with(step_size=step)) for step in (0.7, 0.9, 0.95, 1.05, 1.2)),
    Fault(name="divided by the cluster", algorithm=_with(normalisation="cluster")),
    Fault(name="half take part, divided by m", algorithm=_with(participation=0.5)),
    Fault(name="half take part, by |M_t|", algorithm=_with(participation=0.5, normalisation="participants")),
    Fault(name="option II, H = 2", algorithm=_with(averaging="model", local_steps=2)),
    Fault(name="a stale gradient", algorithm=_with(update_order="as-printed")),
    Fault(name="kappa 6", changes={"covariance": geometric_spectrum(20, 6.0)}),
    Fault(name="one client of 20 swapped", swapped=(0, 20)),
)

COLUMNS = ("D norm", "D start", "two-sided", "deviation", "1e-9", "B")
"""Bounds that are compared: Theorem D from ||e_0|| and from e_0, as two bounds on ||e_t||, as a deviation, and that at
a failure probability of 1e-9; Theorem B."""


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


def power(fault: Fault, *, replicates: int, seed: int) -> dict[str, float]:
    """Return the fraction of single runs that break each bound in some round, by the names of ``COLUMNS``.

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
        faulty = SwappedGradients(
            **{item.name: getattr(task, item.name) for item in fields(task) if item.init},
            swapped=fault.swapped,
        )
    trace = run(
        fault.algorithm,
        faulty,
        rounds=ROUNDS,
        seed=seed,
        replicates=replicates,
        initial=initial,
    )
    dynamics = gaussian_dynamics(task, MEANT)
    start, norms = along_eigenvectors(task, initial), np.full(2, DISTANCE)
    response, _ = propagators(0.5 * dynamics.spectra, MEANT.momentum, ROUNDS)
    reference = reference_models(task, start, response)
    path = np.linalg.norm(reference - task.optima, axis=-1)[:, None]
    errors = np.asarray(trace.errors)
    deviation = np.linalg.norm(trace.models - reference[:, None], axis=-1)
    known = theorem_d(dynamics, start, rounds=ROUNDS, failure=FAILURE)
    unknown = theorem_d(dynamics, norms, rounds=ROUNDS, failure=FAILURE)
    strict = theorem_d(dynamics, start, rounds=ROUNDS, failure=divide_failure(DEFAULT_FAILURE))
    b: Bound = TheoremB()
    broken = {
        "D norm": errors > unknown.reach[:, None],
        "D start": errors > known.reach[:, None],
        "two-sided": np.abs(errors - path) > known.deviation[:, None] + 1e-12,
        "deviation": deviation > known.deviation[:, None] + 1e-12,
        "1e-9": deviation > strict.deviation[:, None] + 1e-12,
        "B": errors > b.best_parts(setting_of(task, MEANT, norms, ROUNDS)).all_rounds[:, None] * ROUNDING,
    }
    return {name: float(where.any(axis=(0, 2)).mean()) for name, where in broken.items()}
