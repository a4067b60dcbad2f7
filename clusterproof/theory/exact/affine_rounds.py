"""Rounds on quadratics as affine maps: their matrices, whose spectral radius is the rate, and where they rest.

With phi_i(w) = (w - b_i)' A_i (w - b_i) / 2 a client's round is an affine map of what it receives,
w -> w - Q_i (w - b_i), with a matrix Q_i that depends on the algorithm. The mean of these maps is at
rest where sum_i Q_i (w - b_i) = 0, hence

    w* = (sum_i Q_i)^-1 sum_i Q_i b_i,

a mean of the clients' optima weighted by matrices. FedAvg with one step has Q_i = eta A_i and rests
at the exact optimum of the mean loss; any other Q_i moves the point, which is called client drift. With all clients in
every round the state's distance from its fixed point is multiplied by a matrix in every round (``..._map``).

All functions take ``hessians`` A_i (m, d, d), symmetric positive definite, and ``centers`` b_i (m, d); results are in
the units of ``centers``. Clients have equal weights, or ``shares`` p_i (m,) that stand before every Q_i: n_i / n where
samples weigh; with the shares of groups of clients that have the same Hessian, a map is that of the groups' means. The
radius is that of the distance; it may hold modes of control variates that no model shows, and at a double eigenvalue it
has half of its digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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


def exact_rest(hessians: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Minimiser of the mean loss: Q_i = A_i, (d,)."""
    return weighted_mean(hessians, centers)


def local_rest(centers: np.ndarray) -> np.ndarray:
    """LOCAL rests at every client's own optimum, (m, d)."""
    return centers


def fedavg_rest(
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


def fedprox_rest(
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
    """Q_i of ``fedprox_rest``, (m, d, d)."""
    curvature = hessians + proximal * np.eye(hessians.shape[-1])
    weights = inv(curvature) @ hessians
    if local_steps is not None and step_size is not None:
        weights = covered(curvature, step_size, local_steps) @ weights
    return np.asarray(weights)


def fedbcd_rest(
    hessians: np.ndarray, centers: np.ndarray, *, proximal: float
) -> tuple[np.ndarray, np.ndarray]:
    """Penalised FedBCD: the fixed point of exact FedProx, for any number of steps, and the personal models.

    At rest x_i = argmin phi_i(x) + mu/2 ||x - z||^2 = (A_i + mu I)^-1 (A_i b_i + mu z), since x_i is
    kept between rounds, and z = mean x_i, that is sum_i (A_i + mu I)^-1 A_i (z - b_i) = 0. The
    paper's rho is mu / 2.

    Returns
    -------
    tuple
        z (d,) and x_i (m, d).
    """
    common = fedprox_rest(hessians, centers, proximal=proximal)
    return common, pulled(hessians, centers, common, proximal)


def fedbcd_separate_rest(
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


def per_fedavg_rest(
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


def cfl_mgd_rest(
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


def radius(matrix: np.ndarray) -> float:
    """Largest absolute eigenvalue of a square matrix."""
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def _weights(hessians: np.ndarray, shares: np.ndarray | None) -> np.ndarray:
    """Return the shares p_i (m,), equal if None."""
    return np.full(len(hessians), 1 / len(hessians)) if shares is None else np.asarray(shares)


def averaging_map(
    covers: np.ndarray, *, server_step_size: float = 1.0, shares: np.ndarray | None = None
) -> np.ndarray:
    """FedAvg or FedProx on x, I - eta_g sum_i p_i Q_i, (d, d); Q_i (m, d, d) is ``covered`` or ``pulled_cover``."""
    mean = np.einsum("m,mij->ij", _weights(covers, shares), covers)
    return np.asarray(np.eye(covers.shape[-1]) - server_step_size * mean)


def fedlin_map(
    hessians: np.ndarray, *, step_size: float, local_steps: int, shares: np.ndarray | None = None
) -> np.ndarray:
    """FedLin on x, I - eta mean_i(sum over k < K of (I - eta A_i)^k) mean A_i, (d, d).

    A client's y_k - x obeys z <- (I - eta A_i) z - eta (mean A) (x - x*), from 0.
    """
    share = _weights(hessians, shares)
    sums = sums_of_powers(hessians, step_size, local_steps)
    mean, total = (np.einsum("m,mij->ij", share, each) for each in (hessians, sums))
    return np.asarray(np.eye(hessians.shape[-1]) - step_size * total @ mean)


def scaffold_map(
    hessians: np.ndarray,
    *,
    step_size: float,
    local_steps: int,
    option: str,
    server_step_size: float = 1.0,
    shares: np.ndarray | None = None,
) -> np.ndarray:
    """SCAFFOLD on (x, c_1, ..., c_m) with c the mean of the c_i, ((1 + m) d, (1 + m) d).

    With phi_i the mean of (I - eta A_i)^k over k < K, C_i = K eta phi_i A_i, and distances e of x and gamma_i of c_i
    from their fixed points::

        e <- (I - eta_g mean C_i) e - eta_g K eta mean phi_i (mean gamma - gamma_i)
        gamma_i <- A_i e                                          option I
        gamma_i <- phi_i A_i e - (I - phi_i) (mean gamma - gamma_i)   option II
    """
    clients, dimension, _ = hessians.shape
    identity, length = np.eye(dimension), local_steps * step_size
    share = _weights(hessians, shares)
    phi = sums_of_powers(hessians, step_size, local_steps) / local_steps
    cover = length * phi @ hessians
    result = np.zeros((1 + clients, dimension, 1 + clients, dimension))
    result[0, :, 0] = identity - server_step_size * np.einsum("m,mij->ij", share, cover)
    average = np.einsum("m,mij->ij", share, phi)
    for other in range(clients):
        # what gamma_other contributes to mean gamma, and to its own gamma_i
        result[0, :, 1 + other] = -server_step_size * length * (average - phi[other]) * share[other]
    for client in range(clients):
        result[1 + client, :, 0] = hessians[client] if option == "I" else phi[client] @ hessians[client]
        if option == "II":
            rest = identity - phi[client]
            for other in range(clients):
                result[1 + client, :, 1 + other] = rest * (client == other) - rest * share[other]
    return _flat(result)


def proxskip_map(
    hessians: np.ndarray,
    *,
    step_size: float,
    communicate: bool,
    probability: float,
    shares: np.ndarray | None = None,
) -> np.ndarray:
    """ProxSkip on (x_1, ..., x_m, h_1, ..., h_m) after a coin that says whether clients communicate, (2md, 2md).

    On h_i of sum 0. The mean of the state follows the mean of the two maps with weights p and 1 - p, and its second
    moment the mean of their Kronecker squares.
    """
    clients, dimension, _ = hessians.shape
    size = clients * dimension
    descent = np.zeros((clients, dimension, clients, dimension))
    for client in range(clients):
        descent[client, :, client] = np.eye(dimension) - step_size * hessians[client]
    moved = np.concatenate([_flat(descent), step_size * np.eye(size)], axis=1)
    kept = np.concatenate([np.zeros((size, size)), np.eye(size)], axis=1)
    if not communicate:
        return np.concatenate([moved, kept])
    average = np.kron(np.tile(_weights(hessians, shares), (clients, 1)), np.eye(dimension))
    return np.concatenate(
        [average @ moved, kept + probability / step_size * (average - np.eye(size)) @ moved]
    )


def _flat(blocks: np.ndarray) -> np.ndarray:
    """Join blocks (r, d, c, d) to a matrix (r d, c d)."""
    return np.reshape(blocks, (blocks.shape[0] * blocks.shape[1], -1))


# ---- option II of CFL-MGD, whose state has the momentum, too (audit of CFL-MGD, section 4)
#
# A local step maps z_i = (chi, u) by B_i = ((I - eta A_i, -eta beta I), (A_i, beta I)), z_i - (b_i, 0) -> B_i (z_i -
# (b_i, 0)), and the server averages the members' chi and u after H steps (line 16). Hence z' = M z + b per round, with
# M = mean B_i^H and b = mean (I - B_i^H) (b_i, 0).


@dataclass(frozen=True)
class RoundMap:
    """One round of option II in a fixed cluster: z' = matrix z + offset.

    Attributes
    ----------
    matrix
        M, (2d, 2d); with momentum reset every round, its chi-chi block, (d, d).
    offset
        b, (2d,) or (d,).
    """

    matrix: np.ndarray
    offset: np.ndarray

    @property
    def rate(self) -> float:
        """Spectral radius of M: the asymptotic factor per round; at least 1 means no convergence."""
        return float(np.abs(np.linalg.eigvals(self.matrix)).max())

    @property
    def fixed_point(self) -> np.ndarray:
        """(I - M)^-1 b, the limit of the rounds if the rate is below 1."""
        return np.asarray(np.linalg.solve(np.eye(len(self.matrix)) - self.matrix, self.offset))


def local_step(hessian: np.ndarray, step_size: float, momentum: float) -> np.ndarray:
    """Return the matrix B_i of one local step, (2d, 2d)."""
    identity = np.eye(len(hessian))
    return np.block(
        [
            [identity - step_size * hessian, -step_size * momentum * identity],
            [hessian, momentum * identity],
        ]
    )


def round_map(
    hessians: np.ndarray,
    centers: np.ndarray,
    *,
    step_size: float,
    momentum: float,
    local_steps: int,
    reset_momentum: bool = False,
) -> RoundMap:
    """Compose H local steps of every client and the server's average.

    Parameters
    ----------
    hessians, centers
        A_i, (N, d, d), and b_i, (N, d), of the cluster's clients.
    step_size, momentum, local_steps
        eta, beta and H.
    reset_momentum
        Start every round from u = 0: then chi alone is the state.
    """
    dimension = centers.shape[-1]
    powers = np.stack(
        [matrix_power(local_step(hessian, step_size, momentum), local_steps) for hessian in hessians]
    )
    anchors = np.concatenate([centers, np.zeros_like(centers)], axis=-1)
    offset = (anchors - np.einsum("nij,nj->ni", powers, anchors)).mean(axis=0)
    matrix = powers.mean(axis=0)
    if reset_momentum:
        return RoundMap(matrix[:dimension, :dimension], offset[:dimension])
    return RoundMap(matrix, offset)


def drift_constant(momentum: float, local_steps: int) -> float:
    """c_H(beta) = (1/H) sum_(j<H) sum_(k=1..j) (1 - beta^k) / (1 - beta); (H - 1) / 2 at beta = 0."""
    inner = [sum(1 - momentum**k for k in range(1, j + 1)) / (1 - momentum) for j in range(local_steps)]
    return sum(inner) / local_steps


def first_order_drift(
    hessians: np.ndarray, centers: np.ndarray, *, momentum: float, local_steps: int
) -> np.ndarray:
    """Return the derivative in eta at 0 of the fixed point's distance from the optimum, (d,).

    c_H(beta) (mean A)^-1 mean A_i^2 (chi* - b_i), chi* the minimiser of the mean loss.
    """
    mean = hessians.mean(axis=0)
    optimum = np.linalg.solve(mean, np.einsum("nij,nj->i", hessians, centers) / len(hessians))
    pull = np.einsum("nij,njk,nk->i", hessians, hessians, optimum - centers) / len(hessians)
    return np.asarray(drift_constant(momentum, local_steps) * np.linalg.solve(mean, pull))
