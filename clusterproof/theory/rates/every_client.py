"""State the rounds of a method for any number of clients at once, in the kernel's language.

Combine the losses of the clients into one function F(x_1, ..., x_N) = mean f_i(x_i) - <grad f_i(x*), x_i>, and the
inner product is mean <x_i, y_i>. F belongs to the class of the clients' losses, and its minimiser is (x*, ..., x*).
The vectors of all clients together are one point of the product space. A vector of the server is a point with equal
components. Each point is the sum of its mean over clients and its deviation, and deviations are orthogonal to all
means. So a claim on a round quantifies over all functions of the class, and over all orthogonal decompositions of the
gradients into means and deviations. If the claim is true, the bound holds for any number of clients. The bound
depends on N >= 2 only through theta = (N - S) / (S (N - 1)), the share of the variance that remains if S of N clients
are sampled.

All vectors are differences from x* in units of the step size, (x - x*) / eta. So L becomes eta L, and eta becomes 1
(for FedProx, eta = 1 / m).
"""

from __future__ import annotations

from typing import Any

from clusterproof.methods.any_number import AnyNumber
from clusterproof.methods.averaging import fedavg, fedprox
from clusterproof.methods.controls import proxskip, scaffold
from clusterproof.methods.exact import ExactClient, SolvingClient, descend


def mean_of(f: Any, vector: Any, split: Any) -> Any:
    """Introduce a free vector for the mean of a vector over the clients, and store the mean and the deviation."""
    mean = f.point() - f.minimiser
    split[0].append(mean)
    split[1].append(vector - mean)
    return mean


def all_clients(f: Any, client: Any, split: Any) -> Any:
    """Return an object for all clients with the operations of one client. ``split`` stores means and deviations."""
    return AnyNumber(client, lambda vector: mean_of(f, vector, split))


def every_client(f: Any, split: Any, steps: Any, at_optimum: Any) -> Any:
    """Return clients that take gradient steps, whose losses have the given gradients at x*."""

    def gradient(y: Any) -> Any:
        found = f.gradient(f.minimiser + y)
        mean_of(f, found, split)
        return found + at_optimum

    return all_clients(f, ExactClient(gradient, steps, path=descend), split)


def fedavg_rounds(f: Any, split: Any, setting: Any) -> Any:
    """Return E|x - x*|^2 after rounds of FedAvg, where the last round samples clients. apart[0] is -grad f_i(x*)."""
    rounds, steps, server, sampling = setting
    model, clients = split[0][0], every_client(f, split, steps, -1 * split[1][0])
    for _ in range(rounds):
        model = fedavg(clients, model, step_size=1, server_step_size=server)
    return model @ model + sampling * server**2 * (split[1][-1] @ split[1][-1])


def fedprox_rounds(f: Any, split: Any, setting: Any) -> Any:
    """Return E|x - x*|^2 after rounds of FedProx with exact proximal steps, as in ``fedavg_rounds``.

    If ``of_mean`` is True, the first gradient is a gradient of the clients' mean loss, which has its own class.
    """
    rounds, sampling, of_mean = setting
    model, opposite = split[0][0], split[1][0]
    if of_mean:
        mean_of(f, f.gradient(f.minimiser + model), split)

    def minimiser(start: Any) -> Any:
        pulled = f.minimiser + start + opposite
        end = f.prox(pulled, 1)
        mean_of(f, pulled - end, split)
        return end - f.minimiser

    clients = all_clients(f, SolvingClient(minimiser), split)
    for _ in range(rounds):
        model = fedprox(clients, model, step_size=1, proximal=1)
    return model @ model + sampling * (split[1][-1] @ split[1][-1])


def scaffold_rounds(f: Any, split: Any, setting: Any) -> Any:
    """Return |x - x*|^2 + weight times the mean square of c_i - c - grad f_i(x*), after rounds of SCAFFOLD.

    Before the first round, c_i - c - grad f_i(x*) is apart[0].
    """
    rounds, steps, server, option, weight = setting
    model, own = split[0][0], split[1][0]
    control, clients = 0 * model, every_client(f, split, steps, 0 * model)
    for _ in range(rounds):
        model, control, own = scaffold(
            clients, model, control, own, step_size=1, option=option, server_step_size=server
        )
    return model @ model + weight * ((own - control) @ (own - control))


def proxskip_iterations(f: Any, split: Any, setting: Any) -> Any:
    """Return the mean of |x_i - x*|^2 + weight |h_i - grad f_i(x*)|^2 after ProxSkip, in expectation over coins.

    Before the first iteration, h_i - grad f_i(x*) is apart[0]. apart[1], if it exists, is the deviation of the models.
    """
    iterations, weight, probability = setting
    means, apart = split
    models = means[0] + apart[1] if len(apart) > 1 else means[0]
    clients = every_client(f, split, 1, 0 * models)
    branches = [(1, models, apart[0])]
    for _ in range(iterations):
        after = []
        for share, models, controls in branches:
            for coin, chance in ((True, probability), (False, 1 - probability)):
                found = proxskip(
                    clients, models, controls, step_size=1, probability=probability, communicates=coin
                )
                after.append((share * chance, *found))
        branches = after
    squares = [share * (x @ x + weight * (h @ h)) for share, x, h in branches]
    return sum(squares[1:], start=squares[0])


def mean_slacks(f: Any, means: Any, largest: Any, least: Any) -> Any:
    """Return two numbers that are nonnegative if the clients' mean loss is L-smooth and mu-strongly convex.

    The numbers are the slacks in the interpolation inequalities between x* and the initial model.
    """
    x, gradient, gap = means[0], means[1], f(f.start) - f.minimum
    rest = gradient - least * x
    short = (least * (x @ x) + (rest @ rest) / (largest - least)) / 2
    return [gap - short, gradient @ x - gap - short]
