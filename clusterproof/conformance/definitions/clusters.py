"""Algorithms with a model for each cluster, which a client chooses: IFCA, CFL-MGD and GL-CFL."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from clusterproof.conformance.rounds.cfl_mgd import option_1_round, option_2_round
from clusterproof.conformance.rounds.ifca import choose, gradient_averaging_round, model_averaging_round
from clusterproof.methods.exact import add_up, descend, mean, members, shares


def ifca_round(
    losses: Any,
    gradients: Any,
    models: Any,
    step_size: Any,
    steps: Any,
    averaging: str,
    clients: int,
    weights: Any,
) -> tuple[Any, Any]:
    """Return the models after a round, and each participant's choice."""
    chosen = choose(losses, models)
    if averaging == "gradient":
        return gradient_averaging_round(gradients, chosen, models, step_size, clients), chosen
    return model_averaging_round(gradients, chosen, models, step_size, steps, weights=weights), chosen


def client_momenta_round(
    gradients: Any,
    participants: Any,
    chosen: Any,
    models: Any,
    client_momenta: Any,
    step_size: Any,
    momentum: Any,
    clients: int,
) -> tuple[Any, Any]:
    """Return the models and the u_i after lines 7 to 9 and 15 of Algorithm 1; members take the mean of their u_i."""
    own = [
        momentum * buffer + gradient(models[cluster])
        for client, gradient, cluster, buffer in zip(
            participants, gradients, chosen, client_momenta, strict=True
        )
    ]
    sent = [members(own, chosen, cluster) for cluster in range(len(models))]
    after = [
        model - step_size * add_up(each) / clients if each else model
        for each, model in zip(sent, models, strict=True)
    ]
    return after, [mean(sent[cluster]) for cluster in chosen]


def cfl_mgd_round(
    losses: Any,
    gradients: Any,
    participants: Any,
    models: Any,
    momenta: Any,
    client_momenta: Any,
    step_size: Any,
    steps: Any,
    averaging: str,
    momentum: Any,
    momentum_owner: str,
    clients: int,
) -> tuple[Any, Any, Any, Any]:
    """Return models, momenta of clusters and of participants after a round, and each participant's choice."""
    chosen = choose(losses, models)
    if averaging == "model":
        models, momenta = option_2_round(gradients, chosen, models, momenta, step_size, momentum, steps)
    elif momentum_owner == "server":
        models, momenta = option_1_round(gradients, chosen, models, momenta, step_size, momentum, clients)
    else:
        models, client_momenta = client_momenta_round(
            gradients, participants, chosen, models, client_momenta, step_size, momentum, clients
        )
    return models, momenta, client_momenta, chosen


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
