"""Gradient descent with momentum along one eigenvector of a quadratic: errors, moments, Lyapunov functions.

For one eigenvalue, let a = step * curvature, let beta be the momentum, and let e_(-1) = e_0. Then::

    e_(t+1) = (1 + beta - a) e_t - beta e_(t-1)

Then e_t = Pi_t(a) e_0, and a unit disturbance of e_1 propagates as h_t(a). Audit of CFL-MGD, section 3.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clusterproof.common.validation import check_number


def propagators(curvature: Any, momentum: float, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the response Pi_t(a) to the initial error, and the response h_t(a) to an impulse, for t = 0 .. rounds.

    Parameters
    ----------
    curvature
        Product a = step * eigenvalue, any shape.
    momentum
        Momentum beta.
    rounds
        Number of rounds T.

    Returns
    -------
    tuple
        Two arrays (T + 1, *shape), with Pi_0 = h_0 = 1.
    """
    a = np.asarray(curvature, dtype=float)
    start = np.ones((rounds + 1, *a.shape))
    impulse = np.ones((rounds + 1, *a.shape))
    previous_start, previous_impulse = np.ones(a.shape), np.zeros(a.shape)
    for t in range(rounds):
        start[t + 1] = (1 + momentum - a) * start[t] - momentum * previous_start
        impulse[t + 1] = (1 + momentum - a) * impulse[t] - momentum * previous_impulse
        previous_start, previous_impulse = start[t], impulse[t]
    return start, impulse


def spectral_rate(curvature: Any, momentum: float) -> np.ndarray:
    """Return the asymptotic rate r(a): spectral radius of the companion matrix ((1+beta-a, -beta), (1, 0)).

    The rate is sqrt(beta) if beta >= (1 - sqrt(a))^2, otherwise the larger real root. Any real a is allowed.

    Parameters
    ----------
    curvature
        Product a = step * eigenvalue, any shape.
    momentum
        Momentum beta in [0, 1).
    """
    a = np.asarray(curvature, dtype=float)
    half_trace = (1 + momentum - a) / 2
    discriminant = half_trace**2 - momentum
    real = np.abs(half_trace) + np.sqrt(np.maximum(discriminant, 0.0))
    return np.where(discriminant <= 0, math.sqrt(momentum), real)


def start_envelope(smallest: float, largest: float, momentum: float, rounds: int) -> np.ndarray:
    """Return the closed-form bound of ``cfl-mgd/lemma-h`` on max |Pi_t(a)| over a in [smallest, largest].

    For a above 1 - beta, the constant is from the proof of case (iii), for the largest a. For a = 1 - beta the
    constant is 1, so the bound is continuous.

    Parameters
    ----------
    smallest, largest
        Range of a = step * eigenvalue, 0 < smallest <= largest <= 1.
    momentum
        Momentum beta in [0, 1).
    rounds
        Number of rounds T.

    Returns
    -------
    numpy.ndarray
        The bound for t = 0 .. T, (T + 1,).
    """
    q = math.sqrt(momentum)
    times = np.arange(rounds + 1)
    envelope = np.zeros(rounds + 1)
    if smallest < (1 - q) ** 2:
        envelope = np.maximum(envelope, propagators(smallest, momentum, rounds)[0])
    if largest >= (1 - q) ** 2:
        envelope = np.maximum(envelope, q**times * (1 + (1 - q) * times))
    if largest > 1 - momentum:
        excess = (largest - 1 + momentum) ** 2 / (
            4 * largest * momentum
        )  # this constant increases with the largest a
        envelope = np.maximum(envelope, q**times / math.sqrt(1 - excess))
    return envelope


def impulse_energy(curvature: Any, momentum: float) -> np.ndarray:
    """Return the sum over t of h_t(a)^2 = (1 + beta) / ((1 - beta) a (2 (1 + beta) - a)), any shape.

    Parameters
    ----------
    curvature
        Product a = step * eigenvalue, in (0, 2 (1 + beta)).
    momentum
        Momentum beta in [0, 1).
    """
    a = np.asarray(curvature, dtype=float)
    return np.asarray((1 + momentum) / ((1 - momentum) * a * (2 * (1 + momentum) - a)))


def error_moments(
    spectrum: np.ndarray,
    start: np.ndarray,
    *,
    step: float,
    momentum: float,
    noise: float,
    rows: float,
    rounds: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared mean and the variance of the error under option I if every client is in its true cluster.

    On Gaussian regression, let N = l_p m n', a_j = alpha_p lambda_j and A_j = 1 + beta - a_j. Coordinates are along the
    eigenvectors of Sigma. The moments M_j = E e_j^2 and X_j = E e_j e_j(previous) satisfy

        M_j' = A_j^2 M_j - 2 beta A_j X_j + beta^2 M_j(previous)
               + (alpha_p^2 / N) (lambda_j^2 M_j + lambda_j sum_k lambda_k M_k + s^2 lambda_j)
        X_j' = A_j M_j - beta X_j

    because E (S - Sigma) M (S - Sigma) = (Sigma M Sigma + tr(Sigma M) Sigma) / N for the covariance S of N samples.

    Parameters
    ----------
    spectrum
        Eigenvalues lambda_j of Sigma, (d,).
    start
        Components of e_0 along the eigenvectors, (..., d).
    step
        Effective step size alpha_p = eta l_p.
    momentum, noise
        Momentum beta, and standard deviation s of the noise.
    rows
        Number of samples in the averaged gradient of a round, N = l_p m n'.
    rounds
        Number of rounds T.

    Returns
    -------
    tuple
        ||Pi_t e_0||^2 and sum_j M_j - ||Pi_t e_0||^2, both (T + 1, ...).
    """
    curvature = step * spectrum
    factor = 1 + momentum - curvature
    square, twice, lag = factor**2, 2 * momentum * factor, momentum**2
    steep, rough, share = spectrum**2, noise**2 * spectrum, step**2 / rows
    moment, previous, cross = start**2, start**2, start**2
    moments = [moment]
    for _ in range(rounds):
        weighted = (spectrum * moment).sum(axis=-1, keepdims=True)
        inflow = steep * moment + spectrum * weighted + rough
        following = square * moment - twice * cross + lag * previous
        cross = factor * moment - momentum * cross
        moment, previous = following + share * inflow, moment
        moments.append(moment)
    response, _ = propagators(curvature, momentum, rounds)
    shape = (rounds + 1, *[1] * (start.ndim - 1), len(spectrum))
    mean = (response.reshape(shape) * start) ** 2
    squared_mean = mean.sum(axis=-1)
    return squared_mean, np.maximum(np.stack(moments).sum(axis=-1) - squared_mean, 0.0)


def lyapunov_matrix(curvature: float, momentum: float, rate: float) -> np.ndarray:
    """Return P(a; r), the (2, 2) matrix of the quadratic Lyapunov function for one eigenvalue, in closed form.

    The recursion is z_(t+1) = A z_t with z_t = (e_t, e_(t-1)) and the companion matrix A = ((1 + beta - a, -beta),
    (1, 0)). For any r above the spectral radius, let P(a; r) = sum over k of r^(-2k) (A^k)' diag(1, 0) A^k. Then V(z)
    = z' P z is a squared norm with V >= e_t^2 and V(A z) <= r^2 V(z). Audit of CFL-MGD, section 6.

    The entry (0, 0) of P is C_1^2, the increase of V after a unit disturbance of e_t. The sum of the entries is
    C_0^2, the value of V for an initial error of 1 without momentum.

    Parameters
    ----------
    curvature
        Product a = step * eigenvalue.
    momentum
        Momentum beta in [0, 1).
    rate
        Rate r, above the spectral radius of A.

    Raises
    ------
    InvalidArgument
        If the rate is at most the spectral radius, because then the sum diverges.
    """
    radius = float(spectral_rate(curvature, momentum))
    check_number("rate", rate, above=radius, remedy="give a rate above the spectral radius of the mode")
    impulse, mixed, previous = entries(curvature, momentum, rate)
    return np.array([[impulse, mixed], [mixed, previous]])


def entries(curvature: Any, momentum: Any, rate: Any) -> tuple[Any, Any, Any]:
    """Return the entries (0, 0), (0, 1) and (1, 1) of P(a; r), in floats or in rationals."""
    trace, determinant = (1 + momentum - curvature) / rate, momentum / rate**2
    impulse = (1 + determinant) / ((1 - determinant) * ((1 + determinant) ** 2 - trace**2))
    mixed = -momentum / rate * trace / (1 + determinant) * impulse
    return impulse, mixed, (momentum / rate) ** 2 * impulse
