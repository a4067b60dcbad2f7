"""Best values of the momentum according to the repaired theorems.

Consider quadratics with step size eta and proportion l_p, and let alpha = eta l_p. Momentum beta improves the rate 1
- alpha mu of plain descent exactly if 0 < beta < (1 - alpha mu)^2. The best beta is (1 - sqrt(alpha mu))^2. With
noise, the stationary error is proportional to 1 / sqrt(1 - beta), so the best momentum for T rounds decreases to 0 as
T grows. Audit of CFL-MGD, section 6.3.
"""

from __future__ import annotations

import math

import numpy as np

from clusterproof.common.validation import check_count, check_number
from clusterproof.theory.exact.heavy_ball import error_moments, impulse_energy


def helpful_limit(flattest: float) -> float:
    """Return (1 - alpha mu)^2, below which every positive momentum improves the rate on quadratics. See ``fastest``."""
    check_number("flattest", flattest, above=0, at_most=1, remedy="give step_size * proportion * mu")
    return (1 - flattest) ** 2


def fastest(flattest: float) -> float:
    """Return (1 - sqrt(alpha mu))^2, the momentum with the best rate on quadratics, which is 1 - sqrt(alpha mu).

    Parameters
    ----------
    flattest
        alpha_p mu = eta l_p mu, in (0, 1]. With the momentum for the smallest proportion, all clusters have the same
        rate.

    Raises
    ------
    InvalidArgument
        If ``flattest`` is not in (0, 1].
    """
    check_number("flattest", flattest, above=0, at_most=1, remedy="give step_size * proportion * mu")
    return (1 - math.sqrt(flattest)) ** 2


def best_for_horizon(
    spectrum: np.ndarray,
    start: np.ndarray,
    *,
    step: float,
    noise: float,
    rows: float,
    rounds: int,
    resolution: float = 0.005,
) -> float:
    """Return the momentum with the smallest exact mean squared error after T rounds of Gaussian regression.

    Parameters
    ----------
    spectrum, start
        Eigenvalues of Sigma, and components of e_0 along the eigenvectors, (d,).
    step
        Effective step size alpha_p = eta l_p.
    noise
        Standard deviation s of a response.
    rows
        Number of samples per round, N = l_p m n'.
    rounds
        Number of rounds T.
    resolution
        Spacing of the momenta to try, from 0 to 0.99.

    Raises
    ------
    InvalidArgument
        If a number is out of range.
    """
    check_count("rounds", rounds, at_least=1, remedy="give the number of rounds")
    check_number("resolution", resolution, above=0, below=0.5, remedy="0.005 is fine")

    def error(momentum: float) -> float:
        mean, variance = error_moments(
            spectrum, start, step=step, momentum=momentum, noise=noise, rows=rows, rounds=rounds
        )
        return float(mean[-1] + variance[-1])

    momenta: list[float] = np.arange(0, 0.99 + resolution / 2, resolution).tolist()
    return min(momenta, key=error)


def noise_floor(spectrum: np.ndarray, *, step: float, momentum: float, noise: float, rows: float) -> float:
    """Return the root mean square of the stationary error with additive noise.

    It is [sum_j (alpha^2 s^2 lambda_j / N) (1 + beta) / ((1 - beta) a_j (2 (1 + beta) - a_j))]^(1/2).

    Parameters
    ----------
    spectrum
        Eigenvalues of Sigma, (d,).
    step
        Effective step size alpha_p = eta l_p.
    momentum
        Momentum beta.
    noise
        Standard deviation s of a response.
    rows
        Number of samples per round, N = l_p m n'.
    """
    energy = impulse_energy(step * spectrum, momentum)
    return float(np.sqrt((step**2 * noise**2 * spectrum / rows * energy).sum()))
