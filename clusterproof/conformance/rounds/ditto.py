"""Ditto: Algorithm 1 of Li, Hu, Beirami and Smith (2021), where x moves as in FedAvg; restated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clusterproof.methods.exact import Functions, descend, mean


def approach(
    gradient: Callable[[Any], Any], personal: Any, received: Any, lam: Any, step_size: Any, steps: Any
) -> Any:
    """Return a client's v after steps on its loss, which pull v to the received x."""
    for _ in range(steps):
        personal = personal - step_size * (gradient(personal) + lam * (personal - received))
    return personal


def ditto_round(
    gradients: Functions,
    model: Any,
    personal: Sequence[Any],
    step_size: Any,
    steps: Any,
    lam: Any,
    personal_step_size: Any,
    personal_steps: Any,
    *,
    weights: Any = None,
    server_step: Any,
) -> tuple[Any, Sequence[Any]]:
    """Return x and the participants' v_i after a round."""
    local = [descend(each, model, step_size, count) for each, count in zip(gradients, steps, strict=True)]
    after = model + server_step * (mean(local, weights) - model)
    own = zip(gradients, personal, personal_steps, strict=True)
    return after, [approach(each, v, model, lam, personal_step_size, count) for each, v, count in own]
