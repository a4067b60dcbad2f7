"""What Theorems D, E and A' allow on a given run, and whether the run keeps to it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from clusterproof.algorithms import CFLMGD, InvalidArgument, Trace
from clusterproof.synthetic import LogCoshMixture, LogisticMixture, Mixture, RegressionMixture
from clusterproof.theory.bounds.logarithmic.gaussian import (
    DEFAULT_FAILURE,
    algorithm_of,
    along_eigenvectors,
    divide_failure,
    fresh_regression,
    gaussian_dynamics,
    reference_models,
)
from clusterproof.theory.bounds.logarithmic.theorem_a_prime import (
    AdditiveGaussianRows,
    LogisticRows,
    SmoothTube,
    SubGaussianRows,
    theorem_a_prime,
)
from clusterproof.theory.bounds.logarithmic.theorem_d import theorem_d
from clusterproof.theory.bounds.logarithmic.theorem_e import ParticipationBound, theorem_e_recorded
from clusterproof.theory.bounds.logarithmic.tube import ROUNDING
from clusterproof.theory.bounds.theorem_a import contractions
from clusterproof.theory.instruments.heavy_ball import propagators
from clusterproof.theory.trace_bound import TraceBound

RESOLUTION = 1e-13
"""Room for the rounding of models, relative to their largest coordinate."""


def theorem_d_on(task: Mixture, trace: Trace, failure_probability: float | None = None) -> TraceBound:
    """Bound a run by Theorem D, in its deviation form.

    Parameters
    ----------
    task, trace
        A Gaussian regression mixture with fresh rows, and a run on it. Replicates share the widest path.
    failure_probability
        delta_1 + delta_2 + delta_3; a fifth of it for the counts.

    Raises
    ------
    InvalidArgument
        If the theorem does not speak of such a run, or the bound leaves the basin.
    """
    regression = fresh_regression(task)
    dynamics = gaussian_dynamics(regression, algorithm_of(trace))
    start = along_eigenvectors(regression, trace.models[0])
    failure = divide_failure(DEFAULT_FAILURE if failure_probability is None else failure_probability)
    tube = theorem_d(dynamics, start, rounds=trace.rounds, failure=failure)
    if not tube.applicable:
        raise _leaves_basin(tube.reach)
    shares = dynamics.own / dynamics.clients
    curvature = dynamics.algorithm.step_size * shares[:, None] * dynamics.spectra
    response, _ = propagators(curvature, dynamics.algorithm.momentum, trace.rounds)
    shape = (trace.rounds + 1, *[1] * (start.ndim - 2), *dynamics.spectra.shape)
    return _two_sided(
        regression, start, response.reshape(shape), tube.deviation, tube.last_deviation, sum(failure)
    )


def theorem_e_on(task: Mixture, trace: Trace, failure_probability: float | None = None) -> TraceBound:
    """Bound a run by Theorem E on its record of participants, in its deviation form.

    Where the probability of any misassignment is more than a fifth of the failure probability, misassigned clients
    are counted instead (option I only).

    Parameters
    ----------
    task, trace
        A Gaussian regression mixture with fresh rows, and a run on it; each replicate has a bound of its own.
    failure_probability
        Of one run, in all.

    Raises
    ------
    InvalidArgument
        If the theorem does not speak of such a run, or no replicate's bound stays in the basin.
    """
    regression = fresh_regression(task)
    dynamics = gaussian_dynamics(regression, algorithm_of(trace))
    start = along_eigenvectors(regression, trace.models[0])
    taking_part = trace.assignments >= 0
    own = np.stack(
        [(taking_part & (trace.labels == cluster)).sum(axis=-1) for cluster in range(task.clusters)], axis=-1
    )
    failure = divide_failure(DEFAULT_FAILURE if failure_probability is None else failure_probability)
    runs = own.reshape(trace.rounds, -1, task.clusters)

    def compute(counted: bool) -> ParticipationBound:
        starts = start.reshape(-1, *start.shape[-2:])
        return theorem_e_recorded(
            dynamics, starts if len(starts) > 1 else starts[0], runs, failure=failure, counted=counted
        )

    found = compute(False)
    wrong = float(found.misassignment.max(initial=0.0))
    if not found.tube.applicable or wrong > failure[0]:
        if dynamics.algorithm.averaging == "model":
            if wrong > failure[0]:
                raise InvalidArgument(
                    "trace",
                    f"misassignment probability up to {wrong:.3g}",
                    f"must be at most {failure[0]:.3g}, a fifth of the failure probability",
                    "raise the samples, or start nearer",
                )
        else:
            found, wrong = compute(True), failure[0]
    if not np.isfinite(found.tube.reach).all(axis=0).any():
        raise _leaves_basin(found.tube.reach)
    shape = (*start.shape[:-2], task.clusters)
    lead = (trace.rounds + 1, *shape)
    return _two_sided(
        regression,
        start,
        found.response.reshape(*lead, -1),
        found.tube.deviation.reshape(lead),
        found.tube.last_deviation.reshape(shape),
        failure[1] + failure[2] + wrong,
    )


def theorem_a_prime_on(task: Mixture, trace: Trace, failure_probability: float | None = None) -> TraceBound:
    """Bound a run on smooth losses by Theorem A'; replicates share the widest start.

    Parameters
    ----------
    task, trace
        A log-cosh or a logistic mixture with fresh rows, and a run of option I with full participation on it.
    failure_probability
        Of one run, in all; a fifth of it for misassignment.

    Raises
    ------
    InvalidArgument
        If the theorem does not speak of such a run, no certificate stays in the basin, or misassignment is too
        probable.
    """
    distances = np.linalg.norm(trace.models[0] - task.optima, axis=-1)
    failure = divide_failure(DEFAULT_FAILURE if failure_probability is None else failure_probability)
    found = smooth_tube(task, trace, distances.reshape(-1, task.clusters).max(axis=0), failure)
    bound = found.reach if distances.ndim == 1 else found.reach[:, None, :]
    return TraceBound(
        bound=bound,
        last=np.minimum(found.last_reach, found.reach[-1]),
        reference=None,
        deviation=None,
        failure_probability=failure[1] + failure[2] + found.misassignment,
    )


def smooth_tube(
    task: Mixture, trace: Trace, start: np.ndarray, failure: tuple[float, float, float]
) -> SmoothTube:
    """Evaluate Theorem A' for a run from given distances.

    Parameters
    ----------
    task, trace
        As for ``theorem_a_prime_on``.
    start
        ||e_0|| of each cluster, (P,).
    failure
        What misassignment may have, delta_2 and delta_3.

    Raises
    ------
    InvalidArgument
        As ``theorem_a_prime_on``.
    """
    algorithm = algorithm_of(trace)
    rows = smooth_rows(task)
    plain = CFLMGD(step_size=algorithm.step_size, momentum=algorithm.momentum)
    ran = vars(algorithm) | {"clusters": None}
    if any(ran[name] != value for name, value in vars(plain).items() if name in ran):
        raise InvalidArgument(
            "algorithm", algorithm, "must be option I with full participation and division by m", "use it"
        )
    scaled = plain.step_size * task.smoothness
    if scaled > 1 + 1e-12 or (algorithm.clusters or task.clusters) != task.clusters:
        raise InvalidArgument(
            "step_size", plain.step_size, f"must be at most {1 / task.smoothness:g}", "lower it"
        )
    own = np.bincount(task.labels, minlength=task.clusters)
    mistake, everywhere, last = failure
    found = theorem_a_prime(
        rows,
        [
            contractions(plain.momentum, task.condition_number, Fraction(int(each), task.clients), scaled)
            for each in own
        ],
        own=own,
        step_size=plain.step_size,
        start=start,
        rounds=trace.rounds,
        failure=(everywhere, last),
    )
    if found is None:
        raise InvalidArgument(
            "trace",
            "...",
            "must have a bound that stays inside the basin",
            "raise the clients or the samples, start nearer, or lower the momentum",
        )
    if found.misassignment > mistake:
        raise InvalidArgument(
            "trace",
            f"misassignment probability up to {found.misassignment:.3g}",
            f"must be at most {mistake:.3g}, a fifth of the failure probability",
            "raise the samples, or start nearer",
        )
    return found


def smooth_rows(task: Mixture) -> SubGaussianRows:
    """Give the law of the rows that Theorem A' speaks of.

    Raises
    ------
    InvalidArgument
        If the task is neither a log-cosh nor a logistic mixture with fresh rows.
    """
    if not isinstance(task, LogCoshMixture | LogisticMixture) or task.data != "fresh":
        raise InvalidArgument(
            "task",
            type(task).__name__,
            "must be a log-cosh or a logistic mixture with fresh data",
            "for Gaussian regression use cfl-mgd/theorem-d",
        )
    if isinstance(task, LogCoshMixture):
        return AdditiveGaussianRows(
            smoothness=task.smoothness,
            strong_convexity=task.strong_convexity,
            separation=task.separation,
            diameter=task.diameter,
            samples=task.samples,
            dimension=task.dimension,
            noise=float(task.noise),
        )
    return LogisticRows(
        smoothness=task.smoothness,
        strong_convexity=task.strong_convexity,
        separation=task.separation,
        diameter=task.diameter,
        samples=task.samples,
        dimension=task.dimension,
        largest_feature=float(np.linalg.norm(task.features, axis=-1).max()),
    )


def _two_sided(
    task: RegressionMixture,
    start: np.ndarray,
    response: np.ndarray,
    deviation: np.ndarray,
    last_deviation: np.ndarray,
    failure_probability: float,
) -> TraceBound:
    """Put the deviation around the noise-free path; ``response`` is (rounds + 1, ..., P, d)."""
    reference = reference_models(task, start, response)
    path = np.linalg.norm(reference - task.optima, axis=-1)
    allowed = deviation.reshape(len(path), *[1] * (path.ndim - deviation.ndim), *deviation.shape[1:]).copy()
    allowed[-1] = np.minimum(allowed[-1], last_deviation)
    scale = float(np.abs(reference).max(initial=0.0)) + float(np.abs(task.optima).max())
    allowed += RESOLUTION * scale
    bound = path * ROUNDING + allowed
    return TraceBound(
        bound=bound,
        last=bound[-1],
        reference=reference,
        deviation=np.broadcast_to(allowed, path.shape),
        failure_probability=failure_probability,
    )


def _leaves_basin(reach: np.ndarray) -> InvalidArgument:
    left = int(np.argmax(~np.isfinite(reach).all(axis=1)))
    return InvalidArgument(
        "trace",
        f"bound leaves the basin before round {left}",
        "must have a bound that stays inside the basin",
        "raise the clients or the samples, start nearer, or lower the momentum",
    )
