"""What claims allow on a run, and the sharpest bounds among them."""

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
"""Least failure probability: its share of one cluster and one round must not underflow."""

FAILURE = 0.05
"""Failure probability of every bound of a page, and at which bounds are compared, where they have one."""

SUSPICIOUS = 1e-3
"""So many failures, or more, come by chance with at most this probability: no run with them is said to hold."""

SHARPEST_FIRST: dict[str, tuple[tuple[tuple[str, ...], ...], ...]] = {
    "cfl-mgd": ((("cfl-mgd/lemma-h",), ("cfl-mgd/theorem-d",), ("cfl-mgd/theorem-a",)),),
    "fpfc": (
        (("fpfc/one-term",), ("fpfc/one-term-large-augmentation", "fpfc/repaired-models")),
        (("fpfc/repaired-duals",),),
        (("fpfc/repaired-mapping",),),
    ),
}
"""By dynamics, for each quantity that is bounded, claims in groups; within a group none is always the sharpest."""


class Inconclusive(Exception):
    """The run is too small to tell whether it keeps to the claim; the message says what would decide."""


@checked
def bound(
    claim_id: str, task: Mixture, trace: Trace, *, failure_probability: float | None = None
) -> TraceBound:
    """Give what a claim allows on a run.

    Parameters
    ----------
    claim_id
        A claim that bounds runs.
    task
        The task that the trace was run on.
    trace
        The run, of an algorithm of this library or of one that declares its ``dynamics``.
    failure_probability
        With which a replicate may break the bound, in [1e-300, 1); the claim's own where None. Deterministic
        claims have none.

    Returns
    -------
    TraceBound
        See there for shapes.

    Raises
    ------
    InvalidArgument
        If the claim is not about runs, the task is another, or a hypothesis fails: the message names it.
    """
    claim = find_claim(claim_id)
    if (allowed := claim.bound) is None:
        able = ", ".join(other.id for other in REGISTRY.values() if other.bound is not None)
        raise InvalidArgument("id", claim_id, "must be a claim that bounds runs", f"use one of {able}")
    if failure_probability is not None:
        remedy = "leave it out for the claim's own"
        limits = {"at_least": LEAST_FAILURE, "below": 1}
        check_number("failure_probability", failure_probability, **limits, remedy=remedy)
    check_same_task(task, trace)
    if trace.errors is None:
        raise InvalidArgument("trace", ..., "must have errors", "run on a task that knows its optima")
    found = _numbers(allowed, task, trace, failure_probability)
    return as_trace_bound(found, trace, failure_probability)


def _numbers(allowed: Callable[..., Any], task: Mixture, trace: Trace, rate: float | None) -> Any:
    """Return what a bound, of two or three arguments, allows on a run."""
    try:
        more = (rate,) if len(signature(allowed).parameters) > 2 else ()
        found = allowed(task, trace, *more)
    except Outside as outside:
        rule, remedy = f'must meet the hypothesis "{outside}"', "the claim does not speak of this run"
        raise InvalidArgument("trace", trace, rule, remedy) from outside
    # of numbers that are none no run would break it
    if (
        not isinstance(found, Expectation)
        and np.isnan(np.asarray(getattr(found, "bound", found), float)).any()
    ):
        rule, remedy = "must return numbers", "end it with `return`, and suppose what keeps it from 0 / 0"
        raise InvalidArgument("bound", "nan", rule, remedy)
    return found


def check_same_task(task: Task, trace: Trace) -> None:
    """Require that every setting of the task is that of the trace.

    Raises
    ------
    InvalidArgument
        If one differs; the message names it, with both values. Also if they are no task and no trace.
    """
    check_instance("task", task, Task, "give the task, and then the trace of a run on it")
    check_instance("trace", trace, Trace, "give the task, and then the trace of a run on it")
    given, ran = dict(task.settings), dict(trace.settings["task"])
    for name in sorted(given.keys() | ran.keys()):
        if name not in given or name not in ran or not np.array_equal(given[name], ran[name]):
            raise InvalidArgument(
                f"task.{name}",
                short(repr(given.get(name))),
                f"must be that of the task on which the trace was run, {short(repr(ran.get(name)))}",
                "give that task; synthetic.from_settings(trace.settings['task']) makes it again",
            )


def sharpest_bounds(task: Mixture, trace: Trace) -> list[tuple[str, TraceBound, np.ndarray]]:
    """Return the claims of the run's algorithm that bound the run best after its last round, one for each quantity.

    The quantity is the error of CFL-MGD and IFCA, and the mean squared gradients in the models and in the multipliers
    and the squared proximal mapping of FPFC.

    Parameters
    ----------
    task, trace
        The run.

    Returns
    -------
    list
        Of tuples: the claim's id; the bound at the failure probability 0.05, or a sure one; and the bound after the
        last round, of the shape of what it bounds then.

    Raises
    ------
    InvalidArgument
        If no theorem of the algorithm is a bound on runs, or none applies; names a hypothesis that fails, and its
        claim.
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
    """Return the sharpest bound of the first group of which one applies; raise the last refusal if none does."""
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
    """Return what a bound allows after the last round, in the shape of what it bounds."""
    (one, *_) = allowed.compared(trace)
    return np.asarray(one.allowed[-1] if trace.models.ndim == 4 else one.allowed[-1, 0])
