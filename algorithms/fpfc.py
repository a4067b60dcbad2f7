"""FPFC, fusion-penalised federated clustering (Yu, Liu, Sun and Wang, AAAI 2023)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace, device

from clusterproof.algorithms.arrays import Array, like, replace_rows, rows, to_numpy
from clusterproof.algorithms.ifca import check_descent
from clusterproof.algorithms.parts.aggregation import average_by_cluster, local_proximal_descent
from clusterproof.algorithms.parts.dense_pairs import DensePairs, fits
from clusterproof.algorithms.parts.finiteness import check_finite
from clusterproof.algorithms.parts.pair_storage import Pairs, gathered, put
from clusterproof.algorithms.parts.pair_updates import PAIR_RULES, PairStep
from clusterproof.algorithms.parts.participation import check_participation, participants_of_round
from clusterproof.algorithms.parts.penalties import GroupL1, Penalty, SmoothedSCAD
from clusterproof.algorithms.protocol import Algorithm, State, Task
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.validation import InvalidArgument, check_choice, check_number

CONCAVITY = 3.7
SMOOTHING = 1e-3
LARGEST_THRESHOLD = 0.5


@dataclass(frozen=True)
class FusionState(State):
    """State of FPFC: the clients' models (..., m, d), everybody's group, and the pair variables.

    Attributes
    ----------
    variables
        theta and v of all pairs: on the host as ``pair_storage`` keeps them, on a device as ``dense_pairs``
        does, where that many fit.
    """

    variables: Pairs | DensePairs

    @property
    def pairs(self) -> Pairs:
        """The pair variables as a list that the host can go over; copied from a device."""
        return self.variables if isinstance(self.variables, Pairs) else self.variables.listed()


@dataclass(frozen=True)
class Residuals:
    """How far a state is from a stationary point, all zero at one; one number a replicate, (...).

    Attributes
    ----------
    models
        ||grad_w L_0||, the gradients of the plain Lagrangian in the clients' models.
    differences
        Distance of v from the gradient of the penalty at theta, root of the sum of squares over
        ordered pairs; rounding error once every pair has been updated.
    duals
        ||grad_v L_0||: the root of the sum over ordered pairs of ||w_i - w_j - theta_ij||^2, over 2 m.
    """

    models: np.ndarray
    differences: np.ndarray
    duals: np.ndarray

    @property
    def largest(self) -> np.ndarray:
        """The largest of the three, (...)."""
        return np.asarray(np.maximum(np.maximum(self.models, self.differences), self.duals))


@dataclass(frozen=True, kw_only=True)
class FPFC(Algorithm[FusionState]):
    """Every client has a model; a penalty of all pairwise differences fuses those of alike clients.

    It minimises the sum of the clients' losses and 1 / (2 m) times the penalty over ordered pairs, by
    an inexact ADMM in which only the participants move. Clients are grouped where the difference
    variables are short.

    Parameters
    ----------
    step_size
        Step size of the clients (alpha), positive; at most 1 / (L + augmentation) for L-smooth losses.
    local_steps
        Gradient steps of a client in a round (T_i).
    penalty
        ``"scad"``, smoothed, or ``"l1"``, the convex group lasso.
    strength
        Slope of the penalty near zero (lambda), positive.
    concavity
        SCAD is constant from ``concavity * strength`` on (a), greater than 1; 3.7 where None.
    smoothing
        SCAD is a parabola up to here (xi), positive, below ``strength``; 0.001 where None.
    augmentation
        Weight of the augmented Lagrangian's square (rho), greater than 1 / (concavity - 1).
    threshold
        Two clients are grouped if their difference is at most this long (nu), and so are those that a
        chain of such pairs connects. From ``smoothing`` to 0.5, or ``smoothing`` where that is greater, for
        SCAD; any positive number for l1.
    pair_rule
        Which pairs a round updates: with at least one participant (``"either"``, the public code), with
        two (``"both"``, the printed rule, under which nothing moves where one client takes part), or
        ``"all"``.
    start
        ``"common"``: everybody starts from one model, as the theorem asks. ``"own"``: everybody from
        one of their own, such as the outcome of ``local``; far fewer pairs are then ever stored.
    reuse_memory
        Write a round's pair variables over those of the round before, which halves the memory; the given
        state cannot be stepped from again.
    participation
        Fraction of clients in a round, in (0, 1].

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range, or belongs to the other penalty; during a run, if a
        client's model is not finite.

    Notes
    -----
    Yu, Liu, Sun and Wang (2023), Algorithm 1, with zeta_i the mean over all j of w_j + theta_ij -
    v_ij / rho. The public code updates a pair of two participants twice in a row; here once. The
    defaults are those of its documentation. ``models`` has one row a client. On a device the pairs stay there, groups
    and all, as long as R m^2 d, for R replicates, is at most 2^31 numbers; beyond that the host keeps the list of
    the pairs that need a vector, and waits up to four times a round.
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
        check_choice("penalty", self.penalty, ("scad", "l1"), remedy="'scad' is the paper's")
        if self.penalty == "l1":
            for argument in ("concavity", "smoothing"):
                if getattr(self, argument) is not None:
                    raise InvalidArgument(
                        argument,
                        getattr(self, argument),
                        "does not apply with penalty = 'l1'",
                        "leave it out, or choose penalty = 'scad'",
                    )
        self.fusion_penalty.check_augmentation(self.augmentation)
        if isinstance(self.fusion_penalty, SmoothedSCAD):
            check_number(
                "threshold",
                self.threshold,
                at_least=self.fusion_penalty.smoothing,
                at_most=max(LARGEST_THRESHOLD, self.fusion_penalty.smoothing),
                remedy="the paper chooses it from smoothing to 0.5",
            )
        else:
            check_number("threshold", self.threshold, above=0, remedy="0.1 is common")
        check_choice("pair_rule", self.pair_rule, PAIR_RULES, remedy="'either' is the public code's")
        check_choice("start", self.start, ("common", "own"), remedy="'common' is the theorem's")
        check_participation(self.participation)

    @property
    def fusion_penalty(self) -> Penalty:
        """The penalty as an object."""
        if self.penalty == "l1":
            return GroupL1(strength=self.strength)
        return SmoothedSCAD(
            strength=self.strength,
            concavity=CONCAVITY if self.concavity is None else self.concavity,
            smoothing=SMOOTHING if self.smoothing is None else self.smoothing,
        )

    def model_count(self, task: Task) -> int:
        """Give 1 for a common start and the number of clients for one of their own."""
        return 1 if self.start == "common" else task.clients

    def initialise(self, models: Array, task: Task) -> FusionState:
        """Start with theta_ij = w_i - w_j and v = 0 at the given models, (..., 1, d) or (..., m, d)."""
        xp = array_namespace(models)
        # a copy of a broadcast array would keep its order, one client's numbers far apart
        places = np.zeros(task.clients, dtype=np.int64) if models.shape[-2] == 1 else np.arange(task.clients)
        spread = xp.take(models, like(places, models), axis=-2)
        flat = _flat(spread)
        if fits(flat):
            return self._state(spread, DensePairs.start(flat, self.threshold))
        return self._state(spread, self._pair_step.start(flat))

    def step(self, state: FusionState, task: Task, randomness: Randomness) -> FusionState:
        """Carry out one round."""
        models = state.models
        clients = participants_of_round(self.participation, task, models, randomness.participation)
        # a list of pairs is put in order on the host
        known = clients if isinstance(state.variables, DensePairs) else to_numpy(clients)
        points = local_proximal_descent(
            task,
            rows(models, clients),
            self.anchors(state, known),
            clients,
            randomness.gradient,
            step_size=self.step_size,
            proximal=self.augmentation,
            local_steps=self.local_steps,
        )
        check_finite(points, clients, self.step_size)
        return self.update(state, known, points)

    def anchors(self, state: FusionState, clients: Array) -> Array:
        """What the server sends: zeta_i of the participants (..., k), (..., k, d)."""
        models, pairs = _flat(state.models), state.variables
        xp = array_namespace(models)
        if isinstance(pairs, DensePairs):
            total = pairs.anchor_sums(models, _spread_there(clients, models, state.models.shape[:-2]))
            shape = (*state.models.shape[:-2], *total.shape[-2:])
            return xp.reshape(total / models.shape[-2], shape)
        picked = _spread(clients, state.models.shape[:-2])
        replicate = np.arange(len(picked))[:, None]
        stored = pairs.stored[replicate, picked]
        partners = xp.astype(like(stored, models), models.dtype)
        own = xp.reshape(gathered(models, *_entries(picked)), (*picked.shape, -1))
        clean = models.shape[-2] - xp.sum(partners, axis=-1, keepdims=True)
        total = clean * own + xp.matmul(partners, models)
        total += pairs.partner_sums(models, picked)
        shape = (*state.models.shape[:-2], *total.shape[-2:])
        return xp.reshape(total / models.shape[-2], shape)

    def update(self, state: FusionState, clients: Array, points: Array) -> FusionState:
        """What the server does with the participants' (..., k) new models (..., k, d)."""
        before, pairs = _flat(state.models), state.variables
        xp = array_namespace(before)
        if isinstance(pairs, DensePairs):
            there = _spread_there(clients, before, state.models.shape[:-2])
            numbers = xp.arange(before.shape[1], device=device(before))
            moved = replace_rows(state.models, clients, points)
            present = xp.any(there[:, :, None] == numbers, axis=1)
            return self._state(moved, self._pair_step.update_dense(pairs, _flat(moved), present))
        replicate, picked = _entries(_spread(clients, state.models.shape[:-2]))
        active = np.zeros(before.shape[:2], dtype=bool)
        active[replicate, picked] = True
        table = xp.asarray(xp.reshape(before, (-1, before.shape[-1])), copy=True)
        spread = xp.broadcast_to(points, (*state.models.shape[:-2], *points.shape[-2:]))
        spread = xp.reshape(spread, (-1, before.shape[-1]))
        table = put(table, replicate * before.shape[-2] + picked, spread)
        models = xp.reshape(table, before.shape)
        updated = self._pair_step.update(pairs, before, models, active)
        return self._state(xp.reshape(models, state.models.shape), updated)

    def residuals(self, state: FusionState, task: Task, generator: np.random.Generator) -> Residuals:
        """Measure how far a state is from a stationary point.

        Parameters
        ----------
        state, task
            Of a run.
        generator
            Source of the samples of the gradients; they are exact where the task's data is.
        """
        models, lead = state.models, state.models.shape[:-2]
        flat, clients = _flat(models), models.shape[-2]
        everybody, pairs = like(np.arange(clients), models), state.pairs
        forces = pairs.signed_sums(self.augmentation * (1 - pairs.factors), _spread(everybody, lead), flat)
        gradients = task.gradients(models, everybody, generator)
        slopes = to_numpy(_flat(gradients) + forces / clients)
        penalty, gap = self._pair_step.defects(pairs, flat)
        return Residuals(
            models=np.sqrt((slopes**2).sum(axis=(-2, -1))).reshape(lead),
            differences=np.sqrt(penalty).reshape(lead),
            duals=(np.sqrt(gap) / (2 * clients)).reshape(lead),
        )

    def difference_lengths(self, state: FusionState) -> np.ndarray:
        """||theta_ij|| of all pairs, (..., m, m), for grouping by any other threshold with ``grouped``."""
        lengths = self._pair_step.lengths(state.pairs, _flat(state.models))
        return lengths.reshape(*state.models.shape[:-2], *lengths.shape[1:])

    @property
    def _pair_step(self) -> PairStep:
        return PairStep(
            self.fusion_penalty, self.augmentation, self.threshold, self.pair_rule, self.reuse_memory
        )

    def _state(self, models: Array, pairs: Pairs | DensePairs) -> FusionState:
        xp = array_namespace(models)
        labels = like(pairs.groups.labels, models) if isinstance(pairs, Pairs) else pairs.labels()
        everybody = xp.arange(models.shape[-2], device=device(models))
        return FusionState(models, everybody, xp.reshape(labels, models.shape[:-1]), pairs)


def group_averages(models: Array, assignments: Array, weights: Array | None = None) -> Array:
    """Each client's group's model alpha_l, the weighted mean of its members', (..., m, d).

    Parameters
    ----------
    models
        (..., m, d).
    assignments
        Group of every client, (..., m).
    weights
        Of the clients, (m,) or (..., m), such as their numbers of samples n_i; equal where None.
    """
    xp = array_namespace(models)
    if weights is None:
        return rows(average_by_cluster(models, assignments, fallback=0 * models), assignments)
    scale = weights[..., None]
    sums = average_by_cluster(models * scale, assignments, fallback=0 * models)
    sizes = average_by_cluster(xp.broadcast_to(scale, models.shape), assignments, fallback=0 * models + 1)
    return rows(sums / sizes, assignments)


def _flat(models: Array) -> Array:
    """Replicate axes as one, (R, m, d)."""
    shape = (math.prod(models.shape[:-2]), *models.shape[-2:])
    return array_namespace(models).reshape(models, shape)


def _spread(clients: Array, lead: tuple[int, ...]) -> np.ndarray:
    """Participants (..., k) of every replicate, (R, k), on the host."""
    picked = to_numpy(clients)
    return np.array(np.broadcast_to(picked, (*lead, picked.shape[-1]))).reshape(-1, picked.shape[-1])


def _spread_there(clients: Array, models: Array, lead: tuple[int, ...]) -> Array:
    """The same where the models (R, m, d) are, for clients that are there or on the host."""
    xp = array_namespace(models)
    there = like(clients, models) if isinstance(clients, np.ndarray) else clients
    return xp.reshape(xp.broadcast_to(there, (*lead, there.shape[-1])), (-1, there.shape[-1]))


def _entries(picked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Replicate and client of every participant (R, k), one after the other, (R k,) each."""
    return np.repeat(np.arange(len(picked)), picked.shape[-1]), picked.ravel()
