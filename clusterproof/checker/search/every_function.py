"""Search for worst cases, counterexamples and an admissible function of a statement about all functions of a class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from clusterproof.checker.claims.class_members import Known
from clusterproof.checker.claims.class_ranges import OfClass, class_of, noun_in
from clusterproof.checker.claims.ranges import Integers
from clusterproof.checker.claims.space import Space
from clusterproof.checker.kernel import Refused, Statement
from clusterproof.checker.kernel.claim_words import Excluded
from clusterproof.checker.kernel.definitions import WORDS
from clusterproof.checker.kernel.ranges import Instance
from clusterproof.checker.kernel.vocabulary import EXACT, Sides
from clusterproof.checker.search.broken_potential import BrokenPotential, broken_potential
from clusterproof.checker.search.families import NotShown, family_of
from clusterproof.checker.search.instances import few_rounds, stream_of
from clusterproof.checker.search.paths import paths_of
from clusterproof.checker.search.state import Tried
from clusterproof.checker.search.worst_functions import AtSetting, WorstCase, at_setting, worst_functions

SETTINGS = 64
"""Number of settings (values of all quantities except the function) up to which all of them are tried.

If there are more settings, the search tries up to ``DRAWN`` corners and the same number of random settings.
"""
DRAWN = 12
ROUNDS, WITH_POTENTIAL, FUNCTIONS = 4, 3, 5
"""Check of potentials: number of rounds, settings for each number of rounds, and random functions per setting."""
WITNESSES = 50
"""Largest number of random functions to try until one meets the hypotheses."""


def _at_most_and_bound(measured: Any, *allowed: Any, words: Any = None, **terms: Any) -> Sides:
    line, bound = EXACT.at_most(measured, *allowed, **terms), EXACT.at_most(0, *allowed, **terms)
    return Sides((*line.slacks, *bound.slacks))


def _at_least_and_bound(measured: Any, *allowed: Any, words: Any = None, **terms: Any) -> Sides:
    line, bound = EXACT.at_least(measured, *allowed, **terms), EXACT.at_least(measured, 0)
    return Sides((*line.slacks, *bound.slacks))


BOUNDED = {**WORDS, "at_most": _at_most_and_bound, "at_least": _at_least_and_bound}
"""Functions that a claim's text calls when the kernel evaluates it on symbols. A comparison also returns the bound."""


def decide(tried: Tried) -> Mapping[str, WorstCase]:
    """Return the worst case of each line; also evaluate functions that break a line, and one admissible function.

    If the statement cannot be evaluated on symbols, the result has one entry, under the empty name, with the reason.
    """
    space = tried.space
    name = class_of(space)
    assert name is not None
    settings, complete = _settings(tried, name)
    families = {} if complete else _families(tried, settings, name)
    if families and all(each.family for each in families.values()):
        return families
    why = next((each.not_shown for each in families.values() if each.not_shown), "")
    found: dict[str, list[AtSetting]] = {}
    try:
        statement = tried.frozen.statement(tried.statement.name, BOUNDED)
        for setting in settings:
            paths = paths_of(statement, setting, bounds=True)
            for line in dict.fromkeys(line for path in paths for line in path):
                if line in tried.lines and tried.lines[line].found:
                    continue
                entries = [path[line] for path in paths if line in path]
                at = at_setting(setting, entries)
                found.setdefault(line, []).append(at)
                if at.exceeded is not None:
                    for code in worst_functions(entries):
                        if line in (tried.evaluate(_with(space, setting, name, Known(code))) or ()):
                            break
                elif at.proofs is not None:
                    _evaluate_witness(tried, setting, name, line)
    except (Refused, TypeError) as refused:  # on a drawn function a wrong call is an error with its line
        return {"": WorstCase(refused=str(refused), not_shown=why)}
    return {line: WorstCase(tuple(several), complete, not_shown=why) for line, several in found.items()}


def _families(tried: Tried, settings: Sequence[Instance], name: str) -> dict[str, WorstCase]:
    """Search for multipliers of every line that are quotients of the quantities; return reasons for missing ones."""
    try:
        statement = tried.frozen.statement(tried.statement.name)
    except Refused:
        return {}
    found: dict[str, WorstCase] = {}
    for line in statement.lines:
        if line in tried.lines and tried.lines[line].found:
            return {}
        try:
            data = family_of(statement, line, tried.statement.multipliers)
        except NotShown as why:
            tried.broken_potential = _broken_potential(tried, statement, settings, name)
            return {line: WorstCase(not_shown=str(why))}
        witness = _witness(tried, settings, name, line)
        if witness is None:
            return {
                line: WorstCase(not_shown=f"no {noun_in(tried.space)} was found that meets the hypotheses")
            }
        found[line] = WorstCase(family={**data, "witness": tried.space.for_kernel(witness)})
    return found


def _broken_potential(
    tried: Tried, statement: Statement, settings: Sequence[Instance], name: str
) -> BrokenPotential | None:
    """Search for a function that breaks the potential after a few rounds; return None if the text has no loop."""
    if "iterate" not in (tried.frozen.text or ""):
        return None
    few = [
        each
        for more in range(ROUNDS)
        for each in islice(_least_integers(tried.space, settings, name, more), WITH_POTENTIAL)
    ]
    drawn = [
        [each[name] for number in range(FUNCTIONS) for each in _drawn(tried, setting, name, number)]
        for setting in few
    ]
    return broken_potential(statement, tried.space, few, drawn)


def _witness(tried: Tried, settings: Sequence[Instance], name: str, line: str) -> Instance | None:
    """Draw an instance with few rounds that meets the hypotheses of a line; return None if no draw meets them."""
    few = list(_least_integers(tried.space, settings, name))
    for number in range(WITNESSES):
        for setting in few:
            for instance in _drawn(tried, setting, name, number):
                tried.evaluate(instance)
                evaluation = tried.evaluation(instance)
                if evaluation is not None and not isinstance(evaluation.lines.get(line), Excluded):
                    return instance
    return None


def _least_integers(
    space: Space, settings: Sequence[Instance], name: str, more: int = 0
) -> Iterator[Instance]:
    """Yield settings in which each integer is the smallest of its range plus ``more``, unless it leaves the range."""
    for setting in settings:
        least: dict[str, Any] = {}
        for other, allowed in space.ranges.items():
            if other == name:
                continue
            value = allowed.tried_ends(least)[0] + more if isinstance(allowed, Integers) else setting[other]
            if not allowed.holds(value, least):
                break
            least[other] = value
        else:
            yield least


def _with(space: Space, setting: Instance, name: str, value: object) -> dict[str, object]:
    return {each: value if each == name else setting[each] for each in space.ranges}


def _evaluate_witness(tried: Tried, setting: Instance, name: str, line: str) -> None:
    """Evaluate random functions until one meets the hypotheses of a line."""
    for number in range(WITNESSES):
        for instance in _drawn(tried, setting, name, number):
            if line in tried.lines and tried.lines[line].instances:
                return
            tried.evaluate(instance)


def _drawn(tried: Tried, setting: Instance, name: str, number: int) -> Iterator[dict[str, object]]:
    """Yield two instances with a random function: with a random starting point, and starting at the solution."""
    allowed = tried.space.ranges[name]
    assert isinstance(allowed, OfClass)
    with suppress(Refused):
        drawn = allowed.draw(setting, stream_of(tried, "witness", number))
        for value in () if drawn is None else (drawn, drawn.at_rest()):
            yield _with(tried.space, setting, name, value)


def _settings(tried: Tried, name: str) -> tuple[Sequence[Instance], bool]:
    """Return the settings to try, and whether they are all settings of the claim."""
    space = tried.space
    ranges = {other: allowed for other, allowed in space.ranges.items() if other != name}
    others = Space(ranges, space.records, space.stream, space.replicates)
    if (listed := others.instances(SETTINGS)) is not None:
        return listed, others.complete
    chosen = {others.key(instance): instance for instance in islice(others.corners(), DRAWN)}
    for number in range(4 * DRAWN):
        drawn = others.draw(stream_of(tried, "setting", number), 1)
        if drawn is not None and len(chosen) < 2 * DRAWN:
            chosen[others.key(drawn)] = drawn
    few = (few_rounds(others, setting) for setting in chosen.values())
    return list({others.key(each): each for each in few if others.holds(each)}.values()), False
