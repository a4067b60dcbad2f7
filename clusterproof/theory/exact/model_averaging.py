"""Option II of CFL-MGD on quadratics: an affine recursion, solved exactly.

With phi_i = (chi - c_i)' A_i (chi - c_i) / 2 a local step maps z_i = (chi, u) by

    B_i = ((I - eta A_i, -eta beta I), (A_i, beta I)),   z_i - (c_i, 0) -> B_i (z_i - (c_i, 0)),

and the server averages the members' chi and u after H steps (line 16). Hence per round

    z' = M z + b,   M = mean B_i^H,   b = mean (I - B_i^H) (c_i, 0).

Audit of CFL-MGD, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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
        A_i, (N, d, d), and c_i, (N, d), of the cluster's clients.
    step_size, momentum, local_steps
        eta, beta and H.
    reset_momentum
        Start every round from u = 0: then chi alone is the state.
    """
    dimension = centers.shape[-1]
    powers = np.stack(
        [
            np.linalg.matrix_power(local_step(hessian, step_size, momentum), local_steps)
            for hessian in hessians
        ]
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

    c_H(beta) (mean A)^-1 mean A_i^2 (chi* - c_i), chi* the minimiser of the mean loss.
    """
    mean = hessians.mean(axis=0)
    optimum = np.linalg.solve(mean, np.einsum("nij,nj->i", hessians, centers) / len(hessians))
    pull = np.einsum("nij,njk,nk->i", hessians, hessians, optimum - centers) / len(hessians)
    return np.asarray(drift_constant(momentum, local_steps) * np.linalg.solve(mean, pull))
