"""CFL-MGD: clustered federated learning with momentum gradient descent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from array_api_compat import array_namespace, device

from clusterproof.algorithms.arrays import Array, one_hot, replace_rows, rows, sums_by_cluster
from clusterproof.algorithms.ifca import check_descent
from clusterproof.algorithms.parts.aggregation import average_by_cluster, choose_clusters, cluster_sizes
from clusterproof.algorithms.parts.model_averaging import LocalMotion, average_local_training
from clusterproof.algorithms.parts.participation import check_participation, participants_of_round
from clusterproof.algorithms.parts.starts import Starts, draw_starts
from clusterproof.algorithms.protocol import Algorithm, State, Task, resolve_clusters
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.validation import InvalidArgument, check_choice, check_number


@dataclass(frozen=True)
class MomentumState(State):
    """State of CFL-MGD.

    Attributes
    ----------
    buffers
        Momentum: one a cluster, (..., P, d), or one a client, (..., m, d), under
        ``momentum_owner="client"``.
    pending
        Gradients that wait for the next round under ``update_order="as-printed"``, of the
        buffers' shape; zero before the first round and under the other order.
    """

    buffers: Array
    pending: Array


@dataclass(frozen=True, kw_only=True)
class CFLMGD(Algorithm[MomentumState]):
    """IFCA whose descent carries momentum: option I (gradient) and II (model averaging).

    Option I, with G_p the normalised sum of the gradients of cluster p's participants::

        w_p <- momentum * w_p + G_p        chi_p <- chi_p - step_size * w_p

    Parameters
    ----------
    step_size
        Step size (eta), positive.
    momentum
        Momentum (beta), in [0, 1).
    clusters
        Number of models (P); as many as the task has clusters where None.
    averaging
        ``"gradient"`` for option I, ``"model"`` for option II.
    local_steps
        Local steps of option II (H).
    momentum_owner
        ``"server"`` keeps one buffer a cluster, the second line of (32) taken as the
        definition. ``"client"`` is option I as printed: every client keeps u_i, receives its
        cluster's mean after the round (line 15), and carries it along when it changes cluster.
    update_order
        ``"momentum-first"`` is (4); ``"as-printed"`` follows lines 7-8 and 20 to the letter,
        whose delayed gradient is stable only for beta + eta l_p lambda < 1.
    reset_momentum
        Start every round of option II with zero momentum.
    participation
        Fraction of clients in a round, in (0, 1].
    normalisation
        What option I divides the sum of gradients by: ``"clients"`` is m as (5) prints,
        ``"participants"`` is |M_t|, ``"cluster"`` is the number of participants in the cluster.
    empty_cluster
        ``"coast"``: under option I a cluster without participants receives a zero gradient and
        its momentum goes on, as (32) says. ``"freeze"``: it keeps model and momentum. Option II,
        where (6) is 0/0, always freezes.
    least_share
        Starting models are drawn again until each has the least loss of them for at least this share of the
        participants, as IFCA's public code does; as they come where None.
    restarts, trial_rounds
        How many starts are tried, and for how many rounds each; the one that leads to the least mean of the
        clients' least losses is taken.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range or does not apply to the kind of averaging.

    Notes
    -----
    Zhao et al. (2023), Algorithm 1 and (3)-(10). The sum in (5) is over the participants of the
    cluster of the round, so that the step of cluster p is eta l_p at full participation.
    """

    name: ClassVar[str] = "cfl-mgd"

    step_size: float
    momentum: float
    clusters: int | None = None
    averaging: str = "gradient"
    local_steps: int = 1
    momentum_owner: str = "server"
    update_order: str = "momentum-first"
    reset_momentum: bool = False
    participation: float = 1.0
    normalisation: str = "clients"
    empty_cluster: str = "coast"
    least_share: float | None = None
    restarts: int = 1
    trial_rounds: int = 10

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_descent(self.step_size, self.clusters, self.averaging, self.local_steps)
        check_number(
            "momentum", self.momentum, at_least=0, below=1, remedy="0 is plain descent, 0.9 is common"
        )
        check_participation(self.participation)
        self._starts.check()
        check_choice("momentum_owner", self.momentum_owner, ("server", "client"), remedy="use 'server'")
        check_choice(
            "update_order",
            self.update_order,
            ("momentum-first", "as-printed"),
            remedy="use 'momentum-first'",
        )
        check_choice(
            "normalisation",
            self.normalisation,
            ("clients", "participants", "cluster"),
            remedy="(5) divides by the number of clients",
        )
        check_choice("empty_cluster", self.empty_cluster, ("coast", "freeze"), remedy="use 'coast'")
        defaults = (
            {"reset_momentum": False}
            if self.averaging == "gradient"
            else {"momentum_owner": "server", "normalisation": "clients", "empty_cluster": "coast"}
        )
        for argument, default in defaults.items():
            if getattr(self, argument) != default:
                raise InvalidArgument(
                    argument,
                    getattr(self, argument),
                    f"does not apply with averaging = {self.averaging!r}",
                    "leave it out or choose the other averaging",
                )

    def model_count(self, task: Task) -> int:
        """Give the number of models."""
        return resolve_clusters(self.clusters, task)

    @property
    def asks_single_gradients(self) -> bool:
        """With gradient averaging, and in the printed order of updates."""
        return self.averaging == "gradient" or self.update_order == "as-printed"

    def draw_models(self, task: Task, shape: tuple[int, ...], randomness: Randomness) -> Array:
        """Draw starting points (*shape, P, d), see ``least_share`` and ``restarts``."""
        return draw_starts(self._starts, self, task, shape, randomness)

    @property
    def _starts(self) -> Starts:
        return Starts(self.least_share, self.restarts, self.trial_rounds)

    def initialise(self, models: Array, task: Task) -> MomentumState:
        """Start from the given models (..., P, d) with zero momentum."""
        xp = array_namespace(models)
        owners = task.clients if self.momentum_owner == "client" else models.shape[-2]
        shape = (*models.shape[:-2], owners, models.shape[-1])
        buffers = xp.zeros(shape, dtype=models.dtype, device=device(models))
        return MomentumState(models, None, None, buffers, buffers)

    def step(self, state: MomentumState, task: Task, randomness: Randomness) -> MomentumState:
        """Carry out one round."""
        models = state.models
        clients = participants_of_round(self.participation, task, models, randomness.participation)
        if self.averaging == "model":
            return self._average_models(replace(state, clients=clients), task, randomness)
        assignments = choose_clusters(task, models, clients, randomness.assignment)
        state = replace(state, clients=clients, assignments=assignments)
        if self.momentum_owner == "client":
            return self._average_client_momentum(state, task, randomness)
        return self._average_gradients(state, task, randomness)

    def _average_gradients(self, state: MomentumState, task: Task, randomness: Randomness) -> MomentumState:
        """Option I with one buffer a cluster: the second line of (32)."""
        xp = array_namespace(state.models)
        models, clients, assignments = state.models, state.clients, state.assignments
        sums = task.gradient_sums(models, clients, assignments, randomness.gradient)
        arriving = sums / self.divisor(models, assignments, task)
        gradient = arriving if self.update_order == "momentum-first" else state.pending
        buffers = self.momentum * state.buffers + gradient
        moved = models - self.step_size * buffers
        if self.empty_cluster == "freeze":
            sizes = cluster_sizes(assignments, models.shape[-2], dtype=models.dtype)[..., None]
            moved = xp.where(sizes > 0, moved, models)
            buffers = xp.where(sizes > 0, buffers, state.buffers)
        pending = state.pending if self.update_order == "momentum-first" else arriving
        return replace(state, models=moved, buffers=buffers, pending=pending)

    def _average_client_momentum(
        self, state: MomentumState, task: Task, randomness: Randomness
    ) -> MomentumState:
        """Option I as printed, one buffer a client: lines 7, 8 and 15."""
        models, clients, assignments = state.models, state.clients, state.assignments
        arriving = task.gradients(rows(models, assignments), clients, randomness.gradient)
        printed = self.update_order == "as-printed"
        gradient = rows(state.pending, clients) if printed else arriving
        own = self.momentum * rows(state.buffers, clients) + gradient
        membership = one_hot(assignments, models.shape[-2], dtype=models.dtype)
        moved = models - self.step_size * sums_by_cluster(own, membership) / self.divisor(
            models, assignments, task
        )
        means = average_by_cluster(own, assignments, fallback=0 * models)
        buffers = replace_rows(state.buffers, clients, rows(means, assignments))
        pending = replace_rows(state.pending, clients, arriving) if printed else state.pending
        return replace(state, models=moved, buffers=buffers, pending=pending)

    def _average_models(self, state: MomentumState, task: Task, randomness: Randomness) -> MomentumState:
        """Option II: local momentum descent, then line 16."""
        averages = average_local_training(
            task,
            state.models,
            state.clients,
            randomness,
            LocalMotion(
                step_size=self.step_size,
                local_steps=self.local_steps,
                momentum=self.momentum,
                update_order=self.update_order,
                reset_momentum=self.reset_momentum,
            ),
            buffers=state.buffers,
        )
        return replace(
            state,
            models=averages.models,
            buffers=averages.buffers,
            assignments=averages.assignments,
        )

    def divisor(self, models: Array, assignments: Array, task: Task) -> Array | float:
        """What (5) divides the sums (..., P, d) of gradients by, as ``normalisation`` says.

        A number, or (..., P, 1) under ``"cluster"``, where an empty cluster has 1: its sum is zero anyway.
        """
        if self.normalisation == "clients":
            return float(task.clients)
        if self.normalisation == "participants":
            return float(assignments.shape[-1])
        xp = array_namespace(models)
        sizes = cluster_sizes(assignments, models.shape[-2], dtype=models.dtype)
        return xp.where(sizes > 0, sizes, xp.ones_like(sizes))[..., None]
