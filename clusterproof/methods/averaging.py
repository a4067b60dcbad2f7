"""FedAvg and its variants: clients start from the server's model, and the server takes the mean of their models."""

from __future__ import annotations

from typing import Any

from clusterproof.methods.declaration import Real, method


@method("fedavg")
def fedavg(clients: Any, model: Any, *, step_size: Real, server_step_size: Real = 1) -> Any:
    """FedAvg: Algorithm 1 of McMahan, Moore, Ramage, Hampson and Aguera y Arcas (2017).

    With exact gradients, it is local gradient descent.

    The server's step size is from Karimireddy et al. (2020). In the paper on FedAvg it is 1.
    """
    ends = clients.each(lambda client: client.descend(model, step_size))
    return model + server_step_size * (clients.mean(ends) - model)


@method("fedprox")
def fedprox(clients: Any, model: Any, *, step_size: Real, proximal: Real, server_step_size: Real = 1) -> Any:
    """FedProx: Algorithm 2 of Li, Sahu, Zaheer, Sanjabi, Talwalkar and Smith (2020), with gradient steps.

    The clients minimise F_k(w) + mu / 2 ||w - w^t||^2.
    """
    ends = clients.each(lambda client: client.descend(model, step_size, pull=proximal, to=model))
    return model + server_step_size * (clients.mean(ends) - model)


@method("fednova")
def fednova(clients: Any, model: Any, *, step_size: Real, server_step_size: Real = 1) -> Any:
    """FedNova: Wang, Liu, Liang, Joshi and Poor (2020), with plain gradient steps, for which a_i is K_i.

    We did not compare the equations with the paper's text.

    The clients' changes are divided by their K_i and multiplied by tau, the mean of all K_i.
    """
    ends = clients.each(lambda client: client.descend(model, step_size))
    tau = clients.mean(clients.each(lambda client: client.steps))
    scaled = clients.each(lambda client, end: model + (end - model) * tau / client.steps, ends)
    return model + server_step_size * (clients.mean(scaled) - model)


def meta_steps(
    client: Any, start: Any, step_size: Real, inner_step_size: Real, first_order: bool = False
) -> Any:
    """Return a client's model after local steps on f_i(y - a g_i(y)), where a is the inner step size."""

    def direction(y: Any) -> Any:
        outer = client.gradient(y - inner_step_size * client.gradient(y))
        return outer if first_order else outer - inner_step_size * client.product(y, outer)

    return client.descend(start, step_size, along=direction)


@method("per-fedavg")
def per_fedavg(
    clients: Any,
    model: Any,
    *,
    step_size: Real,
    inner_step_size: Real,
    first_order: bool = False,
    server_step_size: Real = 1,
) -> Any:
    """Per-FedAvg: Fallah, Mokhtari and Ozdaglar (2020), with Hessians or to first order.

    We did not compare the equations with the paper's text.
    """
    ends = clients.each(lambda client: meta_steps(client, model, step_size, inner_step_size, first_order))
    return model + server_step_size * (clients.mean(ends) - model)
