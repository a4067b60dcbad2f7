"""Where algorithms rest on quadratics, by linear algebra and not by running anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clusterproof.conformance.tasks import ConformanceTask


def fixed_point(
    algorithm: str, task: ConformanceTask, settings: Mapping[str, Any]
) -> dict[str, np.ndarray] | None:
    """Return the quantities at rest under full participation and full batches; None for other algorithms.

    FedAvg, FedAvgM and FedNova rest at (sum p_i C_i)^-1 sum p_i C_i b_i with C_i = I - (I - eta A_i)^K (equal K),
    FedProx with C_i = sum_k (I - eta (A_i + mu I))^k eta A_i, SCAFFOLD, FedLin, ProxSkip and FedDyn at the optimum.
    """
    eta, count = settings["step_size"], settings["local_epochs"]
    identity = np.eye(task.dimension)
    plain = np.array([identity - np.linalg.matrix_power(identity - eta * A, count) for A in task.curvatures])
    if algorithm in ("fedavg", "fedavgm", "fednova"):
        return {"model": _mean_rest(plain, task, settings)}
    if algorithm == "fedprox":
        mu = settings["proximal"]
        pulled = np.array(
            [
                sum(np.linalg.matrix_power(identity - eta * (A + mu * identity), k) for k in range(count))
                @ (eta * A)
                for A in task.curvatures
            ]
        )
        return {"model": _mean_rest(pulled, task, settings)}
    if algorithm in ("scaffold", "feddyn", "proxskip"):
        return {"model": _rest(task.curvatures, task)}
    if algorithm == "fedlin":
        # the mean gradient has the weights of the models
        weighted = _weights(task, settings)[:, None, None] * task.curvatures
        return {"model": _rest(weighted, task)}
    if algorithm == "ditto":
        model = _mean_rest(plain, task, settings)
        lam = settings["lam"]
        personal = [
            np.linalg.solve(A + lam * identity, A @ b + lam * model)
            for A, b in zip(task.curvatures, task.optima, strict=True)
        ]
        return {"model": model, "personal": np.array(personal)}
    return None


def _weights(task: ConformanceTask, settings: Mapping[str, Any]) -> np.ndarray:
    counts = task.samples.astype(float) if settings["weighting"] == "samples" else np.ones(task.clients)
    shares: np.ndarray = counts / counts.sum()
    return shares


def _mean_rest(matrices: np.ndarray, task: ConformanceTask, settings: Mapping[str, Any]) -> np.ndarray:
    return _rest(_weights(task, settings)[:, None, None] * matrices, task)


def _rest(matrices: np.ndarray, task: ConformanceTask) -> np.ndarray:
    """Return (sum M_i)^-1 sum M_i b_i."""
    rest: np.ndarray = np.linalg.solve(matrices.sum(axis=0), np.einsum("ijk,ik->j", matrices, task.optima))
    return rest
