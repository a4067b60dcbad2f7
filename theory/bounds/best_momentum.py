"""What the repaired theorems say about the choice of the momentum.

On quadratics with step size eta and proportion l_p (alpha = eta l_p), momentum improves on plain
descent's rate 1 - alpha mu exactly for 0 < beta < (1 - alpha mu)^2, and the best is
(1 - sqrt(alpha mu))^2. Noise argues against: the floor grows like 1 / sqrt(1 - beta), so that the best
momentum for T rounds falls back to 0 as T grows. Audit of CFL-MGD, section 6.3.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from clusterproof.algorithms.validation import check_count, check_number
from clusterproof.theory.instruments.exact_moments import error_moments
from clusterproof.theory.instruments.heavy_ball import impulse_energy


def helpful_limit(flattest: float) -> float:
    """(1 - alpha mu)^2: momentum speeds the cluster up, on quadratics, exactly below it.

    Parameters
    ----------
    flattest
        alpha_p mu = eta l_p mu, in (0, 1].

    Raises
    ------
    InvalidArgument
        If it is outside.
    """
    check_number("flattest", flattest, above=0, at_most=1, remedy="it is step_size * proportion * mu")
    return (1 - flattest) ** 2


def fastest(flattest: float) -> float:
    """(1 - sqrt(alpha mu))^2: the momentum of the best rate, 1 - sqrt(alpha mu), on quadratics.

    Parameters
    ----------
    flattest
        alpha_p mu, in (0, 1]; with the smallest proportion, all clusters share the rate.

    Raises
    ------
    InvalidArgument
        If it is outside.
    """
    check_number("flattest", flattest, above=0, at_most=1, remedy="it is step_size * proportion * mu")
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
    """Momentum with the smallest exact mean squared error after T rounds of Gaussian regression.

    Parameters
    ----------
    spectrum, start
        Eigenvalues of Sigma and e_0 along the eigenvectors, (d,).
    step
        alpha_p = eta l_p.
    noise, rows
        s, and N = l_p m n'.
    rounds
        T.
    resolution
        Spacing of the momenta that are tried, from 0 to 0.99.

    Raises
    ------
    InvalidArgument
        If a number is out of range.
    """
    check_count("rounds", rounds, at_least=1, remedy="give the number of rounds")
    check_number("resolution", resolution, above=0, below=0.5, remedy="0.005 is fine")
    momenta = np.arange(0, 0.99 + resolution / 2, resolution)
    errors = []
    for momentum in momenta:
        mean, variance = error_moments(
            spectrum, start, step=step, momentum=float(momentum), noise=noise, rows=rows, rounds=rounds
        )
        errors.append(mean[-1] + variance[-1])
    return float(momenta[int(np.argmin(errors))])


def noise_floor(spectrum: np.ndarray, *, step: float, momentum: float, noise: float, rows: float) -> float:
    """Stationary root mean square of the error from additive noise alone.

    [sum_j (alpha^2 s^2 lambda_j / N) (1 + beta) / ((1 - beta) a_j (2 (1 + beta) - a_j))]^(1/2).

    Parameters
    ----------
    spectrum
        Eigenvalues of Sigma, (d,).
    step, momentum, noise, rows
        alpha_p, beta, s and N = l_p m n'.
    """
    energy = impulse_energy(step * spectrum, momentum)
    return float(np.sqrt((step**2 * noise**2 * spectrum / rows * energy).sum()))


def largest_certified(condition_number: float, proportion: float, resolution: float = 0.002) -> float:
    """Largest momentum on a grid up to which every one has a certificate on smooth functions.

    Parameters
    ----------
    condition_number, proportion
        kappa and l_p, with step_size 1/L.
    resolution
        To which the end of the certified range is bisected.

    Returns
    -------
    float
        Momenta beyond it are not shown to be unstable.

    Raises
    ------
    InvalidArgument
        If a number is out of range.
    """
    from clusterproof.theory.certificate import certify

    low, high = Fraction(0), Fraction(99, 100)
    while high - low > Fraction(resolution):
        middle = ((low + high) / 2).limit_denominator(10**4)
        if certify(middle, condition_number, proportion, function_class="smooth"):
            low = middle
        else:
            high = middle
    return float(low)
