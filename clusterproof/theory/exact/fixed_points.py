"""Fixed points of each algorithm on quadratics, in closed form.

With phi_i(w) = (w - b_i)' A_i (w - b_i) / 2 a client's round is an affine map of what it receives,
w -> w - Q_i (w - b_i), with a matrix Q_i that depends on the algorithm. The mean of these maps is at
rest where sum_i Q_i (w - b_i) = 0, hence

    w* = (sum_i Q_i)^-1 sum_i Q_i b_i,

a mean of the clients' optima weighted by matrices. FedAvg with one step has Q_i = eta A_i and rests
at the exact optimum of the mean loss; any other Q_i moves the point, which is called client drift.

All functions take ``hessians`` A_i (m, d, d), symmetric positive definite, and ``centers`` b_i (m, d);
results are in the units of ``centers``. Participation is full. Clients have equal weights, or ``shares`` p_i (m,)
that stand before every Q_i: n_i / n where samples weigh.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.linalg import inv, matrix_power, solve


def weighted_mean(weights: np.ndarray, centers: np.ndarray, shares: np.ndarray | None = None) -> np.ndarray:
    """(sum_i p_i Q_i)^-1 sum_i p_i Q_i b_i.

    Parameters
    ----------
    weights
        Q_i, (m, d, d).
    centers
        b_i, (m, d).
    shares
        p_i, positive (m,), in any unit; equal if None.

    Returns
    -------
    numpy.ndarray
        (d,).
    """
    if shares is not None:
        weights = shares[:, None, None] / np.sum(shares) * weights
    return np.asarray(solve(weights.sum(axis=0), np.einsum("mij,mj->i", weights, centers)))


def exact(hessians: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Minimiser of the mean loss: Q_i = A_i, (d,)."""
    return weighted_mean(hessians, centers)


def local(centers: np.ndarray) -> np.ndarray:
    """LOCAL rests at every client's own optimum, (m, d)."""
    return centers


def fedavg(
    hessians: np.ndarray,
    centers: np.ndarray,
    *,
    step_size: float,
    local_steps: int | np.ndarray = 1,
    shares: np.ndarray | None = None,
) -> np.ndarray:
    """FedAvg with H steps: Q_i = I - (I - eta A_i)^H, (d,); any server step size rests there, too.

    A step is w - b -> (I - eta A)(w - b). H = 1 gives the exact optimum, H -> infinity Q_i = I, the
    plain mean of the clients' optima. ``local_steps`` may be one number a client, integers (m,).
    """
    return weighted_mean(covered(hessians, step_size, local_steps), centers, shares)


def covered(hessians: np.ndarray, step_size: float, local_steps: int | np.ndarray) -> np.ndarray:
    """Part of its way to the minimiser that a client covers, C_i = I - (I - eta A_i)^H_i, (m, d, d)."""
    identity = np.eye(hessians.shape[-1])
    counts = np.broadcast_to(local_steps, len(hessians))
    steps = identity - step_size * hessians
    return np.stack([identity - matrix_power(step, count) for step, count in zip(steps, counts, strict=True)])


def sums_of_powers(hessians: np.ndarray, step_size: float, local_steps: int) -> np.ndarray:
    """Sum of (I - eta A_i)^k over k < H, (m, d, d): (eta A_i)^-1 C_i, without the rounding of C_i for small eta A_i."""
    identity = np.eye(hessians.shape[-1])
    result = []
    for step in identity - step_size * hessians:
        power, total = identity, 0 * identity  # step^n and the sum of n powers
        for digit in f"{local_steps:b}":
            power, total = power @ power, total + power @ total
            if digit == "1":
                power, total = power @ step, total + power
        result.append(total)
    return np.stack(result)


def pulled(hessians: np.ndarray, centers: np.ndarray, common: np.ndarray, strength: float) -> np.ndarray:
    """Minimisers of phi_i(v) + strength / 2 ||v - common||^2, (m, d)."""
    curvature = hessians + strength * np.eye(centers.shape[1])
    right = np.einsum("mij,mj->mi", hessians, centers) + strength * common
    return np.asarray(solve(curvature, right[..., None])[..., 0])


def fedprox(
    hessians: np.ndarray,
    centers: np.ndarray,
    *,
    proximal: float,
    step_size: float | None = None,
    local_steps: int | None = None,
    shares: np.ndarray | None = None,
) -> np.ndarray:
    """FedProx with H steps: Q_i = (I - (I - eta (A_i + mu I))^H) (A_i + mu I)^-1 A_i, (d,).

    The local objective has the Hessian A + mu I and its minimiser at w - (A + mu I)^-1 A (w - b); H
    steps cover the fraction I - (I - eta (A + mu I))^H of the way. Without ``local_steps`` the local
    problems are solved exactly: Q_i = (A_i + mu I)^-1 A_i.
    """
    return weighted_mean(pulled_cover(hessians, proximal, step_size, local_steps), centers, shares)


def pulled_cover(
    hessians: np.ndarray, proximal: float, step_size: float | None, local_steps: int | None
) -> np.ndarray:
    """Q_i of ``fedprox``, (m, d, d)."""
    curvature = hessians + proximal * np.eye(hessians.shape[-1])
    weights = inv(curvature) @ hessians
    if local_steps is not None and step_size is not None:
        weights = covered(curvature, step_size, local_steps) @ weights
    return np.asarray(weights)


def fedbcd(hessians: np.ndarray, centers: np.ndarray, *, proximal: float) -> tuple[np.ndarray, np.ndarray]:
    """Penalised FedBCD: the fixed point of exact FedProx, for any number of steps, and the personal models.

    At rest x_i = argmin phi_i(x) + mu/2 ||x - z||^2 = (A_i + mu I)^-1 (A_i b_i + mu z), since x_i is
    kept between rounds, and z = mean x_i, that is sum_i (A_i + mu I)^-1 A_i (z - b_i) = 0. The
    paper's rho is mu / 2.

    Returns
    -------
    tuple
        z (d,) and x_i (m, d).
    """
    common = fedprox(hessians, centers, proximal=proximal)
    return common, pulled(hessians, centers, common, proximal)


def fedbcd_separate(
    hessians: np.ndarray, centers: np.ndarray, *, step_size: float, local_steps: int, pull: float
) -> tuple[np.ndarray, np.ndarray]:
    """FedBCD-I: Q_i = (I - c M_i)^-1 (I - M_i) with M_i = (I - eta A_i)^n and c = (1 - pull)^n.

    A round is x -> z + c (b + M (x - b) - z). At rest (I - c M)(x - z) = c (I - M)(b - z), and
    z = mean x_i requires sum_i (x_i - z) = 0. As pull -> 1 the weight becomes FedAvg's, though z then
    moves ever more slowly, by the fraction c of FedAvg's step; as pull -> 0 it becomes I.

    Returns
    -------
    tuple
        z (d,) and x_i (m, d).
    """
    identity = np.eye(centers.shape[1])
    power = matrix_power(identity - step_size * hessians, local_steps)
    retained = (1 - pull) ** local_steps
    weights = inv(identity - retained * power) @ (identity - power)
    common = weighted_mean(weights, centers)
    return common, common + retained * np.einsum("mij,mj->mi", weights, centers - common)


def per_fedavg(
    hessians: np.ndarray,
    centers: np.ndarray,
    *,
    step_size: float,
    inner_step_size: float,
    local_steps: int = 1,
    second_order: bool,
    shares: np.ndarray | None = None,
) -> np.ndarray:
    """Per-FedAvg: Q_i = I - (I - beta J_i A_i (I - alpha A_i))^tau, (d,).

    The gradient after the inner step is A (I - alpha A)(w - b); J_i = I - alpha A_i with the
    second-order factor (HF) and I without (FO). With it and tau = 1 this is the minimiser of the mean
    of phi_i(w - alpha grad phi_i(w)).
    """
    identity = np.eye(centers.shape[1])
    inner = identity - inner_step_size * hessians
    curvature = hessians @ inner
    if second_order:
        curvature = inner @ curvature
    weights = identity - matrix_power(identity - step_size * curvature, local_steps)
    return weighted_mean(weights, centers, shares)


def cfl_mgd(
    hessians: np.ndarray,
    centers: np.ndarray,
    *,
    step_size: float,
    momentum: float,
    local_steps: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """CFL-MGD, option II, inside one cluster: the model and the momentum at rest, both (d,).

    A local step is linear in (chi - b, u) with M = [[I - eta A, -eta beta I], [A, beta I]], and the
    mean over clients is at rest where sum_i (I - M_i^H)(z - (b_i, 0)) = 0. One step gives u = 0 and
    the exact optimum, which is that of option I, too.
    """
    dimension = centers.shape[1]
    identity = np.broadcast_to(np.eye(dimension), hessians.shape)
    step = np.block(
        [
            [identity - step_size * hessians, -step_size * momentum * identity],
            [hessians, momentum * identity],
        ]
    )
    weights = np.eye(2 * dimension) - matrix_power(step, local_steps)
    rest = weighted_mean(weights, np.concatenate([centers, np.zeros_like(centers)], axis=1))
    return rest[:dimension], rest[dimension:]


def within_clusters(
    fixed_point: Callable[[np.ndarray, np.ndarray], np.ndarray],
    hessians: np.ndarray,
    centers: np.ndarray,
    labels: np.ndarray,
) -> np.ndarray:
    """Apply a fixed point inside each cluster: IFCA, GL-CFL, CFL and SoFL once the clusters are right.

    Parameters
    ----------
    fixed_point
        Takes the hessians and centres of a cluster's clients and returns (d,).
    labels
        Cluster of each client, integers (m,) in which each of 0 .. P - 1 occurs.

    Returns
    -------
    numpy.ndarray
        (P, d).
    """
    groups = [labels == cluster for cluster in range(int(labels.max()) + 1)]
    return np.stack([fixed_point(hessians[group], centers[group]) for group in groups])
