"""Counterexamples, evaluated again from what a report holds of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.checker import sentences
from clusterproof.theory.checker.claim import CLAIM_SIGNIFICANCE, Context
from clusterproof.theory.checker.claim_parts import Parts
from clusterproof.theory.checker.deciding import confirm
from clusterproof.theory.checker.evaluation import Trial, evaluate
from clusterproof.theory.checker.sides import Outside
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.verdict import Finding, Kind

MOST_REPLICATES = 1_000_000
"""More than this no recorded counterexample is repeated."""


def replay(claim: Parts, counterexample: Mapping[str, Any]) -> Finding:
    """Evaluate a counterexample again.

    Parameters
    ----------
    claim
        Its statements.
    counterexample
        Quantities as a report writes them, with the part; of random ones also seed and replicates.

    Raises
    ------
    InvalidArgument
        If it is not an instance of the statement: the message names the quantity that is missing,
        unknown or out of range, or the hypothesis that is broken.
    """
    numbers = dict(counterexample)
    name = numbers.pop("part", claim.parts[0].name)
    part = next((each for each in claim.parts if each.name == name), None)
    if part is None:
        known = ", ".join(each.name for each in claim.parts if each.name) or "none is named"
        raise InvalidArgument("counterexample.part", name, f"must be one of the parts: {known}", "correct it")
    seed, replicates = _recorded_randomness(part, numbers)
    one = part.space.decode(numbers)
    context = Context(seed, replicates, CLAIM_SIGNIFICANCE / len(claim.parts), claim.id)
    try:
        evaluation = evaluate(part, context, one)
    except Outside as outside:
        raise InvalidArgument(
            "counterexample",
            dict(counterexample),
            f'must meet the hypothesis "{outside}"',
            f"take it from the JSON of `clusterproof check {claim.id}`",
        ) from outside
    first = next(iter(evaluation.judged)) if evaluation.broken is None else evaluation.broken
    worst, lower = evaluation.judged[first], getattr(evaluation.conclusions[first], "lower", False)
    if evaluation.broken is None:
        verdict, reason = Kind.CONSISTENT, sentences.comparison(worst, ">=" if lower else "<=")
    else:
        confirm(claim, part, evaluation)
        verdict = Kind.ILL_POSED if claim.ill_posed else Kind.VIOLATED
        reason = sentences.broken(Trial(part), evaluation)
    return Finding(
        verdict=verdict,
        reason=f"replayed: {reason}",
        measured=worst.measured,
        bound=worst.allowed,
        confidence=worst.interval,
        trials=worst.trials,
        failures=worst.failures,
        instances=1,
        counterexample=dict(counterexample),
    )


def _recorded_randomness(part: Statement, numbers: dict[str, Any]) -> tuple[int, int | None]:
    """Take seed and replicates out of a written counterexample."""
    if not part.random:
        return 0, None
    found: dict[str, int] = {}
    for name, least, most in (("seed", 0, None), ("replicates", 1, MOST_REPLICATES)):
        if name == "replicates" and part.space.replicates is None:
            continue
        value = numbers.pop(name, None)
        if type(value) is not int or value < least or (most is not None and value > most):
            limit = "" if most is None else f" and at most {most}"
            raise InvalidArgument(
                f"counterexample.{name}",
                value,
                f"must be a whole number, at least {least}{limit}",
                "take it from a report",
            )
        found[name] = value
    return found["seed"], found.get("replicates")
