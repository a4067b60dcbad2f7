"""Fixed points of algorithms on quadratics in closed form, beside those of ``fixed_points``, which the library uses."""

import numpy as np
from numpy.linalg import inv

from clusterproof.theory.exact.fixed_points import covered, exact, fedavg, pulled, weighted_mean


def fednova(
    hessians: np.ndarray,
    centers: np.ndarray,
    *,
    step_size: float,
    local_steps: np.ndarray,
    shares: np.ndarray | None = None,
) -> np.ndarray:
    """FedNova with K_i steps, integers (m,): Q_i = (I - (I - eta A_i)^K_i) / K_i, (d,).

    As eta -> 0 it is the exact optimum, whatever the K_i; FedAvg then has Q_i = K_i A_i.
    """
    weights = covered(hessians, step_size, local_steps) / local_steps[:, None, None]
    return weighted_mean(weights, centers, shares)


def corrected(hessians: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """SCAFFOLD, FedLin, ProxSkip and FedDyn rest at the exact optimum x*, the control variates at A_i (x* - b_i).

    Returns
    -------
    tuple
        x* (d,) and the clients' gradients there, whose mean is 0, (m, d).
    """
    optimum = exact(hessians, centers)
    return optimum, np.einsum("mij,mj->mi", hessians, optimum - centers)


def pfedme(
    hessians: np.ndarray,
    centers: np.ndarray,
    *,
    lam: float,
    outer_step_size: float,
    local_steps: int = 1,
    shares: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """pFedMe with exact personal models: Q_i = I - (I - eta B_i)^R, B_i = lam A_i (A_i + lam I)^-1.

    B_i is the Hessian of the Moreau envelope, on which the R outer steps descend.

    Returns
    -------
    tuple
        w (d,) and the personal models (A_i + lam I)^-1 (A_i b_i + lam w), (m, d).
    """
    envelopes = lam * hessians @ inv(hessians + lam * np.eye(centers.shape[1]))
    common = weighted_mean(covered(envelopes, outer_step_size, local_steps), centers, shares)
    return common, pulled(hessians, centers, common, lam)


def ditto(
    hessians: np.ndarray,
    centers: np.ndarray,
    *,
    lam: float,
    step_size: float,
    local_steps: int = 1,
    shares: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Ditto: w where FedAvg rests, and v_i = (A_i + lam I)^-1 (A_i b_i + lam w).

    Returns
    -------
    tuple
        w (d,) and v_i (m, d).
    """
    common = fedavg(hessians, centers, step_size=step_size, local_steps=local_steps, shares=shares)
    return common, pulled(hessians, centers, common, lam)
