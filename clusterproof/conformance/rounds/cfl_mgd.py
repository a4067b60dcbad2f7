"""CFL-MGD: Algorithm 1 of Zhao et al. (2023), options I and II; clients choose their clusters as in IFCA."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clusterproof.methods.exact import Functions, add_up, mean, members


def option_1_round(
    gradients: Functions,
    chosen: Sequence[int],
    models: Sequence[Any],
    momenta: Sequence[Any],
    step_size: Any,
    momentum: Any,
    clients: Any,
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return chi_p and u_p after a round of option I with the server's momentum: (9), second line of (32)."""

    def moved(cluster: int, model: Any, buffer: Any) -> tuple[Any, Any]:
        sent = [gradient(model) for gradient in members(gradients, chosen, cluster)]
        buffer = momentum * buffer + (add_up(sent) / clients if sent else 0 * model)
        return model - step_size * buffer, buffer

    after = [moved(cluster, *pair) for cluster, pair in enumerate(zip(models, momenta, strict=True))]
    return [model for model, _ in after], [buffer for _, buffer in after]


def local_update(
    gradient: Callable[[Any], Any], model: Any, buffer: Any, step_size: Any, momentum: Any, steps: Any
) -> tuple[Any, Any]:
    """Return a client's chi and u after H local steps of option II, u before chi: (4), lines 17 to 21."""
    for _ in range(steps):
        buffer = momentum * buffer + gradient(model)
        model = model - step_size * buffer
    return model, buffer


def option_2_round(
    gradients: Functions,
    chosen: Sequence[int],
    models: Sequence[Any],
    momenta: Sequence[Any],
    step_size: Any,
    momentum: Any,
    steps: Any,
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return chi_p and u_p after a round of option II: members' means (10), line 16; an empty cluster keeps its own."""

    def moved(cluster: int, model: Any, buffer: Any) -> tuple[Any, Any]:
        own = members(gradients, chosen, cluster)
        if not own:
            return model, buffer
        ends = [local_update(gradient, model, buffer, step_size, momentum, steps) for gradient in own]
        return mean([end for end, _ in ends]), mean([end for _, end in ends])

    after = [moved(cluster, *pair) for cluster, pair in enumerate(zip(models, momenta, strict=True))]
    return [model for model, _ in after], [buffer for _, buffer in after]
