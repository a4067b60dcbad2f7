"""FedDyn: Algorithm 1 of Acar, Zhao, Navarro, Mattina, Whatmough and Saligrama (2021), by gradient steps; restated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clusterproof.theory.definitions.fedavg import Functions, add_up, descend, mean


def feddyn_round(
    gradients: Functions,
    model: Any,
    offset: Any,
    linear: Sequence[Any],
    step_size: Any,
    steps: Any,
    alpha: Any,
    clients: Any,
    *,
    weights: Any = None,
) -> tuple[Any, Any, Sequence[Any]]:
    """Return x, h and the participants' gradients L_i after a round; ``clients`` is N."""

    def local(gradient: Callable[[Any], Any], own: Any, count: Any) -> Any:
        return descend(lambda y: gradient(y) - own + alpha * (y - model), model, step_size, count)

    ends = list(map(local, gradients, linear, steps))
    changes = [end - model for end in ends]
    after = [own - alpha * change for own, change in zip(linear, changes, strict=True)]
    offset = offset - alpha * add_up(changes) / clients
    return mean(ends, weights) - offset / alpha, offset, after
