"""Sentences about instances and verdicts, made from what a statement says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from clusterproof.theory.statement.frequency import Frequency
from clusterproof.theory.statement.judging import Judgement
from clusterproof.theory.statement.trial import Evaluation, Trial

LONG = 40
"""Longest text of a quantity that a sentence spells out."""


def broken(trial: Trial, evaluation: Evaluation) -> str:
    """Say by which instance a statement is refuted, with the two sides and the summands."""
    name = evaluation.broken or ""
    conclusion, judged = evaluation.conclusions[name], evaluation.judged[name]
    own = spelled(conclusion.words)
    if own:
        return own
    numbers = trial.statement.space.encode(evaluation.instance)
    at = ", ".join(f"{key} = {short(value)}" for key, value in numbers.items())
    what = ": ".join(part for part in (trial.statement.name, name) if part)
    if judged.interval is not None:
        bound = "not" if isinstance(conclusion, Frequency) and conclusion.exactly else "more than"
        sides = (
            f"{judged.failures} of {judged.trials} repetitions, {bound} the probability {judged.allowed:.4g} "
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
    return text + (f" at entry {judged.place}" if judged.place else "")


def holds(trials: Iterable[Trial]) -> str:
    """Say on what a statement that was not refuted was tried."""
    parts = []
    for trial in trials:
        name = f"{trial.statement.name}: " if trial.statement.name else ""
        parts.append(name + _tried(trial))
    return "; ".join(parts)


def _tried(trial: Trial) -> str:
    if trial.proved:
        return (
            "proved on symbols, for every instance of the ranges" if trial.symbolic else "every case, exactly"
        )
    if not trial.instances:
        return "no instance met its hypotheses, so that it was not tried"
    count = f"{trial.instances} {plural('instance', trial.instances)}"
    if trial.exhausted:
        count = f"all {count}" if trial.complete else f"all {count} of the grid"
    text = f"holds on {count}"
    if trial.trials:
        text += f"; {trial.failures} of {trial.trials} repetitions break it, which its probability allows"
    if trial.unproved:
        text += f"; no proof: {trial.unproved}"
    return text


def none_admissible(trials: Iterable[Trial], names: list[str]) -> str:
    """Say that no instance meets the hypotheses, and which of them exclude each other."""
    total = sum(sum(trial.rejected.values()) for trial in trials)
    listed = all(trial.exhausted for trial in trials)
    tried = f"of all {total} instances" if listed else f"of {total} instances that were drawn"
    why = " and ".join(f'"{name}"' for name in names)
    verb = "exclude each other" if len(names) > 1 else "excludes the whole range"
    return (
        f"none {tried} meets the hypotheses: {why} {verb}" if names else f"none {tried} meets the hypotheses"
    )


def short(value: Any) -> str:
    """Write a quantity, or what kind of thing it is where that is long."""
    text = str(value)
    if len(text) <= LONG:
        return text
    if isinstance(value, dict) and "task" in value:
        return f"a {value['task']} task"
    return text[: LONG - 3] + "..."


def spelled(words: str | Callable[[], str]) -> str:
    """Evaluate words that are made only when they are needed."""
    return words if isinstance(words, str) else words()


def plural(noun: str, count: int) -> str:
    """Give the noun's form for a count."""
    return noun if count == 1 else f"{noun}s"
