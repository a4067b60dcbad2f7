"""FPFC: a model for each client, fused by a penalty on the differences of all pairs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from clusterproof.methods.pairs import fpfc, shrinkage


def fusion_round(
    clients: Any,
    models: Any,
    differences: Any,
    duals: Any,
    *,
    participants: Any,
    step_size: Any,
    augmentation: Any,
    strength: Any,
    smoothing: Any,
    samples: Any,
    settings: Mapping[str, Any],
) -> tuple[Any, Any, Any, Any, Any]:
    """Return all w_i, theta_ij and v_ij after a round, and the groups with their models."""

    def shrink(delta: Any) -> Any:
        length = float(np.linalg.norm(delta))
        if settings["penalty"] == "l1":
            return max(0.0, 1 - strength / (augmentation * length)) * delta if length else delta
        return shrinkage(length, strength, settings["concavity"], smoothing, augmentation) * delta

    own = {"step_size": step_size, "augmentation": augmentation, "participants": participants}
    after = fpfc(clients, models, differences, duals, **own, shrink=shrink)
    models, differences, duals = map(np.array, after)
    groups = groups_of(differences, settings["threshold"])
    return models, differences, duals, groups, group_models_of(models, groups, samples)


def groups_of(differences: np.ndarray, threshold: float) -> Any:
    """Return the connected components of the pairs with ||theta_ij|| <= nu, (N,)."""
    lengths = np.linalg.norm(differences, axis=-1)
    near = (lengths <= threshold) | np.eye(len(lengths), dtype=bool)
    # the powers of the adjacency matrix connect all clients of a component
    reached = np.linalg.matrix_power(near.astype(float), len(near)) > 0
    return reached.argmax(axis=1)


def group_models_of(models: np.ndarray, groups: np.ndarray, samples: np.ndarray) -> Any:
    """Return the mean of the models of each client's group with weights n_i, (N, d)."""
    weights = (groups[:, None] == groups[None]) * samples
    return weights @ models / weights.sum(axis=1, keepdims=True)
