"""Per-FedAvg: Fallah, Mokhtari and Ozdaglar (2020), with Hessians or to first order; restated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clusterproof.theory.definitions.fedavg import Functions, fedavg_round


def per_fedavg_round(
    gradients: Functions,
    products: Sequence[Callable[[Any, Any], Any]],
    model: Any,
    step_size: Any,
    steps: Any,
    inner_step_size: Any,
    first_order: bool = False,
    *,
    weights: Any = None,
    server_step: Any,
) -> Any:
    """Return the server's model after a round of FedAvg on f_i(y - a g_i(y)); ``products`` are (y, v) -> A_i(y) v."""

    def adapted(gradient: Callable[[Any], Any], product: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
        def direction(y: Any) -> Any:
            outer = gradient(y - inner_step_size * gradient(y))
            return outer if first_order else outer - inner_step_size * product(y, outer)

        return direction

    own = list(map(adapted, gradients, products))
    return fedavg_round(own, model, step_size, steps, weights=weights, server_step=server_step)
