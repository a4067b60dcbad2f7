"""One round of each algorithm on quadratics as a matrix, beside those of ``affine_rounds``, which the library uses.

Clients have equal weights, ``hessians`` are A_i (m, d, d), and C_i = I - (I - eta A_i)^K is the part of its way to
its optimum that a client covers in K steps.
"""

import numpy as np
from numpy.linalg import inv

from clusterproof.theory.exact.affine_rounds import covered


def fedavg(
    hessians: np.ndarray, *, step_size: float, local_steps: int | np.ndarray, server_step_size: float = 1.0
) -> np.ndarray:
    """FedAvg: I - eta_g mean C_i, (d, d)."""
    mean = covered(hessians, step_size, local_steps).mean(axis=0)
    return np.asarray(np.eye(len(mean)) - server_step_size * mean)


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
