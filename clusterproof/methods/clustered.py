"""Methods with one model per cluster, in which each client chooses a model: IFCA and CFL-MGD."""

from __future__ import annotations

from typing import Any

from clusterproof.methods.declaration import Real


def ifca(clients: Any, models: Any, *, step_size: Real, averaging: str = "gradient", chosen: Any) -> Any:
    """IFCA: Algorithm 1 of Ghosh, Chung, Yin and Ramchandran (2020), after the clients' choice in line 8.

    With gradient averaging, the server subtracts gamma / m times the sum of the gradients of a cluster's clients from
    its model (line 15). With model averaging, the server takes the mean of the models of a cluster's clients after
    local steps (line 18). The model of a cluster without clients does not change.
    """
    received = clients.received(models, chosen)
    if averaging == "model":
        ends = clients.each(lambda client, own: client.descend(own, step_size), received)
        return clients.mean_by(ends, chosen, models)
    sent = clients.each(lambda client, own: client.gradient(own), received)
    sums = clients.total_by(sent, chosen, models)
    return clients.each_cluster(lambda model, total: model - step_size * total / clients.count, models, sums)


def mean_gradients(clients: Any, models: Any, chosen: Any, divisors: Any) -> Any:
    """Return each cluster's sum of gradients, divided by the number of all clients or ``divisors``, as in (5)."""
    sent = clients.each(lambda client, own: client.gradient(own), clients.received(models, chosen))
    sums = clients.total_by(sent, chosen, models)
    if divisors is None:
        return clients.each_cluster(lambda total: total / clients.count, sums)
    return clients.each_cluster(lambda total, number: total / number, sums, divisors)


def moved(clients: Any, models: Any, buffers: Any, step_size: Any) -> Any:
    """Return the models after one step along each cluster's buffer."""
    return clients.each_cluster(lambda model, buffer: model - step_size * buffer, models, buffers)


def cfl_mgd_option_1(
    clients: Any,
    models: Any,
    momenta: Any,
    *,
    step_size: Real,
    momentum: Real,
    chosen: Any,
    divisors: Any = None,
) -> Any:
    """CFL-MGD, option I with the server's momentum: Algorithm 1 of Zhao et al. (2023), (9), and line 2 of (32)."""
    means = mean_gradients(clients, models, chosen, divisors)
    momenta = clients.each_cluster(lambda buffer, mean: momentum * buffer + mean, momenta, means)
    return moved(clients, models, momenta, step_size), momenta


def delayed_option_1(
    clients: Any,
    models: Any,
    momenta: Any,
    pending: Any,
    *,
    step_size: Real,
    momentum: Real,
    chosen: Any,
    divisors: Any = None,
) -> Any:
    """Option I as printed: line 9 uses ``pending``, the mean gradient of the previous round."""
    means = mean_gradients(clients, models, chosen, divisors)
    momenta = clients.each_cluster(lambda buffer, late: momentum * buffer + late, momenta, pending)
    return moved(clients, models, momenta, step_size), momenta, means


def client_momenta_option_1(
    clients: Any,
    models: Any,
    momenta: Any,
    pending: Any,
    *,
    step_size: Real,
    momentum: Real,
    chosen: Any,
    divisors: Any,
    delayed: bool = False,
) -> Any:
    """Option I with the clients' momenta: lines 7 to 9 of Algorithm 1.

    In line 15, the clients of a cluster receive the mean of their momenta.
    """

    def line_9(buffer: Any, own: Any, late: Any) -> Any:
        return momentum * buffer + (late if delayed else own)

    received = clients.received(models, chosen)
    gradients = clients.each(lambda client, own: client.gradient(own), received)
    own = clients.map(line_9, momenta, gradients, pending)
    sums = clients.total_by(own, chosen, models)
    means = clients.each_cluster(lambda total, number: total / number, sums, divisors)
    zero = clients.each_cluster(lambda model: 0 * model, models)
    shared = clients.received(clients.mean_by(own, chosen, zero), chosen)
    return moved(clients, models, means, step_size), shared, gradients if delayed else pending


def cfl_mgd_option_2(
    clients: Any,
    models: Any,
    momenta: Any,
    *,
    step_size: Real,
    momentum: Real,
    chosen: Any,
    delayed: bool = False,
) -> Any:
    """CFL-MGD, option II: local steps with u before chi ((4), lines 17 to 21), and means ((10), line 16).

    If ``delayed`` is True, both equations of line 20 are applied in the printed order.
    """
    ends = clients.each(
        lambda client, model, buffer: client.descend_with_momentum(
            model, buffer, step_size, momentum, delayed
        ),
        clients.received(models, chosen),
        clients.received(momenta, chosen),
    )
    after = clients.map(lambda end: end[0], ends)
    buffers = clients.map(lambda end: end[1], ends)
    return clients.mean_by(after, chosen, models), clients.mean_by(buffers, chosen, momenta)


def divisors_of(clients: Any, models: Any, chosen: Any, normalisation: str) -> Any:
    """Return the divisor of each cluster's sum of gradients in (5): N, |M_t| or the cluster's participants.

    A cluster without participants has the sum 0, and its divisor is |M_t| instead of 0.
    """
    if normalisation == "cluster":
        sizes = clients.sizes(chosen, models)
        return clients.each_cluster(lambda size: clients.where(size > 0, size, clients.size), sizes)
    number = clients.count if normalisation == "clients" else clients.size
    return clients.each_cluster(lambda _: number, models)


def cfl_mgd(
    clients: Any,
    models: Any,
    momenta: Any,
    pending: Any,
    *,
    step_size: Real,
    momentum: Real,
    averaging: str,
    momentum_owner: str,
    update_order: str,
    reset_momentum: bool,
    normalisation: str,
    empty_cluster: str,
    chosen: Any,
) -> Any:
    """CFL-MGD: Algorithm 1 of Zhao et al. (2023), with the option and the reading that the settings choose.

    The states are the models, the momenta, and the gradients that the next round uses. With option I and
    ``momentum_owner="client"``, there is one momentum per participant, otherwise one per cluster.
    """
    settings = {"step_size": step_size, "momentum": momentum, "chosen": chosen}
    delayed = update_order == "as-printed"
    if averaging == "model":
        start = clients.each_cluster(lambda u: 0 * u, momenta) if reset_momentum else momenta
        return *cfl_mgd_option_2(clients, models, start, **settings, delayed=delayed), pending
    divisors = divisors_of(clients, models, chosen, normalisation)
    if momentum_owner == "client":
        return client_momenta_option_1(
            clients, models, momenta, pending, **settings, divisors=divisors, delayed=delayed
        )
    before = models, momenta
    if delayed:
        models, momenta, pending = delayed_option_1(
            clients, models, momenta, pending, **settings, divisors=divisors
        )
    else:
        models, momenta = cfl_mgd_option_1(clients, models, momenta, **settings, divisors=divisors)
    if empty_cluster == "freeze":
        occupied = clients.each_cluster(lambda size: size > 0, clients.sizes(chosen, models))
        models, momenta = (
            clients.each_cluster(clients.where, occupied, new, old)
            for new, old in zip((models, momenta), before, strict=True)
        )
    return models, momenta, pending
