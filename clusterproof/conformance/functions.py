"""Functions that changes of definitions call if one expression is not enough for a form or mistake."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from clusterproof.methods.exact import ExactClient, descend, mean, members, pulled

__all__ = ["mean", "members", "np", "zip_longest"]


def weights_of(run: Any) -> Any:
    """Return the weights of the round's participants after the run's changes."""
    return run.of_round["weights"]


def number_of(run: Any, client: Any) -> int:
    """Return the index of a client in the list of all clients; the client is identified by its gradient function."""
    of_round = run.of_round
    places = [each.gradient is client.gradient for each in of_round["clients"].participants]
    return int(of_round["participants"][places.index(True)])


def half(value: Any) -> np.ndarray:
    """Return a value rounded to float16."""
    return np.asarray(value, dtype="float16").astype(float)


def at_most(value: np.ndarray, norm: float) -> np.ndarray:
    """Return a vector, scaled to the given norm if its norm is larger."""
    return value * min(1.0, norm / max(float(np.linalg.norm(value)), 1e-300))


def not_squared(pull: np.ndarray, strength: float, *parts: slice) -> np.ndarray:
    """Convert the gradient of mu / 2 ||y - x||^2 to the gradient of mu / 2 ||y - x||, which is 0 at x, as in autograd.

    With ``parts`` of the model, the norm is the sum of the parts' norms.
    """
    pieces = [pull[part] for part in parts or (slice(None),)]
    lengths = [2 * float(np.linalg.norm(piece / strength)) for piece in pieces]
    return np.concatenate([piece / (length or np.inf) for piece, length in zip(pieces, lengths, strict=True)])


def kept(run: Any, key: Any, value: Any, given: Any = None) -> Any:
    """Store a value under a key for the next round, and return ``given``, or the value itself if ``given`` is None."""
    run.memory[key] = value
    return value if given is None else given


def delayed(run: Any, key: Any, value: Any) -> Any:
    """Return the value of the previous call with this key; the first call returns 0."""
    before = run.memory.get(key, 0 * np.array(value))
    run.memory[key] = value
    return before


def added_up(run: Any, key: str, value: Any) -> Any:
    """Return the sum of the values of all calls with this key so far."""
    return kept(run, key, run.memory.get(key, 0.0) + value)


def of_participants(run: Any, values: Any, absent: Any) -> np.ndarray:
    """Return an array with one value per client: the participants' values, and ``absent`` for every absent client."""
    table = np.full(run.task.clients, absent)
    table[list(run.of_round["participants"])] = values
    return table


# Functions that change weights. Their arguments are the run, the weights, and the clients with these weights


def of_changes(run: Any, average: Any, weights: Any) -> Any:
    """Return x + sum_i p_i (y_i - x) from sum_i p_i y_i; the weights p_i need not add up to 1."""
    return average + (1 - sum(weights)) * run.model


def counts(run: Any, clients: Any) -> np.ndarray:
    """Return the clients' numbers of samples n_i, or ones if clients have equal weights."""
    samples = run.task.samples if run.weighting == "samples" else np.ones(run.task.clients)
    return np.asarray(samples[list(clients)], dtype=float)


def share(run: Any, clients: Any) -> float:
    """Return the sum of the given clients' counts, divided by the sum of all clients' counts."""
    return float(counts(run, clients).sum() / counts(run, range(run.task.clients)).sum())


def other_weights(run: Any, _: Any, clients: Any) -> np.ndarray:
    """Return equal weights if weights proportional to n_i are declared, and vice versa."""
    samples = run.task.samples[list(clients)]
    other = np.ones(len(samples)) if run.weighting == "samples" else samples
    return np.asarray(other / other.sum())


def absent_counted(run: Any, weights: Any, clients: Any) -> Any:
    """Return the weights if they are divided by the total count of all clients, including absent clients."""
    return share(run, clients) * np.array(weights)


def first_twice(_: Any, weights: Any, __: Any) -> Any:
    """Return the weights with the first one doubled."""
    return np.array([2 * weights[0], *weights[1:]])


def ones(_: Any, weights: Any, __: Any) -> Any:
    """Return weights of 1, so that a mean becomes a sum."""
    return np.ones(len(weights))


def last(_: Any, weights: Any, __: Any) -> Any:
    """Return the weights with all but the last one set to zero."""
    return np.array(weights) * np.eye(len(weights))[-1]


def share_each(run: Any, weights: Any, _: Any) -> Any:
    """Return the weight k / N for each of k clients, where N is the number of all clients."""
    return np.full(len(weights), len(weights) / run.task.clients)


def old_total(run: Any, weights: Any, clients: Any) -> Any:
    """Return weights divided by a sum over all rounds so far, as in code that does not reset the sum to 0."""
    total = float(counts(run, clients).sum())
    return np.array(weights) * total / added_up(run, "total", total)


def of_all_clusters(run: Any, weights: Any, clients: Any) -> Any:
    """Return the weights of a cluster's members, divided by the sum of the weights of all participants."""
    shares = zip(run.of_round["participants"], run.of_round["weights"], strict=True)
    return np.array(weights) * sum(weight for client, weight in shares if client in clients)


def of_members(run: Any, shares: Callable[..., Any], change: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function ``shares`` such that ``change`` is applied to a cluster's weights, unless they are equal."""

    def changed(weights: Any, chosen: Any, cluster: int) -> Any:
        if weights is None or cluster not in chosen:
            return shares(weights, chosen, cluster)
        if ("shares", cluster) not in run.of_round:
            values, everyone = shares(weights, chosen, cluster), run.of_round["participants"]
            own = everyone if len(values) == len(everyone) else members(everyone, chosen, cluster)
            run.of_round["shares", cluster] = change(run, values, own)
        return run.of_round["shares", cluster]

    return changed


# Local steps


class LocalStep(NamedTuple):
    """Values that a change to a local step may use, such as the client and the gradient (or direction) at y.

    The number of a step counts from 0 in each round. ``memory`` is a dictionary for the local steps of one round.
    """

    run: Any
    client: int
    gradient: Any
    y: Any
    number: int
    memory: dict[Any, Any]


def in_local_steps(run: Any, gradients: Any, change: Callable[[LocalStep], Any]) -> list[Any]:
    """Change only the gradients of local steps, not the gradients that a client sends or stores."""

    def changed(gradient: Callable[[Any], Any], steps: int) -> Callable[[Any], Any]:
        calls = itertools.count(-run.changed("gradients before steps", 0))
        per_step, memory = run.changed("gradients of a step", 1), {}  # type: ignore[var-annotated]

        def at(y: Any) -> Any:
            value, number = gradient(y), next(calls) // per_step
            step = LocalStep(run, run.of_round["client"], value, y, number, memory)
            return change(step) if 0 <= number < steps else value

        return at

    return [
        changed(gradient, steps) for gradient, steps in zip(gradients, run.of_round["steps"], strict=True)
    ]


def in_directions(
    run: Any, local: Callable[..., Any], change: Callable[[LocalStep], Any]
) -> Callable[..., Any]:
    """Return local steps with changed directions; a direction is a gradient plus all terms that the algorithm adds."""

    def changed(gradient: Callable[[Any], Any], *others: Any) -> Any:
        calls, memory = itertools.count(), {}  # type: ignore[var-annotated]

        def at(y: Any) -> Any:
            value = gradient(y)
            return change(LocalStep(run, run.of_round["client"], value, y, next(calls), memory))

        return local(at, *others)

    return changed


def summed(step: LocalStep) -> Any:
    """Return the gradient times the number of samples in its batch."""
    samples, size = int(step.run.task.samples[step.client]), step.run.settings["batch_size"]
    first = step.number % step.run.batches(step.client) * (size or 0)
    return min(size or samples, samples - first) * step.gradient


def not_zeroed(step: LocalStep) -> Any:
    """Return the sum of the client's gradients so far in this round."""
    step.memory["sum"] = step.gradient if step.number == 0 else step.memory["sum"] + step.gradient
    return step.memory["sum"]


def with_momentum(
    beta: float, decay: float = 0.0, kept_between: bool = False, ahead: bool = False
) -> Callable[[LocalStep], Any]:
    """Return a change that adds momentum and weight decay to local steps; ``ahead`` selects Nesterov's momentum."""

    def change(step: LocalStep) -> Any:
        memory = step.run.memory if kept_between else step.memory
        key, moved = ("buffer", step.client), step.gradient + decay * step.y
        memory[key] = moved + beta * memory.get(key, 0.0)
        return moved + beta * memory[key] if ahead else memory[key]

    return change


def in_own_rounds(factor: float) -> Callable[[LocalStep], Any]:
    """Return a change that multiplies a client's step size by a factor after each round in which it took part."""

    def change(step: LocalStep) -> Any:
        before, memory = ("rounds", step.client), step.run.memory
        rounds = step.run.of_round.setdefault(before, memory.get(before, 0))
        memory[before] = rounds + 1
        return step.gradient * factor**rounds

    return change


def with_weight_decay(run: Any, local: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap local steps such that the declared weight decay is added to the gradient, their first argument."""
    decay = run.declared("weight_decay")

    def decayed(gradient: Callable[[Any], Any], *others: Any) -> Any:
        return local(lambda y: gradient(y) + decay * y, *others)

    return decayed if decay else local


def without_changes(run: Any, client: Any) -> ExactClient:
    """Return a client without mistakes. Its local steps have weight decay if weight decay is declared."""
    return ExactClient(client.gradient, path=with_weight_decay(run, descend), pulled=pulled)


def next_model(run: Any, clients: Any, ends: Any) -> Any:
    """Return the server's next model, computed from the models after local steps, with the run's changes."""
    mean_of_models = run.changed("mean of models", clients.mean(ends), {"step_size": run.step_size})
    return run.model + run.of_round["server_step_size"] * (mean_of_models - run.model)


class _Asked(Exception):
    """Exception that a gradient function raises instead of returning a value.

    It reveals the client of this function.
    """


def client_of(run: Any, gradient: Callable[[Any], Any]) -> int:
    """Return the client of a gradient function or direction, because code may process the clients in any order."""
    run.of_round["asked"] = _Asked
    try:
        gradient(run.model)
    except _Asked:
        return int(run.of_round["client"])
    finally:
        del run.of_round["asked"]
    raise LookupError("a direction without a gradient of a client")


def noted(
    run: Any, local: Callable[..., Any], start: Callable[[Any], Any] = lambda model: model
) -> Callable[..., Any]:
    """Wrap local steps such that they start at ``start(model)`` instead of the received model.

    The models after the local steps are stored until the end of the round.
    """

    def changed(gradient: Any, model: Any, *others: Any) -> Any:
        end = local(gradient, start(model), *others)
        run.of_round.setdefault("ends", []).append(end)
        return end

    return changed


def in_a_row(run: Any, local: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap local steps such that they start at the previous client's final model."""
    return noted(run, local, lambda model: run.of_round.get("ends", [model])[-1])


def from_own(run: Any, local: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap local steps such that they start at the client's own final model of its previous round."""

    def changed(gradient: Any, model: Any, *others: Any) -> Any:
        client = client_of(run, gradient)
        return kept(run, ("end", client), local(gradient, run.memory.get(("end", client), model), *others))

    return changed


def starts_in_a_row(model: Any, clients: Any, controls: Any, step_size: Any) -> Iterator[Any]:
    """Yield the initial models of ProxSkip's clients if each client starts at the final model of the previous one."""

    def corrected(gradient: Callable[[Any], Any], control: Any) -> Callable[[Any], Any]:
        return lambda y: gradient(y) - control

    for client, control in zip(clients.participants, controls, strict=True):
        yield model
        model = descend(corrected(client.gradient, control), model, step_size, client.steps)


# Choice of a cluster by a client


def last_choice(run: Any, choice: int) -> int:
    """Return the choice that the client made in its previous round."""
    key = ("choice", run.of_round["client"])
    return int(kept(run, key, choice, run.memory.get(key, choice)))


def first_choice(run: Any, choice: int) -> int:
    """Return the choice that the client made in its first round."""
    return int(run.memory.setdefault(("choice", run.of_round["client"]), choice))


def all_in_first(shares: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the weights of a cluster's members such that the first cluster contains all participants."""
    return lambda weights, chosen, cluster: (
        list(weights) if weights and cluster == 0 else shares(weights, chosen, cluster)
    )


# Controls of SCAFFOLD


def refreshed(run: Any, control: Any) -> Any:
    """Return c if the participants first set their c_i to g_i(x)."""
    moves = [run.task.gradient(i, run.model) - run.controls[i] for i in run.of_round["participants"]]
    return control + sum(moves) / run.task.clients


def moves_with_model(run: Any, moved: Any) -> list[Any]:
    """Return the changes of the participants' new controls if the server's new model replaces x in their formula."""
    if run.settings["option"] == "I":
        at = run.task.gradient
        return [at(i, moved) - at(i, run.model) for i in run.of_round["participants"]]
    return [(moved - run.model) / (run.steps(i) * run.step_size) for i in run.of_round["participants"]]


def first_from_mean(run: Any, after: Any) -> Any:
    """Return the change of the first participant's new control if it is computed with the mean of the models."""
    if run.settings["option"] == "I":
        return 0 * run.model
    first = run.of_round["participants"][0]
    drift = (run.model - after["model"]) / run.settings["server_step_size"]
    own = run.controls[first] - run.control + drift / (run.steps(first) * run.step_size)
    return own - after["controls"][0]


def in_loop(run: Any, new: Any, own: Any) -> Any:
    """Return a client's new control, and store its change for the later clients of the round."""
    run.of_round.setdefault("moves", []).append(new - own)
    return new


def moved_in_loop(run: Any, control: Any) -> Any:
    """Return the server's control c, updated with the changes of the previous clients of the round."""
    return control + sum(run.of_round.get("moves", [0.0])) / run.task.clients


def shared_control(local: Callable[..., Any], clients: Any, control: Any) -> Sequence[Any]:
    """Return the last models and the new controls of clients if all controls are stored in one shared array."""
    found = []
    for client in clients.participants:
        found.append(local(client, control))
        control = found[-1][1]
    return found
