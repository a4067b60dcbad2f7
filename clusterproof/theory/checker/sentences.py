"""Sentences about instances and verdicts, made from what a statement says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from clusterproof.theory.checker.conclusions import Conclusion, Judgement
from clusterproof.theory.checker.evaluation import Evaluation, Trial
from clusterproof.theory.checker.expectation import ASYMPTOTIC, Expectation
from clusterproof.theory.checker.frequency import Frequency
from clusterproof.theory.checker.instance_words import quantities
from clusterproof.theory.checker.rounding import FLOOR, as_float
from clusterproof.theory.checker.sides import Sides

if TYPE_CHECKING:
    from clusterproof.theory.checker.deciding import Certainty


def broken(trial: Trial, evaluation: Evaluation) -> str:
    """Say by which instance a statement is refuted, with the two sides and the summands."""
    name = evaluation.broken or ""
    conclusion, judged = evaluation.conclusions[name], evaluation.judged[name]
    if words := conclusion.words:
        return words if isinstance(words, str) else words()
    numbers = trial.statement.space.encode(evaluation.instance)
    at = quantities(numbers)
    what = ": ".join(part for part in (trial.statement.name, name) if part)
    if isinstance(conclusion, Expectation):
        rule = {"at_most": ">", "at_least": "<", "equal": "and not"}[conclusion.sense]
        digits = digits_apart(judged.measured, judged.allowed)
        sides = (
            f"{estimate(conclusion, judged, f'{len(conclusion.samples)} replicates')} {rule} "
            f"{judged.allowed:.{digits}g}{_entry(judged)}{asymptotic(conclusion, judged)}"
        )
    elif judged.interval is not None:
        exactly = isinstance(conclusion, Frequency) and conclusion.exactly
        rule = "and its probability is not" if exactly else "more than its probability of"
        ends = judged.interval.lower, judged.interval.upper
        digits = max(digits_apart(end, judged.allowed, 4) for end in ends)
        sides = (
            f"{_observed(conclusion, judged.failures, judged.trials)}, {rule} {judged.allowed:.{digits}g} "
            f"(interval {judged.interval.lower:.{digits}g} to {judged.interval.upper:.{digits}g})"
        )
    else:
        assert isinstance(conclusion, Sides)
        sides = comparison(judged, "<" if conclusion.lower else ">") + _exact_excess(conclusion, judged)
    return (f"{what}, " if what else "") + (f"at {at}: {sides}" if at else sides)


def comparison(judged: Judgement, sign: str) -> str:
    """Write the two sides, the summands where there are several, and which entry it is."""
    digits = digits_apart(judged.measured, judged.allowed)
    text = f"{judged.measured:.{digits}g} {sign} {judged.allowed:.{digits}g}"
    if math.isnan(judged.measured):
        text = f"the side that is to be {'at least' if sign == '<' else 'at most'} {judged.allowed:.5g} is not a number"
    if len(judged.parts) > 1:
        text += " = " + " + ".join(f"{name} {value:.5g}" for name, value in judged.parts.items())
    return text + _entry(judged)


def digits_apart(first: float, second: float, least: int = 5) -> int:
    """Fewest significant digits, ``least`` or more, that write two numbers differently; ``least`` for equal ones."""
    if first == second:
        return least
    return next((n for n in range(least, 17) if f"{first:.{n}g}" != f"{second:.{n}g}"), 17)


def _exact_excess(sides: Sides, judged: Judgement) -> str:
    """Write the difference of exact sides that are the same floating number."""
    if judged.measured != judged.allowed or not judged.exact:
        return ""
    gaps = np.asarray(np.asarray(sides.measured, dtype=object) - np.asarray(sides.allowed, dtype=object))
    return f", by {abs(as_float(gaps[judged.place] if judged.place else gaps.item())):.2g}"


def estimate(one: Expectation, judged: Judgement, replicates: str) -> str:
    """Write an estimated expectation, its interval or why there is none, and the number of replicates."""
    digits = digits_apart(judged.measured, judged.allowed)
    if judged.interval is not None:
        ends = judged.interval.lower, judged.interval.upper
        digits = max(digits, *(digits_apart(end, judged.allowed) for end in ends))
        how = "interval {:.{digits}g} to {:.{digits}g}, {}".format(*ends, replicates, digits=digits)
    elif one.finite[judged.place]:
        how = f"no interval, {replicates}"
    else:
        wrong = int((~np.isfinite(np.moveaxis(one.samples, 0, -1)[judged.place])).sum())
        how = f"{wrong} not finite among {replicates}"
    return f"expectation {judged.measured:.{digits}g} ({how})"


def asymptotic(one: Expectation, judged: Judgement) -> str:
    """Say what a violation rests on, where its interval is asymptotic."""
    return "" if one.exact or judged.interval is None else f", {ASYMPTOTIC}"


def _observed(conclusion: Conclusion | None, count: int | None, trials: int | None) -> str:
    """Say how often an event occurred, or a bound was broken that holds with a probability."""
    if isinstance(conclusion, Frequency):
        return f"the event occurred in {count} of {trials} repetitions"
    return f"{count} of {trials} repetitions break it"


def _entry(judged: Judgement) -> str:
    """Name the entry that decides, if the sides are arrays."""
    return f" at entry {', '.join(map(str, judged.place))}" if judged.place else ""


def holds(trials: Iterable[Trial], certainty: Certainty) -> str:
    """State on what a statement that was not refuted was tried, and what was proved of it."""
    parts = []
    for trial in trials:
        name = f"{trial.statement.name}: " if trial.statement.name else ""
        if trial.statement.whole:
            parts.append(_separate(trial, certainty))
        else:
            parts.append(name + _tried(trial))
    return "; ".join(parts)


def _separate(trial: Trial, certainty: Certainty) -> str:
    """State what a proof by a separate function is worth."""
    name = trial.statement.name
    if not trial.proved:
        return f"{name}: no proof: {trial.unproved}"
    if certainty.proof == "separate":
        return (
            f"{name}: proved symbolically by a separate function, which agrees with the statement at "
            f"{certainty.compared} {plural('instance', certainty.compared)}"
        )
    why = certainty.refused.get(name, "")
    return f"{name}: this step is proved symbolically" + (f", the statement is not: {why}" if why else "")


def _tried(trial: Trial) -> str:
    if trial.proved:
        way = "symbolically for every instance in the ranges" if trial.symbolic else "exactly, case by case"
        return f"proved {way}; holds on {trial.instances} {plural('instance', trial.instances)}"
    tightest = trial.tightest
    if tightest is None:
        return "no instance met its hypotheses, so that it was not tried"
    count = f"{trial.instances} {plural('instance', trial.instances)}"
    complete = trial.exhausted and trial.statement.space.complete
    if complete:
        count = f"all {count}" if trial.instances > 1 else "its only instance"
    elif trial.exhausted:
        more = f" and {trial.instances - trial.listed} others" if trial.instances > trial.listed else ""
        count = f"all {trial.listed} {plural('instance', trial.listed)} of the grid{more}"
    text = f"holds on {count}"
    if complete and trial.exact and not trial.statement.random:
        text += ", in exact arithmetic"
    if trial.reached:
        text += f", and beyond the ranges: {_beyond(trial.reached)}"
    if trial.trials:
        events = [each for each in tightest.conclusions.values() if isinstance(each, Frequency)]
        level = f" {next(iter(trial.levels)):.3g}" if len(trial.levels) == 1 else ""
        text += f"; {_observed(events[0] if events else None, trial.failures, trial.trials)}, "
        if trial.unlikely is not None:
            how = f"more than its probability{level} allows over all instances ({trial.unlikely:.2g})"
            text += f"{how}: give more replicates"
        elif any(each.exactly for each in events):
            text += f"which its probability{level} allows"
        else:
            text += f"no more than its probability{level} allows"
    inconclusive = next(
        (judged.inconclusive for judged in tightest.judged.values() if judged.inconclusive), ""
    )
    if not inconclusive and not tightest.used:
        inconclusive = next(iter(trial.inconclusive), "")
    if inconclusive:
        number = trial.inconclusive.total()
        text += "; " + (f"at {number} of these " if number < trial.instances else "") + inconclusive
    if 2 * trial.excused > trial.instances:
        text += (
            f"; at {trial.excused} of these only because less than {FLOOR:g} of the instance's numbers is rounding: "
            "give rounding="
        )
    if trial.unproved:
        text += f"; no proof: {trial.unproved}"
    return text


def _beyond(reached: Mapping[str, int]) -> str:
    """Say how many times the last number of its range each quantity has reached."""
    multiples = sorted(set(reached.values()))
    return ", ".join(
        f"up to {multiple} times the end for {', '.join(name for name in reached if reached[name] == multiple)}"
        for multiple in multiples
    )


def none_admissible(
    trials: Iterable[Trial], names: list[str], *, proved: bool = False, step_proved: bool = False
) -> str:
    """Say that no instance meets the hypotheses, which of them exclude each other, and how far this is shown.

    Where a step of the claim is proved that excludes all instances, ``step_proved``, nothing is said of untried ones.
    """
    total = sum(sum(trial.rejected.values()) for trial in trials)
    listed = all(trial.exhausted and trial.statement.space.complete for trial in trials)
    tried = f"of the {total} instances" if listed else f"of {total} instances that were tried"
    reason = f"none {tried} meets the hypotheses"
    if names:
        verb = (
            "exclude each other"
            if listed and len(names) > 1
            else f"exclude{'s'[len(names) > 1 :]} all of them"
        )
        reason += ": " + " and ".join(f'"{name}"' for name in names) + f" {verb}"
    if proved:
        reason += "; proved symbolically that no instance in the ranges does"
    elif not listed and not step_proved:
        reason += "; not all were tried: if a hypothesis is an equation, define one quantity by the others"
    return reason


def plural(noun: str, count: int) -> str:
    """Give the noun's form for a count."""
    return noun if count == 1 else f"{noun}s"
