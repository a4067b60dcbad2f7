"""Theorem C': a logarithmic tail for Gaussian regression."""

from __future__ import annotations

import math

import numpy as np

from algorithms import CFLMGD
from synthetic import RegressionMixture
from theory.bound import Parts
from theory.bound_check import check_runs
from theory.cfl_mgd.theorem_c import departure_probability, oracle_moments
from theory.claim import Context, register
from theory.experiments import Experiment, experiment
from theory.heavy_ball import propagators
from theory.settings import setting_of
from theory.verdict import Finding

RATES = 1 - np.geomspace(0.002, 0.999, 80)
"""Rates r among which the bound takes the best; it holds for each of them."""


def cluster_bound(
    task: RegressionMixture, algorithm: CFLMGD, cluster: int, rounds: int, failure: float
) -> tuple[np.ndarray, np.ndarray]:
    """Factor of ||e_0|| and additive term of one cluster, at the rate that is best after T rounds.

    Returns
    -------
    tuple
        C_0 r_bar^t, (T + 1,), and the noise's term for all t at once and, last entry, at T alone,
        (T + 2,); infinite where no rate gives r_bar < 1.
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
) -> Parts:
    """Compute the bound for given first models; parameters as ``theorem_c_parts``, T >= 1.

    Raises
    ------
    InvalidArgument
        If the theorem does not speak of such a run.
    """
    setting_of(task, algorithm, np.zeros(task.clusters), rounds)
    moments = oracle_moments(task, algorithm, models, rounds)
    departing = float(np.max(departure_probability(task, moments)))
    distances = np.linalg.norm(models - task.optima, axis=-1)
    everywhere, last = [], []
    for cluster in range(task.clusters):
        factor, noise = cluster_bound(task, algorithm, cluster, rounds, failure)
        shape = (rounds + 1, *[1] * (distances.ndim - 1))
        start = factor.reshape(shape) * distances[..., cluster]
        everywhere.append(start + noise[:-1].reshape(shape))
        last.append(start[-1] + noise[-1])
    bound = np.stack(everywhere, axis=-1)
    return Parts(
        mean=moments.mean,
        variance=moments.variance,
        all_rounds=bound,
        last_round=np.stack(last, axis=-1),
        all_rounds_failure=failure + departing,
        last_round_failure=failure + departing,
        applicable=bool(np.isfinite(bound).all()) and failure + departing < 1,
    )


def _parts(one: Experiment, initial: np.ndarray) -> Parts:
    return theorem_c_prime_parts(one.regression, one.algorithm, initial, one.rounds)


@register("cfl-mgd/theorem-c-prime", label="Theorem C' (ours)", kind="probability")
def theorem_c_prime(context: Context) -> Finding:
    """Gaussian regression: the failure probability enters the bound through its logarithm only.

    Hypotheses
        As Theorem C.

    Statement
        With u = sqrt(2 log(4PT / delta)), N = l_p m n', omega = sqrt(d/N) + u / sqrt(N),
        eps = 2 omega + omega^2; for any r > 0 with C_0 = sup_(k<=T,j) r^-k |Pi_k(a_j)|,
        C_1 = sup_(k<=T,j) r^-k |h_k(a_j)| and r_bar = r + C_1 alpha_p L eps < 1: with probability at
        least 1 - delta - delta_cl, for all p,
        ||chi_p^T - chi*_p|| <= C_0 r_bar^T ||e_0|| + (C_1 alpha_p s / sqrt(N))
        sqrt((1 - r_bar^(2T)) / (1 - r_bar^2)) [sqrt((1 + eps) tr Sigma)
        + sqrt(2 (1 + eps) L log(2P / delta))]. With log(2PT / delta) it holds for all t <= T at once.

    Proof
        Given the designs the error is Gaussian. Davidson-Szarek for all PT pooled designs: relative
        deviation at most eps with probability 1 - delta/2. The finite-horizon norm
        sup_(k<=T-t) r^-k ||[A^k z]_1|| contracts by r and charges a disturbance by C_1. The noise's
        covariance has trace and largest eigenvalue as in the bracket; Borell-TIS with delta/2.

    Symbols
        As Theorem C; A the companion matrix, s ``noise``.

    Source
        Ours (audit of CFL-MGD, section 6). Upper bound; r is the best of 80 fixed ones.

    Checked
        Runs with real data from random starts on S1, S2 and S3 of the audit, at every round.
    """
    experiments = [
        experiment("S1", 0.0),
        experiment("S1", None),
        experiment("S2", 0.0),
        experiment("S2", 0.5),
        experiment("S2", None),
        experiment("S3", None),
    ]
    return check_runs(_parts, experiments, context, claim="cfl-mgd/theorem-c-prime", replicates=200)
