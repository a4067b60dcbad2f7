"""Exact second moments of option I on Gaussian regression with every client in its own cluster.

With N = l_p m n', a_j = alpha_p lambda_j and A_j = 1 + beta - a_j the
moments M_j = E e_j^2 and X_j = E e_j e_j(previous), coordinates along the eigenvectors of Sigma, obey

    M_j' = A_j^2 M_j - 2 beta A_j X_j + beta^2 M_j(previous)
           + (alpha_p^2 / N) (lambda_j^2 M_j + lambda_j sum_k lambda_k M_k + s^2 lambda_j)
    X_j' = A_j M_j - beta X_j

because E (S - Sigma) M (S - Sigma) = (Sigma M Sigma + tr(Sigma M) Sigma) / N for the sample
covariance S of N rows.
"""

from __future__ import annotations

import numpy as np

from clusterproof.theory.exact.heavy_ball import propagators


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
    """Return the squared mean error and the variance of the error at every round.

    Parameters
    ----------
    spectrum
        Eigenvalues lambda_j of Sigma, (d,).
    start
        e_0 along the eigenvectors, (..., d).
    step
        alpha_p = eta l_p.
    momentum, noise
        beta and s.
    rows
        N = l_p m n', the number of rows in a round's averaged gradient.
    rounds
        T.

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
