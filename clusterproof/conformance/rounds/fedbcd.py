"""FedBCD: Wu, Li, Wang, Chang and Ding (2021), with one server; restated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clusterproof.methods.exact import Functions, descend, mean


def fedbcd_round(
    gradients: Functions,
    participants: Sequence[int],
    model: Any,
    personal: Sequence[Any],
    step_size: Any,
    steps: Any,
    penalised: bool,
    strength: Any,
    of_all: bool = True,
    *,
    server_step: Any,
) -> tuple[Any, Sequence[Any]]:
    """Return z and all x_i after a round.

    Local losses have the penalty mu / 2 ||x_i - z||^2 if ``penalised``; else as many steps x_i <- x_i - a (x_i - z)
    follow. ``strength`` is mu or a. z moves to the mean of all x_i if ``of_all``, otherwise to the mean of the
    participants' x_i.
    """

    def local(gradient: Callable[[Any], Any], own: Any, count: Any) -> Any:
        if penalised:
            return descend(lambda y: gradient(y) + strength * (y - model), own, step_size, count)
        return model + (1 - strength) ** count * (descend(gradient, own, step_size, count) - model)

    after = list(personal)
    for gradient, client, count in zip(gradients, participants, steps, strict=True):
        after[client] = local(gradient, personal[client], count)
    averaged = after if of_all else [after[client] for client in participants]
    return model - server_step * (model - mean(averaged)), after
