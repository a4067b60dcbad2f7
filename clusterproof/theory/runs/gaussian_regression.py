"""Runs of option I on Gaussian regression, and their exact distribution: noise-free errors and second moments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.running import Trace
from clusterproof.synthetic import Mixture, RegressionMixture
from clusterproof.theory.bounds.dynamics import cfl_mgd_of
from clusterproof.theory.bounds.gaussian import along_eigenvectors
from clusterproof.theory.bounds.hypotheses import Hypothesis, all_met
from clusterproof.theory.exact.heavy_ball import propagators

SIGNIFICANCE = 1e-6
"""Probability that the test rejects a run with the exact distribution, over all rounds and both statistics."""

COMPARED_ROUNDS = 10

FEWEST_ROWS = 1000
"""Smallest number of samples in the gradient of a cluster for which we treat the error as Gaussian."""

STEADY = 0.02
"""Largest relative deviation of the random variance of the noise for which we treat the noise as Gaussian."""

RESOLUTION = 1e-11
"""Largest deviation, relative to the size of the models, that we attribute to rounding."""


@dataclass(frozen=True, eq=False)
class Recursion:
    """The recursion e_(t+1) = (1 + beta - a) e_t - beta e_(t-1) - step * noise for every cluster, with all its clients.

    Attributes
    ----------
    spectra
        Eigenvalues of the covariances, (P, d).
    steps
        Step size of each cluster, (P,): eta l_p, or eta if the divisor is the number of the cluster's clients.
    rows
        Number of samples in the averaged gradient of each cluster, l_p m n', (P,).
    momentum, noise
        Momentum beta, and standard deviation s of the noise.
    start
        Components of e_0 along the eigenvectors, (P, d).
    """

    spectra: np.ndarray
    steps: np.ndarray
    rows: np.ndarray
    momentum: float
    noise: float
    start: np.ndarray

    def limit(self, cluster: int) -> float:
        """Return the asymptotic factor of a cluster's noise-free error, the largest modulus of a root."""
        linear = 1 + self.momentum - self.steps[cluster] * self.spectra[cluster]
        roots = (linear + np.array([[1.0], [-1.0]]) * np.sqrt(linear**2 - 4 * self.momentum + 0j)) / 2
        return float(np.abs(roots).max())

    def path(self, rounds: int) -> np.ndarray:
        """Return Pi_t e_0, the error without noise, (rounds + 1, P, d)."""
        response, _ = propagators(self.steps[:, None] * self.spectra, self.momentum, rounds)
        return np.asarray(response * self.start)

    def covariances(self, rounds: int) -> Iterator[tuple[np.ndarray, float]]:
        """Yield for each round the exact covariance of the error, (P, d, d), and the relative deviation of the noise.

        Conditionally on the error e, the covariance of a cluster's averaged gradient is (Sigma e e' Sigma + (e' Sigma
        e + s^2) Sigma) / N. The relative deviation is the standard deviation of e' Sigma e, for a Gaussian e, divided
        by the mean of e' Sigma e + s^2. The function yields its largest value in all rounds so far.
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
    """Comparison of a run with its exact distribution.

    Attributes
    ----------
    path_chance, noise_chance
        Probability that a run with the exact distribution deviates at least as far from the mean, or from the scale,
        in some round.
    noise
        Scale of the deviations from the mean of the runs, divided by the exact scale. For a single run, these are
        deviations from the exact mean.
    """

    path_chance: float
    noise_chance: float
    noise: float

    @property
    def path_differs(self) -> bool:
        """Whether the mean of the runs differs from the noise-free run."""
        return self.path_chance < SIGNIFICANCE / 2

    @property
    def noise_differs(self) -> bool:
        """Whether the variance of the runs is significantly larger or smaller than the exact variance."""
        return self.noise_chance < SIGNIFICANCE / 2


def recursion_needs(task: Mixture, trace: Trace) -> Iterator[Hypothesis]:
    """Yield the hypotheses under which the recursion of a run of CFL-MGD or IFCA is known."""
    yield Hypothesis("linear regression", "=", True, isinstance(task, RegressionMixture))
    yield Hypothesis("fixed samples", "=", False, getattr(task, "data", "") == "fixed")
    algorithm, plain = cfl_mgd_of(trace), CFLMGD(step_size=1.0, momentum=0.0)
    for name in ("averaging", "momentum_owner", "update_order"):
        needed, here = getattr(plain, name), getattr(algorithm, name)
        yield Hypothesis(f"--{name.replace('_', '-')}", "=", needed, here)
    yield Hypothesis("participation", "=", 1, float(algorithm.participation))
    starts = trace.models[0].reshape(-1, *trace.models.shape[-2:])
    yield Hypothesis("models", "=", task.clusters, starts.shape[1])
    yield Hypothesis("one start", "=", True, bool((starts == starts[0]).all()))


def recursion_of(task: RegressionMixture, trace: Trace) -> Recursion:
    """Return the recursion of the errors for a run that satisfies ``recursion_needs`` without misassigned clients."""
    algorithm, start = cfl_mgd_of(trace), trace.models[0].reshape(-1, *trace.models.shape[-2:])[0]
    share = np.ones(task.clusters) if algorithm.normalisation == "cluster" else task.proportions
    spectra, _ = np.linalg.eigh(task.covariances.matrices)
    return Recursion(
        spectra=spectra,
        steps=algorithm.step_size * share,
        rows=task.proportions * task.clients * task.samples,
        momentum=algorithm.momentum,
        noise=float(task.noise),
        start=along_eigenvectors(task, start),
    )


def law_needs(task: Mixture, trace: Trace) -> Iterator[Hypothesis]:
    """Yield the hypotheses under which a run can be compared with its exact distribution, except noise."""
    known = tuple(recursion_needs(task, trace))
    yield from known
    yield Hypothesis("new samples", "=", True, getattr(task, "data", "") == "fresh")
    if all_met(known) and isinstance(task, RegressionMixture):
        rows = int(recursion_of(task, trace).rows.min())
        yield Hypothesis("samples of a cluster", ">=", FEWEST_ROWS, rows)
    yield Hypothesis("wrong choices", "=", 0, int((trace.assignments != trace.labels).sum()))


def compare_law(task: RegressionMixture, trace: Trace) -> Law | None:
    """Compare the mean and the scale of a run's replicates with their exact values, after ten rounds.

    The deviations from the noise-free run, whitened by their exact covariances, have mean 0 and covariance I. With
    thousands of samples they are nearly Gaussian, so both statistics have chi-square distributions. For a single run,
    both statistics are the same number, which is tested once, as a scale.

    Returns
    -------
    Law
        The comparison, or None if no round has Gaussian noise above rounding. The run must satisfy ``law_needs``.
    """
    from scipy.special import chdtr, chdtrc

    recursion = recursion_of(task, trace)
    models = trace.models if trace.models.ndim == 4 else trace.models[:, None]
    runs, rounds = models.shape[1], trace.rounds
    chosen = set(np.linspace(1, rounds, min(COMPARED_ROUNDS, rounds)).round().astype(int).tolist())
    path, smallest = recursion.path(rounds), RESOLUTION * float(np.abs(models[0]).max())
    paths, scales, ratios = [], [], []
    for number, (covariance, randomness) in enumerate(recursion.covariances(rounds), start=1):
        if number not in chosen or not np.isfinite(covariance).all() or randomness > STEADY:
            continue
        lengths = np.linalg.eigvalsh(covariance)
        if lengths.min() <= smallest**2 or (lengths.min(axis=-1) <= 1e-12 * lengths.max(axis=-1)).any():
            continue
        away = along_eigenvectors(task, models[number]) - path[number]
        white = np.linalg.solve(np.linalg.cholesky(covariance), away.transpose(1, 2, 0))
        whitened = white.reshape(-1, runs).T  # shape (runs, P d)
        mean, size, freedom = np.zeros(whitened.shape[1]), whitened.shape[1], whitened.size
        if runs > 1:
            mean, freedom = whitened.mean(axis=0), (runs - 1) * size
        paths.append(float(chdtrc(size, runs * np.sum(mean**2))))
        total = float(np.sum((whitened - mean) ** 2))
        scales.append(2 * min(float(chdtrc(freedom, total)), float(chdtr(freedom, total))))
        ratios.append(total / freedom)
    if not paths:
        return None
    count = len(paths)
    return Law(
        path_chance=min(1.0, count * min(paths)),
        noise_chance=min(1.0, count * min(scales)),
        noise=float(np.sqrt(np.mean(ratios))),
    )
