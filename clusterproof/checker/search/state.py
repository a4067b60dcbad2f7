"""What was tried of one statement: its instances, and what they give for each line."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from clusterproof.checker.claims.drawing import FARTHEST
from clusterproof.checker.claims.sides import Excluded, Outside
from clusterproof.checker.claims.space import Space
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.search.evaluation import Evaluation, Evaluator
from clusterproof.checker.search.findings import Findings, needs_no_digits
from clusterproof.checker.search.floats import confirmed
from clusterproof.checker.search.worst_functions import WorstCase
from clusterproof.common import InvalidArgument
from clusterproof.common.work_limit import TooMuchWork, limited_lines

Result = TypeVar("Result")

LEAST = 30
"""Least number of instances before a violation in floats is confirmed."""
DOUBTED = 10
"""Violations in floats that more digits do not confirm, after which no other is looked at."""
LINES, MANY_LINES = 3_000_000, 200_000
"""Lines of Python of an instance beyond the ranges' ends: at the first number it is given up, and from the second on
less far ones are drawn."""


@dataclass
class Coverage:
    """How much of a space was tried.

    Attributes
    ----------
    exhausted, listed
        Whether all instances that the ranges list were evaluated, and how many of them are admissible.
    looked_at, looked_at_all
        Instances of a random statement that few repetitions looked at, of which the worst were evaluated, and whether
        these were all.
    reached
        Multiple of its end up to which each open range was tried.
    given_up
        Instances beyond the ranges' ends whose evaluation was stopped.
    farthest
        Multiple of an open end up to which values are drawn.
    """

    exhausted: bool = False
    listed: int = 0
    looked_at: int = 0
    looked_at_all: bool = False
    reached: dict[str, int] = field(default_factory=dict)
    given_up: int = 0
    farthest: float = FARTHEST


@dataclass
class Tried:
    """The instances of one statement that were evaluated.

    Attributes
    ----------
    evaluator
        Of the statement.
    lines
        What was found of each line, by name.
    instances
        Admissible instances that were evaluated.
    seen
        Lines that each instance breaks, by the text that tells instances apart; None if it breaks a hypothesis.
    outside
        Instances that break a hypothesis, with the one that they broke first.
    coverage
        How much of the space they are.
    worst
        Of a statement about functions of a class, the worst case of each line.
    """

    evaluator: Evaluator
    lines: dict[str, Findings] = field(default_factory=dict)
    instances: int = 0
    seen: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    outside: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)
    worst: Mapping[str, WorstCase] = field(default_factory=dict)

    @property
    def statement(self) -> Statement:
        """What was tried."""
        return self.evaluator.statement

    @property
    def space(self) -> Space:
        """Of the statement."""
        return self.evaluator.statement.space

    @property
    def rejected(self) -> Counter[str]:
        """Instances that break a hypothesis, counted by the one that they broke first."""
        return Counter(hypothesis for hypothesis, _ in self.outside)

    @property
    def is_open(self) -> bool:
        """Whether some line is not refuted yet, or only where an earlier one is."""
        return not self.lines or not all(each.found and each.alone for each in self.lines.values())

    def until_refuted(self, instances: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield instances until every line is refuted."""
        return itertools.takewhile(lambda _: self.is_open, instances)

    def evaluate(self, instance: dict[str, Any]) -> tuple[str, ...] | None:
        """Evaluate an instance, once, and return the lines that it breaks; None if it breaks a hypothesis."""
        key = self.space.key(instance)
        if key not in self.seen:
            self.evaluation(instance)
        return self.seen[key]

    def evaluation(self, instance: dict[str, Any]) -> Evaluation | None:
        """Evaluate an instance, and join what it gives if it is new; None if it breaks a hypothesis."""
        key, evaluation = self.space.key(instance), self.conclude(instance)
        if evaluation is not None and key not in self.seen:
            self.keep(evaluation)
        self.seen[key] = None if evaluation is None else evaluation.broken
        return evaluation

    def conclude(self, instance: dict[str, Any], evaluator: Evaluator | None = None) -> Evaluation | None:
        """Evaluate an instance without joining what it gives; None if it breaks a hypothesis, which is kept."""
        try:
            return (evaluator or self.evaluator).evaluate(instance)
        except Outside as outside:
            self.outside.append((str(outside), instance))
            return None

    def evaluate_within_limit(self, instance: dict[str, Any]) -> tuple[str, ...] | None:
        """Evaluate an instance; of values beyond the ranges' ends with limited work."""
        broken = self.within_limit(instance, lambda: self.evaluate(instance))
        if broken is not None:
            reached = self.coverage.reached
            for name, multiple in self.space.multiples(instance).items():
                reached[name] = max(reached.get(name, 0), multiple)
        return broken

    def within_limit(self, instance: dict[str, Any], evaluate: Callable[[], Result]) -> Result | None:
        """Call a function of an instance; None if values beyond the ranges' ends take too much work."""
        multiples = self.space.multiples(instance)
        if not multiples:
            return evaluate()
        coverage, beyond = self.coverage, max(2, *multiples.values())
        result, left = None, 0
        try:
            with suppress(ArithmeticError, MemoryError), limited_lines(LINES) as lines:
                result, left = evaluate(), lines[0]
        except TooMuchWork:
            coverage.given_up += 1
        if LINES - left > MANY_LINES:
            coverage.farthest = max(1.0, min(coverage.farthest, beyond / 2))
        return result

    def keep(self, evaluation: Evaluation) -> None:
        """Join what an evaluation gives to what the others gave."""
        self.instances += 1
        if self.lines and self.lines.keys() != evaluation.lines.keys():
            rule = f"must be the same at every instance: {', '.join(self.lines) or 'one'}"
            remedy = "return a line that is not stated there by given(...)"
            raise InvalidArgument("lines", ", ".join(evaluation.lines), rule, remedy)
        for name, line in evaluation.lines.items():
            findings = self.lines.setdefault(name, Findings())
            if isinstance(line, Excluded):
                findings.excluded[line.hypothesis] += 1
                continue
            findings.keep(evaluation, name, line)
        for name in evaluation.broken:
            findings = self.lines[name]
            earlier = findings.echo(evaluation, name)
            if findings.found is not None and (findings.alone or earlier):
                continue
            if needs_no_digits(evaluation, name):
                findings.found, findings.alone = evaluation, not earlier
            elif findings.doubted < DOUBTED:
                findings.waiting.append(evaluation)
        for name, findings in self.lines.items():
            if findings.waiting:
                self.confirm(name, self.instances)

    def confirm(self, name: str, instances: int) -> None:
        """Keep what breaks a line in floats, if rounding does not explain it beside the sides of 30 instances."""
        findings = self.lines[name]
        while findings.waiting and instances >= LEAST and not (findings.found and findings.alone):
            evaluation = findings.waiting.pop(0)  # the simplest of those that are listed
            broken = confirmed(self.evaluator, evaluation, name, findings.magnitude)
            if broken:
                findings.found = evaluation
                findings.alone = not set(evaluation.broken[: evaluation.broken.index(name)])
            elif broken is False:
                findings.corrected += 1
            else:
                findings.rounding, findings.doubted = evaluation, findings.doubted + 1
