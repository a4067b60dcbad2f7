"""FedAvgM: Hsu, Qi and Brown (2019), FedAvg with momentum on the server; restated."""

from __future__ import annotations

from typing import Any

from clusterproof.theory.definitions.fedavg import Functions, descend, mean


def fedavgm_round(
    gradients: Functions,
    model: Any,
    buffer: Any,
    step_size: Any,
    steps: Any,
    momentum: Any,
    nesterov: bool = False,
    *,
    weights: Any = None,
    server_step: Any,
) -> tuple[Any, Any]:
    """Return x and v after a round; with ``nesterov`` the server moves along Delta + beta v."""
    local = [descend(each, model, step_size, count) for each, count in zip(gradients, steps, strict=True)]
    delta = model - mean(local, weights)
    buffer = momentum * buffer + delta
    return model - server_step * (delta + momentum * buffer if nesterov else buffer), buffer
