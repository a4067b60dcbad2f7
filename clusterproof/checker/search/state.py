"""What was tried of one statement: its instances, and what they give for each line."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from clusterproof.checker.claims.drawing import FARTHEST
from clusterproof.checker.claims.places import place_of
from clusterproof.checker.claims.space import Space
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.freeze import Frozen
from clusterproof.checker.kernel.claim_words import Excluded
from clusterproof.checker.kernel.evaluation import Outside
from clusterproof.checker.real_numbers.evaluation import UNKNOWN, steps_taken
from clusterproof.checker.search.broken_potential import BrokenPotential
from clusterproof.checker.search.confirmation import confirmed, is_certain, is_inexact, of_real_numbers
from clusterproof.checker.search.evaluation import Evaluation, Evaluator
from clusterproof.checker.search.findings import Findings
from clusterproof.checker.search.margin import by_margin
from clusterproof.checker.search.worst_functions import WorstCase
from clusterproof.common import InvalidArgument
from clusterproof.common.work_limit import SPENT, SPENT_ON_ONE, TooMuchWork, Work, limited_lines

Result = TypeVar("Result")

LEAST = 30
"""Least number of instances before a violation in floats is confirmed."""
DOUBTED = 10
"""Violations in floats that are not confirmed, after which no other is looked at."""
LOOKED_AT = 16
"""Of the instances that hold in floats, one of so many is evaluated over the real numbers, and the first few."""
LOOKING = 300_000
"""Steps over the real numbers that such instances may take together."""
IN_VAIN = 3
"""Instances of which the real numbers say nothing, after which they are asked of broken lines only."""
STOPPED = 2
"""Instances in the ranges that take too much work, after which the search ends."""
MEMORY = 2 * 2**30
"""Bytes that a search may take: a list that doubles has them after a few lines of Python."""
RANDOM = (
    "its sides are computed from random numbers, which chance may explain: state expectation(...), or at_most(..., "
    "failure=...), or draw the object by drawn(...)"
)
"""Why a sure comparison of random numbers is not counted."""
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
    stopped, why_stopped
        Instances in the ranges at which an evaluation, or the search, was stopped, and why the first of them was.
    farthest
        Multiple of an open end up to which values are drawn.
    """

    exhausted: bool = False
    listed: int = 0
    looked_at: int = 0
    looked_at_all: bool = False
    reached: dict[str, int] = field(default_factory=dict)
    given_up: int = 0
    stopped: list[dict[str, Any]] = field(default_factory=list)
    why_stopped: str = ""
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
    work, last
        What the search has taken, and the instance that was evaluated last.
    looking
        Steps that were taken over the real numbers.
    counting
        Whether lines are counted anyway.
    asking
        Lines of which the real numbers are asked at every instance.
    probing
        Whether the neighbourhood of the tightest instance, or of an end of a range, is looked at.
    interrupted
        Whether the user has stopped the search.
    broken_potential
        Where the potential of a loop does not hold; None if that was not seen.
    frozen
        The claim as the kernel reads it.
    """

    evaluator: Evaluator
    lines: dict[str, Findings] = field(default_factory=dict)
    instances: int = 0
    seen: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    outside: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)
    worst: Mapping[str, WorstCase] = field(default_factory=dict)
    work: Work = field(default_factory=Work)
    last: dict[str, Any] = field(default_factory=dict)
    looking: int = 0
    counting: bool = False
    asking: tuple[str, ...] = ()
    probing: bool = False
    interrupted: bool = False
    broken_potential: BrokenPotential | None = None
    frozen: Frozen = field(default_factory=lambda: Frozen(None, {}, {}))

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
        if self.is_spent:
            return False
        return not self.lines or not all(each.found and each.alone for each in self.lines.values())

    @property
    def is_spent(self) -> bool:
        """Whether the search has taken all the work that it may, or was interrupted."""
        return self.interrupted or self.work.is_spent or len(self.coverage.stopped) >= STOPPED

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
        if self.is_spent:
            if self.work.is_spent:
                self.stop(instance, SPENT)
            return None
        self.last, random = instance, self.statement.random
        evaluate = partial((evaluator or self.evaluator).evaluate, instance)
        found: Evaluation | str | None
        try:
            found = evaluate() if self.counting else self.work.done(evaluate)
            asked = [] if random else self._asked(found)
            if asked:
                found = confirmed(self.statement, found, asked)
                self.work.spent += steps_taken()
                self.looking += steps_taken()
        except Outside as outside:
            found = str(outside)
        except (ArithmeticError, ValueError) as error:
            of_floats = isinstance(error, ArithmeticError) or str(error).startswith("math ")
            found = None if random or not of_floats else of_real_numbers(self.statement, instance)
            if found is None:
                raise
        except TooMuchWork:
            if self.counting:
                raise
            self.stop(instance, SPENT_ON_ONE)
            return None
        except MemoryError as error:
            if self.counting:
                raise
            place = place_of(error, self.statement.function)
            self.stop(instance, f"its evaluation takes more than 2 GiB of memory ({place})")
            return None
        if isinstance(found, str):
            self.outside.append((found, instance))
            return None
        return found

    def _asked(self, evaluation: Evaluation) -> list[str]:
        """Return the lines of which the real numbers are asked: broken ones, and of some instances all."""
        number = self.instances
        is_sample = number & (number - 1) == 0 or number % LOOKED_AT == 0
        asked = []
        for name, judged in evaluation.judged.items():
            findings = self.lines.get(name, Findings())
            if findings.found and findings.alone and name not in self.asking:
                continue
            needed = judged.broken or judged.undefined or judged.wraps or name in self.asking
            wanted = needed or (is_sample and findings.unanswered < IN_VAIN and self.looking < LOOKING)
            if wanted and findings.unanswered < DOUBTED and is_inexact(self.statement, evaluation, name):
                asked.append(name)
        return asked

    def stop(self, instance: dict[str, Any], why: str) -> None:
        """Keep an instance in the ranges at which something was stopped."""
        coverage = self.coverage
        if len(coverage.stopped) < STOPPED:
            coverage.stopped.append(instance)
            coverage.why_stopped = coverage.why_stopped or why

    def interrupt(self) -> None:
        """Keep where the user stopped the search; what was found until then is weighed."""
        self.interrupted = True
        self.coverage.stopped.insert(0, self.last)
        self.coverage.why_stopped = "interrupted there"

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
        self.counting = True
        try:
            with suppress(ArithmeticError, MemoryError), limited_lines(LINES) as lines:
                result, left = evaluate(), lines[0]
        except TooMuchWork:
            coverage.given_up += 1
        finally:
            self.counting = False
        self.work.spent += LINES - left
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
            findings.unanswered += UNKNOWN in evaluation.judged[name].why
            findings.keep(evaluation, name, line, probing=self.probing)
        for name in evaluation.broken:
            findings, judged = self.lines[name], evaluation.judged[name]
            earlier = findings.echo(evaluation, name)
            if findings.found is not None and (findings.alone or earlier):
                continue
            if judged.basis or is_certain(self.statement, evaluation, name):
                findings.found, findings.alone, findings.basis = evaluation, not earlier, "intervals"
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
            why = RANDOM if self.statement.random else ""
            why = why or by_margin(self.evaluator, evaluation, name, findings.magnitude)
            if not why:
                findings.found, findings.basis = evaluation, "floats"
                findings.alone = not set(evaluation.broken[: evaluation.broken.index(name)])
            else:
                reasons = [each for each in (evaluation.judged[name].why, why) if each]
                findings.why = findings.why or "; ".join(reasons)
                findings.rounding, findings.doubted = findings.rounding or evaluation, findings.doubted + 1
