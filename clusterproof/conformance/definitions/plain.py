"""Rounds that are one or several of a definition of ``theory``: of ProxSkip until its coin falls, and of LOCAL."""

from typing import Any

from clusterproof.theory.definitions.fedavg import descend
from clusterproof.theory.definitions.proxskip import proxskip_iteration


def proxskip_round(
    gradients: Any, model: Any, controls: Any, step_size: Any, steps: Any, probability: Any, weights: Any
) -> tuple[Any, Any]:
    """Return x and all h_i after K iterations, of which the last communicates."""

    def before(gradient: Any, start: Any, control: Any, count: int) -> Any:
        for _ in range(count - 1):
            (start,), _ = proxskip_iteration([gradient], [start], [control], step_size, probability, False)
        return start

    starts = [model for _ in gradients]
    ends = list(map(before, gradients, starts, controls, steps))
    models, controls = proxskip_iteration(
        gradients, ends, controls, step_size, probability, True, weights=weights
    )
    return models[0], controls


def local_round(gradients: Any, models: Any, step_size: Any, steps: Any) -> Any:
    """Return the participants' models after their local steps."""
    clients = zip(gradients, models, steps, strict=True)
    return [descend(gradient, model, step_size, count) for gradient, model, count in clients]
