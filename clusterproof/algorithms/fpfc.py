"""FPFC, fusion-penalised federated clustering (Yu, Liu, Sun and Wang, AAAI 2023).

``methods.pairs`` defines the same round with one vector for each ordered pair of clients. Here the server's arrays
contain each pair of clients once, which a ``@method`` cannot express.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from array_api_compat import device

from clusterproof.algorithms.averaging import average_by_cluster, check_participation, draw_participants
from clusterproof.algorithms.base import Algorithm, Descent, State, Task
from clusterproof.algorithms.pairs import (
    PAIR_RULES,
    Pairs,
    delta_lengths,
    signed_sums,
    squared_gaps,
    start_pairs,
    update_pairs,
)
from clusterproof.algorithms.penalties import GroupL1, Penalty, SmoothedSCAD
from clusterproof.common.arrays import Array, array_namespace, like, rows, to_numpy
from clusterproof.common.finiteness import check_finite
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import InvalidArgument, check_choice, check_descent, check_number

CONCAVITY = 3.7
SMOOTHING = 1e-3
LARGEST_THRESHOLD = 0.5


@dataclass(frozen=True)
class FusionState(State):
    """State of FPFC: the clients' models (..., m, d), their groups, and the pair variables.

    Attributes
    ----------
    pairs
        theta and v for all pairs, in host memory.
    """

    pairs: Pairs


@dataclass(frozen=True)
class Residuals:
    """Three residuals of a state, (...), which are 0 at a stationary point.

    Attributes
    ----------
    models
        ||grad_w L_0||, the norm of the gradient of the Lagrangian (not augmented) with respect to the clients'
        models.
    differences
        Distance between v and the gradient of the penalty at theta, as the root of a sum of squares over ordered
        pairs. When every pair has been updated, it is 0 up to rounding.
    duals
        ||grad_v L_0||, the root of the sum over ordered pairs of ||w_i - w_j - theta_ij||^2, divided by 2 m.
    """

    models: np.ndarray
    differences: np.ndarray
    duals: np.ndarray

    @property
    def largest(self) -> np.ndarray:
        """The largest of the three residuals, (...)."""
        return np.asarray(np.maximum(np.maximum(self.models, self.differences), self.duals))


@dataclass(frozen=True, kw_only=True)
class FPFC(Algorithm[FusionState]):
    """One model per client, with a penalty on pairwise differences that makes the models of similar clients equal.

    The algorithm minimises the sum of the clients' losses plus 1 / (2 m) times the sum of the penalties over ordered
    pairs. It uses an inexact ADMM that updates only the participants. Two clients are grouped if the norm of their
    difference theta_ij is small.

    Parameters
    ----------
    step_size
        Step size of the clients (alpha), positive. For L-smooth losses, it should be at most 1 / (L + augmentation).
    local_steps
        Number of gradient steps that a client takes per round (T_i).
    penalty
        ``"scad"`` for smoothed SCAD, or ``"l1"`` for the convex group lasso.
    strength
        Derivative of the penalty at zero (lambda), positive.
    concavity
        Parameter a of SCAD, greater than 1. The penalty is constant for norms above ``concavity * strength``. If
        None, it is 3.7.
    smoothing
        Norm (xi) below which a parabola replaces SCAD, positive and below ``strength``. If None, it is 0.001.
    augmentation
        Coefficient of the augmented Lagrangian's quadratic term (rho), greater than 1 / (concavity - 1).
    threshold
        Two clients are connected if the norm of theta_ij is at most this number (nu). The groups are the connected
        components. For SCAD, give a number between ``smoothing`` and 0.5. If ``smoothing`` is larger than 0.5, the
        threshold must equal ``smoothing``. For l1, give any positive number.
    pair_rule
        Pairs that a round updates. ``"either"`` (as in the public code) updates every pair with at least one
        participant, and ``"all"`` updates every pair. ``"both"`` (as printed) updates pairs of two participants, so a
        single participant changes no pair.
    start
        With ``"common"``, all clients have the same initial model, as the theorem requires. With ``"own"``, every
        client has its own initial model, for example the result of ``local``.
    reuse_memory
        Whether to overwrite the pair variables of the previous round. It halves the memory, but ``step`` cannot be
        called twice with the same state.
    participation
        Fraction of clients in a round, in (0, 1].

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range or applies only to the other penalty. During a run, if there is not enough
        memory for the pair variables, or a client's model is not finite.

    Notes
    -----
    Yu, Liu, Sun and Wang (2023), Algorithm 1, where zeta_i is the mean of w_j + theta_ij - v_ij / rho over all j. The
    public code updates a pair of two participants twice per round, and this class updates it once. The defaults are
    from the documentation of the public code. ``models`` has one row per client.
    """

    name: ClassVar[str] = "fpfc"
    target: ClassVar[str] = "clients"

    step_size: float
    local_steps: int = 10
    penalty: str = "scad"
    strength: float = 0.6
    concavity: float | None = None
    smoothing: float | None = None
    augmentation: float = 1.0
    threshold: float = 0.1
    pair_rule: str = "either"
    start: str = "common"
    reuse_memory: bool = False
    participation: float = 1.0

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_descent(self.step_size, None, "model", self.local_steps)
        check_choice("penalty", self.penalty, ("scad", "l1"), remedy="the paper uses 'scad'")
        if self.penalty == "l1":
            for argument in ("concavity", "smoothing"):
                if (value := getattr(self, argument)) is not None:
                    rule, remedy = (
                        "does not apply with penalty = 'l1'",
                        "leave it out, or choose penalty = 'scad'",
                    )
                    raise InvalidArgument(argument, value, rule, remedy)
        self.fusion_penalty.check_augmentation(self.augmentation)
        if isinstance(self.fusion_penalty, SmoothedSCAD):
            least = self.fusion_penalty.smoothing
            most, remedy = max(LARGEST_THRESHOLD, least), "the paper chooses it from smoothing to 0.5"
            if least == most != self.threshold:
                rule = (
                    f"must equal smoothing = {least:g}, because smoothing is not below {LARGEST_THRESHOLD:g}"
                )
                raise InvalidArgument("threshold", self.threshold, rule, remedy)
            check_number("threshold", self.threshold, at_least=least, at_most=most, remedy=remedy)
        else:
            check_number("threshold", self.threshold, above=0, remedy="0.1 is common")
        check_choice("pair_rule", self.pair_rule, tuple(PAIR_RULES), remedy="the public code uses 'either'")
        check_choice("start", self.start, ("common", "own"), remedy="the theorem requires 'common'")
        check_participation(self.participation)

    @property
    def fusion_penalty(self) -> Penalty:
        """The penalty on the norm of a difference, with its parameters."""
        if self.penalty == "l1":
            return GroupL1(strength=self.strength)
        return SmoothedSCAD(
            strength=self.strength,
            concavity=CONCAVITY if self.concavity is None else self.concavity,
            smoothing=SMOOTHING if self.smoothing is None else self.smoothing,
        )

    def model_count(self, task: Task) -> int:
        """Return 1 for a common initial model, and the number of clients for separate initial models."""
        return 1 if self.start == "common" else task.clients

    def initialise(self, models: Array, task: Task) -> FusionState:
        """Start at the given models, (..., 1, d) or (..., m, d), with theta_ij = w_i - w_j and v = 0."""
        xp = array_namespace(models)
        # gather, because the copy of a broadcast array would not be contiguous for each client
        indices = np.zeros(task.clients, dtype=np.int64) if models.shape[-2] == 1 else np.arange(task.clients)
        spread = xp.take(models, like(indices, models), axis=-2)
        pairs = start_pairs(
            np.ascontiguousarray(to_numpy(spread)), self.threshold, reuse_memory=self.reuse_memory
        )
        return _state(spread, pairs)

    def step(self, state: FusionState, task: Task, randomness: Randomness) -> FusionState:
        """Carry out one round."""
        models = state.models
        clients = draw_participants(self.participation, task.clients, models, randomness.participation)
        known = to_numpy(clients)
        descent = Descent(self.step_size, self.local_steps, proximal=self.augmentation)
        zeta, start = self.anchors(state, known), rows(models, clients)
        points, _, _ = task.local_steps(start, clients, randomness.gradient, descent, anchors=zeta)
        check_finite(points, clients, self.step_size)
        return self.update(state, known, points)

    def anchors(self, state: FusionState, clients: Array) -> Array:
        """Return the vectors zeta_i (..., k, d) that the server sends to the participants (..., k)."""
        models = state.models
        xp = array_namespace(models)
        sums = rows(like(state.pairs.sums, models), like(to_numpy(clients), models))
        return (xp.sum(models, axis=-2, keepdims=True) + sums) / models.shape[-2]

    def update(self, state: FusionState, clients: Array, points: Array) -> FusionState:
        """Return the state after the server has received the models (..., k, d) of the participants (..., k)."""
        models = np.array(to_numpy(state.models), order="C")
        moving = np.zeros(models.shape[:-1], dtype=bool)
        first = np.arange(0, moving.size, models.shape[-2]).reshape(*models.shape[:-2], 1)
        participants = first + to_numpy(
            clients
        )  # indices into the models of all replicates, joined to one long array
        received = np.broadcast_to(to_numpy(points), (*participants.shape, models.shape[-1]))
        models.reshape(-1, models.shape[-1])[participants] = received
        moving.reshape(-1)[participants] = True
        pairs = update_pairs(
            state.pairs,
            models,
            moving,
            PAIR_RULES[self.pair_rule],
            self.fusion_penalty.pieces(self.augmentation),
            self.threshold,
            reuse_memory=self.reuse_memory,
        )
        return _state(like(models, state.models), pairs)

    def residuals(self, state: FusionState, task: Task, generator: np.random.Generator) -> Residuals:
        """Return the residuals of a state, where ``generator`` draws the samples for the gradients."""
        models, pairs = state.models, state.pairs
        clients = models.shape[-2]
        gradients = to_numpy(task.gradients(models, like(np.arange(clients), models), generator))
        dual = self.augmentation * (1 - pairs.factor)
        lagrangian = gradients + signed_sums(pairs, dual) / clients
        # theta and v are multiples of one vector, so the computation needs only lengths
        lengths = delta_lengths(pairs)[..., None]
        stationarity = self.fusion_penalty.stationarity_residual(
            pairs.factor[..., None] * lengths, dual[..., None] * lengths
        )
        gaps = squared_gaps(pairs, to_numpy(models))
        return Residuals(
            models=np.sqrt((lagrangian.astype(float) ** 2).sum(axis=(-2, -1))),
            differences=np.sqrt(2 * (stationarity.astype(float) ** 2).sum(axis=-1)),
            duals=np.sqrt(2 * gaps.sum(axis=-1)) / (2 * clients),
        )

    def difference_lengths(self, state: FusionState) -> np.ndarray:
        """Return ||theta_ij|| for all pairs, (..., m, m), for example to compute groups with another threshold."""
        result = np.zeros(state.pairs.near.shape)
        first, second = np.triu_indices(state.models.shape[-2], 1)
        result[..., first, second] = state.pairs.factor * delta_lengths(state.pairs)
        return result + np.swapaxes(result, -2, -1)


def _state(models: Array, pairs: Pairs) -> FusionState:
    xp = array_namespace(models)
    all_clients = xp.arange(models.shape[-2], device=device(models))
    return FusionState(models, all_clients, like(pairs.groups, models), pairs)


def group_averages(models: Array, assignments: Array, weights: Array | None = None) -> Array:
    """Return for each client the mean model (alpha_l) of the client's group, from models (..., m, d), as (..., m, d).

    ``assignments`` (..., m) contains the clients' groups. ``weights``, (m,) or (..., m), can be the numbers of
    samples n_i. If None, all weights are equal.
    """
    xp = array_namespace(models)
    if weights is None:
        return rows(average_by_cluster(models, assignments, fallback=0 * models), assignments)
    scale = weights[..., None]
    sums = average_by_cluster(models * scale, assignments, fallback=0 * models)
    sizes = average_by_cluster(xp.broadcast_to(scale, models.shape), assignments, fallback=0 * models + 1)
    return rows(sums / sizes, assignments)
