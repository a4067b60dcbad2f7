"""What the repaired theorem of FPFC allows on a run, a user's own included.

A trace holds the models alone; the differences and multipliers of the pairs follow from them by the printed
rule, so that a run whose server did something else is seen by what its models are then worth.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from clusterproof.algorithms import FPFC, InvalidArgument, Trace
from clusterproof.algorithms.fpfc import FusionState
from clusterproof.synthetic import Mixture, QuadraticMixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.fpfc.constants import Constants
from clusterproof.theory.fpfc.measured import augmented_lagrangian, objective, squared_mapping
from clusterproof.theory.trace_bound import TraceBound

CHANCE = 0.03
"""Failure probability of a bound on a mean over participants, by Markov's inequality, where none is given."""


def bound_models(task: Mixture, trace: Trace, failure_probability: float | None = None) -> TraceBound:
    """Bound the mean over rounds of ||grad_w L_0||^2, after every round.

    F* is at least the sum of the clients' least losses, 0 for quadratics. With full participation the bound is sure;
    with partial participation it bounds an expectation, and Markov's inequality gives the probability.

    Raises
    ------
    InvalidArgument
        If a hypothesis of the repaired theorem fails; the message names it.
    """
    quadratic, setting = _setting(task, trace)
    residuals = _residuals(setting.algorithm, quadratic, trace, "models")
    factor = setting.repaired_first + setting.repaired_second
    return _mean_bound(
        setting, quadratic, trace, residuals, factor, "mean of ||grad_w L_0||^2", failure_probability
    )


def bound_models_by_one_term(
    task: Mixture, trace: Trace, failure_probability: float | None = None
) -> TraceBound:
    """Bound as ``bound_models`` does, without the pairs' term, where every pair is updated in every round.

    Raises
    ------
    InvalidArgument
        As for ``bound_models``, or if a pair may wait.
    """
    quadratic, setting = _setting(task, trace)
    if setting.algorithm.pair_rule != "all" and setting.participation < 1:
        raise InvalidArgument(
            "pair_rule",
            setting.algorithm.pair_rule,
            "must be 'all' where not everybody takes part",
            "fpfc/repaired-models speaks of pairs that wait",
        )
    return _one_term(setting, quadratic, trace, failure_probability)


def bound_models_at_large_augmentation(
    task: Mixture, trace: Trace, failure_probability: float | None = None
) -> TraceBound:
    """Bound as ``bound_models`` does, without the pairs' term, where rho >= 8 L_g.

    Raises
    ------
    InvalidArgument
        As for ``bound_models``, or if rho < 8 L_g.
    """
    quadratic, setting = _setting(task, trace)
    if not setting.largely_augmented:
        raise InvalidArgument(
            "augmentation",
            setting.algorithm.augmentation,
            f"must be at least 8 L_g = {8 * setting.penalty.lipschitz:g}",
            "fpfc/repaired-models speaks of smaller ones",
        )
    return _one_term(setting, quadratic, trace, failure_probability)


def _one_term(
    setting: Constants, task: QuadraticMixture, trace: Trace, failure_probability: float | None
) -> TraceBound:
    residuals = _residuals(setting.algorithm, task, trace, "models")
    quantity = "mean of ||grad_w L_0||^2"
    return _mean_bound(setting, task, trace, residuals, setting.repaired_first, quantity, failure_probability)


def bound_duals(task: Mixture, trace: Trace, failure_probability: float | None = None) -> TraceBound:
    """Bound the mean over rounds of ||grad_v L_0||^2, as ``bound_models`` does.

    Raises
    ------
    InvalidArgument
        As for ``bound_models``.
    """
    quadratic, setting = _setting(task, trace)
    residuals = _residuals(setting.algorithm, quadratic, trace, "duals")
    factor = setting.second / setting.pair_participation
    return _mean_bound(
        setting, quadratic, trace, residuals, factor, "mean of ||grad_v L_0||^2", failure_probability
    )


def bound_mapping(task: Mixture, trace: Trace, failure_probability: float | None = None) -> TraceBound:
    """Bound ||G||^2 after every round, for sure.

    Raises
    ------
    InvalidArgument
        As for ``bound_models``, or if a <= 2.
    """
    quadratic, setting = _setting(task, trace)
    if not setting.penalty.concavity > 2:
        raise InvalidArgument("concavity", setting.penalty.concavity, "must be greater than 2", "take 3.7")
    measured = [
        squared_mapping(setting.algorithm, state) for state in _states(setting.algorithm, quadratic, trace)
    ]
    limit = (1 - 1 / setting.clients) * setting.mapping_bound
    return TraceBound(
        np.full((trace.rounds + 1, 1), limit),
        measured=_column(np.stack([np.zeros_like(measured[0]), *measured[1:]]), trace),
        quantity="||G||^2",
        unit=limit,
    )


def bound_descent(task: Mixture, trace: Trace, failure_probability: float | None = None) -> TraceBound:
    """Bound the augmented Lagrangian after each round by its value before, for sure.

    Raises
    ------
    InvalidArgument
        As for ``bound_models``.
    """
    quadratic, setting = _setting(task, trace)
    states = _states(setting.algorithm, quadratic, trace)
    values = np.stack([augmented_lagrangian(setting.algorithm, quadratic, state) for state in states])
    allowed = np.concatenate([np.full_like(values[:1], np.inf), values[:-1]])
    measured = _column(values, trace)
    return TraceBound(
        _column(allowed, trace),
        measured=measured,
        quantity="augmented Lagrangian",
        unit=float(np.abs(values[0]).max()),
    )


def bound_local_steps(task: Mixture, trace: Trace, failure_probability: float | None = None) -> TraceBound:
    """Bound each participant's distance from the minimiser of h_i by (1 - alpha rho)^T times that before, for sure.

    h_i is what the client descends on, f_i + rho / 2 ||w - zeta_i||^2, with the zeta_i that the server owes it. Where
    fewer clients moved than take part in a round, those that stood nearest to their minimisers count as participants
    too: a participant away from its minimiser moves.

    Raises
    ------
    InvalidArgument
        As for ``bound_models``.
    """
    quadratic, setting = _setting(task, trace)
    one, everybody = setting.algorithm, np.arange(task.clients)
    models = trace.models if trace.models.ndim == 4 else trace.models[:, None]
    shrinking = (1 - one.step_size * one.augmentation) ** one.local_steps
    bent = quadratic.hessians + one.augmentation * np.eye(task.dimension)
    drawn = np.einsum("mij,mj->mi", quadratic.hessians, quadratic.centers)
    measured, allowed = [np.zeros(models.shape[1:3])], [np.full(models.shape[1:3], np.inf)]
    for state, (before, after) in zip(_states(one, quadratic, trace), pairwise(models), strict=False):
        anchors = np.asarray(one.anchors(state, everybody))
        minimisers = np.linalg.solve(bent, (drawn + one.augmentation * anchors)[..., None])[..., 0]
        moved = (before != after).any(axis=-1)
        away = np.linalg.norm(before - minimisers, axis=-1)
        rank = np.where(moved, -1.0, away).argsort(axis=-1, kind="stable").argsort(axis=-1)
        part = moved | (rank < setting.active)
        measured.append(np.linalg.norm(after - minimisers, axis=-1))
        allowed.append(np.where(part, shrinking * away, np.inf))
    shape = (...,) if trace.models.ndim == 4 else (slice(None), 0)
    return TraceBound(
        np.stack(allowed)[shape],
        measured=np.stack(measured)[shape],
        quantity="distance from the minimiser of h_i",
    )


def _setting(task: Mixture, trace: Trace) -> tuple[QuadraticMixture, Constants]:
    """Read the constants and require the hypotheses of the repaired theorem."""
    one = dynamics_of(trace)
    if not isinstance(one, FPFC):
        raise InvalidArgument("trace", one.name, "must have the dynamics of fpfc", "use such a run")
    if not isinstance(task, QuadraticMixture):
        raise InvalidArgument(
            "task", type(task).__name__, "must be a quadratic mixture", "its gradients are then exact"
        )
    setting = Constants(one, task.clients, task.client_smoothness, 0.0)
    largest = 1 / setting.local_smoothness
    rules = (
        ("penalty", one.penalty, one.penalty == "scad", "must be 'scad'"),
        ("start", one.start, one.start == "common", "must be 'common': v = 0 then fits theta"),
        (
            "pair_rule",
            one.pair_rule,
            one.pair_rule in ("either", "all"),
            "must update pairs with a participant",
        ),
        ("step_size", one.step_size, one.step_size <= largest * (1 + 1e-12), f"must be at most {largest:g}"),
    )
    for name, value, holds, rule in rules:
        if not holds:
            raise InvalidArgument(name, value, rule, "the theorem does not speak of other runs")
    if not one.augmentation > 2 * setting.penalty.lipschitz:
        raise InvalidArgument(
            "augmentation",
            one.augmentation,
            f"must be greater than 2 L_g = {2 * setting.penalty.lipschitz:g}",
            "raise it",
        )
    return task, setting


def _states(one: FPFC, task: QuadraticMixture, trace: Trace) -> Iterator[FusionState]:
    """Give the state before the first round and after each, made from the models by the printed rule."""
    models = trace.models if trace.models.ndim == 4 else trace.models[:, None]
    state = one.initialise(models[0][:, :1], task)
    yield state
    count = Constants(one, task.clients, task.client_smoothness, 0.0).active
    for before, after in pairwise(models):
        moved = (before != after).any(axis=-1)
        # where one that took part did not move, a client that did not stands in: nothing tells them apart
        clients = np.sort(
            np.argsort(~moved, axis=-1, kind="stable")[:, : max(count, int(moved.sum(axis=-1).max()))]
        )
        points = np.take_along_axis(after, clients[..., None], axis=-2)
        state = one.update(state, clients, points)
        yield state


def _residuals(one: FPFC, task: QuadraticMixture, trace: Trace, name: str) -> np.ndarray:
    """Squared residuals after every round, (rounds, replicates)."""
    stream = np.random.default_rng(0)  # the gradients of quadratics draw nothing
    found = [getattr(one.residuals(state, task, stream), name) ** 2 for state in _states(one, task, trace)]
    return np.stack(found)[1:]


def _mean_bound(
    setting: Constants,
    task: QuadraticMixture,
    trace: Trace,
    residuals: np.ndarray,
    factor: float,
    quantity: str,
    failure_probability: float | None,
) -> TraceBound:
    """Bound the running mean of residuals by factor D_0 / K."""
    models = trace.models if trace.models.ndim == 4 else trace.models[:, None]
    start = np.broadcast_to(models[0][:, :1], (models.shape[1], task.clients, task.dimension))
    gap = objective(setting.algorithm, task, start) + setting.repaired_start
    counts = np.arange(1, len(residuals) + 1)[:, None]
    sure = setting.participation == 1
    chance = 0.0 if sure else CHANCE if failure_probability is None else failure_probability
    allowed = factor * gap / counts / (1.0 if sure else chance)
    nothing = np.zeros((1, models.shape[1]))
    return TraceBound(
        _column(np.concatenate([nothing, allowed]), trace),
        failure_probability=chance,
        measured=_column(np.concatenate([nothing, np.cumsum(residuals, axis=0) / counts]), trace),
        quantity=quantity,
        unit=factor * float(gap.max()),
    )


def _column(values: np.ndarray, trace: Trace) -> np.ndarray:
    """Shape (rounds + 1, replicates) as what is compared with a trace."""
    return values[..., None] if trace.models.ndim == 4 else values
