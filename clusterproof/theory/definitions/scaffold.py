"""SCAFFOLD: Algorithm 1 of Karimireddy, Kale, Mohri, Reddi, Stich and Suresh (2020), options I and II."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clusterproof.theory.definitions.fedavg import Functions, add_up, descend, mean


def scaffold_round(
    gradients: Functions,
    model: Any,
    control: Any,
    controls: Sequence[Any],
    step_size: Any,
    steps: Any,
    option: str,
    *,
    clients: Any = None,
    weights: Any = None,
    server_step: Any = 1,
) -> tuple[Any, Any, Sequence[Any]]:
    """Return x, c and the participants' c_i after a round; ``clients`` is N, by default all take part."""

    def local(gradient: Callable[[Any], Any], own: Any, count: Any) -> tuple[Any, Any]:
        end = descend(lambda y: gradient(y) - own + control, model, step_size, count)  # line 10
        if option == "I":
            return end, gradient(model)  # line 12
        return end, own - control + (model - end) / (count * step_size)

    ends, after = zip(*map(local, gradients, controls, steps), strict=True)
    changes = [new - own for new, own in zip(after, controls, strict=True)]
    moved = model + server_step * (mean(ends, weights) - model)  # lines 16 and 17
    return moved, control + add_up(changes) / (clients or len(changes)), after
