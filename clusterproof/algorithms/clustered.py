"""Algorithms with one model per cluster, in which each client chooses a model: CFL-MGD and IFCA."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from array_api_compat import device

from clusterproof.algorithms.array_clients import ArrayClients, done
from clusterproof.algorithms.averaging import check_participation, draw_participants
from clusterproof.algorithms.base import Algorithm, State, Task, resolve_clusters
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
"""Names of the settings that are passed to the method's round."""


@dataclass(frozen=True)
class MomentumState(State):
    """State of CFL-MGD.

    Attributes
    ----------
    buffers
        Momentum buffers, one per cluster, (..., P, d), or one per client for ``momentum_owner="client"``, (..., m,
        d).
    pending
        Gradients that ``update_order="as-printed"`` applies in the next round, in the shape of the buffers. They are
        0 before the first round, and always 0 for ``"momentum-first"``.
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
        With ``"server"``, each cluster has one buffer, which follows the second line of (32). ``"client"`` is option
        I as printed: every client stores its own u_i, even if it chooses another cluster. After the round, it
        receives the mean of its cluster (line 15).
    update_order
        ``"momentum-first"`` follows (3), (4) and the indices of line 20. ``"as-printed"`` reads chi^t in line 2 as
        the newest model, and applies both equations of line 20 in the printed order. The gradient is then delayed by
        one step, and the method is stable only for beta + eta l_p lambda < 1.
    reset_momentum
        Whether every round of option II starts with zero momentum.
    participation
        Fraction of clients in a round, in (0, 1].
    normalisation
        Divisor of the sum of gradients in option I. ``"clients"`` is m, as printed in (5). ``"participants"`` is
        |M_t|. ``"cluster"`` is the number of participants in the cluster.
    empty_cluster
        What happens to a cluster without participants in option I. With ``"coast"``, its gradient is 0 and it
        continues with its momentum, as in (32). With ``"freeze"``, its model and its momentum stay unchanged. Option
        II, where (6) is 0/0, always uses ``"freeze"``.
    least_share
        Every initial model must have the smallest loss for at least this share of the participants. Otherwise
        Clusterproof redraws the models, as in IFCA's public code. If None, it uses the first draw.
    restarts
        Number of draws of initial models to try. The run uses the draw for which the mean of the clients' smallest
        losses is smallest.
    trial_rounds
        Number of rounds in the trial of each draw, if there are several draws.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range or does not apply to the kind of averaging.

    Notes
    -----
    Zhao et al. (2023), Algorithm 1 and (3)-(10). The sum in (5) is over the cluster's participants in the round. So
    with full participation, the step size of cluster p is eta l_p.
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
                    "leave the argument out, or choose the other averaging",
                )

    def model_count(self, task: Task) -> int:
        """Return the number of models."""
        return resolve_clusters(self.clusters, task)

    def draw_models(self, task: Task, shape: tuple[int, ...], randomness: Randomness) -> Array:
        """Draw initial models (*shape, P, d), see ``least_share`` and ``restarts``."""
        return draw_starts(self._starts, self, task, shape, randomness)

    @property
    def _starts(self) -> Starts:
        return Starts(self.least_share, self.restarts, self.trial_rounds)

    def initialise(self, models: Array, task: Task) -> MomentumState:
        """Return the state with the given models (..., P, d) and zero momentum."""
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
        With ``"gradient"``, the server adds -step_size / m times the sum of its clients' gradients to each model.
        With ``"model"``, clients train locally, and the server averages the models of each cluster's clients.
    local_steps
        Number of gradient steps that a client takes per round (tau in IFCA, H in CFL-MGD). With gradient averaging it
        must be 1.
    participation
        Fraction of clients in a round, in (0, 1]. With gradient averaging, the divisor is always the number of all
        clients (m), as published.
    least_share
        Every initial model must have the smallest loss for at least this share of the participants. Otherwise
        Clusterproof redraws the models, as in IFCA's public code. If None, it uses the first draw.
    restarts
        Number of draws of initial models to try. The run uses the draw for which the mean of the clients' smallest
        losses is smallest.
    trial_rounds
        Number of rounds in the trial of each draw, if there are several draws.

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
        """Draw initial models (*shape, P, d), see ``least_share`` and ``restarts``."""
        return draw_starts(self._starts, self, task, shape, randomness)

    @property
    def _starts(self) -> Starts:
        return Starts(self.least_share, self.restarts, self.trial_rounds)

    def initialise(self, models: Array, task: Task) -> State:
        """Return the state with the given models (..., P, d)."""
        return State(models, None, None)

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        models = state.models
        clients = draw_participants(self.participation, task.clients, models, randomness.participation)
        on = ArrayClients(task, clients, randomness, local_steps=self.local_steps)
        chosen = on.chosen(models, and_sum=self.averaging == "gradient")
        after = ifca(on, models, step_size=self.step_size, averaging=self.averaging, chosen=chosen)
        return State(after, clients, chosen)
