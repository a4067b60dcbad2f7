"""Interfaces of tasks and algorithms.

Arrays belong to any array-API library. Models are flattened to vectors: ``(..., P, d)`` for
the server's and ``(..., k, d)`` for those of the k participating clients, with any number of
leading replicate axes. ``clients`` is an integer array ``(..., k)`` of participants' indices;
its leading axes broadcast against the models', so that full participation needs only ``(m,)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np

from clusterproof.algorithms.arrays import Array, one_hot, rows, sums_by_cluster
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.validation import InvalidArgument


@runtime_checkable
class Task(Protocol):
    """A federated problem: m clients in P true clusters, models of d parameters."""

    @property
    def clients(self) -> int:
        """Number of clients, m in the paper."""

    @property
    def clusters(self) -> int:
        """Number of true clusters, P in the paper."""

    @property
    def dimension(self) -> int:
        """Number of parameters of a model (d)."""

    @property
    def labels(self) -> np.ndarray:
        """The true cluster of each client, integers (m,)."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Constructor arguments of the task as plain JSON values."""

    def initial_models(self, count: int, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        """Draw starting points, (*shape, count, d)."""

    def losses(self, models: Array, clients: Array, generator: np.random.Generator) -> Array:
        """Evaluate every model on each participant's sample.

        ``models`` is (..., P, d) and ``clients`` is (..., k); the result is (..., k, P).
        """

    def gradients(self, points: Array, clients: Array, generator: np.random.Generator) -> Array:
        """Return the gradient of each participant's loss at a separate point.

        ``points`` is (..., k, d) and ``clients`` is (..., k); the result is (..., k, d).
        """

    def gradient_sums(
        self, models: Array, clients: Array, assignments: Array, generator: np.random.Generator
    ) -> Array:
        """Return the sum over each cluster's participants of their gradients at the cluster's model.

        ``models`` is (..., P, d), ``clients`` and ``assignments`` are (..., k); the result is
        (..., P, d). With gradient averaging, the server only receives this sum; a task may
        draw it from its law without drawing the summands.
        """

    def reference_optima(self, target: str) -> np.ndarray | None:
        """Return the minimisers that an algorithm approximates, or None if they are unknown.

        ``target`` is ``"clusters"`` for (P, d), ``"pooled"`` for (1, d) or ``"clients"`` for
        (m, d).
        """


@runtime_checkable
class DifferentiatedTask(Protocol):
    """Optional methods for Per-FedAvg's second-order gradient and for GL-CFL; either may be missing."""

    def hessian_products(
        self, points: Array, directions: Array, clients: Array, generator: np.random.Generator
    ) -> Array:
        """Return Hessian-vector products of each participant's loss, on a separate batch.

        ``points`` and ``directions`` are (..., k, d), ``clients`` is (..., k); the result is (..., k, d).
        """

    def losses_and_gradients(
        self, models: Array, clients: Array, generator: np.random.Generator
    ) -> tuple[Array, Array]:
        """Return every model's loss and gradient on the same batch of each participant.

        ``models`` is (..., P, d) and ``clients`` is (..., k); the results are (..., k, P) and
        (..., k, P, d).
        """


@runtime_checkable
class TrainingTask(Protocol):
    """Optional methods for the complete local training of participants; any of them may be missing.

    For tasks that can train faster than by one gradient after the other, or whose local steps are more
    than a gradient step, such as a pass over the client's mini-batches.
    """

    def local_training(
        self,
        points: Array,
        buffers: Array | None,
        anchors: Array | None,
        clients: Array,
        generator: np.random.Generator,
        *,
        step_size: float,
        momentum: float,
        proximal: float,
        local_steps: int,
    ) -> tuple[Array, Array]:
        """Repeat u <- momentum u + gradient + proximal (w - anchor), w <- w - step_size u.

        ``points`` w, ``buffers`` u and ``anchors`` are (..., k, d), ``clients`` is (..., k); If
        ``buffers`` is None, they start from zero; ``anchors`` may be None if ``proximal`` is 0. Return
        points and buffers after ``local_steps`` steps, both (..., k, d).
        """

    def meta_training(
        self,
        points: Array,
        clients: Array,
        generator: np.random.Generator,
        *,
        step_size: float,
        inner_step_size: float,
        local_steps: int,
        second_order: bool,
    ) -> Array:
        """Repeat v = w - inner_step_size * gradient(w), w <- w - step_size * gradient(v).

        ``points`` w and the result are (..., k, d), ``clients`` is (..., k). With ``second_order`` gradient(v) is
        multiplied by the identity minus ``inner_step_size`` times the Hessian at w. Every gradient, and the
        Hessian, uses a separate batch.
        """

    def reshuffled_training(
        self, points: Array, clients: Array, generator: np.random.Generator, *, step_size: float, passes: int
    ) -> Array:
        """Repeat w <- w - step_size * gradient of one sample(w), over all samples of a client in random order.

        ``points`` w and the result are (..., k, d), ``clients`` is (..., k). Every pass and every participant has an
        independent uniform order.
        """

    def cluster_training(
        self,
        models: Array,
        buffers: Array | None,
        clients: Array,
        assignments: Array | Callable[[Array], Array],
        losses_generator: np.random.Generator,
        generator: np.random.Generator,
        *,
        weights: Array | None,
        step_size: float,
        momentum: float,
        proximal: float,
        local_steps: int,
    ) -> tuple[Array, Array, Array | None]:
        """Train every participant from its cluster's model, as ``local_training``, and sum over each cluster.

        ``models`` and ``buffers`` are (..., P, d), ``clients`` is (..., k); if ``buffers`` is None, they
        start from zero. The proximal term is centred at a participant's starting point. ``assignments`` are
        integers (..., k), or a function that computes them from the losses (..., k, P) of all models on samples
        from ``losses_generator``. ``weights`` are factors (..., k); if None, all are one. Return the
        assignments, and the weighted sums over each cluster's participants of their points and of their
        buffers, both (..., P, d); the latter are None without buffers and momentum.
        """


@runtime_checkable
class ClientSamplingTask(Protocol):
    """Optional methods: random choices of clients, drawn by the task on its device."""

    def draw_participants(self, count: int, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        """Draw ``count`` clients uniformly without replacement; return ascending indices (*shape, count)."""

    def draw_orders(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        """Draw independent uniform permutations of 0 .. shape[-1] - 1 along the last axis, (*shape)."""


@runtime_checkable
class ScoredTask(Protocol):
    """Optional method: the accuracy of a client's predictions."""

    def accuracies(self, points: Array, clients: Array) -> Array:
        """Return the share of each client's test data that its model classifies correctly.

        ``points`` is (..., k, d) and ``clients`` (..., k); the result is (..., k), in [0, 1].
        """


def sum_gradients(
    task: Task, models: Array, clients: Array, assignments: Array, generator: np.random.Generator
) -> Array:
    """Compute ``Task.gradient_sums`` from each participant's gradient."""
    gradients = task.gradients(rows(models, assignments), clients, generator)
    membership = one_hot(assignments, models.shape[-2], dtype=models.dtype)
    return sums_by_cluster(gradients, membership)


@dataclass(frozen=True)
class State:
    """Base class of the algorithms' states.

    Attributes
    ----------
    models
        Server models, (..., P, d).
    clients
        Participants of the last round, integers (..., k); None before the first round.
    assignments
        Cluster of each participant, integers (..., k); None before the first round.
    """

    models: Array
    clients: Array | None
    assignments: Array | None


StateT = TypeVar("StateT", bound=State)


@dataclass(frozen=True, kw_only=True)
class Algorithm(ABC, Generic[StateT]):
    """Parameters of a federated algorithm, with pure ``initialise`` and ``step``.

    Subclasses are frozen dataclasses whose fields are keyword-only, stored unchanged and
    validated on construction.
    """

    name: ClassVar[str]
    """Name on the command line."""

    target: ClassVar[str] = "clusters"
    """Whose minimisers the models approximate, those of ``"clusters"``, ``"pooled"`` or ``"clients"``."""

    @abstractmethod
    def model_count(self, task: Task) -> int:
        """Return the number of models of the server on this task (P)."""

    def draw_models(self, task: Task, shape: tuple[int, ...], randomness: Randomness) -> Array:
        """Draw starting points (*shape, P, d); by default with the task's ``initial_models``."""
        return task.initial_models(self.model_count(task), shape, randomness.initialisation)

    @abstractmethod
    def initialise(self, models: Array, task: Task) -> StateT:
        """Return the state before the first round from starting points (..., P, d)."""

    @abstractmethod
    def step(self, state: StateT, task: Task, randomness: Randomness) -> StateT:
        """Return the state after one communication round; the given state is unchanged."""

    @property
    def has_personal_step(self) -> bool:
        """Whether clients deploy the result of ``personalise`` instead of the received model."""
        return False

    def personalise(self, points: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Return the models that clients (..., k) deploy after they received ``points`` (..., k, d)."""
        return points

    @property
    def asks_single_gradients(self) -> bool:
        """Whether the algorithm requests single gradients, so that a local step cannot be a pass over the data."""
        return False

    @property
    def dynamics(self) -> Algorithm[Any]:
        """The algorithm whose recursion this one follows, to which the bounds apply; by default itself.

        A custom implementation of CFL-MGD, for example, returns ``CFLMGD`` with its parameters and can then be
        checked against the theorems on it.
        """
        return self

    @property
    def settings(self) -> dict[str, Any]:
        """Name and parameters, as plain JSON values."""
        parameters = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"algorithm": self.name, **parameters}


def resolve_clusters(clusters: int | None, task: Task) -> int:
    """Return the number of models. If None, the task's number of clusters.

    Raises
    ------
    InvalidArgument
        If there would be more clusters than clients.
    """
    count = task.clusters if clusters is None else clusters
    if count > task.clients:
        rule = f"must be at most the number of clients ({task.clients})"
        raise InvalidArgument("clusters", count, rule, "lower the number of clusters or add clients")
    return count
