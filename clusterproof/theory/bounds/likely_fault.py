"""The likely fault of a run that breaks a theorem: step, momentum, a delayed gradient, or the noise.

Under option I the error moves by e_(t+1) - e_t = - eta s_t Sigma e_t + beta (e_t - e_(t-1)) + noise, s_t being the
share of the gradients. Along the eigenvectors this is a linear regression on known columns, whose coefficients are
the step and the momentum of the run, and whose residuals are its noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.algorithms import Trace
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.dynamics import cfl_mgd_of
from clusterproof.theory.bounds.gaussian import (
    GaussianDynamics,
    along_eigenvectors,
    gaussian_dynamics,
)

SURE = 4.0
"""Number of standard errors by which a coefficient must differ from its setting to be reported."""

NOTABLE = 0.02
"""Relative difference below which a coefficient counts as correct."""


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Coefficients of one cluster's moves, each with its standard error.

    Attributes
    ----------
    step, momentum
        eta and beta; a pair (value, standard error) each.
    delayed
        Whether the gradient of the round before explains the moves better than the present one.
    noise
        Root mean square of the residuals, relative to that of the theorem's noise.
    """

    step: tuple[float, float]
    momentum: tuple[float, float]
    delayed: bool
    noise: float


def fit_moves(task: RegressionMixture, trace: Trace, run: tuple[int, ...], cluster: int) -> Fit | None:
    """Fit step size and momentum to one cluster's model updates; None for local steps or too few rounds.

    Parameters
    ----------
    task, trace
        The run.
    run
        Index of the replicate, () if there is none.
    cluster
        Index of the cluster.
    """
    dynamics = gaussian_dynamics(task, cfl_mgd_of(trace))
    if dynamics.algorithm.averaging == "model" or trace.rounds < 4:
        return None
    spectrum = dynamics.spectra[cluster]
    index: Any = (slice(None), *run, cluster)
    errors = along_eigenvectors(task, trace.models)[index]
    share, rows = _shares(dynamics, trace, run, cluster)
    before = np.concatenate([errors[:1], errors[:-2]])
    now, moves = errors[:-1], np.diff(errors, axis=0)
    variance = task.noise**2 + (np.square(now) * spectrum).sum(axis=1, keepdims=True)
    expected = (dynamics.algorithm.step_size * share[:, None]) ** 2 / np.maximum(rows, 1.0)[:, None]
    expected = expected * (variance * spectrum + np.square(spectrum * now))
    weight = np.where(expected > 0, 1 / np.sqrt(np.where(expected > 0, expected, 1.0)), 0.0)
    present, carried = -share[:, None] * spectrum * now, now - before
    earlier = -share[:, None] * spectrum * before
    earlier[0] = 0.0  # there is no gradient before the first round
    target = (moves * weight).reshape(-1)
    fits = []
    for gradient in (present, earlier):
        design = np.stack([(column * weight).reshape(-1) for column in (gradient, carried)], axis=-1)
        if not np.isfinite(design).all() or np.linalg.matrix_rank(design) < 2:
            return None
        coefficients, *_ = np.linalg.lstsq(design, target, rcond=None)
        noise = float(np.sqrt(np.mean(np.square(target - design @ coefficients))))
        deviations = noise * np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
        fits.append((noise, coefficients, deviations))
    delayed = fits[1][0] < fits[0][0]
    noise, coefficients, deviations = fits[delayed]
    pairs = [(float(value), float(error)) for value, error in zip(coefficients, deviations, strict=True)]
    return Fit(step=pairs[0], momentum=pairs[1], delayed=delayed, noise=noise)


def likely_fault(task: RegressionMixture, trace: Trace, run: tuple[int, ...], cluster: int) -> str:
    """Describe in a phrase the likely fault of the algorithm that made the run.

    Parameters
    ----------
    task, trace, run, cluster
        As for ``fit_moves``.
    """
    fit = fit_moves(task, trace, run, cluster)
    if fit is None:
        return "unknown: too few rounds, or local steps"
    algorithm = gaussian_dynamics(task, cfl_mgd_of(trace)).algorithm
    if fit.delayed:
        return (
            f"a delayed gradient: the moves follow that of the round before, with a step of {fit.step[0]:.3g}"
        )
    wrong = []
    for name, (value, error), meant in (
        ("step size", fit.step, algorithm.step_size),
        ("momentum", fit.momentum, algorithm.momentum),
    ):
        if abs(value - meant) > max(SURE * error, NOTABLE * max(meant, 0.1)):
            wrong.append(f"{name} {value:.3g} instead of {meant:g}")
    if wrong:
        hint = _divisor_hint(fit.step[0] / algorithm.step_size, task, cluster, trace)
        return f"the models move with {' and '.join(wrong)}{hint}"
    if not 0.9 < fit.noise < 1.1:
        return f"step and momentum are right, the noise is {fit.noise:.2g} times what fresh rows give"
    return "step, momentum and noise are as expected: wrong participants or models"


def _shares(
    dynamics: GaussianDynamics, trace: Trace, run: tuple[int, ...], cluster: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return s_t, the participating members over the divisor, and the number of their rows, (rounds,)."""
    index: Any = (slice(None), *run)
    present = trace.assignments[index] >= 0
    members = (present & (trace.labels == cluster)).sum(axis=-1).astype(float)
    normalisation = dynamics.algorithm.normalisation
    divisor = {"clients": float(dynamics.clients), "participants": float(dynamics.participants)}
    share = (members > 0).astype(float) if normalisation == "cluster" else members / divisor[normalisation]
    return share, members * dynamics.rows.samples


def _divisor_hint(ratio: float, task: RegressionMixture, cluster: int, trace: Trace) -> str:
    """Name the wrong divisor that explains the ratio of the fitted to the specified step; empty if none."""
    present = float((trace.assignments >= 0).mean())
    proportion = float(task.proportions[cluster])
    divisors = (
        (1 / proportion, "of the cluster's clients instead of all"),
        (proportion, "of all clients instead of the cluster's"),
        (1 / present, "of the participants instead of all clients"),
        (present, "of all clients instead of the participants"),
    )
    fitting = [
        words
        for factor, words in divisors
        if abs(factor - 1) > NOTABLE and math.isclose(ratio, factor, rel_tol=2 * NOTABLE)
    ]
    return f", as if the sum were divided by the number {', or '.join(fitting)}" if fitting else ""
