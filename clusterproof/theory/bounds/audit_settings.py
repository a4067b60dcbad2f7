"""Settings in which bounds for CFL-MGD are compared with runs, with the keys of section 9 of our audit of CFL-MGD."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.common import InvalidArgument, generator
from clusterproof.running import run
from clusterproof.synthetic import LogCoshMixture, Mixture, RegressionMixture
from clusterproof.synthetic.mixture import geometric_spectrum, make_labels
from clusterproof.theory.bounds.setting import Setting, setting_of


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A task, an algorithm and initial models for the comparison of a bound with runs.

    Attributes
    ----------
    name
        Name of the setting: the key in the audit, and the momentum.
    task, algorithm
        Task and algorithm of the runs.
    rounds
        Number of rounds T.
    displacement
        Initial error e_0 of every model, (P, d). If None, the initial errors have random directions, and their norm
        is half the paper's radius.
    """

    name: str
    task: RegressionMixture | LogCoshMixture
    algorithm: CFLMGD
    rounds: int
    displacement: np.ndarray | None = None

    @property
    def regression(self) -> RegressionMixture:
        """The task, if it is a regression.

        Raises
        ------
        InvalidArgument
            If the task is not a regression.
        """
        if not isinstance(self.task, RegressionMixture):
            raise InvalidArgument(
                "task", type(self.task).__name__, "must be a regression mixture", "use RegressionMixture"
            )
        return self.task

    def initial(self, generator: np.random.Generator, replicates: int) -> np.ndarray:
        """Return initial models, (replicates, P, d)."""
        if self.displacement is not None:
            start = self.task.optima + self.displacement
            return np.broadcast_to(start, (replicates, *start.shape))
        return self.task.initial_models(self.task.clusters, (replicates,), generator)

    @property
    def setting(self) -> Setting:
        """The quantities on which a bound depends."""
        start = np.full(self.task.clusters, self.task.basin_radius / 2)
        if self.displacement is not None:
            start = np.linalg.norm(self.displacement, axis=-1)
        return setting_of(self.task, self.algorithm, start, self.rounds)


SIZES: dict[str, tuple[Any, ...]] = {
    "S1": ((1, 1), 20, 1.0, 100, 1000, 0.5, 12),
    "S1+": ((1, 1), 20, 1.0, 100, 10_000_000_000, 0.5, 12),
    "S2": ((4, 3, 2, 1), 20, 10.0, 200, 200_000, 0.3, 80),
    "S3": ((1, 1, 1), 100, 4.0, 60, 20_000, 0.5, 40),
    "S3+": ((1, 1, 1), 100, 4.0, 60, 1_000_000, 0.5, 40),
    "S5": ((1, 1), 10, 1.0, 20_000, 14, 0.7, 8),
}
"""Proportions, d, kappa, m, n', s and T for each setting, indexed by key."""

NAMES = {
    "S1": "two equal",
    "S1+": "two equal, noiseless",
    "S2": "four unequal",
    "S3": "three wide",
    "S3+": "three wide, precise",
    "S4": "two curved",
    "S5": "two scarce",
}
"""Readable names of the settings. Seeds and stored verdicts contain the keys, so the keys must not change."""


def _opposite(dimension: int) -> np.ndarray:
    """Return two optima, at 1 and -1 on the first axis, (2, dimension)."""
    optima = np.zeros((2, dimension))
    optima[:, 0] = (1.0, -1.0)
    return optima


def tuned_momentum(task: Mixture) -> float:
    """Return (1 - sqrt(l mu / L))^2, the momentum at which all clusters share the rate 1 - sqrt(l mu / L)."""
    return (1 - math.sqrt(task.proportions.min() / task.condition_number)) ** 2


def experiment(name: str, momentum: float | None) -> Experiment:
    """Make one of the settings S1, S2, S3 and S5 of the audit, with L = eta = 1 and Delta = 2.

    Parameters
    ----------
    name
        ``"S1"``, ``"S2"``, ``"S3"`` or ``"S5"``. In S5, some clients are misclassified, and the initial models are
        displaced towards each other. ``"S1+"`` has ten million times as many samples as S1, so that the noise is
        nearly 0. ``"S3+"`` has fifty times as many samples as S3.
    momentum
        Momentum beta. If None, it is the tuned momentum.
    """
    proportions, dimension, condition, clients, samples, noise, rounds = SIZES[name]
    clusters = len(proportions)
    optima = _opposite(dimension) if clusters == 2 else math.sqrt(2.0) * np.eye(clusters, dimension)
    task = RegressionMixture(
        optima=optima,
        covariance=geometric_spectrum(dimension, condition),
        labels=make_labels(clients, clusters, proportions),
        noise=noise,
        samples=samples,
    )
    beta = tuned_momentum(task) if momentum is None else momentum
    return Experiment(
        name=f"{name}, momentum {beta:.3g}",
        task=task,
        algorithm=CFLMGD(step_size=1.0, momentum=beta),
        rounds=rounds,
        displacement=-0.3 * optima if name == "S5" else None,
    )


def log_cosh_experiment(momentum: float, samples: int) -> Experiment:
    """Make setting S4 of the audit: log-cosh losses, kappa = 10, P = 2, d = 30, m = 50, T = 60.

    Parameters
    ----------
    momentum
        Momentum beta.
    samples
        Number of samples n'. The audit has 20 000, and 10^6 for momentum 0.6.
    """
    task = LogCoshMixture(
        optima=_opposite(30),
        valley_curvature=0.1,
        width=0.02,
        noise=1.0,
        labels=make_labels(50, 2),
        samples=samples,
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
"""Participation rate, and divisor of the sum of gradients, for each kind of partial participation."""


def participation_experiment(kind: str) -> Experiment:
    """Make a setting with partial participation: kappa = 4, P = 2, m = 40, n' = 2000, d = 10, s = 1/2, T = 12.

    The momentum is 0.3.

    Parameters
    ----------
    kind
        A key of ``PARTICIPATION``.
    """
    task = RegressionMixture(
        optima=_opposite(10),
        covariance=geometric_spectrum(10, 4.0),
        labels=make_labels(40, 2),
        noise=0.5,
        samples=2000,
    )
    return Experiment(
        name=kind, task=task, algorithm=CFLMGD(step_size=1.0, momentum=0.3, **PARTICIPATION[kind]), rounds=12
    )


def crowded_experiment() -> Experiment:
    """Make a setting in which clients are misassigned in every round: 4000 clients with 12 samples each."""
    optima = _opposite(10)
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
    """Return initial models, displaced from the optima in random directions, (replicates, P, d)."""
    return experiment.initial(generator(seed, claim, experiment.name, "start"), replicates)


def run_errors(experiment: Experiment, seed: int, initial: np.ndarray) -> np.ndarray:
    """Run once from each of the initial models, and return the errors, (rounds + 1, replicates, P)."""
    trace = run(
        experiment.algorithm,
        experiment.task,
        rounds=experiment.rounds,
        seed=seed,
        replicates=len(initial),
        initial=initial,
    )
    return np.asarray(trace.errors)
