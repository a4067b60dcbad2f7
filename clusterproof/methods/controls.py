"""Methods that correct client drift with control variates, or with gradients that the clients send."""

from __future__ import annotations

from typing import Any

from clusterproof.methods.declaration import Real, method


@method("fedlin")
def fedlin(clients: Any, model: Any, *, step_size: Real, server_step_size: Real = 1) -> Any:
    """FedLin: Mitra, Jaafar, Pappas and Hassani (2021), without compression, restated from its abstract.

    In each round, the clients first send their gradients at x, and then their models.
    """
    sent = clients.each(lambda client: client.gradient(model))
    common = clients.mean(sent)
    ends = clients.each(lambda client, own: client.descend(model, step_size, plus=common - own), sent)
    return model + server_step_size * (clients.mean(ends) - model)


@method("scaffold", of_clients=("controls",), averages={"control": "controls"})
def scaffold(
    clients: Any,
    model: Any,
    control: Any,
    controls: Any,
    *,
    step_size: Real,
    option: str = "II",
    server_step_size: Real = 1,
) -> Any:
    """SCAFFOLD: Algorithm 1 of Karimireddy, Kale, Mohri, Reddi, Stich and Suresh (2020), options I and II."""

    def local(client: Any, own: Any) -> Any:
        end = client.descend(model, step_size, plus=control - own)  # line 10
        if option == "I":
            return end, client.gradient(model)  # line 12
        return end, own - control + (model - end) / (client.steps * step_size)

    found = clients.each(local, controls)
    ends, after = clients.map(lambda each: each[0], found), clients.map(lambda each: each[1], found)
    changes = clients.map(lambda new, own: new - own, after, controls)
    moved = model + server_step_size * (clients.mean(ends) - model)  # lines 16 and 17
    return moved, control + clients.total(changes) / clients.count, after


@method("feddyn", of_clients=("linear",), averages={"offset": "linear"})
def feddyn(clients: Any, model: Any, offset: Any, linear: Any, *, step_size: Real, alpha: Real) -> Any:
    """FedDyn: Algorithm 1 of Acar, Zhao, Navarro, Mattina, Whatmough and Saligrama (2021), with gradient steps.

    We did not compare the equations with the paper's text.

    The server stores h, and each client stores the gradient of its linear term.
    """
    ends = clients.each(
        lambda client, own: client.descend(model, step_size, plus=-own, pull=alpha, to=model), linear
    )
    changes = clients.map(lambda end: end - model, ends)
    after = clients.map(lambda own, change: own - alpha * change, linear, changes)
    offset = offset - alpha * clients.total(changes) / clients.count
    return clients.mean(ends) - offset / alpha, offset, after


@method("proxskip", of_clients=("personal", "controls"), given=("communicates",), personal="model")
def proxskip(
    clients: Any, personal: Any, controls: Any, *, step_size: Real, probability: Real, communicates: Any
) -> Any:
    """ProxSkip for averages (Scaffnew): Mishchenko, Malinovsky, Stich and Richtarik (2022), Algorithm 2.

    A round is one iteration with a given coin toss. The sum of the h_i is 0. We read Algorithm 1 of Variance Reduced
    ProxSkip (Malinovsky, Yi and Richtarik 2022), which states the same method. With unbiased estimates instead of the
    gradients, the method is SProxSkip.
    """
    ends = clients.each(lambda client, x, h: x - step_size * (client.gradient(x) - h), personal, controls)
    average = clients.mean(ends)
    after = clients.map(lambda h, x: h + probability / step_size * (average - x), controls, ends)
    return clients.where(communicates, clients.to_all(average), ends), clients.where(
        communicates, after, controls
    )
