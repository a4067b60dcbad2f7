"""Base classes of tasks and algorithms.

Arrays may come from any array-API library. Models are flattened to vectors: ``(..., P, d)`` for the server and ``(...,
k, d)`` for the k participating clients, with any number of leading replicate axes. ``clients`` is an integer array
``(..., k)`` with the participants' indices. The leading axes of ``clients`` broadcast against the models' leading axes,
so the shape ``(m,)`` is enough under full participation.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar, get_type_hints

import numpy as np

from clusterproof.common.arrays import (
    Array,
    argmin_smallest_index,
    array_namespace,
    like,
    one_hot,
    rows,
    sums_by_cluster,
)
from clusterproof.common.calls import CheckedCalls
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import InvalidArgument


@dataclass(frozen=True)
class Descent:
    """Local steps: u <- momentum u + grad phi_i(w) + correction + proximal (w - anchor), w <- w - step_size u.

    Attributes
    ----------
    step_size, momentum, proximal
        Coefficients of the recursion.
    steps
        Number of steps of every client, or one number per client, integers (..., k, 1).
    reshuffled
        Whether a step is a pass over the client's stored samples in a new uniform order, with one gradient step per
        sample.
    """

    step_size: float
    steps: int | Array = 1
    momentum: float = 0.0
    proximal: float = 0.0
    reshuffled: bool = False


class Trained(NamedTuple):
    """State of the participants after their local steps.

    Attributes
    ----------
    points, buffers, steps
        w and u, (..., k, d), and the number of gradient steps: one number for all clients, or one per client, (...,
        k, 1). Without momentum, ``buffers`` is None unless the caller passed initial buffers.
    """

    points: Array
    buffers: Array | None
    steps: int | Array


class Task(metaclass=CheckedCalls):
    """A federated problem: m clients in P true clusters, models of d parameters.

    A subclass defines the three attributes below, as fields or properties, and the abstract members. All other
    members have default implementations. For example, sums are computed from the summands, and local steps call
    ``gradients`` in a loop. If a task does not support an optional computation, a call raises ``InvalidArgument``.

    Attributes
    ----------
    labels
        True cluster of each client, integers (m,).
    clusters
        Number of true clusters (P).
    dimension
        Number of parameters of a model (d).
    """

    if (
        TYPE_CHECKING
    ):  # at run time a property would become the default value of a dataclass field of the same name

        @property
        def labels(self) -> np.ndarray:
            """True cluster of each client, integers (m,)."""

        @property
        def clusters(self) -> int:
            """Number of true clusters (P)."""

        @property
        def dimension(self) -> int:
            """Number of parameters of a model (d)."""

    @property
    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """Arguments that recreate the task, as plain JSON values. The entry ``task`` is the name of the task."""

    @abstractmethod
    def initial_models(self, count: int, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        """Draw initial models, (*shape, count, d)."""

    @abstractmethod
    def losses(self, models: Array, clients: Array, generator: np.random.Generator) -> Array:
        """Return the losses of all models on each participant's sample.

        ``models`` is (..., P, d) and ``clients`` is (..., k). The result is (..., k, P).
        """

    @abstractmethod
    def gradients(self, points: Array, clients: Array, generator: np.random.Generator) -> Array:
        """Return the gradient of each participant's loss at the participant's own point, on a separate sample.

        ``points`` is (..., k, d) and ``clients`` is (..., k). The result is (..., k, d).
        """

    def gradient_sums(
        self, models: Array, clients: Array, assignments: Array, generator: np.random.Generator
    ) -> Array:
        """Return for each cluster the sum of its participants' gradients at the model of the cluster.

        ``models`` is (..., P, d), ``clients`` and ``assignments`` are (..., k), and the result is (..., P, d). For
        gradient averaging, the server needs only these sums. A task may draw each sum from the distribution of the
        sum, without drawing the summands.
        """
        gradients = self.gradients(rows(models, assignments), clients, generator)
        return sums_by_cluster(gradients, one_hot(assignments, models.shape[-2], dtype=models.dtype))

    def choose_and_sum(self, models: Array, clients: Array, randomness: Randomness) -> tuple[Array, Array]:
        """Return each participant's choice, the model with the smallest loss, and ``gradient_sums`` for the choices.

        ``models`` is (..., P, d) and ``clients`` is (..., k). The results are (..., k) and (..., P, d). In a tie, the
        first model wins. Losses draw from ``randomness.assignment`` and gradients from ``randomness.gradient``. If
        losses and gradients use the same residuals, the task can compute the residuals once.
        """
        chosen = argmin_smallest_index(self.losses(models, clients, randomness.assignment))
        return chosen, self.gradient_sums(models, clients, chosen, randomness.gradient)

    def local_steps(
        self,
        points: Array,
        clients: Array,
        generator: np.random.Generator,
        descent: Descent,
        *,
        buffers: Array | None = None,
        anchors: Array | None = None,
        corrections: Array | None = None,
    ) -> Trained:
        """Compute the local steps of ``descent``.

        Parameters
        ----------
        points, clients, generator
            Initial points of the participants (..., k, d), their indices (..., k), and the generator for their
            samples.
        descent
            The recursion.
        buffers
            Initial u, (..., k, d). If None, it is zero.
        anchors
            Centres of the proximal term, (..., k, d). If None, they are the initial points.
        corrections
            Vectors that are added to all gradients, (..., k, d). If None, they are zero.
        """
        anchors = points if anchors is None else anchors
        momentum, proximal, steps = descent.momentum, descent.proximal, descent.steps
        a_pass = self.stored_samples if descent.reshuffled else 1
        for step, gradients in enumerate(self._gradients_of_steps(points, clients, generator, descent)):
            direction = gradients(points)
            if corrections is not None:
                direction = direction + corrections
            if proximal:
                direction = direction + proximal * (points - anchors)
            if buffers is not None:
                direction = momentum * buffers + direction
            active = True if isinstance(steps, int) else step // a_pass < steps
            if buffers is not None or momentum:
                buffers = _where(active, direction, 0 * points if buffers is None else buffers)
            points = _where(active, points - descent.step_size * direction, points)
        return Trained(points, buffers, steps * a_pass)

    def local_sums(
        self,
        models: Array,
        clients: Array,
        assignments: Array,
        generator: np.random.Generator,
        descent: Descent,
        *,
        buffers: Array | None = None,
        weights: Array | None = None,
    ) -> tuple[Array, Array | None]:
        """Return for each cluster the sums of its participants' points and buffers after ``local_steps``.

        Parameters
        ----------
        models, buffers
            Initial models and buffers for the participants of each cluster, (..., P, d). If ``buffers`` is None, the
            initial buffers are 0.
        clients, assignments
            Participants and their clusters, integers (..., k).
        generator, descent
            See ``local_steps``.
        weights
            Factors of the summands, (..., k). If None, they are one.

        Returns
        -------
        tuple
            The sums of the points and of the buffers, each (..., P, d). The second entry is None if the participants
            have no buffers.
        """
        membership = one_hot(assignments, models.shape[-2], dtype=models.dtype)
        membership = membership if weights is None else membership * weights[..., None]
        received = None if buffers is None else rows(buffers, assignments)
        points, carried, _ = self.local_steps(
            rows(models, assignments), clients, generator, descent, buffers=received
        )
        buffer_sums = None if carried is None else sums_by_cluster(carried, membership)
        return sums_by_cluster(points, membership), buffer_sums

    @property
    def clients(self) -> int:
        """Number of clients (m)."""
        return len(self.labels)

    def reference_optima(self, target: str) -> np.ndarray | None:
        """Return the optima that an algorithm approximates, or None, the default, if the optima are unknown.

        ``target`` is ``"clusters"`` for (P, d), ``"pooled"`` for (1, d) or ``"clients"`` for
        (m, d).
        """
        return None

    @property
    def client_samples(self) -> np.ndarray:
        """Number of samples of each client (n_i), (m,), for ``weighting="samples"``."""
        raise self._lacks("client_samples", "use weighting = 'clients'")

    @property
    def stored_samples(self) -> int:
        """Number of stored samples of every client. A reshuffled local step is a pass over all of them."""
        raise self._lacks("stored_samples", "leave `reshuffle` out")

    def sample_gradients(self, points: Array, clients: Array, samples: Array) -> Array:
        """Return the gradient of one stored sample per participant, at the participant's own point.

        ``points`` is (..., k, d), ``clients`` is (..., k), and ``samples`` are integers (..., k) below
        ``stored_samples``. The result is (..., k, d).
        """
        raise self._lacks("sample_gradients", "leave `reshuffle` out")

    def hessian_products(
        self, points: Array, directions: Array, clients: Array, generator: np.random.Generator
    ) -> Array:
        """Return one Hessian-vector product per participant, for the loss on a separate sample.

        ``points`` and ``directions`` are (..., k, d), ``clients`` is (..., k). The result is (..., k, d).
        """
        raise self._lacks("hessian_products", "use gradient = 'first-order' on this task")

    def losses_and_gradients(
        self, models: Array, clients: Array, generator: np.random.Generator
    ) -> tuple[Array, Array]:
        """Return the losses and gradients of all models, with one sample per participant for both.

        ``models`` is (..., P, d) and ``clients`` is (..., k). The results are (..., k, P) and
        (..., k, P, d).
        """
        raise self._lacks("losses_and_gradients", "use ifca")

    def accuracies(self, points: Array, clients: Array) -> Array:
        """Return, for each client, the share of the test data that the client's model classifies correctly.

        ``points`` is (..., k, d) and ``clients`` (..., k). The result is (..., k), in [0, 1].
        """
        raise self._lacks("accuracies", "use a task of classification")

    def _gradients_of_steps(
        self, points: Array, clients: Array, generator: np.random.Generator, descent: Descent
    ) -> Iterator[Callable[[Array], Array]]:
        """Yield for each local step a function that maps points (..., k, d) to gradients."""
        steps = descent.steps
        for _ in range(steps if isinstance(steps, int) else int(array_namespace(steps).max(steps))):
            if not descent.reshuffled:
                yield lambda points: self.gradients(points, clients, generator)
                continue
            count = self.stored_samples
            every = np.broadcast_to(np.arange(count), (*points.shape[:-1], count))
            orders = like(generator.permuted(every, axis=-1), points)
            for position in range(count):
                yield lambda points, samples=orders[..., position]: self.sample_gradients(  # type: ignore[misc]
                    points, clients, samples
                )

    def _lacks(self, member: str, remedy: str) -> InvalidArgument:
        return InvalidArgument(
            "task", type(self).__name__, f"must have `{member}`", f"add it to the task, or {remedy}"
        )


def _where(active: Array | bool, values: Array, others: Array) -> Array:
    """Return ``values`` where ``active``, booleans (..., k, 1), is True, and ``others`` elsewhere.

    If ``active`` is True, the result is ``values``.
    """
    return values if active is True else array_namespace(values).where(active, values, others)


@dataclass(frozen=True)
class State:
    """Base class for the states of algorithms.

    Attributes
    ----------
    models
        Server models, (..., P, d).
    clients
        Participants of the last round, integers (..., k), or None before the first round.
    assignments
        Cluster of each participant, integers (..., k), or None before the first round.
    """

    models: Array
    clients: Array | None
    assignments: Array | None


StateT = TypeVar("StateT", bound=State)


@dataclass(frozen=True, kw_only=True)
class Algorithm(Generic[StateT], metaclass=CheckedCalls):
    """A federated algorithm: its parameters, and the pure functions ``initialise`` and ``step``.

    Subclasses are frozen dataclasses. Their fields are keyword-only, stored unchanged and validated on construction.
    """

    name: ClassVar[str]
    """Name on the command line."""

    target: ClassVar[str] = "clusters"
    """The optima that the models approximate: ``"clusters"``, ``"pooled"`` or ``"clients"``."""

    @abstractmethod
    def model_count(self, task: Task) -> int:
        """Return P, the number of models on the server for this task."""

    def draw_models(self, task: Task, shape: tuple[int, ...], randomness: Randomness) -> Array:
        """Draw initial models (*shape, P, d), by default with the task's ``initial_models``."""
        return task.initial_models(self.model_count(task), shape, randomness.initialisation)

    @abstractmethod
    def initialise(self, models: Array, task: Task) -> StateT:
        """Return the state before the first round, from initial models (..., P, d)."""

    @abstractmethod
    def step(self, state: StateT, task: Task, randomness: Randomness) -> StateT:
        """Return the state after one communication round. The given state is not modified."""

    @classmethod
    def state_class(cls) -> type[Any]:
        """Return the class of the states, as annotated in ``initialise``."""
        kind: type[Any] = get_type_hints(cls.initialise).get("return", Any)
        return kind

    @property
    def has_personal_step(self) -> bool:
        """Whether clients use the result of ``personalise`` instead of the received model."""
        return False

    def personalise(self, points: Array, clients: Array, task: Task, randomness: Randomness) -> Array:
        """Return the models that clients (..., k) use after they have received ``points`` (..., k, d)."""
        return points

    @property
    def dynamics(self) -> Algorithm[Any]:
        """The library's algorithm with the same recursion, by default this algorithm itself.

        Bounds on the returned algorithm are also applied to runs of this algorithm.

        For example, a custom implementation of CFL-MGD returns ``CFLMGD`` with its parameters, so that its runs can
        be checked against the theorems on CFL-MGD.
        """
        return self

    @property
    def settings(self) -> dict[str, Any]:
        """Name (see ``own_name``) and parameters, as plain JSON values."""
        parameters = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"algorithm": own_name(type(self)), **parameters}


def own_name(kind: type[Algorithm[Any]]) -> str:
    """Return an algorithm's name, or the name of its class if the name is inherited from the library."""
    return kind.__name__ if inherits_from_library(kind, "name") else kind.name


def inherits_from_library(kind: type, attribute: str) -> bool:
    """Return whether a class outside this library inherits an attribute from a class of this library."""
    of_library = [each.__module__.startswith("clusterproof.") for each in kind.__mro__]
    defining = [attribute in vars(each) for each in kind.__mro__]
    return not of_library[0] and any(defining) and of_library[defining.index(True)]


def resolve_clusters(clusters: int | None, task: Task) -> int:
    """Return the number of models, by default the task's number of clusters.

    Raises
    ------
    InvalidArgument
        If there are more clusters than clients.
    """
    count = task.clusters if clusters is None else clusters
    if count > task.clients:
        rule = f"must be at most the number of clients ({task.clients})"
        raise InvalidArgument("clusters", count, rule, "use fewer clusters or more clients")
    return count
