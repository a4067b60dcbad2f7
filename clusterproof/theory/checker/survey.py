"""How far a refuted statement is from the truth: allowed over measured at instances that break it and at others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.claim_parts import factor_names
from clusterproof.theory.checker.conclusions import WHOLE, Conclusion, Judgement
from clusterproof.theory.checker.corners import corners, spread_draws
from clusterproof.theory.checker.evaluation import Evaluation, evaluate
from clusterproof.theory.checker.expectation import Expectation
from clusterproof.theory.checker.rounding import as_float, as_floats
from clusterproof.theory.checker.search import search
from clusterproof.theory.checker.sides import Outside, Sides
from clusterproof.theory.checker.space import RESERVED
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.verdict import Finding

SURVEYED, REPEATED = 100, 5
"""Instances of a statement, and of one with replicates, that are evaluated from each source.

A statement with a smaller budget has slow instances, of which half as many are.
"""


def survey(statement: Statement, context: Context, base: Mapping[str, Any] | None) -> list[Evaluation]:
    """Evaluate instances of a statement, whether they break it or not.

    These are ``base``, the extremes, those that the ranges list or else draws, and corners.

    Parameters
    ----------
    statement
        What is evaluated.
    context
        Seed, number of replicates, and the error level of this statement.
    base
        A counterexample; None where it is one of another part.
    """
    space = statement.space
    most = min(SURVEYED if space.replicates is None else REPEATED, (statement.budget or 2 * SURVEYED) // 2)
    if space.replicates is None and context.trials is not None:
        most = min(most, context.trials)
    seen: dict[str, Evaluation | None] = {}

    def used(one: dict[str, Any]) -> tuple[bool, float] | None:
        key = space.key(one)
        if key not in seen:
            try:
                seen[key] = evaluate(statement, context, one)
            except (Outside, ArithmeticError, ValueError):  # or not defined there: other errors are faults
                seen[key] = None
        found = seen.get(key)
        return None if found is None else (False, found.used)

    def look(instances: Iterable[dict[str, Any]]) -> None:
        for one in instances:
            used(one)

    look([*([] if base is None else [dict(base)]), *statement.first])
    stream = context.generator(statement.name, "survey")
    listed = space.instances(statement.exhaustible)
    if listed is not None:
        look(listed[i] for i in sorted(stream.permutation(len(listed))[:most]))  # no stride meets every value
    elif space.searched:
        search(space, used, seed=f"{context.seed} {context.claim} survey", budget=most, climbs=False)
    else:
        look(space.draw(stream) for _ in range(most))
    worst = _worst(seen.values())
    if worst is not None and not space.sampled and space.replicates is None:
        look(corners(space, stream, worst.instance, most))
        look(spread_draws(space, stream, worst.instance, most if listed is None else 0))
    return [evaluation for evaluation in seen.values() if evaluation is not None]


def _worst(evaluations: Iterable[Evaluation | None]) -> Evaluation | None:
    return min((one for one in evaluations if one is not None), key=_least, default=None)


def _least(evaluation: Evaluation) -> float:
    return min(
        _ratio(evaluation.conclusions[name], judged).worst for name, judged in evaluation.judged.items()
    )


def with_tightness(finding: Finding, parts: Sequence[Statement], context: Context) -> Finding:
    """Add allowed over measured of each part, conclusion and term, at the worst instance and in the median.

    Parameters
    ----------
    finding
        On a claim; returned as it is where no instance decides.
    parts
        Its statements.
    context
        As for the verdict.
    """
    if finding.counterexample is None:
        return finding
    context = replace(context, significance=context.significance / len(parts))
    example = finding.counterexample
    numbers = {key: value for key, value in example.items() if key not in RESERVED}
    parts = [part for part in parts if not part.whole]
    several = sum(part.same for part in parts) > 1
    at: dict[str, list[tuple[Ratio, dict[str, Any]]]] = {}
    for part in parts:
        base = part.space.decode(numbers) if part.name == example.get("part", parts[0].name) else None
        for evaluation in survey(part, context, base):
            written = part.space.encode(evaluation.instance)
            for name, ratio in ratios(part, evaluation, several=several).items():
                at.setdefault(name, []).append((ratio, written))
    return replace(finding, tightness={name: _entry(each) for name, each in at.items()} or None)


def _entry(at: Sequence[tuple[Ratio, dict[str, Any]]]) -> dict[str, Any]:
    worst, instance = min(at, key=lambda one: one[0].worst)
    exercised = worst.worst < math.inf
    found = {"ratio": worst.worst if exercised else None, "instance": instance if exercised else None}
    if worst.broken is None:
        return found
    typical = float(np.median([ratio.typical for ratio, _ in at]))
    return found | {
        "typical": typical if typical < math.inf else None,
        "instances": len(at),
        "broken": sum(bool(ratio.broken) for ratio, _ in at),
    }


@dataclass(frozen=True)
class Ratio:
    """Allowed over measured at an instance: its least entry, the median entry, and whether it is broken.

    That is None for a term.
    """

    worst: float
    typical: float
    broken: bool | None

    def joined(self, other: Ratio) -> Ratio:
        """Combine two conclusions of a statement."""
        return Ratio(
            min(self.worst, other.worst), min(self.typical, other.typical), self.broken or other.broken
        )


def ratios(part: Statement, evaluation: Evaluation, *, several: bool) -> dict[str, Ratio]:
    """Allowed over measured at an instance, by name.

    Below 1 where it is broken. For a term of a conclusion that holds it is how many times smaller it could be. For
    equations it is 1 less the difference of the two sides relative to the larger one, and the right side over the
    left one for the median.
    """
    found: dict[str, Ratio] = {}
    for conclusion, judged in evaluation.judged.items():
        each: dict[str, Ratio] = {}
        for term, factor in judged.factors.items():
            if not judged.broken and factor is not None:
                ratio = as_float(1 / factor) if factor else math.inf
                each[term] = Ratio(ratio, ratio, None)
        each[WHOLE] = _ratio(evaluation.conclusions[conclusion], judged)
        for term, one in each.items():
            names = factor_names(part, conclusion, term, several=several)
            for name in dict.fromkeys([*names, *([WHOLE] if part.same and term == WHOLE else [])]):
                found[name] = one.joined(found[name]) if name in found else one
    return found


def _ratio(conclusion: Conclusion, judged: Judgement) -> Ratio:
    if isinstance(conclusion, Sides) and conclusion.identity:
        worst, quotients = zip(*(_compare(*pair) for pair in conclusion.pairs), strict=True)
        return Ratio(min(worst), float(np.median(quotients)), judged.broken)
    if getattr(conclusion, "exactly", getattr(conclusion, "sense", "") == "equal"):
        return Ratio(*_compare(judged.measured, judged.allowed), judged.broken)
    lower = getattr(conclusion, "lower", False)
    less, more = (judged.measured, judged.allowed) if lower else (judged.allowed, judged.measured)
    ratio = less / more if more > 0 else math.inf if less >= more else 0.0
    ratio = 0.0 if math.isnan(ratio) else ratio
    factor = None if isinstance(conclusion, Expectation) else judged.factors.get(WHOLE)
    if factor is not None and 0 < factor < math.inf:
        ratio = as_float(1 / factor)
    typical = judged.typical
    if typical is None or typical == math.inf:
        return Ratio(ratio, ratio, judged.broken)
    return Ratio(ratio, 1 / typical if typical else math.inf, judged.broken)


def _compare(left: Any, right: Any) -> tuple[float, float]:
    """1 less the largest difference relative to the largest entry; the right side over the left one where it is."""
    one, other = np.broadcast_arrays(as_floats(left), as_floats(right))
    if not one.size:
        return 1.0, 1.0
    with np.errstate(all="ignore"):
        gaps, largest = np.abs(one - other), float(np.max(np.abs([one, other])))
    first, second = (float(side.flat[np.argmax(gaps)]) for side in (one, other))
    quotient = second / first if first else 1.0 if not second else math.inf
    if not math.isfinite(largest):
        return 0.0, 1.0 if math.isnan(quotient) else quotient
    return 1 - float(gaps.max()) / largest if largest else 1.0, quotient
