"""Algorithms with a model for each cluster, which a client chooses: IFCA, CFL-MGD and GL-CFL."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clusterproof.methods.clustered import (
    cfl_mgd_option_1,
    cfl_mgd_option_2,
    client_momenta_option_1,
    delayed_option_1,
    ifca,
)
from clusterproof.methods.exact import descend, mean, members, shares


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
    """Return models, the clusters' and participants' momenta and delayed gradients, and each participant's choice."""
    chosen, delayed = clients.chosen(models), update_order == "as-printed"
    settings = {"step_size": step_size, "momentum": momentum, "chosen": chosen}
    option_1 = {**settings, "divisors": divisors_of(clients, models, chosen, normalisation)}
    before = models, momenta
    if averaging == "model":
        start = 0 * momenta if reset_momentum else momenta
        models, momenta = cfl_mgd_option_2(clients, models, start, **settings, delayed=delayed)
    elif momentum_owner == "client":  # line 15 has no weights
        models, client_momenta, client_pending = client_momenta_option_1(
            replace(clients, weights=None),
            models,
            client_momenta,
            client_pending,
            **option_1,
            delayed=delayed,
        )
    elif delayed:
        models, momenta, pending = delayed_option_1(clients, models, momenta, pending, **option_1)
    else:
        models, momenta = cfl_mgd_option_1(clients, models, momenta, **option_1)
    if empty_cluster == "freeze":
        models, momenta = (
            [new if cluster in chosen else old for cluster, (new, old) in enumerate(zip(*each, strict=True))]
            for each in zip((models, momenta), before, strict=True)
        )
    return models, momenta, pending, client_momenta, client_pending, chosen


def divisors_of(clients: Any, models: Any, chosen: Sequence[int], normalisation: str) -> Sequence[int]:
    """Return the divisor of each cluster's sum of gradients in (5), 1 for an empty cluster, whose sum is 0."""
    if normalisation == "cluster":
        return [max(1, chosen.count(cluster)) for cluster in range(len(models))]
    return [clients.count if normalisation == "clients" else len(chosen)] * len(models)


def likeness(gradient: Any, change: Any, step_size: Any, count: int, settings: Mapping[str, Any]) -> float:
    """Return S_ik, by (3) or as the negative distance printed below it; the printed sign uses the gradient itself."""
    descent = settings["sign"] == "descent"
    if settings["similarity"] == "euclidean":
        apart = gradient + change / step_size if descent else count * gradient - change
        return -float(np.linalg.norm(apart))
    product, lengths = gradient @ change, np.linalg.norm(gradient) * np.linalg.norm(change)
    cosine = float(product / lengths) if lengths else 0.0
    return -cosine if descent else cosine


def gradient_loss_round(
    losses: Any,
    gradients: Any,
    models: Any,
    moves: Any,
    step_size: Any,
    batches: Any,
    settings: Mapping[str, Any],
    finished: int,
    weights: Any,
) -> tuple[Any, Any, Any]:
    """Return the models after a round, their moves, and each participant's choice: lines 3 to 14 of Algorithm 1."""
    weight, rule, summed = settings["weight"], settings["empty_cluster"], settings["loss_reduction"] == "sum"

    def score(i: int, k: int) -> Any:  # (4); batches are the numbers of samples in a client's mini-batch
        count = batches[i] if summed else 1  # (1)
        alike = likeness(gradients[i](models[k]), moves[k], step_size, count, settings)
        return weight * (alike if finished else 0.0) - (1 - weight) * count * losses[i](models[k])

    every = range(len(models))
    chosen = [max(every, key=lambda k: score(i, k)) for i in range(len(losses))]
    trained = list(chosen)
    if rule == "always" or (rule == "when-empty" and len(set(chosen)) < len(models)):
        trained[: len(models)] = every[
            : len(chosen)
        ]  # as in II-C, but with the first participants instead of random ones

    def moved(k: int) -> Any:  # (5) and (7)
        ends = [descend(gradient, models[k], step_size, 1) for gradient in members(gradients, trained, k)]
        return mean(ends, shares(weights, trained, k)) if ends else models[k]

    after = [moved(k) for k in every]
    return after, [new - old for new, old in zip(after, models, strict=True)], chosen  # (2)
