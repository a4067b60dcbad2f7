"""What an algorithm may ask of a task, and what a runner may ask of an algorithm.

Arrays are those of any array-API library. Models are flattened to vectors: ``(..., P, d)`` for
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
        """What it takes to make the task again, as plain JSON values."""

    def initial_models(self, count: int, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        """Draw starting points, (*shape, count, d)."""

    def losses(self, models: Array, clients: Array, generator: np.random.Generator) -> Array:
        """Evaluate every model on each participant's sample.

        ``models`` is (..., P, d) and ``clients`` is (..., k); the result is (..., k, P).
        """

    def gradients(self, points: Array, clients: Array, generator: np.random.Generator) -> Array:
        """Gradient of each participant's loss at a point of its own.

        ``points`` is (..., k, d) and ``clients`` is (..., k); the result is (..., k, d).
        """

    def gradient_sums(
        self, models: Array, clients: Array, assignments: Array, generator: np.random.Generator
    ) -> Array:
        """Sum over each cluster's participants of their gradients at the cluster's model.

        ``models`` is (..., P, d), ``clients`` and ``assignments`` are (..., k); the result is
        (..., P, d). All that a server learns under gradient averaging is this sum, and a task
        may know its law without drawing the summands.
        """

    def reference_optima(self, target: str) -> np.ndarray | None:
        """Give the minimisers that an algorithm aims at, or None where they are not known.

        ``target`` is ``"clusters"`` for (P, d), ``"pooled"`` for (1, d) or ``"clients"`` for
        (m, d).
        """


@runtime_checkable
class CurvedTask(Protocol):
    """What a task may answer besides: curvature, for Per-FedAvg's second-order gradient."""

    def hessian_products(
        self, points: Array, directions: Array, clients: Array, generator: np.random.Generator
    ) -> Array:
        """Multiply a direction by the Hessian of each participant's loss, on a batch of its own.

        ``points`` and ``directions`` are (..., k, d), ``clients`` is (..., k); the result is
        (..., k, d).
        """


@runtime_checkable
class OneBatchTask(Protocol):
    """What a task may answer besides: losses and gradients of one and the same batch, for GL-CFL."""

    def losses_and_gradients(
        self, models: Array, clients: Array, generator: np.random.Generator
    ) -> tuple[Array, Array]:
        """Evaluate every model's loss and gradient on one batch of each participant.

        ``models`` is (..., P, d) and ``clients`` is (..., k); the results are (..., k, P) and
        (..., k, P, d).
        """


@runtime_checkable
class LocalTrainingTask(Protocol):
    """What a task may answer besides: a participant's whole local training at once.

    For a task that has a faster way than one gradient after the other, or whose local steps are more
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

        ``points`` w, ``buffers`` u and ``anchors`` are (..., k, d), ``clients`` is (..., k); buffers
        that are None start from zero, and anchors may be None where ``proximal`` is 0. The results
        are points and buffers after ``local_steps`` of it, both (..., k, d).
        """


@runtime_checkable
class MetaTrainingTask(Protocol):
    """What a task may answer besides: a participant's local steps on its loss after a step of descent."""

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
        Hessian, is on a batch of its own.
        """


@runtime_checkable
class SizedTask(Protocol):
    """What a task may answer besides: how many samples each client holds."""

    @property
    def client_samples(self) -> np.ndarray:
        """Samples of each client (n_i), positive integers (m,)."""


@runtime_checkable
class SharesTask(Protocol):
    """What a task may answer besides: the sizes of ``SizedTask`` where its numbers are.

    For a task whose numbers are on a device of their own.
    """

    @property
    def client_shares(self) -> Array:
        """Samples of each client over the largest number, on the device, (m,)."""


@runtime_checkable
class ClientSamplingTask(Protocol):
    """What a task may answer besides: who takes part in a round.

    For a task whose numbers are on a device of their own, where it can draw without copying anything there.
    """

    def draw_participants(self, count: int, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        """Draw ``count`` clients uniformly without replacement, ascending integers (*shape, count)."""


@runtime_checkable
class OrderingTask(Protocol):
    """What a task may answer besides: random orders, for a server that assigns participants at random.

    For a task whose numbers are on a device of their own, as ``ClientSamplingTask``.
    """

    def draw_orders(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        """Draw a uniform permutation of the last axis's indices for every index of the others, integers (*shape)."""


@runtime_checkable
class ClusterTrainingTask(Protocol):
    """What a task may answer besides: a round of local training, added up over each cluster.

    These sums are all that a server learns under model averaging, so that a task need neither hold a model
    for each participant nor go over its data twice.
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
        """Train every participant from its cluster's model, as ``LocalTrainingTask`` does, and add up.

        ``models`` and ``buffers`` are (..., P, d), ``clients`` is (..., k); buffers that are None start
        from zero, and the proximal term pulls to where a participant starts. ``assignments`` are integers
        (..., k), or the rule that makes them of the losses (..., k, P), row by row, of all models on samples
        from ``losses_generator``. ``weights`` are factors (..., k), ones where None. The results are the
        assignments, and the weighted sums over each cluster's participants of their points and of their
        buffers, both (..., P, d); None for buffers where none came and the momentum is 0.
        """


def sum_gradients(
    task: Task, models: Array, clients: Array, assignments: Array, generator: np.random.Generator
) -> Array:
    """Answer ``Task.gradient_sums`` by asking for each participant's gradient and adding.

    Shapes as in ``Task.gradient_sums``.
    """
    gradients = task.gradients(rows(models, assignments), clients, generator)
    membership = one_hot(assignments, models.shape[-2], dtype=models.dtype)
    return sums_by_cluster(gradients, membership)


@dataclass(frozen=True)
class State:
    """What every algorithm's state holds; each adds its own.

    Attributes
    ----------
    models
        Server models, (..., P, d).
    clients
        Who took part in the round that led here, integers (..., k); None before the first.
    assignments
        The cluster each of them chose, integers (..., k); None before the first round.
    """

    models: Array
    clients: Array | None
    assignments: Array | None


StateT = TypeVar("StateT", bound=State)


@dataclass(frozen=True, kw_only=True)
class Algorithm(ABC, Generic[StateT]):
    """Parameters of a federated algorithm, with pure ``initialise`` and ``step``.

    Subclasses are frozen dataclasses whose fields are keyword-only, are stored untouched and
    are validated on construction.
    """

    name: ClassVar[str]
    """Name on the command line."""

    target: ClassVar[str] = "clusters"
    """Whose minimisers the models aim at, ``"clusters"``, ``"pooled"`` or ``"clients"``."""

    @abstractmethod
    def model_count(self, task: Task) -> int:
        """Give the number of models that the server keeps on this task (P)."""

    def draw_models(self, task: Task, shape: tuple[int, ...], randomness: Randomness) -> Array:
        """Draw starting points (*shape, P, d), by the task's law unless an algorithm has one of its own."""
        return task.initial_models(self.model_count(task), shape, randomness.initialisation)

    @abstractmethod
    def initialise(self, models: Array, task: Task) -> StateT:
        """Make the state before the first round from starting points (..., P, d)."""

    @abstractmethod
    def step(self, state: StateT, task: Task, randomness: Randomness) -> StateT:
        """Carry out one communication round; the given state is left as it was."""

    @property
    def has_personal_step(self) -> bool:
        """Whether a client deploys what ``personalise`` makes of the model that it received."""
        return False

    def personalise(self, points: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Give what clients (..., k) deploy when they have received ``points`` (..., k, d)."""
        return points

    @property
    def asks_single_gradients(self) -> bool:
        """Whether clients' gradients are asked one by one, so that a local step cannot be a pass over the data."""
        return False

    @property
    def dynamics(self) -> Algorithm[Any]:
        """The algorithm whose recursion this one follows, on which bounds are stated; itself, unless it says else.

        An algorithm of one's own that claims to be CFL-MGD, say, gives that with its parameters, and can then
        be held to its theorems.
        """
        return self

    @property
    def settings(self) -> dict[str, Any]:
        """Name and parameters, as plain JSON values."""
        parameters = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"algorithm": self.name, **parameters}


def resolve_clusters(clusters: int | None, task: Task) -> int:
    """Give the number of models to keep: as asked, or as many as the task has clusters.

    Raises
    ------
    InvalidArgument
        If there would be more clusters than clients.
    """
    count = task.clusters if clusters is None else clusters
    if count > task.clients:
        raise InvalidArgument(
            "clusters",
            count,
            f"must be at most the number of clients ({task.clients})",
            "ask for fewer clusters or add clients",
        )
    return count
