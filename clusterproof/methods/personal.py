"""Methods whose clients have personal models: LOCAL, FedBCD, Ditto and pFedMe."""

from __future__ import annotations

from typing import Any

from clusterproof.methods.declaration import Real, method


@method("local", of_clients=("models",), models="model")
def local(clients: Any, models: Any, *, step_size: Real) -> Any:
    """LOCAL: the baseline without communication."""
    return clients.each(lambda client, own: client.descend(own, step_size), models)


@method(
    "fedbcd", of_clients=("personal",), averages={"average": "personal"}, average="model", personal="model"
)
def fedbcd(
    clients: Any,
    model: Any,
    average: Any,
    personal: Any,
    *,
    step_size: Real,
    strength: Real,
    penalised: bool = True,
    server_step_size: Real = 1,
) -> Any:
    """FedBCD: Wu, Li, Wang, Chang and Ding (2021), with one server.

    We did not compare the equations with the paper's text.

    The server stores the mean of the last x_i of all clients, and moves z towards this mean. If ``penalised`` is
    True, local losses have the penalty mu / 2 ||x_i - z||^2. Otherwise the local steps are followed by equally many
    steps x_i <- x_i - a (x_i - z). ``strength`` is mu or a.
    """

    def steps(client: Any, own: Any) -> Any:
        if penalised:
            return client.descend(own, step_size, pull=strength, to=model)
        return model + (1 - strength) ** client.asked * (client.descend(own, step_size) - model)

    after = clients.each(steps, personal)
    changes = clients.map(lambda new, own: new - own, after, personal)
    average = average + clients.total(changes) / clients.count
    return model - server_step_size * (model - average), average, after


@method("ditto", of_clients=("personal",), of_each=("personal_steps",), personal="model")
def ditto(
    clients: Any,
    model: Any,
    personal: Any,
    *,
    step_size: Real,
    lam: Real,
    personal_step_size: Real,
    personal_steps: Any = 1,
    server_step_size: Real = 1,
) -> Any:
    """Ditto: Algorithm 1 of Li, Hu, Beirami and Smith (2021), where x is updated as in FedAvg.

    We did not compare the equations with the paper's text.

    Clients update v_i with gradient steps on their losses plus a penalty on the distance from the received x.
    """
    ends = clients.each(lambda client: client.descend(model, step_size))
    after = clients.each(
        lambda client, own, count: client.steps_of(count, own, personal_step_size, pull=lam, to=model),
        personal,
        personal_steps,
    )
    return model + server_step_size * (clients.mean(ends) - model), after


@method("pfedme", of_clients=("personal",), personal="model")
def pfedme(
    clients: Any,
    model: Any,
    personal: Any,  # noqa: ARG001 - the rounds replace the personal model
    *,
    step_size: Real,
    lam: Real,
    inner_steps: int = 5,
    outer_step_size: Real,
    mix: Real,
    theta: str = "continues",
) -> Any:
    """pFedMe: Algorithm 1 of T. Dinh, Tran and Nguyen (2020), with gradient steps for the proximal points.

    We did not compare the equations with the paper's text.

    In the next outer step, the initial theta is its last value, or w if ``theta`` is ``"restarts"``.
    """

    def outer_steps(client: Any) -> Any:
        w = own = model
        for _ in range(client.asked):
            start = w if theta == "restarts" else own
            own = client.steps_of(inner_steps, start, step_size, pull=lam, to=w)
            w = w - outer_step_size * lam * (w - own)
        return w, own

    found = clients.each(outer_steps)
    ends = clients.map(lambda each: each[0], found)
    after = clients.map(lambda each: each[1], found)
    return model + mix * (clients.mean(ends) - model), after
