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

    A client covers the part C_i = (I - (I - eta B_i)^K) B_i^-1 A_i of its way to b_i, where B_i = A_i + mu I with
    FedProx's mu, else A_i. FedAvg, FedAvgM, FedNova (equal K) and FedProx rest at (sum p_i C_i)^-1 sum p_i C_i b_i,
    FedLin at the optimum with weights p_i, SCAFFOLD, ProxSkip and FedDyn at that of equal weights.
    """
    hessians, identity = task.curvatures, np.eye(task.dimension)
    if algorithm in ("scaffold", "feddyn", "proxskip"):
        return {"model": _rest(hessians, task)}
    counts = task.samples if settings["weighting"] == "samples" else np.ones(task.clients)
    shares = (counts / counts.sum())[:, None, None]
    if algorithm == "fedlin":  # the mean gradient has the weights of the models
        return {"model": _rest(shares * hessians, task)}
    if algorithm not in ("fedavg", "fedavgm", "fednova", "fedprox", "ditto"):
        return None
    bent = hessians + settings.get("proximal", 0.0) * identity
    left = np.linalg.matrix_power(identity - settings["step_size"] * bent, settings["local_epochs"])
    model = _rest(shares * (identity - left) @ np.linalg.solve(bent, hessians), task)
    if algorithm != "ditto":
        return {"model": model}
    lam = settings["lam"]
    pulled = np.einsum("ijk,ik->ij", hessians, task.optima) + lam * model
    return {"model": model, "personal": np.linalg.solve(hessians + lam * identity, pulled[..., None])[..., 0]}


def _rest(matrices: np.ndarray, task: ConformanceTask) -> np.ndarray:
    """Return (sum M_i)^-1 sum M_i b_i."""
    return np.asarray(np.linalg.solve(matrices.sum(axis=0), np.einsum("ijk,ik->j", matrices, task.optima)))
