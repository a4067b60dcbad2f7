"""FedLin: Mitra, Jaafar, Pappas and Hassani (2021), without compression, restated from its abstract."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterproof.theory.definitions.fedavg import Functions, descend, mean


def fedlin_round(
    gradients: Functions, model: Any, step_size: Any, steps: Any, *, weights: Any = None, server_step: Any = 1
) -> Any:
    """Return the server's model after a round of two exchanges, of gradients at x and of models."""
    sent = [gradient(model) for gradient in gradients]
    common = mean(sent, weights)

    def local(gradient: Callable[[Any], Any], own: Any, count: Any) -> Any:
        return descend(lambda y: gradient(y) - own + common, model, step_size, count)

    return model + server_step * (mean(list(map(local, gradients, sent, steps)), weights) - model)
