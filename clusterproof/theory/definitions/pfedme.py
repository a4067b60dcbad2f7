"""PFedMe: Algorithm 1 of T. Dinh, Tran and Nguyen (2020), with proximal points by gradient steps; restated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clusterproof.theory.definitions.fedavg import Functions, descend, mean


def pfedme_round(
    gradients: Functions,
    model: Any,
    step_size: Any,
    steps: Any,
    lam: Any,
    inner_steps: Any,
    outer_step_size: Any,
    mix: Any,
    restarts: bool = False,
    *,
    weights: Any = None,
) -> tuple[Any, Sequence[Any]]:
    """Return x and the participants' theta_i after a round; theta goes on between outer steps, or ``restarts`` at w."""

    def local(gradient: Callable[[Any], Any], count: Any) -> tuple[Any, Any]:
        def inner(start: Any, w: Any) -> Any:
            return descend(lambda theta: gradient(theta) + lam * (theta - w), start, step_size, inner_steps)

        w = theta = model
        for _ in range(count):
            theta = inner(w if restarts else theta, w)
            w = w - outer_step_size * lam * (w - theta)
        return w, theta

    ends, after = zip(*map(local, gradients, steps), strict=True)
    return model + mix * (mean(ends, weights) - model), after
