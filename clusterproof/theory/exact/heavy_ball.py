"""Gradient descent with momentum on quadratics, one curvature at a time.

Per eigenvalue, with a = step * curvature, beta the momentum and e_(-1) = e_0::

    e_(t+1) = (1 + beta - a) e_t - beta e_(t-1)

Then e_t = Pi_t(a) e_0, and a unit disturbance of e_1 propagates as h_t(a). Audit of CFL-MGD, section 3.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def propagators(curvature: Any, momentum: float, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the response to the start, Pi_t(a), and to an impulse, h_t(a), for t = 0 .. rounds.

    Parameters
    ----------
    curvature
        a = step * eigenvalue, any shape.
    momentum
        beta.
    rounds
        T.

    Returns
    -------
    tuple
        Two arrays (T + 1, *shape), Pi_0 = h_0 = 1.
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

    It is sqrt(beta) if beta >= (1 - sqrt(a))^2, else the larger real root; any real a is allowed.

    Parameters
    ----------
    curvature
        a = step * eigenvalue, any shape.
    momentum
        beta in [0, 1).
    """
    a = np.asarray(curvature, dtype=float)
    half_trace = (1 + momentum - a) / 2
    discriminant = half_trace**2 - momentum
    real = np.abs(half_trace) + np.sqrt(np.maximum(discriminant, 0.0))
    return np.where(discriminant <= 0, math.sqrt(momentum), real)


def start_envelope(smallest: float, largest: float, momentum: float, rounds: int) -> np.ndarray:
    """Return a closed-form bound on max |Pi_t(a)| over a in [smallest, largest], largest <= 1: ``cfl-mgd/lemma-h``.

    Beyond 1 - beta the constant comes from the proof of case (iii), at the largest a itself. It is 1 at a = 1 - beta,
    where the other case applies, so that the envelope is continuous there.

    Parameters
    ----------
    smallest, largest
        Range of a = step * eigenvalue, 0 < smallest <= largest <= 1.
    momentum
        beta in [0, 1).
    rounds
        T.

    Returns
    -------
    numpy.ndarray
        (T + 1,).
    """
    q = math.sqrt(momentum)
    times = np.arange(rounds + 1)
    envelope = np.zeros(rounds + 1)
    if smallest < (1 - q) ** 2:
        envelope = np.maximum(envelope, propagators(smallest, momentum, rounds)[0])
    if largest >= (1 - q) ** 2:
        envelope = np.maximum(envelope, q**times * (1 + (1 - q) * times))
    if largest > 1 - momentum:
        excess = (largest - 1 + momentum) ** 2 / (4 * largest * momentum)  # increases with the largest a
        envelope = np.maximum(envelope, q**times / math.sqrt(1 - excess))
    return envelope


def impulse_energy(curvature: Any, momentum: float) -> np.ndarray:
    """Return the sum over t of h_t(a)^2 = (1 + beta) / ((1 - beta) a (2 (1 + beta) - a)), any shape.

    Parameters
    ----------
    curvature
        a in (0, 2 (1 + beta)).
    momentum
        beta in [0, 1).
    """
    a = np.asarray(curvature, dtype=float)
    return np.asarray((1 + momentum) / ((1 - momentum) * a * (2 * (1 + momentum) - a)))
