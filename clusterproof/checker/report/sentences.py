"""Sentences of a report about instances and verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterproof.checker.claims.class_ranges import OfClass, noun_in
from clusterproof.checker.claims.expectation import ASYMPTOTIC, Expectation
from clusterproof.checker.claims.frequency import Frequency
from clusterproof.checker.claims.judge import Judgement
from clusterproof.checker.claims.ranges import Integers
from clusterproof.checker.claims.rounding import as_float
from clusterproof.checker.claims.sides import Sides
from clusterproof.checker.claims.space import Space, written
from clusterproof.checker.claims.statement import Statement, quantities
from clusterproof.checker.kernel.worlds import ANY, Point
from clusterproof.common.limits import SPENT

ROUNDING = 1e-8
"""Relative violation of a bound by a solver that rounding errors can explain."""
TIME = ("round", "rounds", "iteration", "iterations", "t", "T")
"""Names of quantities that count rounds. A search can try only finitely many values of them."""

if TYPE_CHECKING:
    from clusterproof.checker.search.evaluator import Evaluation
    from clusterproof.checker.search.findings import Findings
    from clusterproof.checker.search.state import Tried
    from clusterproof.checker.search.worst_functions import WorstCase


def broken(statement: Statement, evaluation: Evaluation, name: str) -> str:
    """Describe an instance that breaks a line, with the two sides and the summands of the bound."""
    line, judged = evaluation.lines[name], evaluation.judged[name]
    if words := getattr(line, "words", ""):
        said = words if isinstance(words, str) else str(words())
        return said.encode(errors="backslashreplace").decode()  # half of a surrogate pair becomes an escape
    at = quantities(statement.space, evaluation.instance)
    what = ": ".join(part for part in (statement.name, name) if part)
    if isinstance(line, Expectation):
        rule = {"at_most": ">", "at_least": "<", "equal": "and not"}[line.sense]
        digits = digits_apart(judged.measured, judged.allowed)
        sides = (
            f"{estimate(line, judged, f'{len(line.samples)} replicates')} {rule} "
            f"{judged.allowed:.{digits}g}{_entry(judged)}{asymptotic(line, judged)}"
        )
    elif judged.interval is not None:
        exactly = isinstance(line, Frequency) and line.exactly
        rule = "and its probability is not" if exactly else "more than its probability of"
        ends = judged.interval.lower, judged.interval.upper
        digits = max(digits_apart(end, judged.allowed, 4) for end in ends)
        sides = (
            f"{_observed(line, judged.failures, judged.trials)}, {rule} {judged.allowed:.{digits}g} "
            f"(interval {judged.interval.lower:.{digits}g} to {judged.interval.upper:.{digits}g})"
        )
    else:
        assert isinstance(line, Sides)
        sign = "!=" if line.identity else "<" if line.lower else ">"
        if line.identity and judged.basis != "intervals":
            sides = _unequal(line, judged)
        elif judged.basis:
            sides = (
                judged.written + _entry(judged) if judged.written else comparison(judged, sign)
            ) + judged.gap
        else:
            sides = _beyond_floats(line, judged, sign) or comparison(judged, sign) + _exact_excess(
                line, judged
            )
    return (f"{what}, " if what else "") + (f"at {at}: {sides}" if at else sides)


def _unequal(line: Sides, judged: Judgement) -> str:
    """Describe the equation with the largest error: its sides, or their difference if they are arrays or too close."""
    pair = line.pairs[judged.place[0] if judged.place else 0]
    if not any(isinstance(side, Point) or np.ndim(side) for side in pair):
        left, right = map(as_float, pair)
        if left != right and math.isfinite(left) and math.isfinite(right):
            digits = digits_apart(left, right)
            return f"{left:.{digits}g} != {right:.{digits}g}{_entry(judged)}"
    rounding = f", more than rounding explains ({judged.allowed:.2g})" if judged.allowed else ""
    return f"the two sides differ by {judged.measured:.5g}{_entry(judged)}{rounding}"


def comparison(judged: Judgement, sign: str) -> str:
    """Describe a comparison: the two sides, the summands if there are several, and the index of the entry."""
    digits = digits_apart(judged.measured, judged.allowed)
    text = f"{judged.measured:.{digits}g} {sign} {judged.allowed:.{digits}g}"
    if judged.infinite:
        text = "both sides are infinite"
    elif math.isnan(judged.measured):
        text = f"the side that is to be {'at least' if sign == '<' else 'at most'} {judged.allowed:.5g} is not a number"
    if len(judged.terms) > 1:
        text += " = " + " + ".join(f"{name} {value:.5g}" for name, value in judged.terms.items())
    wraps = ", in NumPy's integers, which wrap around: write int(...) before the arithmetic"
    return text + _entry(judged) + wraps * judged.wraps


def digits_apart(first: float, second: float, least: int = 5) -> int:
    """Return the number of significant digits, at least ``least``, that distinguishes two numbers."""
    if first == second:
        return least
    return next((n for n in range(least, 17) if f"{first:.{n}g}" != f"{second:.{n}g}"), 17)


def _beyond_floats(sides: Sides, judged: Judgement, sign: str) -> str:
    """Describe two exact sides if one of them is larger than any float; otherwise return an empty string."""
    if not judged.exact or judged.basis or (math.isfinite(judged.measured) and math.isfinite(judged.allowed)):
        return ""
    import mpmath

    both = np.broadcast_arrays(*(np.asarray(side, dtype=object) for side in (sides.measured, sides.allowed)))
    measured, allowed = (side[judged.place] for side in both)
    written = [mpmath.nstr(mpmath.mpmathify(number), 5) for number in (measured, allowed)]
    gap = (
        f", by {mpmath.nstr(mpmath.mpmathify(abs(measured - allowed)), 2)}"
        if written[0] == written[1]
        else ""
    )
    return f" {sign} ".join(written) + _entry(judged) + gap


def _exact_excess(sides: Sides, judged: Judgement) -> str:
    """Describe the difference between two exact sides if both round to the same float; otherwise return ``""``."""
    if judged.measured != judged.allowed or not judged.exact or judged.basis:
        return ""
    gaps = np.asarray(np.asarray(sides.measured, dtype=object) - np.asarray(sides.allowed, dtype=object))
    return f", by {abs(as_float(gaps[judged.place] if judged.place else gaps.item())):.2g}"


def estimate(line: Expectation, judged: Judgement, replicates: str) -> str:
    """Describe an estimated expectation, its interval (or why there is none), and the number of replicates."""
    digits = digits_apart(judged.measured, judged.allowed)
    if judged.interval is not None:
        ends = judged.interval.lower, judged.interval.upper
        digits = max(digits, *(digits_apart(end, judged.allowed) for end in ends))
        how = "interval {:.{digits}g} to {:.{digits}g}, {}".format(*ends, replicates, digits=digits)
    elif line.finite[judged.place]:
        how = f"no interval, {replicates}"
    else:
        wrong = int((~np.isfinite(np.moveaxis(line.samples, 0, -1)[judged.place])).sum())
        how = f"{wrong} not finite among {replicates}"
    return f"expectation {judged.measured:.{digits}g} ({how})"


def asymptotic(line: Expectation, judged: Judgement) -> str:
    """Return a note if an asymptotic interval refuted an expectation; otherwise an empty string."""
    return "" if line.exact or judged.interval is None else f", {ASYMPTOTIC}"


def _observed(line: Any, count: int | None, trials: int | None) -> str:
    """Describe how often an event occurred, or how often a bound with a failure probability was broken."""
    if isinstance(line, Frequency):
        return f"the event occurred in {count} of {trials} replicates"
    return f"{count} of {trials} replicates break it"


def _entry(judged: Judgement) -> str:
    """Return the index of the deciding entry as text, or an empty string if the sides are numbers."""
    return f" at entry {', '.join(map(str, judged.place))}" if judged.place else ""


def holds(tried: Tried, findings: Findings, name: str, proof: str | None) -> str:
    """Describe the instances at which a line was tried and not refuted, and the part of the line that was proved."""
    coverage, complete = tried.coverage, tried.coverage.exhausted and tried.space.complete
    count = whole = plural("instance", findings.instances)
    if complete:
        count = whole = f"all {count}" if findings.instances > 1 else "its only instance"
    elif coverage.exhausted and coverage.listed:
        others = findings.instances - coverage.listed
        count = f"all {plural('instance', coverage.listed)} of the grid" + (
            f" and {others} others" if others > 0 else ""
        )
    if unclear := sum(name in (lines or ()) for lines in tried.seen.values()) * (proof is None):
        # floats break the line at the other instances
        count = f"{findings.instances - unclear or 'none'} of {whole}"
    text = f"holds at {count} over the real numbers" if findings.all_hold else f"holds on {count}"
    if coverage.looked_at > findings.instances:
        text = (
            f"not refuted: the {findings.instances} most suspicious of {coverage.looked_at} instances were repeated"
            " in full, and none breaks the bound"
        )
    if proof == "exhausted":
        text += ", in exact arithmetic"
    elif proof == "signs":
        text = f"proved symbolically for every instance in the ranges; {text}"
    elif proof == "induction":
        how = "by invariants of loops or stated facts about values"
        text = f"proved symbolically, {how}, for every instance of the ranges; {text}"
    elif proof == "squares":
        text = f"proved by sums of squares for every instance of the ranges that meets the hypotheses; {text}"
    text += "".join(f", for {words}" for words in _cut_off(tried))
    if coverage.reached and proof is None:
        text += f", and beyond the values that are usually drawn: {_beyond(coverage.reached)}"
    if findings.rounded:
        text += f", at {findings.rounded} of these up to rounding of floats, 1e-9 of the larger side"
    if findings.corrected and not findings.all_hold:
        text += f", at {findings.corrected} of these over the real numbers, not in floats"
    if findings.infinite:
        text += f"; at {findings.infinite} others both sides are infinite"
    if excluded := findings.excluded.total():
        text += f"; {excluded} others do not meet " + " or ".join(f'"{each}"' for each in findings.excluded)
    if findings.trials:
        text += _replicates(findings, name)
    if findings.inconclusive:
        total = findings.inconclusive.total()
        why = next(iter(findings.inconclusive))
        text += "; " + (f"at {total} of these " if total < findings.instances else "") + why
    if coverage.why_stopped == SPENT:
        text += f"; {stopped(tried)}"
    # if instances are not repeated, the text already names how far they lie beyond the ranges
    if coverage.given_up and tried.statement.repeated:
        text += f"; {plural('instance', coverage.given_up)} beyond the ranges took too much work"
    return text


def of_worst(worst: WorstCase, space: Space, *, proved: bool, refused: str = "") -> str:
    """Describe the worst cases over a class, and state whether the kernel accepts their multipliers.

    Parameters
    ----------
    worst, space
        The worst cases, and the quantities.
    proved
        Whether the kernel accepts the multipliers.
    refused
        The reason why the kernel does not accept the multipliers.
    """
    noun = noun_in(space)
    others = [
        f"{written(name)} from {allowed.low} on"
        if isinstance(allowed, Integers) and allowed.high is None and type(allowed.low) is int
        else f"{written(name)} in {allowed.low}..{allowed.high}"
        if isinstance(allowed, Integers) and type(allowed.low) is type(allowed.high) is int
        else written(name)
        for name, allowed in space.ranges.items()
        if not isinstance(allowed, OfClass)
    ]
    settings = len(worst.at)
    groups = [group for each in space.ranges.values() if isinstance(each, OfClass) for group in each.groups]
    is_any = any(count == ANY for count, *_ in groups)
    if proved and worst.family:
        names = [written(n) for n, allowed in space.ranges.items() if not isinstance(allowed, OfClass)]
        where = "their ranges" if len(names) > 1 else "its range"
        return (
            f"proved for every {noun} of the class{', any number of functions' if is_any else ''} and every value of"
            f" {', '.join(names)} in {where} (exact multipliers, quotients of these)"
        )
    if proved:
        where = f" at {plural('setting', settings)} of {', '.join(others)}" if others else ""
        whom = f"every {noun} of the class" + (" and any number of functions" if is_any else "")
        parts = [f"proved for {whom}{where} (exact multipliers)"]
    elif worst.family:
        parts = [f"multipliers were found for every value, but the kernel does not accept them: {refused}"]
    else:
        above = " by more than 1e-6 of it" if worst.ratio is not None and worst.ratio > 1 else ""
        which = plural("other setting" if worst.exceeding else "setting", settings - worst.exceeding)
        tried = f" at the {which} of {', '.join(others)} that were tried" if others else ""
        parts = [f"a solver finds no {noun} of the class above the bound{above}{tried}"]
        if worst.exceeding == settings:  # the reason for the doubt says so
            parts = []
        if worst.certified:
            parts.append(
                "exact multipliers prove the bound" + (f" at {worst.certified} of them" if others else "")
            )
        if worst.raised:
            parts.append(
                "exact multipliers prove 1 + 1e-6 times it" + (f" at {worst.raised}" if others else "")
            )
        if others and not worst.complete:
            parts.append(
                "these are not all: a range of few values, such as choice(Fraction(1, 2), 1), can be certified"
            )
        if worst.not_shown:
            parts.append(f"there is no proof of every value: {worst.not_shown}")
    if worst.ratio is not None and not worst.exceeding:
        largest = "worst case" if worst.complete else "largest found"
        attained = abs(worst.ratio - 1) <= ROUNDING
        parts.append(
            f"the {largest} attains the bound"
            if attained
            else f"the {largest} is {worst.ratio:.7g} of the bound"
        )
    return "; ".join(parts)


def doubts_of_worst(worst: WorstCase, noun: str, instances: int) -> list[str]:
    """Return the reasons why the worst cases over a class do not decide a line, or an empty list if they do."""
    if worst.refused:
        every_value = f"; there is no proof of every value: {worst.not_shown}" if worst.not_shown else ""
        return [f"drawn {noun}s only: {worst.refused}{every_value}"]
    if worst.certified and not instances:
        return [
            f"no {noun} was found that meets the hypotheses: multipliers would prove the bound of nothing"
        ]
    if worst.exceeded is not None:
        where = f" at {worst.exceeding} of {len(worst.at)} settings" if len(worst.at) > 1 else ""
        by = f"by {worst.exceeded:.2g} at a scale of 1{where}"
        return [f"a solver exceeds the bound {by}, and no {noun} in fractions was found that does"]
    above = 0.0 if worst.ratio is None else worst.ratio - 1
    if above > ROUNDING and worst.certified < len(worst.at):
        return [f"a solver exceeds the bound by {above:.2g} of it, which is less than it decides"]
    return []


def _cut_off(tried: Tried) -> list[str]:
    """Return the upper ends of ranges for numbers of rounds, such as ``rounds <= 200``."""
    return [
        f"{written(name)} <= {allowed.high}"
        for name, allowed in tried.space.ranges.items()
        if written(name) in TIME and isinstance(allowed, Integers) and type(allowed.high) is int
    ]


def _replicates(findings: Findings, name: str) -> str:
    """Describe in how many replicates a statement with a failure probability was false."""
    line = findings.tightest.lines[name] if findings.tightest is not None else None
    level = f" {next(iter(findings.levels)):.3g}" if len(findings.levels) == 1 else ""
    text = f"; {_observed(line, findings.failures, findings.trials)}, "
    if findings.unlikely is not None:
        how = f"more than its probability{level} allows over all instances ({findings.unlikely:.2g})"
        return f"{text}{how}: give more replicates"
    exactly = isinstance(line, Frequency) and line.exactly
    return text + (
        f"which its probability{level} allows" if exactly else f"no more than its probability{level} allows"
    )


def _beyond(reached: Mapping[str, int]) -> str:
    """Describe how far beyond the first search range each unbounded quantity was tried."""
    parts = []
    for multiple in sorted(set(reached.values())):
        names = ", ".join(name for name in reached if reached[name] == multiple)
        parts.append(f"up to {multiple} times the largest for {names}")
    return ", ".join(parts)


def none_admissible(tried: Tried, findings: Findings, names: list[str], *, proved: bool) -> str:
    """State that no instance meets the hypotheses, which hypotheses contradict each other, and whether it is proved."""
    if (words := stopped(tried)) and not proved:
        return f"{words}; no instance was evaluated before"
    if tried.instances:
        return "no instance meets " + " and ".join(f'"{name}"' for name in findings.excluded)
    total = sum(tried.rejected.values())
    listed = tried.coverage.exhausted and tried.space.complete
    which = f"the {total} instances" if listed else f"{total} instances that were tried"
    reason = f"none of {which} meets the hypotheses"
    if names:
        verb = (
            "exclude each other"
            if listed and len(names) > 1
            else f"exclude{'s'[len(names) > 1 :]} all of them"
        )
        reason += ": " + " and ".join(f'"{name}"' for name in names) + f" {verb}"
    if proved:
        reason += "; proved symbolically that no instance in the ranges does"
    elif not listed:
        reason += "; not all were tried: if a hypothesis is an equation, define one quantity by the others"
    return reason


def stopped(tried: Tried) -> str:
    """Describe at which instance and why the search was stopped, or return an empty string if it was not stopped."""
    if not tried.coverage.stopped:
        return ""
    first = tried.coverage.stopped[0]
    at = quantities(tried.space, first) if first else "its first instance"
    return f"stopped at {at}: {tried.coverage.why_stopped}"


def plural(noun: str, count: int) -> str:
    """Return a number followed by a noun in the singular or plural."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
