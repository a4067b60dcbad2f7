"""Bounds of claims on a run, and the smallest of these bounds."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

from clusterproof.algorithms import Task
from clusterproof.checker.claims.claim import REGISTRY, find_claim
from clusterproof.checker.claims.expectation import Expectation
from clusterproof.checker.claims.statement import short
from clusterproof.checker.kernel.evaluation import Outside
from clusterproof.common import InvalidArgument
from clusterproof.common.calls import checked
from clusterproof.common.validation import check_instance, check_number
from clusterproof.running import Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.bounds.trace_bound import TraceBound, as_trace_bound

LEAST_FAILURE = 1e-300
"""Smallest failure probability for which the share of a single cluster and round does not underflow."""

FAILURE = 0.05
"""Failure probability for which a page shows and compares bounds that are not deterministic."""

SUSPICIOUS = 1e-3
"""A number of failures is suspicious if at least so many failures have at most this probability."""

SHARPEST_FIRST: dict[str, tuple[tuple[tuple[str, ...], ...], ...]] = {
    "cfl-mgd": ((("cfl-mgd/lemma-h",), ("cfl-mgd/theorem-d",), ("cfl-mgd/theorem-a",)),),
    "fpfc": (
        (("fpfc/one-term",), ("fpfc/one-term-large-augmentation", "fpfc/repaired-models")),
        (("fpfc/repaired-duals",),),
        (("fpfc/repaired-mapping",),),
    ),
}
"""Claims, indexed by dynamics and quantity, in groups.

The group with the smallest bounds comes first. Within a group, different claims can have the smallest bound.
"""


class Inconclusive(Exception):
    """Error for a run that is too small to confirm or refute a claim. The message states which run would be enough."""


@checked
def bound(
    claim_id: str, task: Mixture, trace: Trace, *, failure_probability: float | None = None
) -> TraceBound:
    """Return the bound of a claim on a run.

    Parameters
    ----------
    claim_id
        A claim that bounds runs.
    task
        The task of the run.
    trace
        The run, of an algorithm from this library or of an algorithm that declares its ``dynamics``.
    failure_probability
        Probability that a replicate may break the bound, in [1e-300, 1). If None, it is the default of the claim.
        Deterministic claims have no failure probability.

    Returns
    -------
    TraceBound
        The bound. See ``TraceBound`` for shapes.

    Raises
    ------
    InvalidArgument
        If the claim does not bound runs, the task is not the task of the run, or a hypothesis is not satisfied. The
        message states the reason.
    """
    claim = find_claim(claim_id)
    if (allowed := claim.bound) is None:
        able = ", ".join(other.id for other in REGISTRY.values() if other.bound is not None)
        raise InvalidArgument("id", claim_id, "must be a claim that bounds runs", f"use one of {able}")
    if failure_probability is not None:
        remedy = "leave it out to use the claim's own"
        limits = {"at_least": LEAST_FAILURE, "below": 1}
        check_number("failure_probability", failure_probability, **limits, remedy=remedy)
    check_same_task(task, trace)
    if trace.errors is None:
        raise InvalidArgument(
            "trace", ..., "must contain the distances from the optima", "choose a task with known optima"
        )
    found = _numbers(allowed, task, trace, failure_probability)
    return as_trace_bound(found, trace, failure_probability)


def _numbers(allowed: Callable[..., Any], task: Mixture, trace: Trace, rate: float | None) -> Any:
    """Call the function of a bound, which has two or three arguments, on a run."""
    try:
        more = (rate,) if len(signature(allowed).parameters) > 2 else ()
        found = allowed(task, trace, *more)
    except Outside as outside:
        rule, remedy = f'must meet the hypothesis "{outside}"', "the claim does not speak of this run"
        raise InvalidArgument("trace", trace, rule, remedy) from outside
    # no run breaks a bound that is NaN
    if (
        not isinstance(found, Expectation)
        and np.isnan(np.asarray(getattr(found, "bound", found), float)).any()
    ):
        rule, remedy = "must return numbers", "end it with `return`, and suppose what keeps it from 0 / 0"
        raise InvalidArgument("bound", "nan", rule, remedy)
    return found


def check_same_task(task: Task, trace: Trace) -> None:
    """Raise an error unless the task has the same settings as the task of the trace.

    Raises
    ------
    InvalidArgument
        If a setting differs, or the arguments are not a task and a trace. The message states the name and both values
        of the setting.
    """
    check_instance("task", task, Task, "give the task, and then the trace of a run on it")
    check_instance("trace", trace, Trace, "give the task, and then the trace of a run on it")
    given, ran = dict(task.settings), dict(trace.settings["task"])
    for name in sorted(given.keys() | ran.keys()):
        if name not in given or name not in ran or not np.array_equal(given[name], ran[name]):
            raise InvalidArgument(
                f"task.{name}",
                short(repr(given.get(name))),
                f"must equal the setting of the task in the trace, {short(repr(ran.get(name)))}",
                "give the task of the trace; synthetic.from_settings(trace.settings['task']) recreates it",
            )


def sharpest_bounds(task: Mixture, trace: Trace) -> list[tuple[str, TraceBound, np.ndarray]]:
    """Return the smallest bounds after the last round, with their claims, one for each bounded quantity.

    For CFL-MGD and IFCA, the bounded quantity is the error. For FPFC, the quantities are the mean squared gradients
    with respect to models and multipliers, and the squared proximal mapping.

    Parameters
    ----------
    task, trace
        The run.

    Returns
    -------
    list
        Tuples of the id of the claim, its bound, and the bound after the last round in the shape of the bounded
        quantity. The bound has the failure probability 0.05, or is deterministic.

    Raises
    ------
    InvalidArgument
        If no theorem on the algorithm bounds runs, or no such theorem applies. The message names a claim and the
        hypothesis that is not satisfied.
    """
    algorithm = dynamics_of(trace).name
    if algorithm not in SHARPEST_FIRST:
        rule = "has no theorem that bounds runs"
        remedy = f"name a claim, or use a run with the dynamics of {', '.join(SHARPEST_FIRST)}"
        raise InvalidArgument("trace", algorithm, rule, remedy)
    sharpest: list[tuple[str, TraceBound, np.ndarray]] = []
    refusals: list[InvalidArgument] = []
    for groups in SHARPEST_FIRST[algorithm]:
        try:
            sharpest.append(_sharpest(groups, task, trace))
        except InvalidArgument as error:
            refusals.append(error)
    if not sharpest:
        raise refusals[0]
    return sharpest


def _sharpest(
    groups: tuple[tuple[str, ...], ...], task: Mixture, trace: Trace
) -> tuple[str, TraceBound, np.ndarray]:
    """Return the smallest bound in the first group with a claim that applies, or raise the last error."""
    refused = InvalidArgument("trace", ..., "has no claim that bounds it", "load its algorithm's claims")
    for group in groups:
        found: list[tuple[str, TraceBound, np.ndarray]] = []
        for claim_id in filter(REGISTRY.__contains__, group):
            try:
                with np.errstate(all="ignore"):
                    allowed = bound(claim_id, task, trace, failure_probability=FAILURE)
                found.append((claim_id, allowed, last_bound(allowed, trace)))
            except InvalidArgument as error:
                rule = f"{error.rule} ({claim_id})"
                refused = InvalidArgument(error.argument, error.value, rule, error.remedy)
        if found:
            return min(found, key=lambda one: float(np.max(one[2])))
    raise refused


def last_bound(allowed: TraceBound, trace: Trace) -> np.ndarray:
    """Return a bound after the last round, in the shape of the bounded quantity."""
    (one, *_) = allowed.compared(trace)
    return np.asarray(one.allowed[-1] if trace.models.ndim == 4 else one.allowed[-1, 0])
