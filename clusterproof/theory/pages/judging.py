"""The outcome of a theorem on a run. For a bound, it depends on the number of runs above the bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clusterproof.checker.claims.claim import REGISTRY
from clusterproof.checker.claims.statistics import binomial_tail
from clusterproof.common import InvalidArgument
from clusterproof.theory.bounds.hypotheses import Hypothesis, Value, all_met
from clusterproof.theory.bounds.trace_bound import Compared, TraceBound
from clusterproof.theory.pages.records import Above, Outcome, OutcomeWord, When, Worst
from clusterproof.theory.runs import bound_checks
from clusterproof.theory.runs.bound import FAILURE, bound
from clusterproof.theory.runs.run import FEWEST_RUNS, Run

SIGNIFICANCE = 1e-6
"""Largest probability with which a valid bound may have the outcome "is broken"."""

OUTCOMES: dict[bound_checks.Kind, OutcomeWord] = {
    "holds": "holds",
    "broken": "is broken",
    "inconclusive": "inconclusive",
    "other law": "inconclusive",
}


def outcome_of_claim(
    claim_id: str, run: Run, *, law_differs: bool = False
) -> tuple[Outcome, TraceBound | None]:
    """Return the outcome of a claim that bounds runs, with failure probability 0.05.

    Parameters
    ----------
    claim_id, run
        The claim and the run.
    law_differs
        Whether the distribution of the run differs from the distribution of its algorithm. If so, the outcome of a
        theorem is never "holds".

    Returns
    -------
    tuple
        The outcome, and the bound. The bound is None if the claim does not apply or bounds an expectation.
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
                return _expectation(claim_id, run), None
    except InvalidArgument as error:
        return named(claim_id, refused(error)), None
    except OverflowError:  # the run has diverged
        return named(claim_id, Outcome("inconclusive", reason="the bound overflows")), None
    compared = allowed.compared(run.trace)
    found = judged(compared, [count("in some round", compared, float(allowed.failure_probability))])
    return named(claim_id, of_another_law(found) if law_differs else found), allowed


def named(claim_id: str, outcome: Outcome) -> Outcome:
    """Add the id and the source of its claim to an outcome."""
    claim = REGISTRY.get(claim_id.partition("#")[0])
    return replace(outcome, claim=claim_id, source="ours" if claim is None else str(claim.source))  # type: ignore[arg-type]


def _expectation(claim_id: str, run: Run) -> Outcome:
    answer = bound_checks.compare(claim_id, run.task, run.trace)
    told = {"sentence": answer.sentence}
    return named(claim_id, Outcome(OUTCOMES[answer.kind], reason="an expectation", constants=told))


def refused(error: InvalidArgument) -> Outcome:
    """Return the outcome of a bound that does not apply to a run, for an error that describes the failed hypothesis."""
    value = " ".join(str(error.value).split())
    here = None if error.argument == "task" or value == "..." or len(value) > 60 else value
    told = {"argument": error.argument, "rule": " ".join(error.rule.split()), "here": here}
    return Outcome("does not apply", reason="refused", constants=told)


def of_another_law(found: Outcome) -> Outcome:
    """Return the outcome for a run whose distribution is wrong, so that no theorem can have the outcome "holds"."""
    return replace(found, outcome="inconclusive", reason="another law") if found.outcome == "holds" else found


def outside(compared: Sequence[Compared]) -> np.ndarray:
    """Return for each round and run whether the run is above a bound, (rounds + 1, R)."""
    return np.asarray(np.concatenate([one.above for one in compared], axis=-1).max(axis=-1) > 0)


def count(when: When, compared: Sequence[Compared], probability: float, rounds: slice = slice(None)) -> Above:
    """Count the runs above a bound with a given failure ``probability``, in the given rounds."""
    found = outside(compared)[rounds]
    return Above(when, int(found.any(axis=0).sum()), found.shape[1], probability * found.shape[1])


def judged(compared: Sequence[Compared], above: Sequence[Above]) -> Outcome:
    """Decide the outcome for quantities of a run, from the numbers of runs above the bounds."""
    one, runs = compared[0], compared[0].measured.shape[1]
    found = Outcome(
        outcome_of([(each.count, each.allowed / runs) for each in above], runs),
        quantity=one.name,
        measured=end(one),
        allowed=float(one.allowed[-1].max()),
        start=float(one.measured[0].max()),
        above=tuple(above),
    )
    if found.outcome == "is broken":
        return replace(found, worst=worst_of(compared))
    if found.outcome == "inconclusive":
        return replace(found, remedy=f"--replicates {10 * runs}")
    last, limit, start = float(one.measured[-1].max()), float(found.allowed or 0), float(found.start or 0)
    # the bound exceeds the initial value, or there was no round
    no_news = one.name == "error" and (limit >= start > last or len(one.measured) == 1)
    if no_news or not np.isfinite(limit):
        return replace(found, outcome="says nothing", reason="more than at the start")
    return found if (found.measured or 0.0) > 1e-12 * one.unit else replace(found, reason="rounding")


def outcome_of(counts: Sequence[tuple[int, float]], runs: int) -> OutcomeWord:
    """Return the outcome for numbers of runs above bounds with given failure probabilities."""
    if any(binomial_tail(failures, runs, rate) <= SIGNIFICANCE for failures, rate in counts if failures):
        return "is broken"
    return "holds" if all(failures <= rate * runs for failures, rate in counts) else "inconclusive"


def judged_events(*happened: tuple[int, int], runs: int, rate: float) -> Outcome:
    """Compare the number of runs in which an event happened with an allowed rate.

    For fewer than 20 runs, the outcome is never "holds".

    ``happened`` has two numbers of runs: runs in which the event certainly happened, and runs in which it may have
    happened. The page prints both.
    """
    (certain, possible), outcome = happened[-1], outcome_of([(sure, rate) for sure, _ in happened], runs)
    if outcome == "holds" and (runs < FEWEST_RUNS or any(most > rate * runs for _, most in happened)):
        outcome = "inconclusive"
    return Outcome(
        outcome,
        quantity="share of runs",
        measured=max(sure for sure, _ in happened) / runs,
        allowed=rate,
        above=(Above("in the mean", certain, runs, rate * runs),),
        constants={"undecided runs": possible - certain},
        remedy=f"--replicates {10 * runs}" if outcome == "inconclusive" else "",
    )


def worst_of(compared: Sequence[Compared]) -> Worst:
    """Return the largest relative excess over a bound, with its round and cluster."""
    with np.errstate(all="ignore"):
        ratios = [
            np.nan_to_num(np.where(one.above > 0, one.measured / one.allowed, -1.0), nan=np.inf)
            for one in compared
        ]
    number = int(np.argmax([ratio.max() for ratio in ratios]))
    one, ratio = compared[number], ratios[number]
    at = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    cluster = int(at[2]) + 1 if ratio.shape[2] > 1 else None
    return Worst(one.name, float(one.measured[at]), float(one.allowed[at]), int(at[0]), cluster)


def end(one: Compared) -> float:
    """Return the 95 % quantile over runs, or the maximum for few runs, of the largest value after the last round."""
    return quantile(one.measured[-1].max(axis=-1))


def quantile(values: np.ndarray) -> float:
    """Return the 95 % quantile of values, or the largest value if there are few."""
    return float(np.quantile(values, 0.95) if len(values) >= FEWEST_RUNS else values.max())


@dataclass(frozen=True)
class Theorem:
    """A theorem in the table of theorems of an algorithm.

    Attributes
    ----------
    claim
        Id of the claim that states the theorem.
    says
        Outcome on a run that satisfies the hypotheses, or a function that returns the outcome for a run.
    needs
        Function of a run that yields the hypotheses. It omits hypotheses that are undefined if an earlier hypothesis
        is not satisfied.
    always
        Function of a run that returns numbers, which the page prints even if the theorem does not apply.
    on_page
        Function of a run that returns whether the page describes the theorem. Otherwise the theorem is only in the
        table of all theorems.
    of_no_round
        Whether the theorem applies to a run without rounds.
    """

    claim: str
    says: Outcome | Callable[[Any], Outcome]
    needs: Callable[[Any], Iterator[Hypothesis]] | None = None
    always: Callable[[Any], Mapping[str, Value]] | None = None
    on_page: Callable[[Any], bool] = lambda _: True
    of_no_round: bool = False

    def on(self, run: Any) -> Outcome:
        """Decide the outcome of the theorem on a run."""
        hypotheses = () if self.needs is None else tuple(self.needs(run))
        found = Outcome("does not apply")
        if all_met(hypotheses):
            if not callable(self.says):
                found = self.says
            elif not run.rounds and not self.of_no_round:
                found = Outcome("inconclusive", reason="no round")
            else:
                found = self.says(run)
        always = {} if self.always is None else self.always(run)
        told = (*hypotheses, *found.hypotheses)
        return named(self.claim, replace(found, hypotheses=told, constants={**always, **found.constants}))


def judge_all(theorems: Iterable[Theorem], run: Any) -> tuple[tuple[Outcome, ...], tuple[Outcome, ...]]:
    """Decide the outcomes of theorems on a run. Return the theorems that the page describes, and all other theorems."""
    found = [(each.on_page(run), each.on(run)) for each in theorems]
    shown, others = (tuple(one for on_page, one in found if on_page is kept) for kept in (True, False))
    return shown, others
