"""The verdict on a claim: its statements are tried, and what they give is made a finding."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clusterproof.theory.checker import sentences
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.claim_parts import Parts, factor_names
from clusterproof.theory.checker.conclusions import WHOLE, critical
from clusterproof.theory.checker.counterexample import confirm_equal
from clusterproof.theory.checker.evaluation import Evaluation, Trial
from clusterproof.theory.checker.expectation import Expectation
from clusterproof.theory.checker.needed_hypotheses import needed_hypotheses
from clusterproof.theory.checker.proof import is_empty
from clusterproof.theory.checker.rounding import as_float
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.ties import COMPARED, Tie
from clusterproof.theory.checker.trial import attempt
from clusterproof.theory.checker.vacuity import exclude_each_other
from clusterproof.theory.checker.verdict import Finding, Kind


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
    ties = {part.name: [Tie(proof) for proof in claim.parts if proof.whole] for part in claim.parts}
    for part in claim.parts:
        compared = ties[part.name] if part.same and not part.whole else []
        trials.append(attempt(part, context, compared))
        if trials[-1].found is not None:
            return _refuted(claim, trials, trials[-1].found, context, compared)
    main = [trial for trial in trials if trial.statement.same]
    # a proof of the whole does not stand in for the instances that it is held against
    held = [trial for trial in main if not trial.statement.whole] or main
    if not any(trial.instances or trial.proved for trial in held):
        return _vacuous(trials, context)
    certainty = _certainty(trials, ties)
    reason = sentences.holds(trials, certainty)
    # nor are its quantities' values instances of the statement
    tried = [trial for trial in trials if not trial.statement.whole]
    finding = _consistent(tried, reason, certainty, context)
    doubts = [] if certainty.proof else inconclusive(tried, context)
    if not doubts:
        return finding
    return dataclasses.replace(finding, verdict=Kind.INCONCLUSIVE, reason="; ".join([*doubts, reason]))


def inconclusive(trials: Sequence[Trial], context: Context) -> list[str]:
    """Say why evidence that did not refute a statement would not have refuted it; empty where it would have."""
    reasons = []
    same = [trial for trial in trials if trial.statement.same] or list(trials)
    tried = sum(max(trial.trials, trial.instances * _replicates(trial)) for trial in same)
    interrupted = any(trial.rounding is not None for trial in trials)
    if tried < FEWEST and not interrupted and not all(trial.exhausted or trial.proved for trial in same):
        remedy = "give more evaluations, or ranges that the hypotheses leave more of"
        are = "instance is" if tried == 1 else "instances are"
        reasons.append(f"{tried} {are} too few to refute it: {remedy}")
    for trial in trials:
        if trial.rounding is not None:
            reasons.append(
                f"rounding: {sentences.broken(trial, trial.rounding)}, which more digits do not confirm"
            )
        if trial.grows:
            reasons.append(
                f"what it uses of the bound grows with {trial.grows} and would pass 1: state a larger range"
            )
        if trial.inconclusive.total() == trial.instances > 0:
            reasons.append("no interval decides anything")
        if trial.unlikely is not None:
            reasons.append("all repetitions together speak against it, those of no single instance do")
        level = max(trial.levels, default=0.0)
        if (
            0 < level <= 0.5
            and trial.trials
            and critical(trial.trials, level, context.significance) > 2 * level * trial.trials
        ):
            reasons.append(
                f"{trial.trials} repetitions would not show twice the probability {level:.3g}: give more replicates"
            )
    return list(dict.fromkeys(reasons))


def _replicates(trial: Trial) -> int:
    """Replicates of an expectation; 1 of another statement."""
    given = trial.tightest.conclusions.values() if trial.tightest else ()
    return max((len(each.samples) for each in given if isinstance(each, Expectation)), default=1)


FEWEST = 30
"""Instances, or repetitions, below which a statement that was not refuted is inconclusive."""


def says_nothing(name: str, true_of_all: Statement, context: Context) -> Finding:
    """Call a bound vacuous where it is proved to hold of everything, whatever the algorithm does."""
    found = decide(Parts(name, [true_of_all]), context)
    return dataclasses.replace(found, verdict=Kind.VACUOUS) if found.verdict is Kind.CERTIFIED else found


@dataclass(frozen=True)
class Certainty:
    """What is proved of a claim that no instance breaks.

    Attributes
    ----------
    proof
        How the printed statement was proved for every instance of its ranges: ``"exhausted"``, ``"symbols"`` or
        ``"separate"``; None where it was not.
    steps
        Names of the parts that were proved without being the statement.
    refused
        Why a proof by a separate function does not count, by its name.
    compared
        Instances at which the statement and the separate proof gave the same sides.
    """

    proof: str | None
    steps: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    compared: int = 0


def _certainty(trials: Sequence[Trial], ties: Mapping[str, Sequence[Tie]]) -> Certainty:
    """Return how the statement was proved, part by part."""
    ways: list[str | None] = []
    refused: dict[str, str] = {}
    compared: list[int] = []
    for trial in trials:
        part = trial.statement
        if part.whole:
            continue
        tied = [tie for tie in ties[part.name] if _counts_as_proof(tie, trial, trials)] if part.same else []
        if trial.proved:
            ways.append("symbols" if trial.symbolic else "exhausted")
        elif trial.exhausted and part.space.complete and trial.exact and trial.instances and not part.random:
            ways.append("exhausted")
        elif tied:
            ways.append("separate")
            compared.append(tied[0].compared)
        elif part.same or part.prove or not any(each.statement.whole for each in trials):
            ways.append(None)
            refused |= {tie.proof.name: tie.refused for tie in ties[part.name] if tie.refused}
    proof = None if None in ways else next(way for way in ("separate", "symbols", "exhausted") if way in ways)
    steps = [
        trial.statement.name
        for trial in trials
        if trial.proved and (not trial.statement.same or (trial.statement.whole and proof is None))
    ]
    return Certainty(proof, tuple(steps), refused, min(compared, default=0))


def _counts_as_proof(tie: Tie, trial: Trial, trials: Sequence[Trial]) -> bool:
    proved = next(each.proved for each in trials if each.statement is tie.proof)
    enough = tie.compared >= COMPARED or (trial.exhausted and tie.compared == trial.instances > 0)
    return proved and enough and not tie.refused


def _consistent(trials: Sequence[Trial], reason: str, certainty: Certainty, context: Context) -> Finding:
    proved = certainty.proof is not None
    main = [trial.tightest for trial in trials if trial.statement.same and trial.tightest is not None]
    tightest = max(main, key=lambda each: each.used, default=None)
    numbers: dict[str, Any] = {}
    if tightest is not None:
        judged = max(
            tightest.judged.values(),
            key=lambda one: -1.0 if one.factors.get(WHOLE) is None else as_float(one.factors[WHOLE]),
        )
        numbers = {"measured": judged.measured, "bound": judged.allowed}
        if 0 < tightest.used < math.inf:
            numbers["slack"] = 1 / tightest.used
    with_intervals = [
        judged
        for trial in trials
        if trial.tightest is not None
        for judged in trial.tightest.judged.values()
        if judged.interval is not None
    ]
    # where there are repetitions the interval is of their failure probability, and not of an expectation
    with_intervals.sort(key=lambda judged: judged.trials is not None)
    intervals = [judged.interval for judged in with_intervals]
    return Finding(
        verdict=Kind.CERTIFIED if proved else Kind.CONSISTENT,
        reason=reason,
        confidence=intervals[-1] if intervals else None,
        sharpness=(factors := _sharpness(trials)),
        tightness=_tightness(trials, factors),
        proof=certainty.proof,
        steps=certainty.steps,
        needed=needed_hypotheses([trial for trial in trials if trial.statement.same], context) or None,
        **numbers,
        **_counts(trials, proved=proved),
    )


def _sharpness(trials: Sequence[Trial]) -> dict[str, float | None] | None:
    """Merge the factors: those of the same statement are one, a step and each of several parts keeps its own."""
    found: dict[str, Any] = {}
    several = _several(trials)
    for trial in trials:
        factors = {key: extreme.factor for key, extreme in trial.factors.items()}
        for conclusion in {name for name, _ in factors}:
            if (same := trial.identities(conclusion)) is not None and (conclusion, WHOLE) in factors:
                factors[conclusion, WHOLE] = same[1]
        for (conclusion, term), factor in factors.items():
            for key in factor_names(trial.statement, conclusion, term, several=several):
                found[key] = larger(found.get(key), factor)
            if trial.statement.same and term == WHOLE:
                found[WHOLE] = larger(found.get(WHOLE), factor)
    return {key: None if value is None else as_float(value) for key, value in found.items()} or None


def _several(trials: Sequence[Trial]) -> bool:
    """Whether the statement is tried in more than one part."""
    return sum(trial.statement.same and bool(trial.factors) for trial in trials) > 1


def _tightness(
    trials: Sequence[Trial], factors: Mapping[str, float | None] | None
) -> dict[str, dict[str, Any]] | None:
    """Give the ratio behind each factor, its instance, the ratio in half of the instances, and what are identities."""
    instances: dict[str, Any] = {}
    identities: dict[str, list[int]] = {}
    shares: dict[str, list[float]] = {}
    several = _several(trials)
    for trial in trials:
        for (conclusion, term), extreme in trial.factors.items():
            for key in factor_names(trial.statement, conclusion, term, several=several):
                if factors and extreme.factor is not None and factors.get(key) == as_float(extreme.factor):
                    instances.setdefault(key, trial.statement.space.encode(extreme.instance))
                if term == WHOLE:
                    shares.setdefault(key, []).extend(trial.typical.get(conclusion, ()))
                    if (same := trial.identities(conclusion)) is not None:
                        identities[key] = same[0]
    typical = {key: float(np.median(values)) for key, values in shares.items() if values}
    return {
        key: {
            "ratio": 1 / factor if factor else None,
            "instance": instances.get(key),
            **({"typical": 1 / typical[key] if typical[key] else None} if key in typical else {}),
            **({"identities": identities[key]} if key in identities else {}),
        }
        for key, factor in (factors or {}).items()
    } or None


def _vacuous(trials: Sequence[Trial], context: Context) -> Finding:
    main = [trial for trial in trials if trial.statement.same]
    steps = [trial for trial in trials if not trial.statement.same]
    names = [name for trial in main for name in exclude_each_other(trial, context)]
    proved = all(is_empty(trial.statement.space, trial.statement.conclude) for trial in main)
    step_proved = any(trial.proved for trial in steps)
    reason = sentences.none_admissible(
        main, list(dict.fromkeys(names)), proved=proved, step_proved=step_proved
    )
    shown = proved or step_proved or all(trial.exhausted and trial.statement.space.complete for trial in main)
    return Finding(
        verdict=Kind.VACUOUS if shown else Kind.INCONCLUSIVE,
        reason="; ".join(part for part in (reason, sentences.holds(steps, Certainty(None))) if part),
        **_counts(trials),
    )


def _refuted(
    claim: Parts, trials: Sequence[Trial], found: Evaluation, context: Context, ties: Sequence[Tie]
) -> Finding:
    trial, part = trials[-1], trials[-1].statement
    judged = found.judged[found.broken or ""]
    confirm(claim, part, found)
    reason = sentences.broken(trial, found)
    tied = (tie.proof for tie in ties if tie.compared and not tie.refused)
    if trial.proved or any(attempt(proof, context).proved for proof in tied):
        reason += "; proof and instance disagree: the symbolic proof is wrong"
    return Finding(
        verdict=Kind.ILL_POSED if claim.ill_posed else Kind.VIOLATED,
        reason=reason,
        measured=judged.measured,
        bound=judged.allowed,
        slack=judged.allowed / judged.measured if judged.measured else None,
        confidence=judged.interval,
        counterexample=written(
            part, dataclasses.replace(context, trials=found.replicates or context.trials), found.instance
        ),
        **_counts(trials) | {"trials": judged.trials, "failures": judged.failures},
    )


def written(part: Statement, context: Context, one: dict[str, Any]) -> dict[str, Any]:
    """Write a counterexample: its quantities, the part, and what gives its random numbers."""
    example = part.space.encode(one)
    if part.name:
        example["part"] = part.name
    if part.random:
        example["seed"] = context.seed
        if part.space.replicates is not None:
            example["replicates"] = part.replicates if context.trials is None else context.trials
    return example


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
    if observed is not None:
        confirm_equal(claim.id, observed, measured)


def larger(first: Any, second: Any) -> Any:
    """Larger of two factors, where None is less than any."""
    return second if first is None else first if second is None else max(first, second)


def _counts(trials: Sequence[Trial], *, proved: bool = False) -> dict[str, Any]:
    # a hypothesis that excludes nothing is named, too
    rejected = {name: 0 for trial in trials for name in trial.stated}
    for trial in trials:
        for name, count in trial.rejected.items():
            rejected[name] = rejected.get(name, 0) + count
    repetitions = sum(trial.trials for trial in trials)
    return {
        "instances": sum(trial.instances for trial in trials),
        "exhausted": proved or all(trial.exhausted or trial.proved for trial in trials),
        "rejected": rejected,
        "trials": repetitions or None,
        "failures": sum(trial.failures for trial in trials) if repetitions else None,
    }
