"""One round of each algorithm on quadratics as a matrix, whose spectral radius is its asymptotic rate.

With phi_i(w) = (w - b_i)' A_i (w - b_i) / 2 and all clients in every round, the state's distance from its fixed
point (``fixed_points``) is multiplied by a matrix in every round. All functions take ``hessians`` A_i (m, d, d),
symmetric positive definite; clients have equal weights. C_i = I - (I - eta A_i)^K is the part of its way to b_i that
a client covers in K steps.

The radius is that of the distance; a squared distance shrinks by its square. It may hold modes of control variates
that no model shows. At a double eigenvalue a radius in floating point has half of its digits.
"""

from __future__ import annotations

import numpy as np
from numpy.linalg import inv, matrix_power

from clusterproof.theory.exact.fixed_points import covered


def radius(matrix: np.ndarray) -> float:
    """Largest absolute eigenvalue of a square matrix."""
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def fedavg(
    hessians: np.ndarray, *, step_size: float, local_steps: int | np.ndarray, server_step_size: float = 1.0
) -> np.ndarray:
    """FedAvg: I - eta_g mean C_i, (d, d)."""
    mean = covered(hessians, step_size, local_steps).mean(axis=0)
    return np.asarray(np.eye(len(mean)) - server_step_size * mean)


def fedavgm(
    hessians: np.ndarray,
    *,
    step_size: float,
    local_steps: int,
    momentum: float,
    server_step_size: float = 1.0,
) -> np.ndarray:
    """FedAvgM on (x, m): m <- beta m + mean C_i e, e <- e - eta_g m, (2d, 2d).

    Its eigenvalues are the roots of z^2 - (1 + beta - eta_g c) z + beta for the eigenvalues c of mean C_i.
    """
    mean = covered(hessians, step_size, local_steps).mean(axis=0)
    identity = np.eye(len(mean))
    return np.block(
        [
            [identity - server_step_size * mean, -server_step_size * momentum * identity],
            [mean, momentum * identity],
        ]
    )


def fednova(hessians: np.ndarray, *, step_size: float, local_steps: np.ndarray) -> np.ndarray:
    """FedNova with K_i steps, integers (m,): I - mean K_i mean (C_i / K_i), (d, d)."""
    normalised = covered(hessians, step_size, local_steps) / local_steps[:, None, None]
    return np.asarray(np.eye(hessians.shape[-1]) - local_steps.mean() * normalised.mean(axis=0))


def fedprox(
    hessians: np.ndarray, *, proximal: float, step_size: float | None = None, local_steps: int | None = None
) -> np.ndarray:
    """FedProx: mean of mu (A_i + mu I)^-1 if the local problems are solved exactly, (d, d).

    With ``step_size`` and ``local_steps``, I - mean (I - (I - eta (A_i + mu I))^H) (A_i + mu I)^-1 A_i.
    """
    curvature = hessians + proximal * np.eye(hessians.shape[-1])
    weights = inv(curvature) @ hessians
    if step_size is not None and local_steps is not None:
        weights = covered(curvature, step_size, local_steps) @ weights
    return np.asarray(np.eye(hessians.shape[-1]) - weights.mean(axis=0))


def fedlin(hessians: np.ndarray, *, step_size: float, local_steps: int) -> np.ndarray:
    """FedLin: I - mean (A_i^-1 C_i) mean A_i, (d, d)."""
    moved = (inv(hessians) @ covered(hessians, step_size, local_steps)).mean(axis=0)
    return np.asarray(np.eye(len(moved)) - moved @ hessians.mean(axis=0))


def pfedme(
    hessians: np.ndarray, *, lam: float, outer_step_size: float, local_steps: int = 1, mix: float = 1.0
) -> np.ndarray:
    """pFedMe with exact personal models: (1 - beta) I + beta mean (I - eta lam A_i (A_i + lam I)^-1)^R, (d, d)."""
    identity = np.eye(hessians.shape[-1])
    envelopes = lam * hessians @ inv(hessians + lam * identity)
    return np.asarray(identity - mix * covered(envelopes, outer_step_size, local_steps).mean(axis=0))


def ditto(
    hessians: np.ndarray,
    *,
    lam: float,
    step_size: float,
    local_steps: int,
    personal_step_size: float,
    personal_epochs: int = 1,
) -> np.ndarray:
    """Ditto on (w, v_1, ..., v_m): block triangular, ((1 + m) d, (1 + m) d).

    v_i <- M_i v_i + (I - M_i) (A_i + lam I)^-1 lam w with M_i = (I - eta_p (A_i + lam I))^s, and w by FedAvg's map.
    """
    clients, dimension, _ = hessians.shape
    identity = np.eye(dimension)
    curvature = hessians + lam * identity
    kept = matrix_power(identity - personal_step_size * curvature, personal_epochs)
    result = np.zeros((1 + clients, dimension, 1 + clients, dimension))
    result[0, :, 0] = fedavg(hessians, step_size=step_size, local_steps=local_steps)
    for client in range(clients):
        result[1 + client, :, 1 + client] = kept[client]
        result[1 + client, :, 0] = lam * (identity - kept[client]) @ inv(curvature[client])
    return _flat(result)


def scaffold(
    hessians: np.ndarray, *, step_size: float, local_steps: int, option: str, server_step_size: float = 1.0
) -> np.ndarray:
    """SCAFFOLD on (x, c_1, ..., c_m) with c the mean of the c_i, ((1 + m) d, (1 + m) d).

    With phi_i = (K eta)^-1 A_i^-1 C_i, and distances e of x and gamma_i of c_i from their fixed points::

        e <- (I - eta_g mean C_i) e - eta_g K eta mean phi_i (mean gamma - gamma_i)
        gamma_i <- A_i e                                          option I
        gamma_i <- phi_i A_i e - (I - phi_i) (mean gamma - gamma_i)   option II
    """
    clients, dimension, _ = hessians.shape
    identity, length = np.eye(dimension), local_steps * step_size
    cover = covered(hessians, step_size, local_steps)
    phi = inv(hessians) @ cover / length
    result = np.zeros((1 + clients, dimension, 1 + clients, dimension))
    result[0, :, 0] = identity - server_step_size * cover.mean(axis=0)
    for other in range(clients):
        # what gamma_other contributes to mean gamma, and to its own gamma_i
        result[0, :, 1 + other] = -server_step_size * length * (phi.mean(axis=0) - phi[other]) / clients
    for client in range(clients):
        result[1 + client, :, 0] = hessians[client] if option == "I" else phi[client] @ hessians[client]
        if option == "II":
            rest = identity - phi[client]
            for other in range(clients):
                result[1 + client, :, 1 + other] = rest * (client == other) - rest / clients
    return _flat(result)


def feddyn(hessians: np.ndarray, *, alpha: float) -> np.ndarray:
    """FedDyn with exact local minimisation, on w_i = (h_i - g_i*) + alpha (x - x*), (m d, m d).

    w_i <- A_i (A_i + alpha I)^-1 w_i + mean over j of (alpha I - A_j) (alpha I + A_j)^-1 w_j.
    """
    clients, dimension, _ = hessians.shape
    identity = np.eye(dimension)
    resolvents = inv(hessians + alpha * identity)
    result = np.zeros((clients, dimension, clients, dimension))
    for client in range(clients):
        for other in range(clients):
            result[client, :, other] = (alpha * identity - hessians[other]) @ resolvents[other] / clients
        result[client, :, client] += hessians[client] @ resolvents[client]
    return _flat(result)


def proxskip(hessians: np.ndarray, *, step_size: float, communicate: bool, probability: float) -> np.ndarray:
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
    average = np.kron(np.full((clients, clients), 1 / clients), np.eye(dimension))
    return np.concatenate(
        [average @ moved, kept + probability / step_size * (average - np.eye(size)) @ moved]
    )


def _flat(blocks: np.ndarray) -> np.ndarray:
    """Join blocks (r, d, c, d) to a matrix (r d, c d)."""
    return np.reshape(blocks, (blocks.shape[0] * blocks.shape[1], -1))
