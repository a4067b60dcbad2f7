"""Bounds of FPFC's theorem on a run of the library or of a user: repaired bounds, and printed bounds that are true.

A trace contains only the models. The functions compute the differences and multipliers of the pairs from the models
with the paper's update rule. So a run whose server does not follow this rule can violate a bound, as well.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

import numpy as np

from clusterproof.algorithms import FPFC
from clusterproof.algorithms.fpfc import FusionState
from clusterproof.checker.claims import suppose
from clusterproof.common import InvalidArgument
from clusterproof.running import Trace
from clusterproof.synthetic import Mixture, QuadraticMixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.bounds.hypotheses import Hypothesis
from clusterproof.theory.bounds.trace_bound import TraceBound
from clusterproof.theory.papers.fpfc.measured import augmented_lagrangian, objective, squared_mapping
from clusterproof.theory.papers.fpfc.theorem_1 import Constants, printed_setting

MODELS = "mean of ||grad_w L_0||^2"

CHANCE = 0.03
"""Default failure probability of a bound on an expectation over participants, for Markov's inequality."""


def bound_models(task: Mixture, trace: Trace, failure_probability: float | None = None) -> TraceBound:
    """Bound the mean over rounds of ||grad_w L_0||^2, after every round.

    The bound replaces F* by a lower bound, the sum of the clients' smallest losses, which is 0 for quadratics. With
    full participation, the bound is deterministic. With partial participation, it bounds an expectation, and Markov's
    inequality gives the probability.

    Raises
    ------
    InvalidArgument
        If a hypothesis of the repaired theorem is not satisfied. The message names the hypothesis.
    """
    quadratic, setting = _setting(task, trace)
    factor = setting.local_steps_factor + setting.pairs_factor
    return _bound_on_models(setting, quadratic, trace, factor, failure_probability)


def bound_models_as_printed(
    task: Mixture, trace: Trace, failure_probability: float | None = None
) -> TraceBound:
    """Bound the mean by C_1 (F(w^0) - F* + m xi lambda / 4) / K, where C_1 has the smallest possible L_-.

    Raises
    ------
    InvalidArgument
        As for ``bound_models``, or if C_1's first denominator is not positive. The message names the hypothesis.
    """
    quadratic, setting = _setting(task, trace)
    algorithm, setting = setting.algorithm, printed_setting(setting)
    power, least = setting.power, setting.least_augmentation
    shorter = f"must be below 1 / (L_f + rho) = {1 / setting.local_smoothness:g}, as L_- < rho"
    if not setting.weak_convexity < algorithm.augmentation * (1 - 1e-12):
        raise InvalidArgument("step_size", algorithm.step_size, shorter, "lower it")
    negative = "C_1's first denominator is not positive"
    if not power < 1 / 3:
        steps = math.floor(2 * math.log(3) / -math.log(setting.contraction)) + 1
        rule = f"must give q = c^(T/2) < 1/3, gives {power:.3g}: {negative}"
        raise InvalidArgument("local_steps", algorithm.local_steps, rule, f"take at least {steps}")
    if not algorithm.augmentation > least:
        rule = f"must be greater than L_f (1 + q) / (1 - 3q) = {least:g}: {negative}"
        raise InvalidArgument(
            "augmentation", algorithm.augmentation, rule, "use a larger augmentation, or more local_steps"
        )
    return _bound_on_models(setting, quadratic, trace, setting.first, failure_probability, setting.start)


def bound_models_by_one_term(
    task: Mixture, trace: Trace, failure_probability: float | None = None
) -> TraceBound:
    """Bound the mean as ``bound_models`` does, without the term B, if every pair is updated in every round.

    The losses are quadratic, so the bound uses the decrease in all local steps.

    Raises
    ------
    InvalidArgument
        As for ``bound_models``, or if some pair need not be updated in every round.
    """
    quadratic, setting = _setting(task, trace)
    if (rule := setting.algorithm.pair_rule) != "all" and setting.participation < 1:
        remedy = "fpfc/repaired-models covers pairs that wait"
        raise InvalidArgument("pair_rule", rule, "must be 'all' if not all clients take part", remedy)
    return _bound_on_models(setting, quadratic, trace, setting.local_steps_factor, failure_probability)


def bound_models_at_large_augmentation(
    task: Mixture, trace: Trace, failure_probability: float | None = None
) -> TraceBound:
    """Bound the mean as ``bound_models`` does, if rho >= 8 L_g, with the first local step only and without the term B.

    Raises
    ------
    InvalidArgument
        As for ``bound_models``, or if rho < 8 L_g.
    """
    quadratic, setting = _setting(task, trace)
    if not setting.largely_augmented:
        rule = f"must be at least 8 L_g = {8 * setting.penalty.lipschitz:g}"
        remedy = "fpfc/repaired-models covers smaller ones"
        raise InvalidArgument("augmentation", setting.algorithm.augmentation, rule, remedy)
    return _bound_on_models(setting, quadratic, trace, setting.first_step_factor, failure_probability)


def _bound_on_models(
    setting: Constants,
    task: QuadraticMixture,
    trace: Trace,
    factor: float,
    failure_probability: float | None,
    smoothing: float | None = None,
) -> TraceBound:
    residuals = residual_series(setting.algorithm, task, trace).models[1:]
    return mean_bound(setting, task, trace, residuals, factor, MODELS, failure_probability, smoothing)


def bound_duals(task: Mixture, trace: Trace, failure_probability: float | None = None) -> TraceBound:
    """Bound the mean over rounds of ||grad_v L_0||^2, as ``bound_models`` does.

    Raises
    ------
    InvalidArgument
        As for ``bound_models``.
    """
    quadratic, setting = _setting(task, trace)
    residuals = residual_series(setting.algorithm, quadratic, trace).duals[1:]
    factor = setting.second / setting.pair_participation
    return mean_bound(
        setting, quadratic, trace, residuals, factor, "mean of ||grad_v L_0||^2", failure_probability
    )


def bound_mapping(task: Mixture, trace: Trace, failure_probability: float | None = None) -> TraceBound:
    """Bound ||G||^2 after every round, with probability 1.

    Raises
    ------
    InvalidArgument
        As for ``bound_models``, or if a <= 2.
    """
    quadratic, setting = _setting(task, trace)
    if not setting.penalty.concavity > 2:
        raise InvalidArgument("concavity", setting.penalty.concavity, "must be greater than 2", "use 3.7")
    measured = residual_series(setting.algorithm, quadratic, trace).mapping
    limit = (1 - 1 / setting.clients) * setting.mapping_bound
    return TraceBound(
        np.full((trace.rounds + 1, 1), limit),
        measured=_column(measured, trace),
        quantity="||G||^2",
        unit=limit,
    )


def bound_descent(task: Mixture, trace: Trace, failure_probability: float | None = None) -> TraceBound:
    """Bound the augmented Lagrangian after each round by its value before the round, with probability 1.

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
    """Bound each participant's distance from the minimiser of h_i by (1 - alpha rho)^T times the previous distance.

    h_i is the client's objective f_i + rho / 2 ||w - zeta_i||^2, with the server's zeta_i. A participant changes its
    model unless the model already minimises h_i. So if fewer clients changed their models than take part in a round,
    the clients nearest to their minimisers are counted as participants, as well.

    Raises
    ------
    InvalidArgument
        As for ``bound_models``.
    """
    quadratic, setting = _setting(task, trace)
    algorithm, all_clients = setting.algorithm, np.arange(task.clients)
    models = trace.models if trace.models.ndim == 4 else trace.models[:, None]
    shrinking = (1 - algorithm.step_size * algorithm.augmentation) ** algorithm.local_steps
    curvature = quadratic.hessians + algorithm.augmentation * np.eye(task.dimension)
    drawn = np.einsum("mij,mj->mi", quadratic.hessians, quadratic.centers)
    measured, allowed = [np.zeros(models.shape[1:3])], [np.full(models.shape[1:3], np.inf)]
    for state, (before, after) in zip(_states(algorithm, quadratic, trace), pairwise(models), strict=False):
        anchors = np.asarray(algorithm.anchors(state, all_clients))
        minimisers = np.linalg.solve(curvature, (drawn + algorithm.augmentation * anchors)[..., None])[..., 0]
        changed = (before != after).any(axis=-1)
        away = np.linalg.norm(before - minimisers, axis=-1)
        rank = np.where(changed, -1.0, away).argsort(axis=-1, kind="stable").argsort(axis=-1)
        participates = changed | (rank < setting.active)
        measured.append(np.linalg.norm(after - minimisers, axis=-1))
        allowed.append(np.where(participates, shrinking * away, np.inf))
    shape = (...,) if trace.models.ndim == 4 else (slice(None), 0)
    return TraceBound(
        np.stack(allowed)[shape],
        measured=np.stack(measured)[shape],
        quantity="distance from the minimiser of h_i",
    )


def _setting(task: Mixture, trace: Trace) -> tuple[QuadraticMixture, Constants]:
    """Read the constants, and check the hypotheses of the repaired theorem."""
    algorithm = dynamics_of(trace)
    if not isinstance(algorithm, FPFC):
        raise InvalidArgument(
            "trace", algorithm.name, "must be a run of fpfc", "give the trace of a run of FPFC"
        )
    if not isinstance(task, QuadraticMixture):
        raise InvalidArgument(
            "task",
            type(task).__name__,
            "must be a quadratic mixture",
            "use QuadraticMixture, whose gradients are exact",
        )
    setting = Constants(algorithm, task.clients, task.client_smoothness, 0.0)
    for name, holds, rule in kinds_of_runs(setting):
        if not holds:
            remedy = "the theorem does not cover other runs"
            raise InvalidArgument(name, getattr(algorithm, name), rule, remedy)
    remedies = {"augmentation": "raise it", "step_size": "lower it"}
    for need, (name, remedy) in zip(repaired_needs(setting), remedies.items(), strict=True):
        if not need.met:
            raise InvalidArgument(
                name,
                getattr(algorithm, name),
                f"must have {need.name} {need.relation} {need.term} = {need.sides()[0]}",
                remedy,
            )
    return task, setting


def kinds_of_runs(setting: Constants) -> tuple[tuple[str, bool, str], ...]:
    """Return the repaired theorem's conditions on a run: argument name, whether it is satisfied, and the rule."""
    algorithm = setting.algorithm
    return (
        ("penalty", algorithm.penalty == "scad", "must be 'scad'"),
        ("start", algorithm.start == "common", "must be 'common': v = 0 then fits theta"),
        ("pair_rule", algorithm.pair_rule in ("either", "all"), "must update pairs with a participant"),
    )


def suppose_the_hypotheses(setting: Constants) -> None:
    """Suppose that a setting satisfies the hypotheses of the repaired theorem."""
    for name, holds, rule in kinds_of_runs(setting):
        suppose(f"{name} {rule}", holds)
    suppose("xi < lambda", setting.penalty.smoothing < setting.penalty.strength)
    for words, need in zip(("rho > 2 L_g", "alpha <= 1 / (L_f + rho)"), repaired_needs(setting), strict=True):
        suppose(words, need.met)


def repaired_needs(setting: Constants) -> tuple[Hypothesis, ...]:
    """Return the hypotheses of the repaired theorem on rho and alpha."""
    rho, least = float(setting.algorithm.augmentation), 2 * setting.penalty.lipschitz
    step_size = float(setting.algorithm.step_size)
    return (
        Hypothesis("rho", ">", least, rho, "2 L_g"),
        Hypothesis("alpha", "<=", 1 / setting.local_smoothness, step_size, "1/(L_f + rho)"),
    )


def _states(algorithm: FPFC, task: QuadraticMixture, trace: Trace) -> Iterator[FusionState]:
    """Yield the states before the first round and after each round, computed from the models with the paper's rule."""
    models = trace.models if trace.models.ndim == 4 else trace.models[:, None]
    state = algorithm.initialise(models[0][:, :1], task)
    yield state
    count = Constants(algorithm, task.clients, task.client_smoothness, 0.0).active
    for before, after in pairwise(models):
        changed = (before != after).any(axis=-1)
        # a participant that did not change its model cannot be told from an absent client, and may be
        # counted as absent
        clients = np.sort(
            np.argsort(~changed, axis=-1, kind="stable")[:, : max(count, int(changed.sum(axis=-1).max()))]
        )
        points = np.take_along_axis(after, clients[..., None], axis=-2)
        state = algorithm.update(state, clients, points)
        yield state


@dataclass(frozen=True)
class ResidualSeries:
    """Squared residuals of a run before the first round and after each round, of shape (rounds + 1, replicates).

    Attributes
    ----------
    models, duals
        ||grad_w L_0||^2 and ||grad_v L_0||^2.
    mapping
        ||G||^2.
    """

    models: np.ndarray
    duals: np.ndarray
    mapping: np.ndarray


def residual_series(algorithm: FPFC, task: QuadraticMixture, trace: Trace) -> ResidualSeries:
    """Compute the pair variables of a run with a common initial model, and return all residuals.

    The function caches the residuals of the last run, so several bounds on one run compute the pair variables only
    once.
    """
    digest = hashlib.blake2b(repr((algorithm, trace.models.shape)).encode())
    for array in (task.hessians, task.centers, trace.models):
        digest.update(np.ascontiguousarray(array).data)
    return _followed(_Followed(digest.digest(), algorithm, task, trace))


@dataclass(frozen=True)
class _Followed:
    """A run as the key of a cache. Two runs are equal if their digests are equal."""

    digest: bytes
    algorithm: FPFC = field(compare=False)
    task: QuadraticMixture = field(compare=False)
    trace: Trace = field(compare=False)


@lru_cache(maxsize=1)
def _followed(given: _Followed) -> ResidualSeries:
    """Compute the residuals of a run. The result is cached, so callers must not change it."""
    algorithm, task, trace = given.algorithm, given.task, given.trace
    stream = np.random.default_rng(0)  # the gradients of quadratics use no random numbers
    rows = []
    for state in _states(algorithm, task, trace):
        found = algorithm.residuals(state, task, stream)
        rows.append((found.models**2, found.duals**2, squared_mapping(algorithm, state)))
    models, duals, mapping = (np.stack(column) for column in zip(*rows, strict=True))
    return ResidualSeries(models, duals, mapping)


def mean_bound(
    setting: Constants,
    task: QuadraticMixture,
    trace: Trace,
    residuals: np.ndarray,
    factor: float,
    quantity: str,
    failure_probability: float | None,
    smoothing: float | None = None,
) -> TraceBound:
    """Bound the running mean of residuals by ``factor`` D_0 / K. By default, D_0 has the repaired ``smoothing``."""
    models = trace.models if trace.models.ndim == 4 else trace.models[:, None]
    start = np.broadcast_to(models[0][:, :1], (models.shape[1], task.clients, task.dimension))
    gap = objective(setting.algorithm, task, start) + (
        setting.repaired_start if smoothing is None else smoothing
    )
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
    """Return values (rounds + 1, replicates) as a bound in the shape of a trace."""
    return values[..., None] if trace.models.ndim == 4 else values
