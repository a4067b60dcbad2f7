"""FedAdam and FedYogi: Algorithm 2 of Reddi, Charles, Zaheer, Garrett, Rush, Konecny et al. (2021); restated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterproof.theory.definitions.fedavg import Functions, descend, mean


def fedadam_round(
    gradients: Functions,
    model: Any,
    m: Any,
    v: Any,
    step_size: Any,
    steps: Any,
    beta1: Any,
    beta2: Any,
    eta: Any,
    tau: Any,
    root: Callable[[Any], Any],
    sign: Callable[[Any], Any] | None = None,
    *,
    weights: Any = None,
) -> tuple[Any, Any, Any]:
    """Return x, m and v after a round; root and ``sign``, which FedYogi has, are of each entry of a model."""
    local = [descend(each, model, step_size, count) for each, count in zip(gradients, steps, strict=True)]
    delta = mean(local, weights) - model
    square = delta * delta
    m = beta1 * m + (1 - beta1) * delta
    v = beta2 * v + (1 - beta2) * square if sign is None else v - (1 - beta2) * square * sign(v - square)
    return model + eta * m / (root(v) + tau), m, v
