"""Sentences about instances and verdicts, made from what a statement says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from clusterproof.theory.checker.conclusions import Judgement
from clusterproof.theory.checker.evaluation import Evaluation, Trial
from clusterproof.theory.checker.expectation import Expectation
from clusterproof.theory.checker.frequency import Frequency
from clusterproof.theory.checker.instance_words import quantities

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
    if isinstance(conclusion, Expectation) and judged.interval is not None:
        rule = {"at_most": ">", "at_least": "<", "equal": "and not"}[conclusion.sense]
        sides = (
            f"expectation {judged.measured:.5g} (interval {judged.interval.lower:.5g} to {judged.interval.upper:.5g}, "
            f"{len(conclusion.samples)} replicates) {rule} {judged.allowed:.5g}{_entry(judged)}"
        )
    elif judged.interval is not None:
        exactly = isinstance(conclusion, Frequency) and conclusion.exactly
        rule = "and its probability is not" if exactly else "more than its probability of"
        sides = (
            f"{judged.failures} of {judged.trials} repetitions break it, {rule} {judged.allowed:.4g} "
            f"(interval {judged.interval.lower:.4g} to {judged.interval.upper:.4g})"
        )
    else:
        lower = not isinstance(conclusion, Frequency) and conclusion.lower
        sides = comparison(judged, "<" if lower else ">")
    return (f"{what}, " if what else "") + (f"at {at}: {sides}" if at else sides)


def comparison(judged: Judgement, sign: str) -> str:
    """Write the two sides, the summands where there are several, and which entry it is."""
    text = f"{judged.measured:.5g} {sign} {judged.allowed:.5g}"
    if len(judged.parts) > 1:
        text += " = " + " + ".join(f"{name} {value:.5g}" for name, value in judged.parts.items())
    return text + _entry(judged)


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
    text = f"{'tried' if trial.hidden else 'holds'} on {count}"
    if complete and trial.exact and not trial.statement.random:
        text += ", in exact arithmetic"
    if trial.reached:
        text += f", and beyond the ranges: {_beyond(trial.reached)}"
    if trial.trials:
        levels = {each.allowed for each in tightest.conclusions.values() if isinstance(each, Frequency)}
        level = f" {levels.pop():.3g}" if len(levels) == 1 else ""
        text += f"; {trial.failures} of {trial.trials} repetitions break it, no more than its probability{level} allows"
    undecided = next((judged.undecided for judged in tightest.judged.values() if judged.undecided), "")
    if undecided:
        text += f"; {undecided}"
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


def none_admissible(trials: Iterable[Trial], names: list[str]) -> str:
    """Say that no instance meets the hypotheses, and which of them exclude each other."""
    total = sum(sum(trial.rejected.values()) for trial in trials)
    listed = all(trial.exhausted for trial in trials)
    tried = f"of the {total} instances" if listed else f"of {total} instances that were drawn"
    why = " and ".join(f'"{name}"' for name in names)
    verb = "exclude each other" if len(names) > 1 else "excludes all of them"
    return (
        f"none {tried} meets the hypotheses: {why} {verb}" if names else f"none {tried} meets the hypotheses"
    )


def plural(noun: str, count: int) -> str:
    """Give the noun's form for a count."""
    return noun if count == 1 else f"{noun}s"
