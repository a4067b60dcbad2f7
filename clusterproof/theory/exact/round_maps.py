"""One round of an algorithm on quadratics as a matrix, whose spectral radius is its asymptotic rate.

With phi_i(w) = (w - b_i)' A_i (w - b_i) / 2 and all clients in every round, the state's distance from its fixed
point (``fixed_points``) is multiplied by a matrix in every round. All functions take ``hessians`` A_i (m, d, d),
symmetric positive definite; clients have equal weights, or ``shares`` p_i (m,) of sum 1: with the shares of groups of
clients that have the same Hessian, a map is that of the groups' means. C_i = I - (I - eta A_i)^K is the part of its
way to b_i that a client covers in K steps.

The radius is that of the distance; a squared distance shrinks by its square. It may hold modes of control variates
that no model shows. At a double eigenvalue a radius in floating point has half of its digits.
"""

from __future__ import annotations

import numpy as np

from clusterproof.theory.exact.fixed_points import sums_of_powers


def radius(matrix: np.ndarray) -> float:
    """Largest absolute eigenvalue of a square matrix."""
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def _weights(hessians: np.ndarray, shares: np.ndarray | None) -> np.ndarray:
    """Return the shares p_i (m,), equal if None."""
    return np.full(len(hessians), 1 / len(hessians)) if shares is None else np.asarray(shares)


def averaging(
    covers: np.ndarray, *, server_step_size: float = 1.0, shares: np.ndarray | None = None
) -> np.ndarray:
    """FedAvg or FedProx on x, I - eta_g sum_i p_i Q_i, with Q_i (m, d, d) from ``fixed_points``, (d, d)."""
    mean = np.einsum("m,mij->ij", _weights(covers, shares), covers)
    return np.asarray(np.eye(covers.shape[-1]) - server_step_size * mean)


def fedlin(
    hessians: np.ndarray, *, step_size: float, local_steps: int, shares: np.ndarray | None = None
) -> np.ndarray:
    """FedLin on x, I - eta mean_i(sum over k < K of (I - eta A_i)^k) mean A_i, (d, d).

    A client's y_k - x obeys z <- (I - eta A_i) z - eta (mean A) (x - x*), from 0.
    """
    share = _weights(hessians, shares)
    sums = sums_of_powers(hessians, step_size, local_steps)
    mean, total = (np.einsum("m,mij->ij", share, each) for each in (hessians, sums))
    return np.asarray(np.eye(hessians.shape[-1]) - step_size * total @ mean)


def scaffold(
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


def proxskip(
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
