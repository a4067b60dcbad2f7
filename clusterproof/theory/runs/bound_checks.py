"""Compare a run with bounds of claims at several failure probabilities, and with the distribution of its algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from clusterproof.checker.claims.claim import find_claim
from clusterproof.checker.claims.expectation import EQUAL, FEWEST, Expectation
from clusterproof.checker.claims.judge import judge
from clusterproof.checker.claims.statistics import CLAIM_SIGNIFICANCE, binomial_tail
from clusterproof.checker.report.sentences import asymptotic, digits_apart, estimate
from clusterproof.common import InvalidArgument
from clusterproof.common.calls import checked
from clusterproof.running import Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.bounds.trace_bound import ROUNDING, Compared, TraceBound
from clusterproof.theory.runs.bound import SUSPICIOUS, Inconclusive, bound, check_same_task
from clusterproof.theory.runs.same_law import same_law

FREQUENT = (1e-4, 0.01, 0.05, 0.2, 0.5)
"""Failure probabilities at which failing replicates are counted.

At smaller probabilities, a single failing replicate refutes the bound.
"""

MOST_REPLICATES = 10**6
"""Largest number of replicates that a message may recommend."""

ROUNDED = 1 + 1e-6
"""Tolerance for rounding in a probability. With this tolerance, one failure at the level 1e-9 refutes a bound."""


Kind = Literal["holds", "broken", "inconclusive", "other law"]


@dataclass(frozen=True, eq=False)
class Answer:
    """Result of the comparison of a run with a claim.

    Attributes
    ----------
    kind
        ``"holds"``, ``"broken"`` or ``"inconclusive"``. The kind is ``"other law"`` if the run satisfies the claim's
        bound, but does not have the distribution of its algorithm.
    sentence
        The reason. If a value exceeds its bound, the reason states the round, the cluster and the seed.
    slack
        Smallest ratio bound / measured among all compared quantities, or infinity if no quantity is measured.
    """

    kind: Kind
    sentence: str
    slack: float


@dataclass(frozen=True, eq=False)
class Level:
    """Comparison of a run with a bound at one failure probability.

    Attributes
    ----------
    allowed
        The bound.
    compared
        Every bounded quantity, with its bound.
    failing
        Whether a replicate exceeds the bound in some round and cluster, (replicates,).
    significance
        Largest probability with which the comparison may reject a correct run at this level.
    """

    allowed: TraceBound
    compared: list[Compared]
    failing: np.ndarray
    significance: float

    @property
    def rate(self) -> float:
        """Probability that a replicate may fail."""
        return self.allowed.failure_probability

    @property
    def failures(self) -> int:
        """Number of failing replicates."""
        return int(self.failing.sum())

    @property
    def chance(self) -> float:
        """Probability that at least this number of replicates fails."""
        return self.chance_of(self.failures)

    def chance_of(self, failures: int) -> float:
        """Return the probability that at least this number of replicates fails."""
        if self.rate == 0:
            return 0.0 if failures else 1.0
        return binomial_tail(failures, len(self.failing), self.rate)

    def breaks(self, failures: int) -> bool:
        """Return whether the probability of at least this number of failures is at most ``significance``."""
        return failures > 0 and self.chance_of(failures) <= self.significance * ROUNDED

    @property
    def decides(self) -> bool:
        """Whether some number of failing replicates would refute the claim."""
        return self.breaks(len(self.failing))

    @property
    def deciding(self) -> int:
        """Smallest number of replicates with which failures could refute the claim, at most ``MOST_REPLICATES``."""
        if self.rate >= 1:
            return MOST_REPLICATES
        return min(MOST_REPLICATES, math.ceil(math.log(self.significance) / math.log(self.rate)))


def levels_of(
    bound: Callable[[float | None], TraceBound], trace: Trace, failure_probability: float | None
) -> tuple[list[Level], Mapping[float, str]]:
    """Compare a run with a bound at each failure probability for which the bound exists.

    Parameters
    ----------
    bound
        Function that returns the bound for a failure probability, or for None with the default of the claim.
    trace
        The run.
    failure_probability
        The only level to use. If None, the levels are 1e-9/(6 R) for R replicates, 1e-4, .01, .05, .2 and .5.

    Returns
    -------
    tuple
        The levels, in increasing order of the failure probability, and the reasons for missing levels, indexed by
        failure probability. A deterministic bound has one level. A level is omitted if no replicate breaks it, and a
        level with a larger failure probability is sufficient.

    Raises
    ------
    InvalidArgument
        If there is no bound at any level. The error is the error for the default of the claim.
    """
    if failure_probability is not None:
        return [_held(bound(failure_probability), trace, CLAIM_SIGNIFICANCE)], {}
    replicates = trace.models.shape[1] if trace.models.ndim == 4 else 1
    share = CLAIM_SIGNIFICANCE / (1 + len(FREQUENT))
    found: dict[float, Level] = {}
    left_out: dict[float, str] = {}
    for rate in (*reversed(FREQUENT), share / replicates):
        try:
            allowed = bound(rate)
        except InvalidArgument as error:
            left_out[rate] = " ".join(str(error).split())
            continue
        # the bound is deterministic, or has a fixed failure probability
        if allowed.failure_probability == 0 or allowed.failure_probability in found:
            return [_held(allowed, trace, CLAIM_SIGNIFICANCE)], {}
        level = found[allowed.failure_probability] = _held(allowed, trace, share)
        if level.failures == 0 and any(one.decides for one in found.values()):
            break
    if not found:
        return [_held(bound(None), trace, CLAIM_SIGNIFICANCE)], {}
    return [found[rate] for rate in sorted(found)], left_out


def _held(allowed: TraceBound, trace: Trace, significance: float) -> Level:
    if allowed.expectation is not None:
        return Level(allowed, [], np.zeros(1, dtype=bool), significance)
    compared = allowed.compared(trace)
    failing = np.logical_or.reduce([(one.above > 0).any(axis=(0, -1)) for one in compared])
    return Level(allowed, compared, failing, significance)


def compare(
    claim_id: str, task: Mixture, trace: Trace, *, failure_probability: float | None = None
) -> Answer:
    """Compare every round, replicate and cluster of a run with the bound of a claim.

    The bound is evaluated at the failure probabilities of ``levels_of``, or at the given failure probability. The
    claim is broken if, for some level, so many replicates exceed the bound that a correct run would do so with a
    probability of at most 1e-9, over all levels. The claim holds if a violation could have been detected, and no
    suspicious number of replicates exceeds a bound. Otherwise the result is inconclusive.

    ``bound`` describes the parameters.

    Raises
    ------
    InvalidArgument
        As for ``bound``.
    """
    find_claim(claim_id)
    check_same_task(task, trace)
    allowed_on = partial(bound, claim_id, task, trace)
    levels, left_out = levels_of(
        lambda rate: allowed_on(failure_probability=rate), trace, failure_probability
    )
    if (estimated := levels[0].allowed.expectation) is not None:
        return _compare_expectation(estimated)
    worst = min(levels, key=lambda level: (level.chance / level.significance, level.rate))
    where, share = _place(worst.compared, trace) if worst.failures else "", _share(worst)
    kind: Kind = "inconclusive"
    if worst.breaks(worst.failures):
        kind, words = "broken", f"{where}; {share}"
    elif not any(level.decides for level in levels):
        needed = min(level.deciding for level in levels)
        number = "no number of them" if needed >= MOST_REPLICATES else str(needed)
        rates = ", ".join(f"{level.rate:.3g}" for level in levels)
        words = (
            f"{len(worst.failing)} replicates could not break a bound that each may break with probability {rates}: "
            f"{number} would decide, or a smaller failure_probability{'; ' + where if where else ''}"
        )
    elif worst.failures and worst.chance <= SUSPICIOUS / len(levels):
        words = (
            f"{where}; {share}: by chance with probability {worst.chance:.2g}, above {worst.significance:.2g}; "
            "more replicates would decide"
        )
    else:
        number = f" at any of {len(levels)} failure probabilities" if len(levels) > 1 else ""
        kind, words = "holds", share if worst.failures else f"no replicate is above the bound{number}"
    return Answer(kind, words + _left_out(left_out), _slack(levels[0].compared))


def _share(level: Level) -> str:
    """Describe how many replicates fail at a level, and the largest number that is expected."""
    text = f"{level.failures} of {len(level.failing)} replicates break it"
    if level.rate == 0:
        return f"{text}, which none may"
    expected = level.rate * len(level.failing)
    return f"{text} at failure probability {level.rate:.3g}, where at most {expected:.3g} are expected"


def _left_out(reasons: Mapping[float, str]) -> str:
    """Describe for which failure probabilities there is no bound."""
    if not reasons:
        return ""
    rates = ", ".join(f"{rate:.3g}" for rate in reasons)
    return f" (left out: failure probability {rates}, with no bound: {next(iter(reasons.values()))})"


def _compare_expectation(one: Expectation) -> Answer:
    """Compare an expectation over replicates with its bound.

    If the confidence interval is asymptotic, each half of the replicates must confirm the result.
    """
    starts = range(1 if one.exact else min(2, len(one.samples)))
    halves = [replace(one, samples=one.samples[start :: 1 if one.exact else 2]) for start in starts]
    judged = [judge({"": half}, CLAIM_SIGNIFICANCE / 2)[""] for half in halves]
    first, count = judged[0], len(one.samples)
    if len(judged) > 1:
        first = first.confirmed(judged[1])
    digits = digits_apart(first.measured, first.allowed)
    text = (
        f"{estimate(halves[0], first, f'{len(halves[0].samples)} of {count} replicates')}, "
        f"{one.sense.replace('_', ' ')} {first.allowed:.{digits}g}"
    )
    kind: Kind = "holds"
    if first.broken:
        kind, text = "broken", text + asymptotic(one, first)
    elif first.inconclusive:
        remedy = f"give range=, or at least {2 * FEWEST} replicates none of which dominates"
        kind, text = "inconclusive", f"{text}; {EQUAL if first.inconclusive == EQUAL else remedy}"
    return Answer(kind, text, first.allowed / first.measured if first.measured > 0 else math.inf)


def _slack(compared: list[Compared]) -> float:
    """Return the smallest ratio bound / measured, without values that may be rounding errors."""
    least = math.inf
    for one in compared:
        with np.errstate(all="ignore"):
            told = (one.measured > ROUNDING * one.unit) | np.isnan(one.measured)
            ratios = np.where(told, one.allowed / one.measured, np.inf)
        least = min(least, float(np.min(np.where(np.isnan(ratios), 0.0, ratios), initial=math.inf)))
    return least


def _place(compared: list[Compared], trace: Trace) -> str:
    """Describe the largest excess over a bound, with its round and its cluster, counted from 1."""
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


def compare_with_law(
    claim_ids: Sequence[str], task: Mixture, trace: Trace, *, failure_probability: float | None = None
) -> dict[str, Answer]:
    """Compare a run with each claim and, if the run satisfies a claim, with the distribution of the algorithm.

    Parameters
    ----------
    claim_ids
        Claims that bound runs.
    task, trace, failure_probability
        As for ``bound``.

    Returns
    -------
    dict
        One result per claim. If the distribution of the run differs, ``"holds"`` becomes ``"other law"``. Otherwise
        the sentence ends with the comparison of distributions.

    Raises
    ------
    InvalidArgument
        As for ``bound``.
    """
    answers = {
        name: compare(name, task, trace, failure_probability=failure_probability) for name in claim_ids
    }
    if all(answer.kind != "holds" for answer in answers.values()):
        return answers
    differs, words = _law_of_run(task, trace)

    def with_law(answer: Answer) -> Answer:
        if differs:
            sentence = f"held, but not the law of this algorithm: {words}"
            return replace(answer, kind="other law", sentence=sentence)
        return replace(answer, sentence=f"{answer.sentence}; {words}")

    return {name: with_law(answer) if answer.kind == "holds" else answer for name, answer in answers.items()}


def _law_of_run(task: Mixture, trace: Trace) -> tuple[bool, str]:
    """Return whether a run's distribution differs from the law of its algorithm, and a sentence about the result."""
    try:
        name = dynamics_of(trace).name
        kind, sentence = same_law(task, trace, for_bound=True)
    except InvalidArgument as error:
        return False, f"the law was not compared: {' '.join(str(error).split())}"
    said = {
        "holds": f"no difference from the law of {name}",
        "inconclusive": f"the law of {name} was compared without a result: {sentence}",
        "not compared": f"the law was not compared: {sentence}",
        "differs": sentence,
    }
    return kind == "differs", said[kind]


@checked
def assert_holds(
    claim_id: str,
    task: Mixture,
    trace: Trace,
    *,
    failure_probability: float | None = None,
    inconclusive: Literal["raise", "pass"] = "raise",
) -> None:
    """Assert that a run satisfies a claim and, if this can be tested, has the distribution of its algorithm.

    Parameters
    ----------
    claim_id, task, trace
        As for ``bound``.
    failure_probability
        The only failure probability for the bound, in [1e-300, 1). If None, the claim is tested at 1e-9/(6 R) for R
        replicates, 1e-4, .01, .05, .2 and .5, and a correct run is rejected with a probability of at most 1e-9.
    inconclusive
        ``"raise"``, or ``"pass"`` to accept a run that is too small to confirm or refute the claim.

    Raises
    ------
    AssertionError
        If the run breaks the claim, or if it does not have the distribution of its algorithm. The message states by
        how much the run exceeds the bound, in which round and cluster, and for which seed. A run with the
        distribution of its algorithm causes this error with a probability of at most 1e-9.
    Inconclusive
        If the run is too small to confirm or refute the claim. The message states how many replicates are needed.
    InvalidArgument
        As for ``bound``.

    Notes
    -----
    Distributions are compared as in ``assert_same_law``, but differences of single precision count as rounding. They
    are not compared if a run with noise has fewer than 50 replicates, or if the library's run for the comparison
    would have more than 2e7 numbers.
    """
    if inconclusive not in ("raise", "pass"):
        raise InvalidArgument("inconclusive", inconclusive, "must be 'raise' or 'pass'", "leave it out")
    answer = compare_with_law([claim_id], task, trace, failure_probability=failure_probability)[claim_id]
    if answer.kind in ("broken", "other law"):
        raise AssertionError(f"{claim_id}: {answer.sentence}")
    if answer.kind == "inconclusive" and inconclusive == "raise":
        raise Inconclusive(f"{claim_id}: {answer.sentence}")
