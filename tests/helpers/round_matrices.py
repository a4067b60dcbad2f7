"""One round of each algorithm on quadratics as a matrix, beside those of ``round_maps``, which the library uses.

Clients have equal weights, ``hessians`` are A_i (m, d, d), and C_i = I - (I - eta A_i)^K is the part of its way to
its optimum that a client covers in K steps.
"""

import numpy as np
from numpy.linalg import inv, matrix_power

from clusterproof.theory.exact.fixed_points import covered


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


def _flat(blocks: np.ndarray) -> np.ndarray:
    """Join blocks (r, d, c, d) to a matrix (r d, c d)."""
    return np.reshape(blocks, (blocks.shape[0] * blocks.shape[1], -1))
