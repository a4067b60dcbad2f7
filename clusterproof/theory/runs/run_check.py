"""Compare a run with what a claim allows, and say how sure the answer is."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any, Literal

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.algorithms.calls import checked
from clusterproof.algorithms.validation import check_number
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.trace_bound import ROUNDING, Compared, TraceBound, as_trace_bound
from clusterproof.theory.claims.claim import REGISTRY, find_claim
from clusterproof.theory.claims.expectation import EQUAL, FEWEST, Expectation
from clusterproof.theory.claims.judge import judge
from clusterproof.theory.claims.sentences import asymptotic, digits_apart, estimate
from clusterproof.theory.claims.sides import Outside
from clusterproof.theory.claims.statistics import CLAIM_SIGNIFICANCE
from clusterproof.theory.runs.failure_levels import MOST_REPLICATES, Level, levels_of
from clusterproof.theory.runs.same_task import check_same_task

SUSPICIOUS = 1e-3
"""So many failures, or more, come by chance with at most this probability: no run with them is said to hold."""

LEAST_FAILURE = 1e-300
"""Least failure probability: its share of one cluster and one round must not underflow."""

Bounder = Callable[[Mixture, Trace, float | None], TraceBound]
"""What a claim allows on a run of a task, with a failure probability or its own where None."""


class Inconclusive(Exception):
    """The run is too small to tell whether it keeps to the claim; the message says what would decide."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a run says of a claim.

    Attributes
    ----------
    kind
        ``"holds"``, ``"broken"`` or ``"inconclusive"``; ``"other law"`` if the run keeps to the claim, but is not of
        the law of its algorithm.
    sentence
        Why, with the place and the seed where something is above its bound.
    failures, replicates
        Runs that break the bound, and all of them.
    slack
        Least allowed / measured, over everything that is compared; infinite where nothing is measured.
    """

    kind: Literal["holds", "broken", "inconclusive", "other law"]
    sentence: str
    failures: int
    replicates: int
    slack: float


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
    return _bounder(claim_id, task, trace, failure_probability)(task, trace, failure_probability)


def _bounder(claim_id: str, task: Mixture, trace: Trace, failure_probability: float | None) -> Bounder:
    """Find the claim, and require what ``bound`` requires."""
    claim = find_claim(claim_id)
    if (bound := claim.bound) is None:
        able = [other.id for other in REGISTRY.values() if other.bound is not None]
        raise InvalidArgument(
            "id", claim_id, "must be a claim that bounds runs", f"use one of {', '.join(able)}"
        )
    if failure_probability is not None:
        remedy = "leave it out for the claim's own"
        limits = {"at_least": LEAST_FAILURE, "below": 1}
        check_number("failure_probability", failure_probability, **limits, remedy=remedy)
    check_same_task(task, trace)
    if trace.errors is None:
        raise InvalidArgument("trace", "...", "must have errors", "run on a task that knows its optima")
    return lambda task, trace, rate: as_trace_bound(_allowed(bound, task, trace, rate), trace, rate)


def _allowed(bound: Callable[..., Any], task: Mixture, trace: Trace, rate: float | None) -> Any:
    """Return what a bound, of two or three arguments, allows on a run.

    Raises
    ------
    InvalidArgument
        If the run does not meet a hypothesis, or the bound returns no numbers.
    """
    try:
        allowed = bound(task, trace, rate) if len(signature(bound).parameters) > 2 else bound(task, trace)
    except Outside as outside:
        rule, remedy = f'must meet the hypothesis "{outside}"', "the claim does not speak of this run"
        raise InvalidArgument("trace", trace, rule, remedy) from outside
    # of numbers that are none no run would break it
    if (
        not isinstance(allowed, Expectation)
        and np.isnan(np.asarray(getattr(allowed, "bound", allowed), float)).any()
    ):
        rule, remedy = "must return numbers", "end it with `return`, and suppose what keeps it from 0 / 0"
        raise InvalidArgument("bound", "nan", rule, remedy)
    return allowed


def compare(
    claim_id: str, task: Mixture, trace: Trace, *, failure_probability: float | None = None
) -> Answer:
    """Compare every round, replicate and cluster of a run with what a claim allows.

    The bound is taken at several failure probabilities (``failure_levels``), or at the one that is given. A run breaks
    the claim if as many replicates are above one of these bounds as come by chance with probability 1e-9 at most, over
    all of them; it holds if that could have been seen, and no suspicious number is above. Else it is inconclusive.

    Parameters are those of ``bound``.

    Raises
    ------
    InvalidArgument
        As for ``bound``.
    """
    bounder = _bounder(claim_id, task, trace, failure_probability)
    levels, left_out = levels_of(lambda rate: bounder(task, trace, rate), trace, failure_probability)
    if (estimated := levels[0].allowed.expectation) is not None:
        return _compare_expectation(estimated)
    worst = min(levels, key=lambda level: (level.chance / level.significance, level.rate))
    answer = partial(
        Answer, failures=worst.failures, replicates=len(worst.failing), slack=_slack(levels[0].compared)
    )
    where = _place(worst.compared, trace) if worst.failures else ""
    share = _share(worst)
    if worst.broken:
        return answer("broken", f"{where}; {share}{_left_out(left_out)}")
    if all(level.least_failures is None for level in levels):
        needed = min(level.deciding for level in levels)
        number = "no number of them" if needed >= MOST_REPLICATES else str(needed)
        rates = ", ".join(f"{level.rate:.3g}" for level in levels)
        return answer(
            "inconclusive",
            f"{len(worst.failing)} replicates could not break a bound that each may break with probability {rates}: "
            f"{number} would decide, or a smaller failure_probability{'; ' + where if where else ''}"
            + _left_out(left_out),
        )
    if worst.failures and worst.chance <= SUSPICIOUS / len(levels):
        return answer(
            "inconclusive",
            f"{where}; {share}: by chance with probability {worst.chance:.2g}, above {worst.significance:.2g}; "
            f"more replicates would decide{_left_out(left_out)}",
        )
    number = f" at any of {len(levels)} failure probabilities" if len(levels) > 1 else ""
    return answer(
        "holds",
        (share if worst.failures else f"no replicate is above the bound{number}") + _left_out(left_out),
    )


def _share(level: Level) -> str:
    """Say how many replicates fail at a level, and how many are expected to at most."""
    text = f"{level.failures} of {len(level.failing)} replicates break it"
    if level.rate == 0:
        return f"{text}, which none may"
    expected = level.rate * len(level.failing)
    return f"{text} at failure probability {level.rate:.3g}, where at most {expected:.3g} are expected"


def _left_out(reasons: Mapping[float, str]) -> str:
    """Say at which failure probabilities there is no bound."""
    if not reasons:
        return ""
    rates = ", ".join(f"{rate:.3g}" for rate in reasons)
    return f" (left out: failure probability {rates}, with no bound: {next(iter(reasons.values()))})"


def _compare_expectation(one: Expectation) -> Answer:
    """Judge an expectation over the replicates of a run: by both halves where its interval is asymptotic."""
    halves = (
        [one]
        if one.exact
        else [
            dataclasses.replace(one, samples=one.samples[start::2])
            for start in (0, 1)
            if len(one.samples) > start
        ]
    )
    judged = [judge({"": half}, CLAIM_SIGNIFICANCE / 2)[""] for half in halves]
    first, count = judged[0], len(one.samples)
    if len(judged) > 1:
        first = first.confirmed(judged[1])
    digits = digits_apart(first.measured, first.allowed)
    text = (
        f"{estimate(halves[0], first, f'{len(halves[0].samples)} of {count} replicates')}, "
        f"{one.sense.replace('_', ' ')} {first.allowed:.{digits}g}"
    )
    slack = first.allowed / first.measured if first.measured > 0 else math.inf
    if first.broken:
        return Answer("broken", text + asymptotic(one, first), count, count, slack)
    if first.inconclusive:
        remedy = f"give range=, or at least {2 * FEWEST} replicates none of which dominates"
        sentence = f"{text}; {EQUAL if first.inconclusive == EQUAL else remedy}"
        return Answer("inconclusive", sentence, 0, count, slack)
    return Answer("holds", text, 0, count, slack)


def _slack(compared: list[Compared]) -> float:
    """Least allowed / measured, where that can be told from rounding."""
    least = math.inf
    for one in compared:
        with np.errstate(all="ignore"):
            told = (one.measured > ROUNDING * one.unit) | np.isnan(one.measured)
            ratios = np.where(told, one.allowed / one.measured, np.inf)
        least = min(least, float(np.min(np.where(np.isnan(ratios), 0.0, ratios), initial=math.inf)))
    return least


def _place(compared: list[Compared], trace: Trace) -> str:
    """Say what is above its bound by most, by how much and where; clusters are counted from 1."""
    one = max(compared, key=lambda each: float(each.above.max()))
    above, measured, limit = one.above, one.measured, one.allowed
    place = np.unravel_index(int(above.argmax()), above.shape)
    where = f"round {place[0]}, cluster {place[-1] + 1}" if measured.shape[-1] > 1 else f"round {place[0]}"
    if trace.models.ndim == 4:
        where += f", replicate {place[1]}"
    return (
        f"{one.name} {measured[place]:.6g} exceeds the bound {limit[place]:.6g} by {above[place]:.3g} "
        f"at {where} (seed {trace.settings['seed']})"
    )
