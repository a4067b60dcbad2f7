"""Algorithms with one model per cluster, in which each client chooses a model: CFL-MGD and IFCA."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from array_api_compat import device

from clusterproof.algorithms.array_clients import ArrayClients, done
from clusterproof.algorithms.base import Algorithm, State, Task, resolve_clusters
from clusterproof.algorithms.participation import check_participation, draw_participants
from clusterproof.algorithms.starts import Starts, draw_starts
from clusterproof.common.arrays import Array, array_namespace, replace_rows, rows
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import InvalidArgument, check_choice, check_descent, check_number
from clusterproof.methods.clustered import cfl_mgd, ifca

ROUND_SETTINGS = (
    "step_size",
    "momentum",
    "averaging",
    "momentum_owner",
    "update_order",
    "reset_momentum",
    "normalisation",
    "empty_cluster",
)
"""Settings with which the method's round is called."""


@dataclass(frozen=True)
class MomentumState(State):
    """State of CFL-MGD.

    Attributes
    ----------
    buffers
        Momentum buffers: one per cluster, (..., P, d). With ``momentum_owner="client"`` there is one per client, (...,
        m, d).
    pending
        Gradients that ``update_order="as-printed"`` applies in the next round, in the shape of the buffers. They are
        zero before the first round. With ``"momentum-first"`` they are always zero.
    """

    buffers: Array
    pending: Array


@dataclass(frozen=True, kw_only=True)
class CFLMGD(Algorithm[MomentumState]):
    """IFCA with momentum: option I (gradient averaging) and option II (model averaging).

    Option I, where G_p is the normalised sum of the gradients of the participants in cluster p::

        w_p <- momentum * w_p + G_p        chi_p <- chi_p - step_size * w_p

    Parameters
    ----------
    step_size
        Step size (eta), positive.
    momentum
        Momentum (beta), in [0, 1).
    clusters
        Number of models (P). If None, it is the task's number of clusters.
    averaging
        ``"gradient"`` for option I, ``"model"`` for option II.
    local_steps
        Local steps of option II (H).
    momentum_owner
        With ``"server"``, each cluster has one buffer, which follows the second line of (32). ``"client"`` is option I
        as printed: every client keeps u_i, even when it moves to another cluster. After the round, it receives its
        cluster's mean (line 15).
    update_order
        ``"momentum-first"`` follows (3), (4) and the indices of line 20. ``"as-printed"`` reads chi^t in line 2 as the
        newest model and applies the two equations of line 20 one after the other. The gradient then acts one step
        later, and the method is stable only for beta + eta l_p lambda < 1.
    reset_momentum
        Whether every round of option II starts with zero momentum.
    participation
        Fraction of clients in a round, in (0, 1].
    normalisation
        Divisor of the sum of gradients in option I. ``"clients"`` is m, as printed in (5); ``"participants"`` is |M_t|.
        ``"cluster"`` is the number of participants in the cluster.
    empty_cluster
        With ``"coast"``, a cluster without participants in option I receives a zero gradient and continues with its
        momentum, as in (32). With ``"freeze"``, the cluster keeps its model and its momentum. Option II, where (6) is
        0/0, always freezes.
    least_share
        Share of the participants for which every starting model must have the smallest loss. Clusterproof redraws all
        other starts, as in IFCA's public code. If None, it uses the first draw.
    restarts
        Number of starts to try. The run uses the start for which the mean of the clients' smallest losses is smallest.
    trial_rounds
        Number of rounds in the trial of each start, if there are several starts.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range or does not apply to the kind of averaging.

    Notes
    -----
    Zhao et al. (2023), Algorithm 1 and (3)-(10). The sum in (5) is over the cluster's participants in the round. At
    full participation, the step of cluster p is therefore eta l_p.
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
        on = ArrayClients(task, clients, randomness, local_steps=self.local_steps)
        of_clients = self.averaging == "gradient" and self.momentum_owner == "client"
        chosen = on.chosen(models, and_sum=self.averaging == "gradient" and not of_clients)
        settings = {name: getattr(self, name) for name in ROUND_SETTINGS}
        tables = state.buffers, state.pending
        own = [rows(table, clients) for table in tables] if of_clients else tables
        models, *found = map(done, cfl_mgd(on, models, *own, **settings, chosen=chosen))
        if of_clients:
            found = [replace_rows(table, clients, new) for table, new in zip(tables, found, strict=True)]
        return MomentumState(models, clients, chosen, *found)


@dataclass(frozen=True, kw_only=True)
class IFCA(Algorithm[State]):
    """In each round, each client chooses the model with the smallest loss, and trains this model.

    Parameters
    ----------
    step_size
        Step size (gamma in IFCA, eta in CFL-MGD), positive.
    clusters
        Number of models. If None, it is the task's number of clusters.
    averaging
        With ``"gradient"``, each model moves by -step_size / m times the sum of its clients' gradients. With
        ``"model"``, clients train locally, and the server averages the models of each cluster's members.
    local_steps
        Number of gradient steps that a client takes per round (tau in IFCA, H in CFL-MGD). With gradient averaging it
        must be 1.
    participation
        Fraction of clients in a round, in (0, 1]. With gradient averaging, the divisor is always the number of all
        clients (m), as published.
    least_share
        Share of the participants for which every starting model must have the smallest loss. Clusterproof redraws all
        other starts, as in IFCA's public code. If None, it uses the first draw.
    restarts
        Number of starts to try. The run uses the start for which the mean of the clients' smallest losses is smallest.
    trial_rounds
        Number of rounds in the trial of each start, if there are several starts.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range, or ``local_steps > 1`` with gradient averaging.

    Notes
    -----
    Ghosh et al. (2020), Algorithm 1. IFCA equals CFL-MGD with momentum 0.
    """

    name: ClassVar[str] = "ifca"

    step_size: float
    clusters: int | None = None
    averaging: str = "gradient"
    local_steps: int = 1
    participation: float = 1.0
    least_share: float | None = None
    restarts: int = 1
    trial_rounds: int = 10

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_descent(self.step_size, self.clusters, self.averaging, self.local_steps)
        check_participation(self.participation)
        self._starts.check()

    @property
    def dynamics(self) -> Algorithm[Any]:
        """The algorithm CFL-MGD with momentum 0, which has the same recursion as IFCA."""
        return CFLMGD(momentum=0.0, **{field.name: getattr(self, field.name) for field in fields(IFCA)})

    def model_count(self, task: Task) -> int:
        """Return the number of models."""
        return resolve_clusters(self.clusters, task)

    def draw_models(self, task: Task, shape: tuple[int, ...], randomness: Randomness) -> Array:
        """Draw starting points (*shape, P, d), see ``least_share`` and ``restarts``."""
        return draw_starts(self._starts, self, task, shape, randomness)

    @property
    def _starts(self) -> Starts:
        return Starts(self.least_share, self.restarts, self.trial_rounds)

    def initialise(self, models: Array, task: Task) -> State:
        """Start from the given models (..., P, d)."""
        return State(models, None, None)

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        models = state.models
        clients = draw_participants(self.participation, task.clients, models, randomness.participation)
        on = ArrayClients(task, clients, randomness, local_steps=self.local_steps)
        chosen = on.chosen(models, and_sum=self.averaging == "gradient")
        after = ifca(on, models, step_size=self.step_size, averaging=self.averaging, chosen=chosen)
        return State(after, clients, chosen)
