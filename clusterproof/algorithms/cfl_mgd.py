"""CFL-MGD: clustered federated learning with momentum gradient descent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from array_api_compat import device

from clusterproof.algorithms.averaging import (
    average_by_cluster,
    choose_clusters,
    cluster_sizes,
    train_and_average,
)
from clusterproof.algorithms.base import Algorithm, Descent, State, Task, resolve_clusters
from clusterproof.algorithms.participation import check_participation, draw_participants
from clusterproof.algorithms.starts import Starts, draw_starts
from clusterproof.common.arrays import Array, array_namespace, one_hot, replace_rows, rows, sums_by_cluster
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import InvalidArgument, check_choice, check_descent, check_number


@dataclass(frozen=True)
class MomentumState(State):
    """State of CFL-MGD.

    Attributes
    ----------
    buffers
        Momentum buffers: one per cluster, (..., P, d), or one per client, (..., m, d), with
        ``momentum_owner="client"``.
    pending
        Gradients to be applied in the next round with ``update_order="as-printed"``, of the buffers'
        shape; zero before the first round and with the other order.
    """

    buffers: Array
    pending: Array


@dataclass(frozen=True, kw_only=True)
class CFLMGD(Algorithm[MomentumState]):
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
    restarts
        Number of starts that are tried; the start with the smallest mean of the clients' smallest losses is used.
    trial_rounds
        Rounds for which each start is tried, if there are several.

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
        check_participation(self.participation)
        self._starts.check()
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

    def model_count(self, task: Task) -> int:
        """Return the number of models."""
        return resolve_clusters(self.clusters, task)

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
        clients = draw_participants(self.participation, task.clients, models, randomness.participation)
        if self.averaging == "gradient" and self.momentum_owner == "server":
            assignments, sums = task.choose_and_sum(models, clients, randomness)
            state = replace(state, clients=clients, assignments=assignments)
            return self._average_gradients(state, task, sums)
        assignments = choose_clusters(task, models, clients, randomness.assignment)
        state = replace(state, clients=clients, assignments=assignments)
        if self.averaging == "model":
            return self._average_models(state, task, randomness)
        return self._average_client_momentum(state, task, randomness)

    def _average_gradients(self, state: MomentumState, task: Task, sums: Array) -> MomentumState:
        """Option I with one buffer per cluster, (5) and the second line of (32)."""
        xp, chi, late = array_namespace(state.models), state.models, self.update_order == "as-printed"
        G = sums / self.divisor(chi, state.assignments, task)
        w = self.momentum * state.buffers + (state.pending if late else G)
        updated = chi - self.step_size * w
        if self.empty_cluster == "freeze":
            occupied = cluster_sizes(state.assignments, chi.shape[-2], dtype=chi.dtype)[..., None] > 0
            updated = xp.where(occupied, updated, chi)
            w = xp.where(occupied, w, state.buffers)
        return replace(state, models=updated, buffers=w, pending=G if late else state.pending)

    def _average_client_momentum(
        self, state: MomentumState, task: Task, randomness: Randomness
    ) -> MomentumState:
        """Option I as printed, with one buffer per client: lines 7, 8 and 15."""
        chi, clients, assignments = state.models, state.clients, state.assignments
        late = self.update_order == "as-printed"
        g = task.gradients(rows(chi, assignments), clients, randomness.gradient)
        u = self.momentum * rows(state.buffers, clients) + (rows(state.pending, clients) if late else g)
        sums = sums_by_cluster(u, one_hot(assignments, chi.shape[-2], dtype=chi.dtype))
        means = average_by_cluster(u, assignments, fallback=0 * chi)
        return replace(
            state,
            models=chi - self.step_size * sums / self.divisor(chi, assignments, task),
            buffers=replace_rows(state.buffers, clients, rows(means, assignments)),
            pending=replace_rows(state.pending, clients, g) if late else state.pending,
        )

    def _average_models(self, state: MomentumState, task: Task, randomness: Randomness) -> MomentumState:
        """Option II: (4), (6) and line 16; with delayed gradients, the equations of line 20 one after the other."""
        chi, clients, assignments = state.models, state.clients, state.assignments
        start = 0 * state.buffers if self.reset_momentum else state.buffers
        if self.update_order == "momentum-first":
            descent = Descent(self.step_size, self.local_steps, self.momentum)
            models, buffers = train_and_average(
                task, chi, clients, assignments, randomness.gradient, descent, buffers=start
            )
        else:
            points, u = rows(chi, assignments), rows(start, assignments)
            for _ in range(self.local_steps):
                g = task.gradients(points, clients, randomness.gradient)
                points, u = points - self.step_size * u, self.momentum * u + g
            models = average_by_cluster(points, assignments, fallback=chi)
            buffers = average_by_cluster(u, assignments, fallback=start)
        return replace(state, models=models, buffers=buffers)

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
