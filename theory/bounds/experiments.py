"""The settings S1-S5 of the audit of CFL-MGD (section 9), on which bounds are compared with runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.algorithms import CFLMGD, InvalidArgument, generator, run
from clusterproof.synthetic import LogCoshMixture, Mixture, RegressionMixture
from clusterproof.synthetic.mixture import geometric_spectrum, make_labels
from clusterproof.theory.bounds.setting import Setting, setting_of


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A task, an algorithm and a start on which a bound is compared with runs.

    Attributes
    ----------
    name
        Of the setting in the audit, with the momentum.
    task, algorithm
        What is run.
    rounds
        T.
    displacement
        e_0 of every model, (P, d); where None, models start half the paper's radius away in random
        directions.
    """

    name: str
    task: RegressionMixture | LogCoshMixture
    algorithm: CFLMGD
    rounds: int
    displacement: np.ndarray | None = None

    @property
    def regression(self) -> RegressionMixture:
        """The task, where it is a regression.

        Raises
        ------
        InvalidArgument
            If it is not.
        """
        if not isinstance(self.task, RegressionMixture):
            raise InvalidArgument("task", type(self.task).__name__, "must be a regression mixture", "use one")
        return self.task

    def initial(self, generator: np.random.Generator, replicates: int) -> np.ndarray:
        """Starting models, (replicates, P, d)."""
        if self.displacement is not None:
            start = self.task.optima + self.displacement
            return np.broadcast_to(start, (replicates, *start.shape))
        return self.task.initial_models(self.task.clusters, (replicates,), generator)

    @property
    def setting(self) -> Setting:
        """What a bound needs."""
        start = np.full(self.task.clusters, self.task.basin_radius / 2)
        if self.displacement is not None:
            start = np.linalg.norm(self.displacement, axis=-1)
        return setting_of(self.task, self.algorithm, start, self.rounds)


_SIZES: dict[str, dict[str, Any]] = {
    "S1": {"proportions": (1, 1), "dimension": 20, "condition_number": 1.0, "clients": 100,
           "samples": 1000, "noise": 0.5, "rounds": 12},
    "S1+": {"proportions": (1, 1), "dimension": 20, "condition_number": 1.0, "clients": 100,
            "samples": 10_000_000_000, "noise": 0.5, "rounds": 12},
    "S2": {"proportions": (4, 3, 2, 1), "dimension": 20, "condition_number": 10.0, "clients": 200,
           "samples": 200_000, "noise": 0.3, "rounds": 80},
    "S3": {"proportions": (1, 1, 1), "dimension": 100, "condition_number": 4.0, "clients": 60,
           "samples": 20_000, "noise": 0.5, "rounds": 40},
    "S3+": {"proportions": (1, 1, 1), "dimension": 100, "condition_number": 4.0, "clients": 60,
            "samples": 1_000_000, "noise": 0.5, "rounds": 40},
    "S5": {"proportions": (1, 1), "dimension": 10, "condition_number": 1.0, "clients": 20_000,
           "samples": 14, "noise": 0.7, "rounds": 8},
}  # fmt: skip


def tuned_momentum(task: Mixture) -> float:
    """(1 - sqrt(l mu / L))^2: all clusters share the rate 1 - sqrt(l mu / L) (Corollary B1)."""
    return (1 - math.sqrt(task.proportions.min() / task.condition_number)) ** 2


def experiment(name: str, momentum: float | None) -> Experiment:
    """Make one of the audit's settings S1, S2, S3 and S5, with L = eta = 1 and Delta = 2.

    Parameters
    ----------
    name
        ``"S1"``, ``"S2"``, ``"S3"``, ``"S5"`` (clients are really misclassified, models start
        displaced towards each other); ``"S1+"``, which has ten million times the samples of S1, so that
        hardly any noise is left; or ``"S3+"``, which has fifty times those of S3.
    momentum
        beta; the tuned one where None.
    """
    size = dict(_SIZES[name])
    rounds = size.pop("rounds")
    proportions = size.pop("proportions")
    clusters, dimension = len(proportions), size.pop("dimension")
    optima = np.zeros((clusters, dimension))
    if clusters == 2:
        optima[:, 0] = (1.0, -1.0)
    else:
        optima[np.arange(clusters), np.arange(clusters)] = math.sqrt(2.0)
    task = RegressionMixture(
        optima=optima,
        covariance=geometric_spectrum(dimension, size["condition_number"]),
        labels=make_labels(size["clients"], clusters, proportions),
        noise=size["noise"],
        samples=size["samples"],
    )
    beta = tuned_momentum(task) if momentum is None else momentum
    return Experiment(
        name=f"{name}, momentum {beta:.3g}",
        task=task,
        algorithm=CFLMGD(step_size=1.0, momentum=beta),
        rounds=rounds,
        displacement=-0.3 * optima if name == "S5" else None,
    )


REGRESSIONS: dict[str, tuple[str, float | None]] = {
    "S1": ("S1", 0.0),
    "S1 tuned": ("S1", None),
    "S2": ("S2", 0.0),
    "S2 at 1/2": ("S2", 0.5),
    "S2 tuned": ("S2", None),
    "S3 tuned": ("S3", None),
}
"""Settings on which Theorems A, B, C and C' are compared with runs: arguments of ``experiment``."""


def log_cosh_experiment(momentum: float, samples: int) -> Experiment:
    """Make the audit's setting S4: not quadratic, kappa = 10, P = 2, d = 30, m = 50, T = 60.

    Parameters
    ----------
    momentum
        beta.
    samples
        n': 20 000 in the audit, 10^6 for momentum 0.6.
    """
    optima = np.zeros((2, 30))
    optima[:, 0] = (1.0, -1.0)
    task = LogCoshMixture(
        optima=optima, valley_curvature=0.1, width=0.02, noise=1.0, labels=make_labels(50, 2), samples=samples
    )
    return Experiment(
        name=f"S4, n' = {samples:g}, momentum {momentum:.3g}",
        task=task,
        algorithm=CFLMGD(step_size=1.0, momentum=momentum),
        rounds=60,
    )


PARTICIPATION: dict[str, dict[str, Any]] = {
    "half, by the cluster": {"participation": 0.5, "normalisation": "cluster"},
    "half, by participants": {"participation": 0.5, "normalisation": "participants"},
    "half, by all clients": {"participation": 0.5},
    "a quarter, by the cluster": {"participation": 0.25, "normalisation": "cluster"},
    "half, option II, H = 5": {"participation": 0.5, "averaging": "model", "local_steps": 5},
}
"""Who takes part, and what the sum is divided by."""


def participation_experiment(kind: str) -> Experiment:
    """Make a setting of Theorem E: kappa = 4, P = 2, m = 40, n' = 2000, d = 10, s = 1/2, T = 12, beta = 0.3.

    Parameters
    ----------
    kind
        A key of ``PARTICIPATION``.
    """
    optima = np.zeros((2, 10))
    optima[:, 0] = (1.0, -1.0)
    task = RegressionMixture(
        optima=optima,
        covariance=geometric_spectrum(10, 4.0),
        labels=make_labels(40, 2),
        noise=0.5,
        samples=2000,
    )
    return Experiment(
        name=kind, task=task, algorithm=CFLMGD(step_size=1.0, momentum=0.3, **PARTICIPATION[kind]), rounds=12
    )


def crowded_experiment() -> Experiment:
    """Make a setting in which clients are misassigned in every round: 4000 of them with 12 rows each."""
    optima = np.zeros((2, 10))
    optima[:, 0] = (1.0, -1.0)
    task = RegressionMixture(
        optima=optima, covariance=np.ones(10), labels=make_labels(4000, 2), noise=0.7, samples=12
    )
    return Experiment(
        name="crowded",
        task=task,
        algorithm=CFLMGD(step_size=1.0, momentum=0.1),
        rounds=8,
        displacement=-0.3 * optima,
    )


def starting_models(experiment: Experiment, seed: int, replicates: int, claim: str) -> np.ndarray:
    """Models in random directions for each repetition of an experiment, (replicates, P, d)."""
    return experiment.initial(generator(seed, claim, experiment.name, "start"), replicates)


def run_errors(experiment: Experiment, seed: int, initial: np.ndarray) -> np.ndarray:
    """Errors of one run from each of the starting models, (rounds + 1, replicates, P)."""
    trace = run(
        experiment.algorithm,
        experiment.task,
        rounds=experiment.rounds,
        seed=seed,
        replicates=len(initial),
        initial=initial,
    )
    return np.asarray(trace.errors)
