"""FedNova: Wang, Liu, Liang, Joshi and Poor (2020), with plain gradient steps, where a_i = K_i; restated."""

from __future__ import annotations

from typing import Any

from clusterproof.theory.definitions.fedavg import Functions, descend, mean


def fednova_round(
    gradients: Functions, model: Any, step_size: Any, steps: Any, *, weights: Any = None, server_step: Any
) -> Any:
    """Return the server's model after a round whose changes are divided by their K_i and multiplied by tau."""
    tau = mean(steps, weights)
    local = [
        model + (descend(each, model, step_size, count) - model) * tau / count
        for each, count in zip(gradients, steps, strict=True)
    ]
    return model + server_step * (mean(local, weights) - model)
