"""A run of option I on Gaussian regression beside its exact law: the path without noise and the second moments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import CFLMGD, InvalidArgument, Trace
from clusterproof.synthetic import Mixture, RegressionMixture
from clusterproof.theory.bounds.dynamics import cfl_mgd_of
from clusterproof.theory.bounds.gaussian import along_eigenvectors
from clusterproof.theory.exact.heavy_ball import propagators

SIGNIFICANCE = 1e-6
"""Probability with which a run of the law is said to differ, over all rounds and both statistics."""

COMPARED_ROUNDS = 10

FEWEST_ROWS = 1000
"""Rows in the gradient of a cluster from which on the error counts as Gaussian."""

STEADY = 0.02
"""The noise is Gaussian while the deviation of its variance is below this share: of rows without noise it is random."""

RESOLUTION = 1e-11
"""Deviations below this share of the models are rounding."""


@dataclass(frozen=True, eq=False)
class Recursion:
    """e_(t+1) = (1 + beta - a) e_t - beta e_(t-1) - step * noise, of every cluster with all of its clients.

    Attributes
    ----------
    spectra
        Eigenvalues of the covariances, (P, d).
    steps
        Step of each cluster: eta l_p, or eta where the sum is divided by the cluster's clients, (P,).
    rows
        Rows in the averaged gradient of each cluster, l_p m n', (P,).
    momentum, noise
        beta and s.
    start
        e_0 along the eigenvectors, (P, d).
    """

    spectra: np.ndarray
    steps: np.ndarray
    rows: np.ndarray
    momentum: float
    noise: float
    start: np.ndarray

    def path(self, rounds: int) -> np.ndarray:
        """Pi_t e_0, the error without noise, (rounds + 1, P, d)."""
        response, _ = propagators(self.steps[:, None] * self.spectra, self.momentum, rounds)
        return np.asarray(response * self.start)

    def covariances(self, rounds: int) -> Iterator[tuple[np.ndarray, float]]:
        """Yield the exact covariance of the error after each round, (P, d, d), and how random its noise's scale is.

        The covariance of a cluster's averaged gradient, given e, is (Sigma e e' Sigma + (e' Sigma e + s^2) Sigma) / N.
        The second number is the deviation of e' Sigma e by the mean of e' Sigma e + s^2, the largest so far, with that
        of a Gaussian e.
        """
        randomness = 0.0
        factor = 1 + self.momentum - self.steps[:, None] * self.spectra
        share = (self.steps**2 / self.rows)[:, None, None]
        both = self.spectra[:, :, None] * self.spectra[:, None, :]
        now = previous = cross = np.zeros(both.shape)
        diagonal = np.arange(self.spectra.shape[-1])
        for mean in self.path(max(rounds - 1, 0))[:rounds]:
            moment = now + mean[:, :, None] * mean[:, None, :]
            inflow = both * moment
            weighted = (self.spectra * moment[:, diagonal, diagonal]).sum(axis=-1) + self.noise**2
            inflow[:, diagonal, diagonal] += weighted[:, None] * self.spectra
            curved = self.spectra * mean
            crossed = np.einsum("pi,pij,pj->p", curved, now, curved)
            deviation = np.sqrt(np.maximum(2 * (both * now**2).sum(axis=(1, 2)) + 4 * crossed, 0.0))
            randomness = max(randomness, float(np.max(deviation / weighted)))
            mixed = factor[:, :, None] * cross
            following = (
                factor[:, :, None] * now * factor[:, None, :]
                - self.momentum * (mixed + mixed.swapaxes(-1, -2))
                + self.momentum**2 * previous
                + share * inflow
            )
            cross = factor[:, :, None] * now - self.momentum * cross.swapaxes(-1, -2)
            now, previous = following, now
            yield now, randomness


@dataclass(frozen=True)
class Law:
    """How a run compares with its exact law.

    Attributes
    ----------
    path_chance, noise_chance
        Probability that a run of the law is as far from its mean path, or from its scale, in any of the rounds.
    noise
        Scale of the deviations from the runs' mean, by that of the law.
    """

    path_chance: float
    noise_chance: float
    noise: float

    @property
    def path_differs(self) -> bool:
        """Whether the mean of the runs is not the path without noise."""
        return self.path_chance < SIGNIFICANCE / 2

    @property
    def noise_differs(self) -> bool:
        """Whether the runs scatter more, or less, than the law."""
        return self.noise_chance < SIGNIFICANCE / 2


def recursion_of(task: Mixture, trace: Trace) -> Recursion:
    """Return the recursion of a run, which its errors follow where no client is misassigned.

    Raises
    ------
    InvalidArgument
        If the run is not of option I with all clients, server momentum updated first, on Gaussian regression with
        fresh rows or exact losses, or its replicates start from different models.
    """
    if not isinstance(task, RegressionMixture) or task.data == "fixed":
        raise InvalidArgument("task", task.name, "must be linear regression with new samples", "use it")
    algorithm = cfl_mgd_of(trace)
    plain = CFLMGD(step_size=1.0, momentum=0.0)
    names = ("averaging", "participation", "momentum_owner", "update_order")
    wrong = [name for name in names if getattr(algorithm, name) != getattr(plain, name)]
    if wrong:
        value = getattr(algorithm, wrong[0])
        rule = f"must be {wrong[0].replace('_', ' ')} {getattr(plain, wrong[0])}"
        raise InvalidArgument(wrong[0], value, rule, "use it")
    starts = trace.models[0].reshape(-1, *trace.models.shape[-2:])
    if starts.shape[1] != task.clusters or (starts != starts[0]).any():
        raise InvalidArgument(
            "trace", "...", "must have one start of all runs, and a model a cluster", "give it"
        )
    share = np.ones(task.clusters) if algorithm.normalisation == "cluster" else task.proportions
    spectra, _ = np.linalg.eigh(task.covariances.matrices)
    return Recursion(
        spectra=spectra,
        steps=algorithm.step_size * share,
        rows=task.proportions * task.clients * task.samples,
        momentum=algorithm.momentum,
        noise=float(task.noise),
        start=along_eigenvectors(task, starts[0]),
    )


def compare_law(task: Mixture, trace: Trace) -> Law:
    """Compare the mean path and the scale of a run's replicates with the exact law, at ten rounds.

    The deviations from the path without noise, whitened by their exact covariances, have mean 0 and covariance I;
    over thousands of rows they are Gaussian, so that both statistics follow chi-square laws.

    Raises
    ------
    InvalidArgument
        If there is no such law: see ``recursion_of``; or a client is misassigned, the rows are not fresh or fewer than
        1000 a cluster and round, there is one run, or the deviations are rounding.
    """
    from scipy.special import chdtr, chdtrc

    recursion = recursion_of(task, trace)
    if trace.models.ndim == 3 or trace.models.shape[1] < 2:
        raise InvalidArgument("replicates", 1, "must be at least 2 runs", "add runs")
    assert isinstance(task, RegressionMixture)
    rows = int(recursion.rows.min())
    if task.data != "fresh":
        raise InvalidArgument("task", task.data, "must be linear regression with new samples", "use it")
    if rows < FEWEST_ROWS:
        rule = f"must have at least {FEWEST_ROWS} new samples a cluster and round"
        raise InvalidArgument("samples", rows, rule, "add some")
    if (trace.assignments != trace.labels).any():
        raise InvalidArgument("assignments", "...", "must have no wrong choice of a cluster", "start nearer")
    runs, rounds = trace.models.shape[1], trace.rounds
    chosen = set(np.linspace(1, rounds, min(COMPARED_ROUNDS, rounds)).round().astype(int).tolist())
    path, smallest = recursion.path(rounds), RESOLUTION * float(np.abs(trace.models[0]).max())
    paths, scales, ratios = [], [], []
    for number, (covariance, randomness) in enumerate(recursion.covariances(rounds), start=1):
        if number not in chosen:
            continue
        if not (np.isfinite(covariance).all() and randomness <= STEADY):
            continue
        lengths = np.linalg.eigvalsh(covariance)
        if lengths.min() <= smallest**2 or (lengths.min(axis=-1) <= 1e-12 * lengths.max(axis=-1)).any():
            continue
        away = along_eigenvectors(task, trace.models[number]) - path[number]
        white = np.linalg.solve(np.linalg.cholesky(covariance), away.transpose(1, 2, 0))
        whitened = white.reshape(-1, runs).T  # (runs, P d)
        mean, size = whitened.mean(axis=0), whitened.shape[1]
        paths.append(float(chdtrc(size, runs * np.sum(mean**2))))
        total, freedom = float(np.sum((whitened - mean) ** 2)), (runs - 1) * size
        scales.append(2 * min(float(chdtrc(freedom, total)), float(chdtr(freedom, total))))
        ratios.append(total / freedom)
    if not paths:
        raise InvalidArgument(
            "noise", "...", "must have Gaussian noise above rounding in some round", "raise it"
        )
    count = len(paths)
    return Law(
        path_chance=min(1.0, count * min(paths)),
        noise_chance=min(1.0, count * min(scales)),
        noise=float(np.sqrt(np.mean(ratios))),
    )
