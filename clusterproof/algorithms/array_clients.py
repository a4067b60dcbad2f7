"""The clients of a method as arrays of any library, with which ``run`` and ``train`` compute each round.

The values of the clients are the rows of an array, one per participant, (..., k, d). A vector of the server has one
row, (..., 1, d). So one line of a method computes the values of all clients at once. Local steps and gradients are
computed only when other code needs the results of single clients. If the code needs only a sum, the task may compute
or draw the sum without the summands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from clusterproof.algorithms.averaging import average_by_cluster, choose_clusters, cluster_sizes, divide
from clusterproof.algorithms.base import Descent, Task, Trained
from clusterproof.common.arrays import Array, array_namespace, one_hot, rows, sums_by_cluster
from clusterproof.common.randomness import Randomness


class Undone:
    """An array that is computed when it is first used."""

    __array_ufunc__ = None  # NumPy then uses the operators of this class, not operators on single entries

    @cached_property
    def array(self) -> Array:
        """The array, (..., k, d)."""
        raise NotImplementedError

    def __add__(self, other: Any) -> Array:
        return self.array + done(other)

    def __radd__(self, other: Any) -> Array:
        return other + self.array

    def __sub__(self, other: Any) -> Array:
        return self.array - done(other)

    def __rsub__(self, other: Any) -> Array:
        return other - self.array

    def __mul__(self, other: Any) -> Array:
        return self.array * done(other)

    def __rmul__(self, other: Any) -> Array:
        return other * self.array

    def __truediv__(self, other: Any) -> Array:
        return self.array / done(other)

    def __rtruediv__(self, other: Any) -> Array:
        return other / self.array

    def __pow__(self, other: Any) -> Array:
        return self.array**other

    def __neg__(self) -> Array:
        return -self.array


def done(value: Any) -> Any:
    """Return the array of a value that is computed when needed, and any other value unchanged."""
    return value.array if isinstance(value, Undone) else value


@dataclass(frozen=True, eq=False)
class Received(Undone):
    """The models that the clients received. The array is computed when needed."""

    models: Array
    chosen: Array

    @cached_property
    def array(self) -> Array:
        """The models, (..., k, d)."""
        return rows(self.models, self.chosen)


@dataclass(frozen=True, eq=False)
class Gradients(Undone):
    """The gradients of the clients at their received models. The array is computed when needed."""

    client: ArrayClient
    received: Received

    @cached_property
    def array(self) -> Array:
        """The gradients, (..., k, d)."""
        return self.client.gradient(self.received.array)

    def sums(self) -> Array:
        """Return one sum per cluster of its participants' gradients, (..., P, d)."""
        client, received = self.client, self.received
        if client.sums is not None and client.sums[0] is received.chosen:
            return client.sums[1]
        return client.task.gradient_sums(received.models, client.clients, received.chosen, client.generator)


@dataclass(frozen=True, eq=False)
class Ends(Undone):
    """The clients' models after local steps from their received models, where ``buffers`` are the initial momenta."""

    client: ArrayClient
    received: Received
    descent: Descent
    buffers: Array | None = None
    summed: Any = None

    @cached_property
    def trained(self) -> Trained:
        """The result of the clients' local steps, computed when needed."""
        momenta = None if self.buffers is None else rows(self.buffers, self.received.chosen)
        return self.client.trained(self.received.array, self.descent, buffers=momenta)

    @cached_property
    def array(self) -> Array:
        """The models, (..., k, d)."""
        return self.trained.points

    def sums(self, weights: Array | None) -> Array:
        """Return one weighted sum per cluster of its participants' models, (..., P, d)."""
        return self.both_sums(weights)[0]

    def both_sums(self, weights: Array | None) -> tuple[Array, Array | None]:
        """Train the clients once, and return the sums of their models and the sums of their buffers."""
        if self.summed is None:
            client, received = self.client, self.received
            found = client.task.local_sums(
                received.models,
                client.clients,
                received.chosen,
                client.generator,
                self.descent,
                buffers=self.buffers,
                weights=weights,
            )
            object.__setattr__(self, "summed", found)
        sums: tuple[Array, Array | None] = self.summed
        return sums


@dataclass(frozen=True, eq=False)
class Half(Undone):
    """The models (0) or the buffers (1) after local steps with momentum."""

    ends: Ends
    part: int

    @cached_property
    def array(self) -> Array:
        """The vectors, (..., k, d)."""
        return self.ends.trained[self.part]

    def sums(self, weights: Array | None) -> Any:
        """Return one weighted sum per cluster of its participants' vectors, (..., P, d)."""
        return self.ends.both_sums(weights)[self.part]


class ArrayClient:
    """The operations of one client in a method, computed for all participants of a round at once.

    Parameters
    ----------
    task, clients, generator
        The task, the participants (..., k), and the generator for their samples.
    asked
        Requested number of local steps. The task defines how many gradient steps make up one local step.
    reshuffled
        Whether a local step is a pass over the stored samples in a new order.
    """

    def __init__(
        self,
        task: Task,
        clients: Array,
        generator: np.random.Generator,
        asked: int,
        *,
        reshuffled: bool = False,
    ) -> None:
        self.task, self.clients, self.generator = task, clients, generator
        self.asked, self.reshuffled = asked, reshuffled
        self.sums: tuple[Array, Array] | None = None
        self._taken: Any = None
        self._pending: Ends | None = None

    @property
    def steps(self) -> Any:
        """Number of gradient steps that every client took, or one number per client, (..., k, 1)."""
        if self._pending is not None:
            _ = self._pending.trained
        return self.asked if self._taken is None else self._taken

    def gradient(self, points: Any) -> Any:
        """Return the gradients of all clients at one point per client, or at the server's model."""
        if isinstance(points, Received):
            return Gradients(self, points)
        return self.task.gradients(self._at_each(points), self.clients, self.generator)

    def product(self, points: Any, directions: Any) -> Array:
        """Return the product of each client's Hessian, at the client's point, with the client's direction."""
        points, directions = self._at_each(points), self._at_each(directions)
        return self.task.hessian_products(points, directions, self.clients, self.generator)

    def descend(
        self,
        start: Any,
        step_size: float,
        plus: Any = None,
        pull: Any = None,
        to: Any = None,
        along: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Return the models after the local steps y <- y - step_size (g(y) + plus + pull (y - to)).

        If ``along`` is given, this function of the points replaces the gradient g as direction.
        """
        received = start if isinstance(start, Received) else self._received(start)
        if received is None or plus is not None or along is not None or not (pull is None or to is start):
            return self.steps_of(self.asked, start, step_size, plus, pull, to, along)
        self._pending = Ends(self, received, self._descent(self.asked, step_size, pull))
        return self._pending

    def steps_of(
        self,
        count: int,
        start: Any,
        step_size: float,
        plus: Any = None,
        pull: Any = None,
        to: Any = None,
        along: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Return the models after ``count`` local steps. All other arguments are as in ``descend``."""
        if along is not None:
            return self._along(count, self._at_each(start), step_size, plus, pull, to, along)
        anchors = None if pull is None or to is start else self._at_each(to)
        corrections = None if plus is None else self._at_each(plus)
        descent = self._descent(count, step_size, pull)
        return self.trained(self._at_each(start), descent, anchors=anchors, corrections=corrections).points

    def descend_with_momentum(
        self, start: Received, buffer: Received, step_size: float, momentum: float, delayed: bool = False
    ) -> Any:
        """Return the models and the buffers after the local steps u <- momentum u + g(y), y <- y - step_size u.

        If ``delayed`` is True, the step of y uses the value of u from the previous step.
        """
        if not delayed:
            ends = Ends(self, start, Descent(step_size, self.asked, momentum), buffers=buffer.models)
            return Half(ends, 0), Half(ends, 1)
        points, carried = start.array, buffer.array
        for _ in range(self.asked):
            points, carried = points - step_size * carried, momentum * carried + self.gradient(points)
        return points, carried

    def trained(self, points: Array, descent: Descent, **options: Any) -> Trained:
        """Compute local steps, and store the number of gradient steps."""
        found = self.task.local_steps(points, self.clients, self.generator, descent, **options)
        self._pending, self._taken = None, found.steps
        return found

    def _descent(self, count: int, step_size: float, pull: Any) -> Descent:
        return Descent(step_size, count, proximal=pull or 0.0, reshuffled=self.reshuffled)

    def _along(
        self, count: int, points: Array, step_size: float, plus: Any, pull: Any, to: Any, direction: Any
    ) -> Array:
        for _ in range(count):
            step = direction(points)
            step = step if plus is None else step + plus
            points = points - step_size * (step if pull is None else step + pull * (points - to))
        return points

    def _received(self, start: Any) -> Received | None:
        """Return a vector of the server as the ``Received`` model of all clients, or None for clients' vectors."""
        if isinstance(start, Undone) or start.shape[-2] != 1:
            return None
        return Received(start, array_namespace(self.clients).zeros_like(self.clients))

    def _at_each(self, vector: Any) -> Array:
        """Return an array with one row per client. A vector of the server is repeated for every client."""
        if isinstance(vector, Undone):
            return vector.array
        if vector.shape[-2] == self.clients.shape[-1]:
            return vector
        return rows(vector, array_namespace(self.clients).zeros_like(self.clients))


class ArrayClients:
    """All participants of a round as one value.

    Parameters
    ----------
    task
        The federated problem.
    clients
        Participants, (..., k).
    randomness
        The random streams of the run.
    weights
        Weights of the participants in a mean, (..., k). If None, the weights are equal.
    local_steps, reshuffled
        See ``asked`` and ``reshuffled`` of ``ArrayClient``.
    """

    def __init__(
        self,
        task: Task,
        clients: Array,
        randomness: Randomness,
        weights: Array | None = None,
        local_steps: int = 1,
        *,
        reshuffled: bool = False,
    ) -> None:
        self.task, self.clients, self.weights = task, clients, weights
        self._randomness = randomness
        self._client = ArrayClient(task, clients, randomness.gradient, local_steps, reshuffled=reshuffled)

    @property
    def count(self) -> int:
        """Number of all clients (N)."""
        return self.task.clients

    @property
    def size(self) -> int:
        """Number of participants."""
        return int(self.clients.shape[-1])

    def each(self, line: Callable[..., Any], *values: Any) -> Any:
        """Apply a function of a client and its values to all clients at once, and return the results."""
        return line(self._client, *values)

    def map(self, line: Callable[..., Any], *values: Any) -> Any:
        """Apply a function of a client's values to all clients at once, and return the results."""
        return line(*map(done, values))

    def to_all(self, vector: Array) -> Array:
        """Return a vector of the server unchanged, because all clients receive the same vector."""
        return vector

    def mean(self, values: Any) -> Any:
        """Return the mean of the clients' vectors, (..., 1, d), or the mean of one number per client."""
        if isinstance(values, Ends) and values.received.models.shape[-2] == 1:
            return values.sums(self.weights) / self._whole()
        values = done(values)
        if isinstance(values, int | float):  # the same number for every client
            return values
        if values.shape[-2] == 1:  # a vector of the server
            return values
        xp = array_namespace(values)
        if self.weights is None:
            return xp.mean(values, axis=-2, keepdims=True)
        return xp.sum(self.weights[..., None] * values, axis=-2, keepdims=True) / self._whole()

    def total(self, values: Any) -> Array:
        """Return the sum of the clients' vectors, (..., 1, d)."""
        values = done(values)
        return array_namespace(values).sum(values, axis=-2, keepdims=True)

    def where(self, holds: Array, one: Any, other: Any) -> Array:
        """Return the first value where the condition (..., 1, 1) is true, and the second value elsewhere."""
        one, other = done(one), done(other)
        return array_namespace(one).where(holds, one, other)

    def sign(self, value: Array) -> Array:
        """Return the signs of all entries in one of the server's vectors."""
        return array_namespace(value).sign(value)

    def _whole(self) -> Any:
        """Return the sum of the participants' weights, or the number of participants if there are no weights."""
        if self.weights is None:
            return self.clients.shape[-1]
        return array_namespace(self.weights).sum(self.weights, axis=-1)[..., None, None]

    # ---- operations with one model per cluster

    def chosen(self, models: Array, *, and_sum: bool = False) -> Array:
        """Return the index of the model with the smallest loss for each client, (..., k).

        With ``and_sum``, the method declares that it needs gradients at these models only as sums. The task may then
        compute the choices and the sums at once.
        """
        if not and_sum:
            return choose_clusters(self.task, models, self.clients, self._randomness.assignment)
        self._client.sums = self.task.choose_and_sum(models, self.clients, self._randomness)
        return self._client.sums[0]

    def sizes(self, chosen: Array, models: Array) -> Array:
        """Return the number of participants per cluster, (..., P, 1)."""
        return cluster_sizes(chosen, models.shape[-2], dtype=models.dtype)[..., None]

    def received(self, models: Array, chosen: Array) -> Received:
        """Return the model of each client's cluster."""
        return Received(models, chosen)

    def mean_by(self, values: Any, chosen: Array, kept: Array) -> Array:
        """Return the mean of the participants' values per cluster, (..., P, d).

        The mean of a cluster without participants is the value in ``kept``.
        """
        if isinstance(values, Ends | Half):
            sizes = cluster_sizes(chosen, kept.shape[-2], dtype=kept.dtype, weights=self.weights)
            return divide(values.sums(self.weights), sizes, kept)
        return average_by_cluster(done(values), chosen, kept, self.weights)

    def total_by(self, values: Any, chosen: Array, models: Array) -> Array:
        """Return the sum of the participants' values per cluster, (..., P, d).

        It is 0 for a cluster without participants.
        """
        if isinstance(values, Gradients):
            return values.sums()
        return sums_by_cluster(done(values), one_hot(chosen, models.shape[-2], dtype=models.dtype))

    def each_cluster(self, line: Callable[..., Any], *values: Any) -> Any:
        """Apply a function of a cluster's values to all clusters at once, and return the results."""
        return line(*values)
