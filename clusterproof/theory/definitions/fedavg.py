"""FedAvg: Algorithm 1 of McMahan, Moore, Ramage, Hampson and Aguera y Arcas (2017). With exact gradients: local GD."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Functions = Sequence[Callable[[Any], Any]]


def add_up(values: Sequence[Any]) -> Any:
    """Return the sum of one or more models."""
    return sum(values[1:], start=values[0])


def mean(values: Sequence[Any], weights: Sequence[Any] | None = None) -> Any:
    """Return the sum of p_i v_i; the p_i, of sum 1, are equal if None."""
    if weights is None:
        return add_up(values) / len(values)
    return add_up([weight * value for weight, value in zip(weights, values, strict=True)])


def descend(gradient: Callable[[Any], Any], model: Any, step_size: Any, steps: Any) -> Any:
    """Return a client's model after its local steps: ClientUpdate."""
    for _ in range(steps):
        model = model - step_size * gradient(model)  # w <- w - eta grad l(w; b)
    return model


def fedavg_round(
    gradients: Functions, model: Any, step_size: Any, steps: Any, *, weights: Any = None, server_step: Any = 1
) -> Any:
    """Return the server's model after a round; its step, 1 there, is of Karimireddy et al. (2020)."""
    local = [descend(each, model, step_size, count) for each, count in zip(gradients, steps, strict=True)]
    return model + server_step * (mean(local, weights) - model)  # w <- sum of n_k / n w_k
