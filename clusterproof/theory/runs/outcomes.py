"""A run beside a claim that bounds runs: how many replicates are outside, and the sentence of the page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clusterproof.checker.claims.statistics import binomial_tail
from clusterproof.common import InvalidArgument
from clusterproof.theory.bounds.numbers import many, short
from clusterproof.theory.bounds.trace_bound import Compared, TraceBound
from clusterproof.theory.runs import bound_checks
from clusterproof.theory.runs.bound import FAILURE, bound
from clusterproof.theory.runs.page import Outcome
from clusterproof.theory.runs.run import FEWEST_RUNS, Run
from clusterproof.theory.runs.theorem import Said, says, three_digits

SIGNIFICANCE = 1e-6
"""A bound is called broken where so many runs are outside by chance with at most this probability."""

Count = tuple[int, float]
"""Runs outside, and the probability with which a run may be."""


def said_of(claim_id: str, run: Run, *, law_differs: bool = False) -> tuple[Said, TraceBound | None]:
    """Judge a claim that bounds runs, with failure probability 0.05.

    Parameters
    ----------
    claim_id, run
        The claim and the run.
    law_differs
        Whether the run follows another law than its algorithm's, and nothing about it "holds".

    Returns
    -------
    tuple
        What it says, and the bound; None where it does not apply or bounds an expectation.
    """
    try:
        with np.errstate(all="ignore"):
            try:
                allowed = bound(claim_id, run.task, run.trace, failure_probability=FAILURE)
            except InvalidArgument as error:
                if error.argument != "failure_probability":
                    raise
                allowed = bound(claim_id, run.task, run.trace)
            if allowed.expectation is not None:
                answer = bound_checks.compare(claim_id, run.task, run.trace)
                outcome: Outcome = answer.kind if answer.kind != "other law" else "inconclusive"
                return says(outcome, answer.sentence), None
    except InvalidArgument as error:
        return Said("does not apply", needs(error)), None
    except OverflowError:  # a diverged run
        return says("inconclusive", "its bound overflows"), None
    return judged(allowed.compared(run.trace), float(allowed.failure_probability), law_differs), allowed


def judged(compared: Sequence[Compared], probability: float, law_differs: bool) -> Said:
    """Judge quantities of a run beside what is allowed, each run with the probability of being outside."""
    outside = _outside(compared)
    return _judged(compared, [(int(outside.any(axis=0).sum()), probability)], law_differs)


def judged_twice(
    compared: Sequence[Compared], probability: float, early: float, law_differs: bool
) -> tuple[Said, str]:
    """Judge rounds before the last one, with another probability, and the last one; and count both."""
    outside = _outside(compared)
    counts = [(int(outside[:-1].any(axis=0).sum()), early), (int(outside[-1].sum()), probability)]
    runs = outside.shape[1]
    (before, _), (end, late) = counts
    tally = (
        f"runs outside: {before} of {runs} in some round (allowed {early * runs:.3g}), "
        f"{end} at the end ({late * runs:.3g})"
    )
    return _judged(compared, counts, law_differs), tally


def _outside(compared: Sequence[Compared]) -> np.ndarray:
    """Whether each run is outside after each round, (rounds + 1, R)."""
    return np.asarray(np.concatenate([one.above for one in compared], axis=-1).max(axis=-1) > 0)


def _judged(compared: Sequence[Compared], counts: list[Count], law_differs: bool) -> Said:
    one, runs = compared[0], compared[0].measured.shape[1]
    numbers, outcome = (end(one), float(one.allowed[-1].max())), outcome_of(counts, runs)
    if outcome == "broken":
        worse = max(counts, key=lambda count: count[0] / max(count[1], 1e-300))
        return says("broken", f"{place(compared)}; {counted(worse[0], runs, worse[1])}", *numbers)
    if outcome == "inconclusive":
        worse = next(count for count in counts if count[0] > count[1] * runs)
        words = f"{counted(worse[0], runs, worse[1])} outside; --replicates {10 * runs}"
        return says("inconclusive", words, *numbers)
    size, limit = numbers
    words = f"{one.name} <= {three_digits(limit)} after round {len(one.measured) - 1}"
    start, last = (float(one.measured[at].max()) for at in (0, -1))
    # no better than the start, below which the error fell, or of no round
    no_news = one.name == "error" and (limit >= start > last or len(one.measured) == 1)
    if no_news or not np.isfinite(limit):
        return says("says nothing", f"{words}, the start has {start:.3g}", *numbers)
    of = "the run's" if runs == 1 and one.name != "error" else end_words(runs)
    ratio = f", {short(limit / size, 2)} x {of}" if size > 1e-12 * one.unit else ""
    return Said("holds", f"{'not broken' if law_differs else 'holds'}: {words}{ratio}", *numbers)


def outcome_of(counts: Sequence[Count], runs: int) -> Outcome:
    """Return the outcome for counts of runs outside, each with the probability that is allowed to a run."""
    if any(binomial_tail(failures, runs, rate) <= SIGNIFICANCE for failures, rate in counts if failures):
        return "broken"
    return "holds" if all(failures <= rate * runs for failures, rate in counts) else "inconclusive"


def judged_events(event: str, *happened: tuple[int, int], runs: int, rate: float, shown: str = "") -> Said:
    """Compare how often events happened with a rate; of fewer than 20 runs nothing holds.

    ``happened`` has the runs in which an event surely happened, and in which it may have; the last is told.
    """
    (certain, possible), outcome = happened[-1], outcome_of([(sure, rate) for sure, _ in happened], runs)
    if outcome == "holds" and (runs < FEWEST_RUNS or any(most > rate * runs for _, most in happened)):
        outcome = "inconclusive"
    words = f"{event} in {counted(certain, runs, rate)}"
    words += f", {possible - certain} inconclusive" * (possible > certain) + shown
    words += f"; --replicates {10 * runs}" * (outcome == "inconclusive")
    return says(outcome, words, max(sure for sure, _ in happened) / runs, rate)


def end_words(runs: int) -> str:
    """Say which error of so many runs a bound is compared with after the last round."""
    if runs == 1:
        return "the error"
    return "the runs' 95 % quantile" if runs >= FEWEST_RUNS else "the runs' largest"


def counted(failures: int, runs: int, probability: float) -> str:
    """Write how many runs are outside, and how many may be."""
    return f"{failures} of {many(runs, 'run')} (allowed {probability * runs:.3g})"


def place(compared: Sequence[Compared]) -> str:
    """Say what is above its bound by most, in relation to it, and where; clusters are counted from 1."""
    with np.errstate(all="ignore"):
        ratios = [
            np.nan_to_num(np.where(one.above > 0, one.measured / one.allowed, -1.0), nan=np.inf)
            for one in compared
        ]
    number = int(np.argmax([ratio.max() for ratio in ratios]))
    one, ratio = compared[number], ratios[number]
    at = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    what = "" if one.name == "error" else f"{one.name} "
    cluster = f", cluster {at[2] + 1}" if ratio.shape[2] > 1 else ""
    return f"{what}{one.measured[at]:.3g} > {three_digits(one.allowed[at])}{cluster}, round {at[0]}"


def needs(error: InvalidArgument) -> str:
    """Say which hypothesis fails."""
    rule, value = " ".join(error.rule.split()), " ".join(str(error.value).split())
    here = f", here {value}" if error.argument != "task" and value != "..." and len(value) <= 60 else ""
    for start in ("must be ", "must have "):
        if rule.startswith(start):
            return f"does not apply: needs {rule.removeprefix(start)}{here}"
    return f"does not apply: {error.argument} {rule}"


def end(one: Compared) -> float:
    """Return the 95 % quantile over runs of the largest value after the last round, or the largest of few runs."""
    return quantile(one.measured[-1].max(axis=-1))


def quantile(values: np.ndarray) -> float:
    """Return the 95 % quantile, or the largest of few values."""
    return float(np.quantile(values, 0.95) if len(values) >= FEWEST_RUNS else values.max())
