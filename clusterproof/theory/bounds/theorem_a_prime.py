"""Theorem A': option I on smooth strongly convex losses, with the failure probability inside a logarithm.

**Bounded rows.** For logistic regression the proxy is Hoeffding's, X^2, and the bound is 15 times the measured error:
rows are far from their worst case. Bennett's inequality would replace it by the
covariance of a row, with a factor gamma(z / 2) where |<nu, g - E g>| <= z. Three steps are missing for it. (1) Theorem
D needs a linear recursion; with a logistic loss the Hessian depends on the model: only A' can be improved. (2) The
proof writes exp(lambda C_1^2 ||delta||^2) as a mean over Gaussian directions of any length, and gamma(z / 2) is
infinite along a long one. They have to be cut to a ball, which costs a factor 1 / (1 - eps) a round and holds only
where ||delta_k|| is below some rho_k; Lemma N would have to bound the complement, with a share of the failure
probability for each round. (3) z grows with the gradient of V, so the tube has to bound V and not only ||e||.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clusterproof.theory.bounds.rows import SubGaussianRows
from clusterproof.theory.bounds.theorem_a import Contraction
from clusterproof.theory.bounds.tube import ROUNDING

SEARCH = np.linspace(-40, 40, 401)
"""Values of log x of the first search; a finer one about the best follows, as the function is not convex."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SmoothTube:
    """Theorem A's bound with a logarithmic tail.

    Attributes
    ----------
    reach
        y_t, (rounds + 1, P).
    last_reach
        Bound after the last round, (P,).
    misassignment
        delta_cl: bound on the probability that any client is ever misassigned.
    chosen
        The certificate of each cluster.
    """

    reach: np.ndarray
    last_reach: np.ndarray
    misassignment: float
    chosen: tuple[Contraction, ...]


def theorem_a_prime(
    rows: SubGaussianRows,
    certificates: Sequence[Sequence[Contraction]],
    *,
    own: np.ndarray,
    step_size: float,
    start: np.ndarray,
    rounds: int,
    failure: tuple[float, float],
) -> SmoothTube | None:
    """Bound the error of option I at full participation, at every round and after the last.

    Hypotheses
        Full participation, division by m, server momentum updated first, fresh independent rows. phi_p L-smooth and
        mu-strongly convex; given the past the disturbance delta_k = -eta zeta_k obeys log E exp<a, delta_k> <= a' Xi a
        / 2, ||Xi|| <= sigma^2, tr Xi <= d sigma^2. A certificate V >= ||e||^2 with V <= C_0^2 ||e||^2 at rest,
        V(next) <= r^2 V, and V(z + (delta, 0)) <= V(z) + <v, delta> + C_1^2 ||delta||^2 with ||v|| <= 2 C_1 sqrt(V).

    Statement
        With w = C_1^2 sigma^2, s_t = 2 sum_(k<t) r^(2(t-1-k)) w and Y_t(u)^2 = min over x > 0 of (1 + x) [r^(2t) C_0^2
        ||e_0||^2 / x + s_t ((d/2) log(1 + 1/x) + u)]: if y_t = Y_t(log(PT / delta_2)) < B* for all t < T, then with
        probability at least 1 - delta_2 - delta_cl all ||e_(t,p)|| <= y_(t,p), and with probability at least
        1 - delta_2 - delta_3 - delta_cl also ||e_(T,p)|| <= Y_T(log(P / delta_3)).

    Proof
        Freeze the noise at the first misassigned client or the first exit. Hsu, Kakade and Zhang (2012): for 0 <=
        lambda w < 1/2 linearise exp(lambda C_1^2 ||delta||^2) = E_g exp(sqrt(2 lambda) C_1 <g, delta>), use the proxy,
        integrate g: E exp(lambda <v, delta> + lambda C_1^2 ||delta||^2) <= (1 - 2 lambda w)^(-d/2)
        exp(lambda^2 sigma^2 ||v||^2 / (2 (1 - 2 lambda w))). With ||v||^2 <= 4 C_1^2 V, in total E e^(lambda V+) <=
        (1 - 2 lambda w)^(-d/2) exp(lambda r^2 V / (1 - 2 lambda w)). Let lambda = 1 / phi_(k+1), phi_(k+1) = r^2 phi_k
        + 2w: then lambda r^2 / (1 - 2 lambda w) = 1 / phi_k and 1 - 2 lambda w = r^2 phi_k / phi_(k+1), so that the
        factors telescope: E e^(V_t / phi_t) <= (phi_t / (r^(2t) phi_0))^(d/2) e^(V_0 / phi_0). Markov, with
        phi_t = (1 + x) s_t. Union over rounds and clusters.

    Parameters
    ----------
    rows
        The law of the rows.
    certificates
        Candidates for each cluster, fixed in advance; the one with the best bound is chosen.
    own
        Clients of each cluster, (P,).
    step_size
        eta.
    start
        ||e_0|| of each cluster, (P,).
    rounds
        T.
    failure
        delta_2 and delta_3.

    Returns
    -------
    SmoothTube or None
        None if some cluster has no certificate that keeps it in the basin.
    """
    clusters, clients = len(own), int(np.sum(own))
    everywhere = math.log(clusters * max(rounds, 1) / failure[0])
    last = math.log(clusters / failure[1])
    columns = []
    for members, distance, offered in zip(own, start, certificates, strict=True):
        spread = step_size**2 * float(members) / clients**2 / rows.samples * rows.proxy
        candidates = [
            (
                *_column(certificate, float(distance), spread, rows.dimension, rounds, everywhere, last),
                certificate,
            )
            for certificate in offered
        ]
        inside = [
            column for column in candidates if column[0][:-1].max(initial=column[0][0]) < rows.largest_radius
        ]
        if not inside:
            return None
        columns.append(min(inside, key=lambda column: column[1]))
    reach = np.stack([column[0] for column in columns], axis=-1)
    wrong = sum(rows.misclassification(float(radius)) for radius in reach[:-1].max(axis=-1))
    return SmoothTube(
        reach=reach,
        last_reach=np.array([column[1] for column in columns]),
        misassignment=float(clients * (clusters - 1) * wrong),
        chosen=tuple(column[2] for column in columns),
    )


def smooth_reach(
    start: np.ndarray, spread: np.ndarray, dimension: float, level: float, x: np.ndarray
) -> np.ndarray:
    """Return Y_t^2 at a given x > 0, (1 + x) [start / x + s_t ((d/2) log(1 + 1/x) + u)].

    Parameters
    ----------
    start
        r^(2t) C_0^2 ||e_0||^2.
    spread
        s_t.
    dimension
        d, or d_eff with tr Xi <= d_eff sigma^2.
    level
        u.
    x
        Broadcastable with the others.
    """
    return np.asarray((1 + x) * (start / x + spread * (dimension / 2 * np.log1p(1 / x) + level)))


def _column(
    certificate: Contraction,
    distance: float,
    spread: float,
    dimension: int,
    rounds: int,
    everywhere: float,
    last: float,
) -> tuple[np.ndarray, float]:
    """Return Y_t at all rounds, and Y_T at the last."""
    times = np.arange(rounds + 1)
    decayed = certificate.rate ** (2 * times) * (certificate.start * distance) ** 2
    gathered = np.zeros(rounds + 1)
    for t in range(rounds):
        gathered[t + 1] = certificate.rate**2 * gathered[t] + 2 * certificate.disturbance**2 * spread
    reach = np.sqrt(_least(decayed, gathered, dimension, everywhere)) * ROUNDING
    reach[0] = distance * ROUNDING
    final = (
        np.sqrt(_least(decayed[-1:], gathered[-1:], dimension, last)[0]) * ROUNDING if rounds else reach[0]
    )
    return reach, float(final)


def _least(start: np.ndarray, spread: np.ndarray, dimension: int, level: float) -> np.ndarray:
    """Minimise over x, (T,)."""
    x = np.broadcast_to(np.exp(SEARCH), (len(start), len(SEARCH)))
    for width in (0.2, 0.01):
        values = smooth_reach(start[:, None], spread[:, None], dimension, level, x)
        best = x[np.arange(len(x)), values.argmin(axis=1)]
        x = best[:, None] * np.exp(np.linspace(-width, width, 41))
    return np.asarray(smooth_reach(start[:, None], spread[:, None], dimension, level, x).min(axis=1))
