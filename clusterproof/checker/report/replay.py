"""Evaluate stored counterexamples again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from clusterproof.checker import kernel
from clusterproof.checker.claims.claim import Claim, arguments_of, find_claim
from clusterproof.checker.claims.class_ranges import require_members
from clusterproof.checker.claims.judge import Judgement
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.claims.rounding import is_exact
from clusterproof.checker.claims.sides import Sides
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.claims.statistics import CLAIM_SIGNIFICANCE
from clusterproof.checker.freeze import freeze
from clusterproof.checker.kernel.evaluation import Outside
from clusterproof.checker.report import sentences
from clusterproof.checker.report.potentials import line_of_potential
from clusterproof.checker.report.verdict import Line, with_facts
from clusterproof.checker.search.broken_potential import broken_at
from clusterproof.checker.search.evaluator import Evaluation, Evaluator
from clusterproof.checker.search.state import Tried
from clusterproof.common import InvalidArgument

MOST_REPLICATES = 1_000_000
"""Largest number of replicates of a stored counterexample."""


def replay(claim_id: str, counterexample: Mapping[str, Any]) -> Line:
    """Evaluate a stored counterexample, or any other instance, again.

    Parameters
    ----------
    claim_id
        Id of the claim.
    counterexample
        The quantities, as in the counterexample of a verdict. If the claim has several lines, it also contains
        ``line``. For random statements, it also contains ``seed`` and ``replicates``.

    Returns
    -------
    Line
        The verdict is violated (or ill-posed) if the instance breaks the line, otherwise consistent.

    Raises
    ------
    InvalidArgument
        If the claim is unknown, or if the numbers are not an instance that meets the hypotheses. The message states the
        false hypothesis, or the quantity that is missing, unknown or out of range.
    """
    claim = find_claim(claim_id)
    remedy = f"take it from the JSON of `clusterproof check {arguments_of(claim_id)}`"
    try:
        return _replay(claim, dict(counterexample))
    except InvalidArgument:
        raise
    except Outside as outside:
        rule = f'must meet the hypothesis "{outside}"'
        raise InvalidArgument("counterexample", dict(counterexample), rule, remedy) from outside
    except (
        Exception
    ) as error:  # the numbers may come from a user's file: any error means that they are invalid
        rule = f"must contain the numbers that define an instance ({type(error).__name__}: {error})"
        raise InvalidArgument("counterexample", counterexample, rule, remedy) from error


def _replay(claim: Claim[..., Any], numbers: dict[str, Any]) -> Line:
    written = dict(numbers)
    name = numbers.pop("line", "")
    statement, key = find_line(claim, name)
    seed, replicates = _recorded_randomness(statement, numbers)
    instance = statement.space.decode(numbers)
    share = CLAIM_SIGNIFICANCE / len(claim.statements)
    evaluator = Evaluator.of(statement, seed, share, replicates)
    tried = Tried(evaluator.with_replicates(evaluator.sizes[-1]), asking=(key,))
    evaluation = tried.conclude(instance)
    if evaluation is None:
        raise Outside(tried.outside[-1][0] if tried.outside else tried.coverage.why_stopped)
    if key == kernel.POTENTIAL and key not in evaluation.judged:
        return _replayed_potential(claim, tried, instance)
    if key not in evaluation.judged:
        rule = f"must be one of the lines {', '.join(map(repr, evaluation.judged))} that the instance has"
        raise InvalidArgument("counterexample.line", name, rule, "copy the value from a report")
    judged = evaluation.judged[key]
    if judged.undefined:
        verdict, reason = Kind.INCONCLUSIVE, sentences.broken(statement, evaluation, key)
    elif judged.broken:
        require_members(statement.space, instance)
        verdict = Kind.ILL_POSED if claim.of_line(name)["ill_posed"] else Kind.VIOLATED
        reason = sentences.broken(statement, evaluation, key)
    else:
        lower = getattr(evaluation.lines[key], "lower", False)
        verdict, reason = Kind.CONSISTENT, sentences.comparison(judged, ">=" if lower else "<=")
    line = _line(name, verdict, f"replayed: {reason}", judged, evaluation, written)
    return with_facts(claim, line)


def _replayed_potential(claim: Claim[..., Any], tried: Tried, instance: dict[str, Any]) -> Line:
    """Return the verdict on the potential of a statement at one instance."""
    tried.frozen, name = freeze(claim), tried.statement.name
    tried.broken_potential = broken_at(tried.frozen.statement(name), instance, tried.space)
    line = None if tried.frozen.text is None else line_of_potential(kernel.read(tried.frozen.text), tried)
    if line is not None:
        return with_facts(claim, replace(line, reason=f"replayed: {line.reason}"))
    own = kernel.printed(name, kernel.POTENTIAL)
    return Line(name=own, verdict=Kind.CONSISTENT, reason="replayed: the potential holds in every round")


def _line(
    name: str, verdict: Kind, reason: str, judged: Judgement, evaluation: Evaluation, written: dict[str, Any]
) -> Line:
    return Line(
        name=name,
        verdict=verdict,
        reason=reason,
        measured=judged.measured,
        bound=judged.allowed,
        confidence=judged.interval,
        trials=judged.trials,
        failures=judged.failures,
        instances=1,
        basis=None
        if verdict is Kind.CONSISTENT
        else "statistics"
        if judged.interval
        else judged.basis or None,
        counterexample=written,
    )


def find_line(claim: Claim[..., Any], line: str) -> tuple[Statement, str]:
    """Return the statement that contains a line, and the name of the line within this statement."""
    named = (each for each in claim.statements[1:] if line == each.name or line.startswith(f"{each.name}: "))
    statement = next(named, claim.statements[0])
    return statement, line.removeprefix(statement.name).removeprefix(": ")


def in_fractions(claim_id: str, counterexample: Mapping[str, Any]) -> str:
    """Return the two sides as fractions, or an empty string if a side is random, inexact or too long.

    The result is also empty if the function's sides do not break the line: its floats can decide a branch in another
    way than the fractions of the text.
    """
    numbers = dict(counterexample)
    statement, key = find_line(find_claim(claim_id), numbers.pop("line", ""))
    if statement.random:
        return ""
    sides = statement.lines(statement.space.decode(numbers)).get(key)  # a potential has no sides
    if not isinstance(sides, Sides):
        return ""
    if sides.identity:
        numbers_only = (
            pair for pair in sides.pairs if not any(map(np.ndim, pair)) and all(map(is_exact, pair))
        )
        return next((f"{left} != {right}" for left, right in numbers_only if left != right), "")
    if np.ndim(sides.measured) or not all(map(is_exact, (sides.measured, *sides.terms.values()))):
        return ""
    total = sum(sides.terms.values())
    if not (sides.measured < total if sides.lower else sides.measured > total):
        return ""
    try:
        terms = " + ".join(f"{term} ({name})" for name, term in sides.terms.items())
        return f"{sides.measured} {'<' if sides.lower else '>'} {terms}".replace("+ -", "- ")
    except ValueError:  # a number with more digits than Python can write
        return ""


def _recorded_randomness(statement: Statement, numbers: dict[str, Any]) -> tuple[int, int | None]:
    """Remove the seed and the number of replicates from a stored counterexample, and return both."""
    if not statement.random:
        return 0, None
    recorded: dict[str, int] = {}
    for name, least, most in (("seed", 0, math.inf), ("replicates", 1, MOST_REPLICATES)):
        if name == "replicates" and statement.space.replicates is None:
            continue
        value = numbers.pop(name, None)
        if type(value) is not int or not least <= value <= most:
            limit = "" if most == math.inf else f" and at most {most}"
            rule = f"must be an integer, at least {least}{limit}"
            raise InvalidArgument(f"counterexample.{name}", value, rule, "copy the value from a report")
        recorded[name] = value
    return recorded["seed"], recorded.get("replicates")
