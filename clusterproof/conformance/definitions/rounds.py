"""Rounds of methods for ``conform``. They also return quantities for the comparison, such as choices and groups."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from clusterproof.methods.clustered import cfl_mgd, ifca
from clusterproof.methods.controls import proxskip
from clusterproof.methods.pairs import fpfc, shrinkage


def proxskip_round(
    clients: Any, model: Any, controls: Any, *, step_size: Any, probability: Any
) -> tuple[Any, Any]:
    """Return x and all h_i after K iterations; the clients communicate only in the last iteration."""
    settings = {"step_size": step_size, "probability": probability}
    ends = list(clients.to_all(model))
    for number in range(1, max(client.steps for client in clients.participants)):
        on = [i for i, client in enumerate(clients.participants) if client.steps > number]
        some = clients
        if len(on) < len(ends):
            some = replace(clients, participants=[clients.participants[i] for i in on], weights=None)
        states = [ends[i] for i in on], [controls[i] for i in on]
        moved, _ = proxskip(some, *states, **settings, communicates=False)
        for i, end in zip(on, moved, strict=True):
            ends[i] = end
    models, controls = proxskip(clients, ends, controls, **settings, communicates=True)
    return models[0], controls


def ifca_round(clients: Any, models: Any, *, step_size: Any, averaging: str) -> tuple[Any, Any]:
    """Return the models after a round, and each participant's choice."""
    chosen = clients.chosen(models)
    return ifca(clients, models, step_size=step_size, averaging=averaging, chosen=chosen), chosen


def cfl_mgd_round(
    clients: Any,
    models: Any,
    momenta: Any,
    pending: Any,
    client_momenta: Any,
    client_pending: Any,
    *,
    step_size: Any,
    momentum: Any,
    averaging: str,
    momentum_owner: str,
    update_order: str,
    reset_momentum: bool,
    normalisation: str,
    empty_cluster: str,
) -> tuple[Any, ...]:
    """Return models, momentum buffers and delayed gradients of clusters and participants. Also return the choices."""
    chosen = clients.chosen(models)
    settings = {
        "step_size": step_size,
        "momentum": momentum,
        "averaging": averaging,
        "momentum_owner": momentum_owner,
        "update_order": update_order,
        "reset_momentum": reset_momentum,
        "normalisation": normalisation,
        "empty_cluster": empty_cluster,
        "chosen": chosen,
    }
    if averaging == "gradient" and momentum_owner == "client":  # line 15 has no weights
        models, client_momenta, client_pending = cfl_mgd(
            replace(clients, weights=None), models, client_momenta, client_pending, **settings
        )
    else:
        models, momenta, pending = cfl_mgd(clients, models, momenta, pending, **settings)
    return models, momenta, pending, client_momenta, client_pending, chosen


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
    """Return the connected component of each client, (N,); clients i and j are connected if ||theta_ij|| <= nu."""
    lengths = np.linalg.norm(differences, axis=-1)
    near = (lengths <= threshold) | np.eye(len(lengths), dtype=bool)
    # the powers of the adjacency matrix connect all clients of a component
    reached = np.linalg.matrix_power(near.astype(float), len(near)) > 0
    return reached.argmax(axis=1)


def group_models_of(models: np.ndarray, groups: np.ndarray, samples: np.ndarray) -> Any:
    """Return for each client the mean model of the client's group, with weights n_i, (N, d)."""
    weights = (groups[:, None] == groups[None]) * samples
    return weights @ models / weights.sum(axis=1, keepdims=True)
