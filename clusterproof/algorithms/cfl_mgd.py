"""CFL-MGD: clustered federated learning with momentum gradient descent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from array_api_compat import array_namespace, device

from clusterproof.algorithms.aggregation import (
    average_by_cluster,
    average_local_training,
    choose_clusters,
    cluster_sizes,
)
from clusterproof.algorithms.arrays import Array, one_hot, replace_rows, rows, sums_by_cluster
from clusterproof.algorithms.bodies.clustered import ClusteredDescent
from clusterproof.algorithms.participation import participants_of_round
from clusterproof.algorithms.protocol import State, Task
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.validation import InvalidArgument, check_choice, check_number


@dataclass(frozen=True)
class MomentumState(State):
    """State of CFL-MGD.

    Attributes
    ----------
    buffers
        Momentum buffers: one per cluster, (..., P, d), or one per client, (..., m, d), with
        ``momentum_owner="client"``; None in rounds of IFCA.
    pending
        Gradients to be applied in the next round with ``update_order="as-printed"``, of the buffers'
        shape; zero before the first round and with the other order.
    """

    buffers: Array
    pending: Array


@dataclass(frozen=True, kw_only=True)
class CFLMGD(ClusteredDescent[MomentumState]):
    """IFCA with momentum: option I (gradient averaging) and option II (model averaging).

    Option I, with G_p the normalised sum of the gradients of cluster p's participants::

        w_p <- momentum * w_p + G_p        chi_p <- chi_p - step_size * w_p

    Parameters
    ----------
    step_size
        Step size (eta), positive.
    momentum
        Momentum (beta), in [0, 1).
    clusters
        Number of models (P). If None, the task's number of clusters.
    averaging
        ``"gradient"`` for option I, ``"model"`` for option II.
    local_steps
        Local steps of option II (H).
    momentum_owner
        ``"server"``: one buffer per cluster, defined by the second line of (32). ``"client"``
        is option I as printed: every client keeps u_i, receives its cluster's mean after the
        round (line 15), and keeps it when it changes cluster.
    update_order
        ``"momentum-first"`` is (3), (4) and, by its indices, line 20; ``"as-printed"`` delays the
        gradient by a step: it takes chi^t in line 2 for the newest model, and the two equations of
        line 20 one after the other. It is stable only for beta + eta l_p lambda < 1.
    reset_momentum
        Start every round of option II with zero momentum.
    participation
        Fraction of clients in a round, in (0, 1].
    normalisation
        Divisor of the sum of gradients in option I: ``"clients"`` is m as printed in (5),
        ``"participants"`` is |M_t|, ``"cluster"`` is the number of participants in the cluster.
    empty_cluster
        ``"coast"``: in option I a cluster without participants receives a zero gradient and
        continues with its momentum, as in (32). ``"freeze"``: it keeps model and momentum. Option
        II, where (6) is 0/0, always freezes.
    least_share
        Draw the starting models again until each of them has the smallest loss for at least this share of the
        participants, as IFCA's public code does. If None, use the first draw.
    restarts, trial_rounds
        Number of starts, and the rounds for which each of them is tried; the start with the smallest mean of the
        clients' smallest losses is used.

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
        super().__post_init__()
        check_number(
            "momentum", self.momentum, at_least=0, below=1, remedy="0 is plain descent, 0.9 is common"
        )
        for argument, choices, remedy in (
            ("momentum_owner", ("server", "client"), "use 'server'"),
            ("update_order", ("momentum-first", "as-printed"), "use 'momentum-first'"),
            ("normalisation", ("clients", "participants", "cluster"), "(5) divides by the number of clients"),
            ("empty_cluster", ("coast", "freeze"), "use 'coast'"),
        ):
            check_choice(argument, getattr(self, argument), choices, remedy=remedy)
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

    @property
    def asks_single_gradients(self) -> bool:
        """True with gradient averaging and with delayed gradients."""
        return super().asks_single_gradients or self.update_order == "as-printed"

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
        """Option I with one buffer per cluster: the second line of (32)."""
        xp = array_namespace(state.models)
        models, clients, assignments = state.models, state.clients, state.assignments
        sums = task.gradient_sums(models, clients, assignments, randomness.gradient)
        new_gradient = sums / self.divisor(models, assignments, task)
        gradient = new_gradient if self.update_order == "momentum-first" else state.pending
        buffers = gradient if state.buffers is None else self.momentum * state.buffers + gradient
        updated = models - self.step_size * buffers
        if self.empty_cluster == "freeze":
            sizes = cluster_sizes(assignments, models.shape[-2], dtype=models.dtype)[..., None]
            updated = xp.where(sizes > 0, updated, models)
            buffers = xp.where(sizes > 0, buffers, state.buffers)
        pending = state.pending if self.update_order == "momentum-first" else new_gradient
        return replace(state, models=updated, buffers=buffers, pending=pending)

    def _average_client_momentum(
        self, state: MomentumState, task: Task, randomness: Randomness
    ) -> MomentumState:
        """Option I as printed, with one buffer per client: lines 7, 8 and 15."""
        models, clients, assignments = state.models, state.clients, state.assignments
        new_gradient = task.gradients(rows(models, assignments), clients, randomness.gradient)
        printed = self.update_order == "as-printed"
        gradient = rows(state.pending, clients) if printed else new_gradient
        client_buffers = self.momentum * rows(state.buffers, clients) + gradient
        membership = one_hot(assignments, models.shape[-2], dtype=models.dtype)
        updated = models - self.step_size * sums_by_cluster(client_buffers, membership) / self.divisor(
            models, assignments, task
        )
        means = average_by_cluster(client_buffers, assignments, fallback=0 * models)
        buffers = replace_rows(state.buffers, clients, rows(means, assignments))
        pending = replace_rows(state.pending, clients, new_gradient) if printed else state.pending
        return replace(state, models=updated, buffers=buffers, pending=pending)

    def _average_models(self, state: MomentumState, task: Task, randomness: Randomness) -> MomentumState:
        """Option II: local momentum descent, followed by line 16."""
        models, buffers, assignments = average_local_training(
            task,
            state.models,
            state.clients,
            randomness,
            step_size=self.step_size,
            local_steps=self.local_steps,
            momentum=self.momentum,
            update_order=self.update_order,
            reset_momentum=self.reset_momentum,
            buffers=state.buffers,
        )
        return replace(state, models=models, buffers=buffers, assignments=assignments)

    def divisor(self, models: Array, assignments: Array, task: Task) -> Array | float:
        """Return the divisor in (5) of the sums (..., P, d) of gradients.

        A number, or (..., P, 1) for ``normalisation="cluster"``, with 1 for empty clusters, whose sum is zero.
        """
        if self.normalisation == "clients":
            return float(task.clients)
        if self.normalisation == "participants":
            return float(assignments.shape[-1])
        xp = array_namespace(models)
        sizes = cluster_sizes(assignments, models.shape[-2], dtype=models.dtype)
        return xp.where(sizes > 0, sizes, xp.ones_like(sizes))[..., None]
