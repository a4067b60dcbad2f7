"""Which hypotheses a statement needs: those without which an instance that meets all others breaks it."""

from __future__ import annotations

from collections.abc import Sequence

from clusterproof.algorithms.time_limit import TimeLimitExceeded, time_limit
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.conclusions import judge
from clusterproof.theory.checker.evaluation import Trial
from clusterproof.theory.checker.sides import leaving_out

INSTANCES = 20
"""Instances outside a hypothesis that are tried for it."""
SECONDS = 1.0
"""Processor time for all of them, as a statement may take long where its hypotheses fail."""


def needed_hypotheses(trials: Sequence[Trial], context: Context) -> dict[str, bool | None]:
    """Find the hypotheses that the parts of a statement need.

    Parameters
    ----------
    trials
        Of parts that no admissible instance breaks.
    context
        Seed, claim and error level.

    Returns
    -------
    dict
        By hypothesis: whether an instance that meets all others breaks the statement; None where none of the tried
        instances is outside it alone, or the statement is not defined there.
    """
    needed: dict[str, bool | None] = {}
    for trial in trials:
        for name in trial.stated:
            if not needed.get(name):
                found = _breaks_without(trial, name, context)
                needed[name] = needed.get(name) if found is None else found
    return needed


def _breaks_without(trial: Trial, name: str, context: Context) -> bool | None:
    """Whether one of the instances that were rejected by a hypothesis breaks the statement without it."""
    outside = [one for first, one in trial.outside if first == name]
    holds = False
    try:
        with leaving_out(frozenset({name})), time_limit(SECONDS):
            for one in outside[:: max(1, len(outside) // INSTANCES)][:INSTANCES]:
                try:
                    conclusions = trial.statement.conclude(
                        one, seed=context.seed, claim=context.claim, replicates=context.trials
                    )
                    judged = judge(conclusions, context.significance / INSTANCES, one)
                except Exception:  # it breaks another hypothesis, or the statement is not defined there
                    continue
                if any(each.broken for each in judged.values()):
                    return True
                holds = True
    except TimeLimitExceeded:
        pass
    return False if holds else None
