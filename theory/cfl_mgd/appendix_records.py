"""Random runs on which the appendix of CFL-MGD is checked, and how a Markov statement is judged on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from algorithms import CFLMGD
from synthetic import RegressionMixture
from theory.claim import Context
from theory.recorded_run import RecordedRun, record
from theory.statistics import judge_failures
from theory.verdict import Finding, Kind

FAILURE_LEVELS = (0.1, 0.5, 0.9)
"""lambda_0 .. lambda_4: the larger, the sharper Markov's inequality."""


def noisy_regression(stream: np.random.Generator) -> RegressionMixture:
    """Draw a regression on which clients do choose wrong clusters, with max ||chi*|| <= 1.

    Two or three clusters of 24 to 80 clients in all, dimension 1 to 4, 1 to 12 rows, noise 0.3 to 1.5, a
    covariance of its own for each cluster with eigenvalues in [0.2, 1].
    """
    clusters, dimension = int(stream.integers(2, 4)), int(stream.integers(2, 5))
    separation = 0.0
    while separation < 0.7:
        optima = stream.standard_normal((clusters, dimension))
        optima *= stream.uniform(0.6, 1, (clusters, 1)) / np.linalg.norm(optima, axis=-1, keepdims=True)
        gaps = np.linalg.norm(optima[:, None] - optima[None], axis=-1)
        separation = float(gaps[~np.eye(clusters, dtype=bool)].min())
    rotations = np.linalg.qr(stream.standard_normal((clusters, dimension, dimension)))[0]
    spectra = stream.uniform(0.2, 1, (clusters, dimension))
    covariance = (rotations * spectra[:, None, :]) @ np.swapaxes(rotations, -1, -2)
    clients = int(stream.integers(24, 81))
    return RegressionMixture(
        optima=optima,
        covariance=(covariance + np.swapaxes(covariance, -1, -2)) / 2,
        noise=float(stream.uniform(0.3, 1.5)),
        labels=np.arange(clients) % clusters,
        samples=int(stream.integers(1, 13)),
    )


def with_samples(task: RegressionMixture, samples: int) -> RegressionMixture:
    """Give the same task with another number of rows."""
    return RegressionMixture(
        optima=task.optima,
        covariance=task.covariances.matrices,
        noise=task.noise,
        labels=task.labels,
        samples=samples,
    )


def basin_models(task: RegressionMixture, stream: np.random.Generator) -> np.ndarray:
    """Draw models within the paper's basin, on its rim half of the time, (P, d)."""
    directions = stream.standard_normal(task.optima.shape)
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    lengths = task.basin_radius * stream.choice([1.0, stream.uniform()], (task.clusters, 1))
    return np.asarray(task.optima + lengths * directions)


@dataclass(frozen=True)
class Round:
    """One round of option I from given models, many times over; the paper's first cluster is 0 here.

    Attributes
    ----------
    task
        With max ||chi*|| <= 1.
    models
        chi^t within the basin, (P, d).
    members
        Whether a client is in C_1, (replicates, m).
    gradients
        g_i^t, (replicates, m, d).
    """

    task: RegressionMixture
    models: np.ndarray
    members: np.ndarray
    gradients: np.ndarray

    def shared(self, cluster: int) -> np.ndarray:
        """|C_1 n C*_p|, (replicates,)."""
        return np.asarray((self.members & (self.task.labels == cluster)).sum(axis=-1))

    def deviation(self, cluster: int) -> np.ndarray:
        """Sum over C_1 n C*_p of g_i - grad phi_p(chi_1), (replicates, d)."""
        chosen = self.members & (self.task.labels == cluster)
        mean = self.task.expected_gradient(self.models[0], cluster)
        return np.asarray(((self.gradients - mean) * chosen[..., None]).sum(axis=-2))

    def total(self, cluster: int) -> np.ndarray:
        """T_2p, the sum over C_1 n C*_p of g_i, (replicates, d)."""
        chosen = self.members & (self.task.labels == cluster)
        return np.asarray((self.gradients * chosen[..., None]).sum(axis=-2))

    def gradient_deviation(self, cluster: int) -> float:
        """The v of one row at chi_1 for clients of a cluster."""
        return float(np.sqrt(self.task.gradient_variance(self.models[0], cluster)))

    def loss_variance(self, cluster: int) -> float:
        """The sigma^2 of one row for a client of a cluster at its own model and at chi_1."""
        return float(self.task.loss_variance(self.models[[0, cluster]], cluster).max())


def random_rounds(context: Context, *, tasks: int = 10, replicates: int = 200) -> Iterator[Round]:
    """Draw tasks and models, and carry out one round for each in all replicates."""
    stream = context.generator("rounds")
    for _ in range(tasks):
        task = noisy_regression(stream)
        models = basin_models(task, stream)
        algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=0.0, momentum_owner="client")
        initial = np.broadcast_to(models, (replicates, *models.shape))
        seen = record(task, algorithm, rounds=1, initial=initial, seed=int(stream.integers(2**31)))
        yield Round(task, models, seen.assignments[0] == 0, seen.gradients[0])


def judge_markov(
    context: Context,
    broken: Callable[[Round, float], np.ndarray],
    allowed: Callable[[Round, float], float],
    *,
    what: str,
) -> Finding:
    """Count how often a statement with failure probability lambda is broken on random rounds.

    Parameters
    ----------
    context
        Seed and number of replicates.
    broken
        Whether the statement fails in each replicate of a round, at a given lambda.
    allowed
        Probability that the statement grants itself, at a given lambda.
    what
        The statement in a few words, for the reason.

    Notes
    -----
    A level at which the statement allows everything is left out. The rounds of a level have allowed
    probabilities of their own; their mean bounds the count's tail (Hoeffding 1956).
    """
    counts = dict.fromkeys(FAILURE_LEVELS, 0)
    grants: dict[float, list[float]] = {level: [] for level in FAILURE_LEVELS}
    trials = 0
    for one in random_rounds(context, replicates=context.number_of_trials(200)):
        trials += len(one.members)
        for level in FAILURE_LEVELS:
            counts[level] += int(broken(one, level).sum())
            grants[level].append(min(1.0, allowed(one, level)))
    findings = []
    for level in FAILURE_LEVELS:
        grant = float(np.mean(grants[level]))
        if grant >= 1:
            continue
        frequency = counts[level] / trials
        findings.append(
            judge_failures(
                counts[level],
                trials,
                grant,
                context.significance / len(FAILURE_LEVELS),
                reason=f"{what} fails in {counts[level]} of {trials} rounds of 10 noisy regressions at "
                f"lambda = {level}, allowed {grant:.3g}; slack is allowed / observed",
                measured=frequency,
                bound=grant,
                slack=grant / frequency if frequency else None,
            )
        )
    violated = [finding for finding in findings if finding.verdict is Kind.VIOLATED]
    return min(violated or findings, key=lambda finding: finding.slack if finding.slack else np.inf)


@dataclass(frozen=True)
class MomentumRun:
    """A run of option I as printed, with everything in it.

    Attributes
    ----------
    task, momentum
        What was run; the step is 1 / L.
    seen
        The run.
    """

    task: RegressionMixture
    momentum: float
    seen: RecordedRun

    @property
    def step(self) -> float:
        """Eta = 1 / L."""
        return 1 / self.task.smoothness

    def sum_over(self, round_number: int, values: np.ndarray, *, own: bool) -> np.ndarray:
        """Sum values (m, d) over C_1 n C*_1, or over the intruders in C_1, (d,)."""
        chosen = (self.seen.assignments[round_number] == 0) & ((self.task.labels == 0) == own)
        return np.asarray(values[chosen].sum(axis=0))

    def formula(self, round_number: int) -> np.ndarray:
        """Give the right side of (A19) for all clients, (m, d)."""
        powers = self.momentum ** np.arange(round_number - 1, -1, -1)
        return np.asarray(np.einsum("t,tmd->md", powers, self.seen.gradients[:round_number]))


def momentum_runs(
    context: Context, *, default: int = 20, rounds: int = 5, samples: int | None = None
) -> Iterator[MomentumRun]:
    """Draw tasks and momentum, and run from models in the basin.

    Parameters
    ----------
    context
        Seed and number of runs.
    default
        Number of runs where the context names none.
    rounds
        Of each run.
    samples
        Rows of a client, in place of the few that make clients err.
    """
    stream = context.generator("runs")
    for _ in range(context.number_of_trials(default)):
        task = noisy_regression(stream)
        task = task if samples is None else with_samples(task, samples)
        momentum = float(stream.uniform(0.05, 0.95))
        algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=momentum, momentum_owner="client")
        initial = basin_models(task, stream)
        seen = record(task, algorithm, rounds=rounds, initial=initial, seed=int(stream.integers(2**31)))
        yield MomentumRun(task, momentum, seen)


def judge_identity(residuals: list[float], *, what: str, runs: int) -> Finding:
    """Decide an identity: violated where the sides differ by more than rounding.

    Parameters
    ----------
    residuals
        Largest difference of the two sides, one a comparison; the quantities are of order one.
    what
        What was compared, for the reason.
    runs
        Number of runs.
    """
    failures = sum(residual > 1e-10 for residual in residuals)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"{what}: largest difference of the two sides over {len(residuals)} rounds of {runs} runs",
        measured=max(residuals),
        bound=1e-10,
        trials=len(residuals),
        failures=failures,
    )
