"""A run beside a claim that bounds runs: how many replicates are outside, and the sentence of the page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.numbers import short
from clusterproof.theory.bounds.trace_bound import Compared, TraceBound
from clusterproof.theory.claims.statistics import binomial_tail
from clusterproof.theory.runs import run_check
from clusterproof.theory.runs.page import Outcome, TheoremOnRun, three_digits

FAILURE = 0.05
"""Failure probability of every bound of a page."""

SIGNIFICANCE = 1e-6
"""A bound is called broken where so many runs are outside by chance with at most this probability."""

FEWEST_RUNS = 20
"""Runs from which on 95 % of them are a quantile."""


def theorem_on_run(
    claim_id: str, task: Mixture, trace: Trace, *, law_differs: bool = False
) -> tuple[TheoremOnRun, TraceBound | None]:
    """Judge a claim that bounds runs, with failure probability 0.05.

    Parameters
    ----------
    claim_id, task, trace
        As for ``theory.bound``.
    law_differs
        Whether the run follows another law than its algorithm's, and nothing about it "holds".

    Returns
    -------
    tuple
        What it says, and the bound; None where it does not apply or bounds an expectation.
    """
    try:
        with np.errstate(all="ignore"):
            allowed = _bound(claim_id, task, trace)
            if allowed.expectation is not None:
                answer = run_check.compare(claim_id, task, trace)
                kinds: dict[str, Outcome] = {"holds": "holds", "broken": "broken"}
                outcome = kinds.get(answer.kind, "inconclusive")
                words = f"{outcome}: {answer.sentence}"
                return TheoremOnRun(claim_id, outcome, None, None, words), None
    except InvalidArgument as error:
        return TheoremOnRun(claim_id, "does not apply", None, None, needs(error)), None
    except OverflowError:  # a diverged run
        return TheoremOnRun(claim_id, "inconclusive", None, None, "inconclusive: its bound overflows"), None
    compared = allowed.compared(trace)
    return judged(claim_id, compared, float(allowed.failure_probability), law_differs), allowed


def judged(
    claim_id: str, compared: Sequence[Compared], probability: float, law_differs: bool
) -> TheoremOnRun:
    """Judge quantities of a run beside what is allowed, each run with the probability of being outside."""
    above = np.concatenate([each.above for each in compared], axis=-1)
    failures, runs = int((above > 0).any(axis=(0, 2)).sum()), above.shape[1]
    outcome = outcome_of(((failures, probability),), runs)
    one = compared[0]
    measured, limit = _end(one), float(one.allowed[-1].max())
    if outcome == "holds" and says_nothing(one):
        outcome = "says nothing"
    if outcome == "broken":
        words = f"broken: {place(compared)}; {counted(failures, runs, probability)}"
    elif outcome == "inconclusive":
        words = f"inconclusive: {counted(failures, runs, probability)} outside; --replicates {10 * runs}"
    else:
        words = sentence(outcome, one, law_differs)
    return TheoremOnRun(claim_id, outcome, measured, limit, words)


def _bound(claim_id: str, task: Mixture, trace: Trace) -> TraceBound:
    """Return the bound at failure probability 0.05, or that of a claim that has none of its own to choose."""
    try:
        return run_check.bound(claim_id, task, trace, failure_probability=FAILURE)
    except InvalidArgument as error:
        if error.argument != "failure_probability":
            raise
    return run_check.bound(claim_id, task, trace)


def outcome_of(counts: Sequence[tuple[int, float]], runs: int) -> Outcome:
    """Return the outcome for counts of runs outside, each with the probability that is allowed to a run."""
    if any(binomial_tail(failures, runs, rate) <= SIGNIFICANCE for failures, rate in counts if failures):
        return "broken"
    return "holds" if all(failures <= rate * runs for failures, rate in counts) else "inconclusive"


def says_nothing(one: Compared) -> bool:
    """Whether a bound on the error is no better than the start, below which the error fell, or no round was run."""
    limit, start, end = (
        float(values.max()) for values in (one.allowed[-1], one.measured[0], one.measured[-1])
    )
    no_news = one.name == "error" and (limit >= start > end or len(one.measured) == 1)
    return not np.isfinite(limit) or no_news


def sentence(outcome: Outcome, one: Compared, law_differs: bool) -> str:
    """Say what a bound that holds, or says nothing, allows after the last round."""
    rounds, limit = len(one.measured) - 1, float(one.allowed[-1].max())
    bound = f"{one.name} <= {three_digits(limit)} after round {rounds}"
    if outcome == "says nothing":
        return f"says nothing: {bound}, the start has {one.measured[0].max():.3g}"
    runs, size = one.measured.shape[1], _end(one)
    of = "the run's" if runs == 1 and one.name != "error" else end_words(runs)
    ratio = f", {short(limit / size, 2)} x {of}" if size > 1e-12 * one.unit else ""
    return f"{'not broken' if law_differs else 'holds'}: {bound}{ratio}"


def end_words(runs: int) -> str:
    """Say which error of so many runs a bound is compared with after the last round."""
    if runs == 1:
        return "the error"
    return "the runs' 95 % quantile" if runs >= FEWEST_RUNS else "the runs' largest"


def counted(failures: int, runs: int, probability: float) -> str:
    """Write how many runs are outside, and how many may be."""
    return f"{failures} of {runs} run{'s' * (runs != 1)} (allowed {probability * runs:.3g})"


def place(compared: Sequence[Compared]) -> str:
    """Say what is above its bound by most, in relation to it, and where; clusters are counted from 1."""
    with np.errstate(all="ignore"):
        ratios = [np.where(one.above > 0, one.measured / one.allowed, -1.0) for one in compared]
    number = int(np.argmax([np.nan_to_num(ratio, nan=np.inf).max() for ratio in ratios]))
    one, ratio = compared[number], np.nan_to_num(ratios[number], nan=np.inf)
    at = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    what = "" if one.name == "error" else f"{one.name} "
    cluster = f", cluster {at[2] + 1}" if ratio.shape[2] > 1 else ""
    return f"{what}{one.measured[at]:.3g} > {three_digits(one.allowed[at])}{cluster}, round {at[0]}"


def needs(error: InvalidArgument) -> str:
    """Say which hypothesis fails."""
    rule = " ".join(error.rule.split())
    value = " ".join(str(error.value).split())
    here = f", here {value}" if error.argument != "task" and value != "..." and len(value) <= 60 else ""
    for start in ("must be ", "must have "):
        if rule.startswith(start):
            return f"does not apply: needs {rule.removeprefix(start)}{here}"
    return f"does not apply: {error.argument} {rule}"


def _end(one: Compared) -> float:
    """Return the 95 % quantile over runs of the largest value after the last round, or the largest of few runs."""
    largest = one.measured[-1].max(axis=-1)
    return float(np.quantile(largest, 0.95) if len(largest) >= FEWEST_RUNS else largest.max())
