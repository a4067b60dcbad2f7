"""Hold a run to what a claim allows, and say how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.synthetic import Mixture, RegressionMixture
from clusterproof.theory.bounds.likely_fault import likely_fault
from clusterproof.theory.checker.catalogue import find_claim
from clusterproof.theory.checker.claim import CLAIM_SIGNIFICANCE, REGISTRY
from clusterproof.theory.checker.detectable_fault import smallest_faults
from clusterproof.theory.checker.same_task import check_same_task
from clusterproof.theory.checker.statistics import binomial_tail
from clusterproof.theory.checker.trace_bound import ROUNDING, Compared, TraceBound

LEVEL = CLAIM_SIGNIFICANCE * (1 + 1e-6)
"""Chance at which failures are called broken, with room for rounding: one failure at 1e-9 is."""

SUSPICIOUS = 1e-3
"""So many failures, or more, come by chance with at most this probability: no run with them is said to hold."""

MOST_REPLICATES = 10**6
"""Replicates beyond which no number is said to decide."""

LEAST_FAILURE = 1e-300
"""Least failure probability: its share of one cluster and one round must not underflow."""


class Undecidable(Exception):
    """The run is too small to tell whether it keeps to the claim; the message says what would decide."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a run says of a claim.

    Attributes
    ----------
    kind
        ``"holds"``, ``"broken"`` or ``"undecidable"``.
    sentence
        Why, with the place and the seed where something is above its bound.
    failures, replicates
        Runs that break the bound, and all of them.
    slack
        Least allowed / measured, over everything that is compared; infinite where nothing is measured.
    """

    kind: Literal["holds", "broken", "undecidable"]
    sentence: str
    failures: int
    replicates: int
    slack: float


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
    if claim.bound_trace is None:
        able = [other.id for other in REGISTRY.values() if other.bound_trace is not None]
        raise InvalidArgument(
            "id", claim_id, "must be a claim that bounds runs", f"use one of {', '.join(able)}"
        )
    if failure_probability is not None and not LEAST_FAILURE <= failure_probability < 1:
        raise InvalidArgument(
            "failure_probability",
            failure_probability,
            f"must be at least {LEAST_FAILURE:g} and below 1",
            "leave it out for the claim's own",
        )
    if trace.errors is None:
        raise InvalidArgument("trace", "...", "must have errors", "run on a task that knows its optima")
    check_same_task(task, trace)
    return claim.bound_trace(task, trace, failure_probability)


def compare(
    claim_id: str, task: Mixture, trace: Trace, *, failure_probability: float | None = None
) -> Answer:
    """Compare every round, replicate and cluster of a run with what a claim allows.

    A run breaks the claim if as many replicates are above the bound as come by chance with probability 1e-9
    at most; it holds if that could have been seen, and no suspicious number is above. Else it is undecidable.

    Parameters are those of ``bound``.

    Raises
    ------
    InvalidArgument
        As for ``bound``.
    """
    allowed = bound(claim_id, task, trace, failure_probability=failure_probability)
    rate = allowed.failure_probability
    compared = allowed.compared(trace)
    failing = np.logical_or.reduce([(one.above > 0).any(axis=(0, -1)) for one in compared])
    failures, replicates = int(failing.sum()), len(failing)
    chance = _chance(failures, replicates, rate)
    answer = partial(Answer, failures=failures, replicates=replicates, slack=_slack(compared))
    where = _place(task, compared, trace) if failures else ""
    share = f"{failures} of {replicates} replicates break it, allowed probability {rate:.3g}"
    if failures and chance <= LEVEL:
        return answer("broken", f"{where}; {share}")
    if _chance(replicates, replicates, rate) > LEVEL:
        needed = _deciding(rate)
        return answer(
            "undecidable",
            f"{replicates} replicates could not break a bound that each may break with probability {rate:.3g}: "
            f"{needed} would decide, or a smaller failure_probability{'; ' + where if where else ''}",
        )
    if failures and chance <= SUSPICIOUS:
        return answer(
            "undecidable",
            f"{where}; {share}: by chance with probability {chance:.2g}, above {CLAIM_SIGNIFICANCE:g}; "
            "more replicates would decide",
        )
    return answer("holds", share if failures else "no replicate is above the bound")


def sensitivity(
    claim_id: str, task: Mixture, trace: Trace, *, failure_probability: float | None = None
) -> tuple[str, ...]:
    """Name the smallest faults of noise, step and momentum that would have been called broken on this run.

    Parameters and errors are those of ``bound``. Nothing is named where the run without noise is not known.
    """
    allowed = bound(claim_id, task, trace, failure_probability=failure_probability)
    replicates = trace.models.shape[1] if trace.models.ndim == 4 else 1
    least = _least_failures(replicates, allowed.failure_probability)
    return tuple(smallest_faults(task, trace, allowed, least))


def assert_holds(
    claim_id: str,
    task: Mixture,
    trace: Trace,
    *,
    failure_probability: float | None = None,
    undecidable: Literal["raise", "pass"] = "raise",
) -> None:
    """Require that a run keeps to a claim.

    Parameters
    ----------
    claim_id, task, trace, failure_probability
        As for ``bound``.
    undecidable
        ``"raise"``, or ``"pass"`` where a run that is too small to tell will do.

    Raises
    ------
    AssertionError
        If it does not; says by how much, where and on which seed.
    Undecidable
        If the run is too small to tell; says how many replicates would decide.
    InvalidArgument
        As for ``bound``.
    """
    if undecidable not in ("raise", "pass"):
        raise InvalidArgument("undecidable", undecidable, "must be 'raise' or 'pass'", "leave it out")
    answer = compare(claim_id, task, trace, failure_probability=failure_probability)
    if answer.kind == "broken":
        raise AssertionError(f"{claim_id}: {answer.sentence}")
    if answer.kind == "undecidable" and undecidable == "raise":
        raise Undecidable(f"{claim_id}: {answer.sentence}")


def _chance(failures: int, replicates: int, rate: float) -> float:
    """Probability that so many replicates, or more, break a bound that each breaks with probability ``rate``."""
    if rate == 0:
        return 0.0 if failures else 1.0
    return binomial_tail(failures, replicates, rate)


def _least_failures(replicates: int, rate: float) -> int:
    """Fewest failures that are called broken."""
    low, high = 0, replicates
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _chance(middle, replicates, rate) <= LEVEL else (middle, high)
    return high


def _deciding(rate: float) -> str:
    """Number of replicates of which some outcome would be called broken."""
    needed = math.ceil(math.log(CLAIM_SIGNIFICANCE) / math.log(rate)) if rate < 1 else MOST_REPLICATES
    return str(needed) if needed < MOST_REPLICATES else "no number of them"


def _slack(compared: list[Compared]) -> float:
    """Least allowed / measured, where that can be told from rounding."""
    least = math.inf
    for one in compared:
        with np.errstate(all="ignore"):
            told = (one.measured > ROUNDING * one.unit) | np.isnan(one.measured)
            ratios = np.where(told, one.allowed / one.measured, np.inf)
        least = min(least, float(np.min(np.where(np.isnan(ratios), 0.0, ratios), initial=math.inf)))
    return least


def _place(task: Mixture, compared: list[Compared], trace: Trace) -> str:
    """Say what is above its bound by most, by how much and where, and the likely fault where that can be told."""
    one = max(compared, key=lambda each: float(each.above.max()))
    above, measured, limit = one.above, one.measured, one.allowed
    place = np.unravel_index(int(above.argmax()), above.shape)
    where = f"round {place[0]}, cluster {place[-1]}" if measured.shape[-1] > 1 else f"round {place[0]}"
    if trace.models.ndim == 4:
        where += f", replicate {place[1]}"
    said = (
        f"{one.name} {measured[place]:.6g} exceeds the bound {limit[place]:.6g} by {above[place]:.3g} "
        f"at {where} (seed {trace.settings['seed']})"
    )
    if not isinstance(task, RegressionMixture) or not np.isfinite(trace.models).all():
        return said
    replicate = (int(place[1]),) if trace.models.ndim == 4 else ()
    try:
        return f"{said}; likely: {likely_fault(task, trace, replicate, int(place[-1]))}"
    except InvalidArgument:  # dynamics of which the moves cannot be read
        return said
