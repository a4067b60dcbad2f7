"""FedProx: Algorithm 2 of Li, Sahu, Zaheer, Sanjabi, Talwalkar and Smith (2020)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterproof.theory.definitions.fedavg import Functions, descend, mean


def fedprox_round(
    gradients: Functions,
    model: Any,
    step_size: Any,
    steps: Any,
    proximal: Any,
    *,
    weights: Any = None,
    server_step: Any = 1,
) -> Any:
    """Return the server's model after a round in which F_k(w) + mu / 2 ||w - w^t||^2 is minimised by gradient steps."""

    def local(gradient: Callable[[Any], Any], count: Any) -> Any:
        return descend(lambda y: gradient(y) + proximal * (y - model), model, step_size, count)

    return model + server_step * (mean(list(map(local, gradients, steps)), weights) - model)


def exact_fedprox_round(minimisers: Functions, model: Any, *, weights: Any = None) -> Any:
    """Return the server's model after a round of exact solves: functions w^t -> argmin F_k(w) + mu/2 ||w - w^t||^2."""
    return mean([minimise(model) for minimise in minimisers], weights)
