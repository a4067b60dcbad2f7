"""Methods in which the server uses the clients' mean change as a gradient, with momentum or entrywise step sizes."""

from __future__ import annotations

from typing import Any

from clusterproof.methods.declaration import Real, method


@method("fedavgm")
def fedavgm(
    clients: Any,
    model: Any,
    buffer: Any,
    *,
    step_size: Real,
    momentum: Real,
    nesterov: bool = False,
    server_step_size: Real = 1,
) -> Any:
    """FedAvgM: Hsu, Qi and Brown (2019), which adds momentum on the server to FedAvg.

    We did not compare the equations with the paper's text.

    With ``nesterov`` the server moves along Delta + beta v.
    """
    delta = model - clients.mean(clients.each(lambda client: client.descend(model, step_size)))
    buffer = momentum * buffer + delta
    return model - server_step_size * (delta + momentum * buffer if nesterov else buffer), buffer


@method("fedadam", v=lambda tau: tau**2)
def fedadam(
    clients: Any,
    model: Any,
    m: Any,
    v: Any,
    *,
    step_size: Real,
    eta: Real,
    beta1: Real,
    beta2: Real,
    tau: Real,
) -> Any:
    """FedAdam: Algorithm 2 of Reddi, Charles, Zaheer, Garrett, Rush, Konecny et al. (2021).

    We did not compare the equations with the paper's text.
    """
    delta = clients.mean(clients.each(lambda client: client.descend(model, step_size))) - model
    square = delta * delta
    m = beta1 * m + (1 - beta1) * delta
    v = beta2 * v + (1 - beta2) * square
    return model + eta * m / (v**0.5 + tau), m, v


@method("fedyogi", v=lambda tau: tau**2)
def fedyogi(
    clients: Any,
    model: Any,
    m: Any,
    v: Any,
    *,
    step_size: Real,
    eta: Real,
    beta1: Real,
    beta2: Real,
    tau: Real,
) -> Any:
    """FedYogi: Algorithm 2 of Reddi, Charles, Zaheer, Garrett, Rush, Konecny et al. (2021).

    We did not compare the equations with the paper's text.
    """
    delta = clients.mean(clients.each(lambda client: client.descend(model, step_size))) - model
    square = delta * delta
    m = beta1 * m + (1 - beta1) * delta
    v = v - (1 - beta2) * square * clients.sign(v - square)
    return model + eta * m / (v**0.5 + tau), m, v
