"""IFCA: Algorithm 1 of Ghosh, Chung, Yin and Ramchandran (2020), with model averaging and gradient averaging."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clusterproof.methods.exact import Functions, add_up, descend, mean, members, shares


def choose(losses: Functions, models: Sequence[Any]) -> Sequence[int]:
    """Return each participant's model of least loss (line 8); ties go to the first."""

    def nearest(loss: Callable[[Any], Any]) -> int:
        return min(range(len(models)), key=lambda cluster: loss(models[cluster]))

    return [nearest(loss) for loss in losses]


def gradient_averaging_round(
    gradients: Functions, chosen: Sequence[int], models: Sequence[Any], step_size: Any, clients: Any
) -> Sequence[Any]:
    """Return the models after a step of size gamma along 1/m times the sum of their members' gradients (line 15)."""

    def moved(cluster: int, model: Any) -> Any:
        sent = [gradient(model) for gradient in members(gradients, chosen, cluster)]
        return model - step_size * add_up(sent) / clients if sent else model

    return [moved(cluster, model) for cluster, model in enumerate(models)]


def model_averaging_round(
    gradients: Functions,
    chosen: Sequence[int],
    models: Sequence[Any],
    step_size: Any,
    steps: Any,
    *,
    weights: Any = None,
) -> Sequence[Any]:
    """Return the means of the members' models after their local steps (line 18); an empty cluster keeps its model."""

    def moved(cluster: int, model: Any) -> Any:
        own, counts = members(gradients, chosen, cluster), members(steps, chosen, cluster)
        ends = [
            descend(gradient, model, step_size, count) for gradient, count in zip(own, counts, strict=True)
        ]
        return mean(ends, shares(weights, chosen, cluster)) if ends else model

    return [moved(cluster, model) for cluster, model in enumerate(models)]
