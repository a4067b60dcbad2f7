"""Counterexamples and reports, evaluated again from what is written of them."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.claims import sentences
from clusterproof.theory.claims.claim import REGISTRY, Claim, Statement, find_claim
from clusterproof.theory.claims.confirm import RunDisagrees
from clusterproof.theory.claims.judge import Judgement
from clusterproof.theory.claims.load import load_claims, source_of
from clusterproof.theory.claims.progress import Evaluation
from clusterproof.theory.claims.report import Recorded, Report
from clusterproof.theory.claims.rounding import is_exact
from clusterproof.theory.claims.sides import Outside, Sides
from clusterproof.theory.claims.statistics import CLAIM_SIGNIFICANCE
from clusterproof.theory.claims.trial import Trial
from clusterproof.theory.claims.verdict import FALSE, Kind, Line, confirm, with_facts

MOST_REPLICATES = 1_000_000
"""More than this no recorded counterexample is repeated."""
RELATIVE, ABSOLUTE = 1e-6, 1e-8
"""Differences between processors of a number that is computed again."""


def replay(claim_id: str, counterexample: Mapping[str, Any]) -> Line:
    """Evaluate a counterexample, or another instance, again from its numbers.

    Parameters
    ----------
    claim_id
        Of the claim.
    counterexample
        Quantities as a verdict holds them, with the line of several; of random ones also seed and replicates.

    Returns
    -------
    Line
        Violated (or ill-posed) if it breaks the line, consistent otherwise.

    Raises
    ------
    InvalidArgument
        If the claim is unknown, or the numbers are not those of an instance that meets its hypotheses: the message
        names the quantity that is missing, unknown or out of range, or the hypothesis.
    RunDisagrees
        If a run of the algorithm gives something else than the numbers: the check itself is broken.
    """
    claim = find_claim(claim_id)
    remedy = f"take it from the JSON of `clusterproof check {claim_id}`"
    try:
        return _replay(claim, dict(counterexample))
    except (InvalidArgument, RunDisagrees):
        raise
    except Outside as outside:
        rule = f'must meet the hypothesis "{outside}"'
        raise InvalidArgument("counterexample", dict(counterexample), rule, remedy) from outside
    except (
        Exception
    ) as error:  # the numbers may come from a user's file: any error means that they are invalid
        rule = f"must hold the numbers that define an instance ({type(error).__name__}: {error})"
        raise InvalidArgument("counterexample", counterexample, rule, remedy) from error


def _replay(claim: Claim[..., Any], numbers: dict[str, Any]) -> Line:
    written = dict(numbers)
    name = numbers.pop("line", "")
    statement, key = find_line(claim, name)
    seed, replicates = _recorded_randomness(statement, numbers)
    instance = statement.space.decode(numbers)
    trial = Trial(
        statement, seed, claim.id, CLAIM_SIGNIFICANCE / len(claim.statements), replicates, run=False
    )
    evaluation = trial.at(instance)
    if key not in evaluation.judged:
        rule = f"must be one of the lines {', '.join(map(repr, evaluation.judged))} that the instance has"
        raise InvalidArgument("counterexample.line", name, rule, "take it from a report")
    judged = evaluation.judged[key]
    if judged.undefined:
        verdict, reason = Kind.INCONCLUSIVE, sentences.broken(statement, evaluation, key)
    elif judged.broken:
        confirm(claim.id, statement, evaluation, key)
        verdict = Kind.ILL_POSED if claim.of_line(name)["ill_posed"] else Kind.VIOLATED
        reason = sentences.broken(statement, evaluation, key)
    else:
        lower = getattr(evaluation.lines[key], "lower", False)
        verdict, reason = Kind.CONSISTENT, sentences.comparison(judged, ">=" if lower else "<=")
    line = _line(name, verdict, f"replayed: {reason}", judged, evaluation, written)
    return with_facts(claim, line)


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
        counterexample=written,
    )


def find_line(claim: Claim[..., Any], line: str) -> tuple[Statement, str]:
    """Return the statement that has a line, that of its own space or the claim's function, and its name there."""
    named = (each for each in claim.statements[1:] if line == each.name or line.startswith(f"{each.name}: "))
    statement = next(named, claim.statements[0])
    return statement, line.removeprefix(statement.name).removeprefix(": ")


def in_fractions(claim_id: str, counterexample: Mapping[str, Any]) -> str:
    """Write both sides of a line at a counterexample in fractions; empty where one is random, inexact or too long."""
    numbers = dict(counterexample)
    statement, key = find_line(find_claim(claim_id), numbers.pop("line", ""))
    if statement.random:
        return ""
    sides = statement.lines(statement.space.decode(numbers))[key]
    if not isinstance(sides, Sides):
        return ""
    if sides.identity:
        numbers_only = (
            pair for pair in sides.pairs if not any(map(np.ndim, pair)) and all(map(is_exact, pair))
        )
        return next((f"{left} != {right}" for left, right in numbers_only if left != right), "")
    if np.ndim(sides.measured) or not all(map(is_exact, (sides.measured, *sides.terms.values()))):
        return ""
    try:
        terms = " + ".join(f"{term} ({name})" for name, term in sides.terms.items())
        return f"{sides.measured} {'<' if sides.lower else '>'} {terms}".replace("+ -", "- ")
    except ValueError:  # more digits than Python writes
        return ""


def _recorded_randomness(statement: Statement, numbers: dict[str, Any]) -> tuple[int, int | None]:
    """Take seed and replicates out of a written counterexample."""
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
            raise InvalidArgument(f"counterexample.{name}", value, rule, "take it from a report")
        recorded[name] = value
    return recorded["seed"], recorded.get("replicates")


def disagreement(record: Recorded, report: Report) -> str:
    """Evaluate a record of a report again, and say what differs; empty if nothing does.

    A counterexample must break its line with the recorded sides. Of another verdict the instance at which it is
    tightest is evaluated, which must not break it; a claim with several lines holds if these do.

    Raises
    ------
    InvalidArgument
        If the claim is unknown, or the instance is none of it.
    """
    claim, _, line = record.claim.partition("#")
    if record.counterexample is not None:
        again = replay(claim, record.counterexample)
        if again.verdict != record.verdict:
            return f"recorded as {record.verdict}, is {again.verdict}: {again.reason}"
        for name in ("measured", "bound"):
            if not is_close(getattr(record, name), getattr(again, name)):
                return f"{name} is recorded as {getattr(record, name)!r}, and is {getattr(again, name)!r}"
        return ""
    if record.verdict in FALSE:
        return f"recorded as {record.verdict} without a counterexample"
    lines = [one for one in report.claims if one.claim.startswith(f"{record.claim}#")]
    if lines:
        false = next((one.claim for one in lines if one.verdict in FALSE), "")
        return f"recorded as {record.verdict}, and {false} as false" if false else ""
    instance = (record.tightness or {}).get("all", {}).get("instance")
    if instance is None or find_claim(claim).statements[0].random:
        return ""
    again = replay(claim, {**instance, **({"line": line} if line else {})})
    return f"recorded as {record.verdict}, and {again.reason}" if again.verdict in FALSE else ""


def is_close(recorded: Any, computed: float | None) -> bool:
    """Return whether a recorded number is the computed one, up to what another processor's rounding changes."""
    if computed is None or not math.isfinite(computed):
        return recorded is None
    is_number = isinstance(recorded, int | float) and not isinstance(recorded, bool)
    return is_number and math.isclose(recorded, computed, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


@contextmanager
def recorded_claims(report: Report) -> Iterator[None]:
    """State the claims of the files that a report holds; the files are executed, and need not exist any more."""
    with tempfile.TemporaryDirectory() as folder:
        before = dict(REGISTRY)
        for name in [each for each, claim in before.items() if source_of(claim.module) is not None]:
            del REGISTRY[name]  # of files that were loaded; those of the report take their place
        for number, (name, source) in enumerate(report.sources.items()):
            path = Path(folder, str(number), Path(name).name)
            path.parent.mkdir()
            path.write_text(source["text"])
            load_claims(path)
        try:
            yield
        finally:
            REGISTRY.clear()
            REGISTRY.update(before)
