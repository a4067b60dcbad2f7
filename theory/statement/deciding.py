"""The verdict on a claim: its statements are tried, and what they give is made a finding."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from clusterproof.theory.claim import Context
from clusterproof.theory.counterexample import RunDisagrees, agree
from clusterproof.theory.statement import sentences
from clusterproof.theory.statement.constants import constant_factors
from clusterproof.theory.statement.judging import WHOLE
from clusterproof.theory.statement.parts import Parts
from clusterproof.theory.statement.statement import Statement
from clusterproof.theory.statement.trial import Evaluation, Trial, attempt
from clusterproof.theory.statement.vacuity import exclude_each_other
from clusterproof.theory.verdict import Finding, Kind


def decide(claim: Parts, context: Context) -> Finding:
    """Try every part of a claim; the first that breaks decides.

    Parameters
    ----------
    claim
        Its statements.
    context
        Seed, budget or repetitions, and the error level, which the parts share equally.
    """
    context = dataclasses.replace(context, significance=context.significance / len(claim.parts))
    trials: list[Trial] = []
    for part in claim.parts:
        trials.append(attempt(part, context))
        if trials[-1].found is not None:
            return _refuted(claim, trials, trials[-1].found, context)
    main = [trial for trial in trials if trial.statement.same]
    # a proof of the whole does not stand in for the instances that it is held against
    held = [trial for trial in main if not trial.statement.whole] or main
    if not any(trial.instances or trial.proved for trial in held):
        return _vacuous(trials, context)
    return _consistent(trials, context)


def proves(trials: Sequence[Trial]) -> bool:
    """Whether every part was proved, or one that is a proof of the whole claim."""
    whole = [trial.proved for trial in trials if trial.statement.whole]
    return all(whole) if whole else all(trial.proved for trial in trials)


def _consistent(trials: Sequence[Trial], context: Context) -> Finding:
    proved = proves(trials)
    main = [trial.tightest for trial in trials if trial.statement.same and trial.tightest is not None]
    tightest = max(main, key=lambda each: each.used, default=None)
    numbers: dict[str, Any] = {}
    if tightest is not None:
        judged = max(
            tightest.judged.values(),
            key=lambda one: -1.0 if one.factors.get(WHOLE) is None else float(one.factors[WHOLE]),
        )
        numbers = {"measured": judged.measured, "bound": judged.allowed}
        if 0 < tightest.used < math.inf:
            numbers["slack"] = 1 / tightest.used
    intervals = [
        judged.interval
        for trial in trials
        if trial.tightest is not None
        for judged in trial.tightest.judged.values()
        if judged.interval is not None
    ]
    return Finding(
        verdict=Kind.CERTIFIED if proved else Kind.CONSISTENT,
        reason=sentences.holds(trials),
        confidence=intervals[-1] if intervals else None,
        sharpness=None if proved else _sharpness(trials, context),
        **numbers,
        **_counts(trials),
    )


def _sharpness(trials: Sequence[Trial], context: Context) -> dict[str, float | None] | None:
    """Merge the factors: those of the same statement are one, a step keeps its own."""
    found: dict[str, Any] = {}
    for trial in trials:
        constants = constant_factors(trial, context)
        factors = {key: extreme.factor for key, extreme in trial.factors.items()}
        factors |= {("", name): factor for name, factor in constants.items()}
        for (conclusion, term), factor in factors.items():
            own = "" if trial.statement.same else trial.statement.name
            key = ": ".join(part for part in (own, conclusion, term) if part)
            found[key] = larger(found.get(key), factor)
            if trial.statement.same and term == WHOLE:
                found[WHOLE] = larger(found.get(WHOLE), factor)
    return {key: None if value is None else float(value) for key, value in found.items()} or None


def _vacuous(trials: Sequence[Trial], context: Context) -> Finding:
    main = [trial for trial in trials if trial.statement.same]
    steps = [trial for trial in trials if not trial.statement.same]
    names = [name for trial in main for name in exclude_each_other(trial, context)]
    reason = sentences.none_admissible(main, list(dict.fromkeys(names)))
    return Finding(
        verdict=Kind.VACUOUS,
        reason="; ".join(part for part in (reason, sentences.holds(steps)) if part),
        **_counts(trials),
    )


def _refuted(claim: Parts, trials: Sequence[Trial], found: Evaluation, context: Context) -> Finding:
    trial, part = trials[-1], trials[-1].statement
    judged = found.judged[found.broken or ""]
    confirm(claim, part, found)
    example = part.space.encode(found.instance)
    if part.name:
        example["part"] = part.name
    if part.random:
        example["seed"] = context.seed
        if part.space.replicates is not None:
            example["replicates"] = part.replicates if context.trials is None else context.trials
    return Finding(
        verdict=Kind.ILL_POSED if claim.ill_posed else Kind.VIOLATED,
        reason=sentences.broken(trial, found),
        measured=judged.measured,
        bound=judged.allowed,
        slack=judged.allowed / judged.measured if judged.measured else None,
        confidence=judged.interval,
        counterexample=example,
        **_counts(trials) | {"trials": judged.trials, "failures": judged.failures},
    )


def confirm(claim: Parts, part: Statement, found: Evaluation) -> None:
    """Run the very algorithm on an instance that refutes a part, where that part says how.

    Raises
    ------
    RunDisagrees
        If the run gives something else than the statement.
    """
    if part.confirm is None:
        return
    observed, measured = (
        part.confirm(**part.space.arguments(found.instance)),
        found.judged[found.broken or ""].measured,
    )
    if observed is not None and not agree(observed, measured):
        raise RunDisagrees(f"{claim.id}: the run gives {observed!r}, the statement {measured!r}")


def larger(first: Any, second: Any) -> Any:
    """Larger of two factors, where None is less than any."""
    return second if first is None else first if second is None else max(first, second)


def _counts(trials: Sequence[Trial]) -> dict[str, Any]:
    rejected = sum((trial.rejected for trial in trials), Counter[str]())
    repetitions = sum(trial.trials for trial in trials)
    proved = proves(trials)
    instances = sum(trial.instances for trial in trials)
    return {
        "instances": None if proved and not instances else instances,
        "exhausted": proved or all(trial.exhausted or trial.proved for trial in trials),
        "rejected": dict(rejected),
        "trials": repetitions or None,
        "failures": sum(trial.failures for trial in trials) if repetitions else None,
    }
