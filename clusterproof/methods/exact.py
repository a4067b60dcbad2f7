"""A method's clients as a list, in the kernel's language, for computations with numbers, symbols, points and arrays.

The values of the clients are a list with one entry per participant of the round, in the same order. No function
modifies its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Functions = Sequence[Callable[[Any], Any]]


def add_up(values: Sequence[Any]) -> Any:
    """Return the sum of one or more vectors."""
    return sum(values[1:], start=values[0])


def mean(values: Sequence[Any], weights: Sequence[Any] | None = None) -> Any:
    """Return the mean of the v_i, the sum of p_i v_i. The weights p_i sum to 1. If None, they are equal."""
    if weights is None:
        return add_up(values) / len(values)
    return add_up([weight * value for weight, value in zip(weights, values, strict=True)])


def descend(gradient: Callable[[Any], Any], start: Any, step_size: Any, steps: Any) -> Any:
    """Return the model after the given number of gradient steps."""
    for _ in range(steps):
        start = start - step_size * gradient(start)  # w <- w - eta grad l(w)
    return start


def pulled(y: Any, to: Any, pull: Any) -> Any:
    """Return the gradient of pull / 2 ||y - to||^2 at y."""
    return pull * (y - to)


def descend_with_momentum(
    gradient: Callable[[Any], Any],
    start: Any,
    buffer: Any,
    step_size: Any,
    momentum: Any,
    steps: Any,
    delayed: bool = False,
) -> tuple[Any, Any]:
    """Return model and buffer after steps with momentum.

    The buffer is updated before the model, unless ``delayed`` is True.
    """
    for _ in range(steps):
        after = momentum * buffer + gradient(start)
        start = start - step_size * (buffer if delayed else after)
        buffer = after
    return start, buffer


def members(values: Sequence[Any], chosen: Sequence[int], cluster: int) -> Sequence[Any]:
    """Return the values of the participants that chose a cluster."""
    return [value for value, own in zip(values, chosen, strict=True) if own == cluster]


def shares(weights: Sequence[Any] | None, chosen: Sequence[int], cluster: int) -> Sequence[Any] | None:
    """Return the weights of a cluster's participants, divided by the sum, or None if all weights are equal."""
    if weights is None:
        return None
    own = members(weights, chosen, cluster)
    return [weight / sum(own) for weight in own]


@dataclass(frozen=True)
class ExactClient:
    """The operations of one client.

    Attributes
    ----------
    gradient
        Function that returns the gradient of the client's loss at a model.
    steps
        Number of local steps of the client (K).
    loss
        Function that returns the client's loss at a model.
    product
        Function of a model and a vector that returns the product of the loss's Hessian with the vector.
    path, path_with_momentum, pulled
        The functions ``descend``, ``descend_with_momentum`` and ``pulled``, or functions with the same parameters.
    """

    gradient: Any
    steps: Any = 1
    loss: Any = None
    product: Any = None
    path: Any = None
    path_with_momentum: Any = None
    pulled: Any = None

    @property
    def asked(self) -> Any:
        """Requested number of local steps. Here each local step is one gradient step."""
        return self.steps

    def descend(
        self,
        start: Any,
        step_size: Any,
        plus: Any = None,
        pull: Any = None,
        to: Any = None,
        along: Any = None,
    ) -> Any:
        """Return the model after the local steps y <- y - step_size (g(y) + plus + pull (y - to)).

        If ``along`` is given, this function of a model replaces the gradient g as direction.
        """
        return self.steps_of(self.steps, start, step_size, plus, pull, to, along)

    def steps_of(
        self,
        count: Any,
        start: Any,
        step_size: Any,
        plus: Any = None,
        pull: Any = None,
        to: Any = None,
        along: Any = None,
    ) -> Any:
        """Return the model after ``count`` local steps instead of K."""
        gradient = self.gradient if along is None else along

        def direction(y: Any) -> Any:
            found = gradient(y)
            if plus is not None:
                found = found + plus
            return found if pull is None else found + self.pulled(y, to, pull)

        return self.path(direction, start, step_size, count)

    def descend_with_momentum(
        self, start: Any, buffer: Any, step_size: Any, momentum: Any, delayed: Any = False
    ) -> Any:
        """Return model and buffer after the local steps u <- momentum u + g(y), y <- y - step_size u.

        If ``delayed`` is True, the step of y uses the value of u from the previous step.
        """
        return self.path_with_momentum(self.gradient, start, buffer, step_size, momentum, self.steps, delayed)

    def choice(self, models: Any) -> Any:
        """Return the index of the model with the smallest loss. In a tie, it is the first such model."""
        return min(range(len(models)), key=lambda cluster: self.loss(models[cluster]))


@dataclass(frozen=True)
class SolvingClient:
    """A client that minimises its local objective exactly instead of taking local steps.

    Attributes
    ----------
    minimiser
        The function that maps w^t to the minimiser of f(w) + mu / 2 ||w - w^t||^2.
    """

    minimiser: Any

    def descend(self, start: Any, step_size: Any, pull: Any, to: Any) -> Any:  # noqa: ARG002 - steps have these arguments
        """Return the minimiser of the local objective, which replaces the model after local steps."""
        return self.minimiser(start)


@dataclass(frozen=True)
class ExactClients:
    """All participants of a round as one value.

    Attributes
    ----------
    participants
        One ``ExactClient`` per participant.
    count
        Number of all clients (N).
    weights
        Weights p_i in a mean, with sum 1, or None for equal weights.
    """

    participants: Any
    count: Any
    weights: Any = None

    def each(self, line: Any, *values: Any) -> Any:
        """Call a function with each client and the client's entry of each value, and return the list of results."""
        return [line(*one) for one in zip(self.participants, *values, strict=True)]

    def map(self, line: Any, *values: Any) -> Any:
        """Call a function with each client's entry of each value, and return the list of results."""
        return [line(*one) for one in zip(*values, strict=True)]

    def to_all(self, vector: Any) -> Any:
        """Return a list that repeats the server's vector for each client."""
        return [vector for _ in self.participants]

    def mean(self, values: Any) -> Any:
        """Return the mean of the clients' vectors."""
        return mean(values, self.weights)

    def total(self, values: Any) -> Any:
        """Return the sum of the clients' vectors."""
        return add_up(values)

    def where(self, holds: Any, one: Any, other: Any) -> Any:
        """Return ``one`` if the condition ``holds``, otherwise ``other``."""
        return one if holds else other

    def sign(self, value: Any) -> Any:
        """Return the signs of all entries in one of the server's vectors."""
        return 1 * (value > 0) - 1 * (value < 0)

    @property
    def size(self) -> int:
        """Number of participants."""
        return len(self.participants)

    # ---- operations with one model per cluster

    def chosen(self, models: Any) -> Any:
        """Return the index of the model with the smallest loss for each client."""
        return [client.choice(models) for client in self.participants]

    def sizes(self, chosen: Any, models: Any) -> Any:
        """Return the number of participants per cluster."""
        return [chosen.count(cluster) for cluster in range(len(models))]

    def received(self, models: Any, chosen: Any) -> Any:
        """Return the model of each client's cluster."""
        return [models[cluster] for cluster in chosen]

    def mean_by(self, values: Any, chosen: Any, kept: Any) -> Any:
        """Return the mean of the participants' values per cluster, or the value in ``kept`` without participants."""
        sent = [members(values, chosen, cluster) for cluster in range(len(kept))]
        weights = [shares(self.weights, chosen, cluster) for cluster in range(len(kept))]
        return [
            mean(own, each) if own else before for own, each, before in zip(sent, weights, kept, strict=True)
        ]

    def total_by(self, values: Any, chosen: Any, models: Any) -> Any:
        """Return the sum of the participants' values per cluster, which is 0 without participants."""
        sent = [members(values, chosen, cluster) for cluster in range(len(models))]
        return [add_up(own) if own else 0 * model for own, model in zip(sent, models, strict=True)]

    def each_cluster(self, line: Any, *values: Any) -> Any:
        """Call a function with each cluster's entry of each value, and return the list of results."""
        return [line(*one) for one in zip(*values, strict=True)]


def exact_clients(
    gradients: Functions,
    steps: Any,
    *,
    weights: Any = None,
    count: Any = None,
    losses: Any = None,
    products: Any = None,
) -> ExactClients:
    """Return one value that represents all clients, with the given gradients.

    Parameters
    ----------
    gradients
        One function per participant, which returns the gradient at a model.
    steps
        Number of local steps of each participant (K_i).
    weights
        Weights p_i in a mean, with sum 1, or None for equal weights.
    count
        Number of all clients (N). If None, all clients take part.
    losses, products
        One ``loss`` and one ``product`` per participant, see ``ExactClient``.
    """
    size = len(gradients)
    participants = [
        ExactClient(gradient, count_of, loss, product, descend, descend_with_momentum, pulled)
        for gradient, count_of, loss, product in zip(
            gradients, steps, losses or [None] * size, products or [None] * size, strict=True
        )
    ]
    return ExactClients(participants, size if count is None else count, weights)
