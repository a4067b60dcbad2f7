"""Theorem D applied to a given run."""

from __future__ import annotations

import numpy as np

from clusterproof.common import InvalidArgument
from clusterproof.running import Trace
from clusterproof.synthetic import Mixture, RegressionMixture
from clusterproof.theory.bounds.dynamics import cfl_mgd_of
from clusterproof.theory.bounds.gaussian import (
    DEFAULT_FAILURE,
    GaussianDynamics,
    along_eigenvectors,
    divide_failure,
    fresh_regression,
    gaussian_dynamics,
    reference_models,
)
from clusterproof.theory.bounds.theorem_d import counts_all, theorem_d, theorem_d_recorded
from clusterproof.theory.bounds.trace_bound import TraceBound
from clusterproof.theory.bounds.tube import ROUNDING

RESOLUTION = 1e-13
"""Tolerance for rounding errors in models, relative to the largest coordinate."""

BASIN_RULE = (
    "must have a bound that stays inside the basin",
    "use more clients or samples, initial models nearer to the optima, or a smaller momentum",
)


def theorem_d_on(task: Mixture, trace: Trace, failure_probability: float | None = None) -> TraceBound:
    """Bound the distance of a run from the noise-free run with Theorem D.

    There are two cases. If all clients take part under option I, and the server divides by the number of clients, the
    bound allows for misassigned clients by counting them. One bound then holds for all replicates. Otherwise the
    bound depends on the recorded participants, and each replicate has a separate bound. It counts misassigned clients
    only under option I, and only if the probability of any misassignment is above a fifth of the failure probability.

    Parameters
    ----------
    task, trace
        A Gaussian regression mixture with fresh samples, and a run on it.
    failure_probability
        Total failure probability of one run, delta_1 + delta_2 + delta_3. A fifth of it is reserved for misassigned
        clients.

    Raises
    ------
    InvalidArgument
        If the theorem does not apply to the run, or the bound leaves the basin for every replicate.
    """
    regression, dynamics, start, failure = _prepare(task, trace, failure_probability)
    if counts_all(dynamics):
        tube = theorem_d(dynamics, start, rounds=trace.rounds, failure=failure)
        if not tube.applicable:
            raise _leaves_basin(tube.reach)
        shape = (trace.rounds + 1, *[1] * (start.ndim - 2), *dynamics.spectra.shape)
        response = tube.response.reshape(shape)
        return _two_sided(regression, start, response, tube.deviation, tube.last_deviation, sum(failure))
    participates = trace.assignments >= 0
    counts = [(participates & (trace.labels == p)).sum(axis=-1) for p in range(task.clusters)]
    replicates = trace.models.shape[1] if trace.models.ndim == 4 else 1
    own_counts = np.stack(counts, axis=-1).reshape(trace.rounds, replicates, task.clusters)
    starts = start.reshape(-1, *start.shape[-2:])
    # replicates with the same initial models and the same participants have the same bound
    given = [own_counts.swapaxes(0, 1).reshape(replicates, -1), starts.reshape(replicates, -1)]
    _, first, which = np.unique(np.concatenate(given, axis=1), axis=0, return_index=True, return_inverse=True)
    own_counts, starts = own_counts[:, first], starts[first]
    starts = starts if len(starts) > 1 else starts[0]
    tube = theorem_d_recorded(dynamics, starts, own_counts, failure=failure)
    wrong = float(tube.misassignment.max(initial=0.0))
    averages_models = dynamics.algorithm.averaging == "model"
    if wrong > failure[0] and averages_models:
        raise _misassigns(wrong, failure[0])
    if (wrong > failure[0] or not tube.applicable) and not averages_models:
        tube = theorem_d_recorded(dynamics, starts, own_counts, failure=failure, counted=True)
        wrong = failure[0]
    if not np.isfinite(tube.reach).all(axis=0).any():
        raise _leaves_basin(tube.reach)
    shape, distinct = (*start.shape[:-2], task.clusters), (len(first), task.clusters)
    return _two_sided(
        regression,
        start,
        tube.response.reshape(trace.rounds + 1, *distinct, -1)[:, which].reshape(
            trace.rounds + 1, *shape, -1
        ),
        tube.deviation.reshape(trace.rounds + 1, *distinct)[:, which].reshape(trace.rounds + 1, *shape),
        tube.last_deviation.reshape(distinct)[which].reshape(shape),
        failure[1] + failure[2] + wrong,
    )


def _prepare(
    task: Mixture, trace: Trace, failure_probability: float | None
) -> tuple[RegressionMixture, GaussianDynamics, np.ndarray, tuple[float, float, float]]:
    """Return the task, the dynamics, the components of e_0 along the eigenvectors, and delta_1, delta_2 and delta_3."""
    regression = fresh_regression(task)
    dynamics = gaussian_dynamics(regression, cfl_mgd_of(trace))
    start = along_eigenvectors(regression, trace.models[0])
    failure = divide_failure(DEFAULT_FAILURE if failure_probability is None else failure_probability)
    return regression, dynamics, start, failure


def _two_sided(
    task: RegressionMixture,
    start: np.ndarray,
    response: np.ndarray,
    deviation: np.ndarray,
    last_deviation: np.ndarray,
    failure_probability: float,
) -> TraceBound:
    """Make the bound on the distance from the noise-free run, where ``response`` is (rounds + 1, ..., P, d)."""
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
    return InvalidArgument("trace", f"bound leaves the basin before round {left}", *BASIN_RULE)


def _misassigns(probability: float, allowed: float) -> InvalidArgument:
    return InvalidArgument(
        "trace",
        f"misassignment probability up to {probability:.3g}",
        f"must be at most {allowed:.3g}, a fifth of the failure probability",
        "use more samples, or initial models nearer to the optima",
    )
