"""Theorem C': a logarithmic tail for Gaussian regression."""

from __future__ import annotations

import math

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.bound_parts import BoundParts
from clusterproof.theory.bounds.setting import setting_of
from clusterproof.theory.bounds.theorem_c import departure_probability, oracle_moments
from clusterproof.theory.exact.heavy_ball import propagators

RATES = 1 - np.geomspace(0.002, 0.999, 80)
"""Rates r, for each of which the bound holds; the best is used."""


def cluster_bound(
    task: RegressionMixture, algorithm: CFLMGD, cluster: int, rounds: int, failure: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the factor of ||e_0|| and the additive term of one cluster, at the rate that is best after T rounds.

    Returns
    -------
    tuple
        C_0 r_bar^t, (T + 1,), and the noise's term for all t at once and, last entry, at T alone,
        (T + 2,); infinite if no rate has r_bar < 1.
    """
    proportion, clusters = float(task.proportions[cluster]), task.clusters
    step, rows = algorithm.step_size * proportion, proportion * task.clients * task.samples
    spectrum, dimension = task.covariances.eigenvalues[cluster], task.dimension
    tail = math.sqrt(2 * math.log(4 * clusters * rounds / failure))
    omega = math.sqrt(dimension / rows) + tail / math.sqrt(rows)
    epsilon = 2 * omega + omega**2
    start, impulse = propagators(step * spectrum, algorithm.momentum, rounds)
    times = np.arange(rounds + 1)
    decay = RATES[:, None, None] ** -times[None, :, None].astype(float)
    start_constant = (decay * np.abs(start)[None]).max(axis=(1, 2))
    noise_constant = (decay * np.abs(impulse)[None]).max(axis=(1, 2))
    rate = RATES + noise_constant * step * task.smoothness * epsilon
    rate = np.where(rate < 1, rate, np.nan)
    trace, steepest = spectrum.sum(), spectrum.max()
    powers = rate[:, None] ** times
    gathered = noise_constant[:, None] * step * task.noise / math.sqrt(rows)
    gathered = gathered * np.sqrt((1 - powers**2) / (1 - rate[:, None] ** 2))

    def noise_term(events: float) -> np.ndarray:
        deviation = math.sqrt(2 * (1 + epsilon) * steepest * math.log(events / failure))
        return np.asarray(gathered * (math.sqrt((1 + epsilon) * trace) + deviation))

    everywhere, last = noise_term(2 * clusters * rounds), noise_term(2 * clusters)[:, -1]
    factor = start_constant[:, None] * powers
    typical = 0.5 * task.basin_radius
    totals = factor[:, -1] * typical + last
    if np.isnan(totals).all():
        return np.full(rounds + 1, np.inf), np.full(rounds + 2, np.inf)
    best = int(np.nanargmin(totals))
    return factor[best], np.append(everywhere[best], last[best])


def theorem_c_prime_parts(
    task: RegressionMixture, algorithm: CFLMGD, models: np.ndarray, rounds: int, failure: float = 0.05
) -> BoundParts:
    """Compute the bound for given first models; parameters as ``theorem_c_parts``, T >= 1.

    Raises
    ------
    InvalidArgument
        If the theorem does not apply to such a run.
    """
    setting_of(task, algorithm, np.zeros(task.clusters), rounds)
    moments = oracle_moments(task, algorithm, models, rounds)
    departing = float(np.max(departure_probability(task, moments)))
    distances = np.linalg.norm(models - task.optima, axis=-1)
    starts, everywhere, last = [], [], []
    for cluster in range(task.clusters):
        factor, noise = cluster_bound(task, algorithm, cluster, rounds, failure)
        shape = (rounds + 1, *[1] * (distances.ndim - 1))
        start = factor.reshape(shape) * distances[..., cluster]
        starts.append(start)
        everywhere.append(start + noise[:-1].reshape(shape))
        last.append(start[-1] + noise[-1])
    bound = np.stack(everywhere, axis=-1)
    return BoundParts(
        mean=np.stack(starts, axis=-1),
        variance=moments.variance,
        all_rounds=bound,
        last_round=np.stack(last, axis=-1),
        all_rounds_failure=failure + departing,
        last_round_failure=failure + departing,
        applicable=bool(np.isfinite(bound).all()) and failure + departing < 1,
    )
