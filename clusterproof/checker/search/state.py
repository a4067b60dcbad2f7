"""State of the search for one statement: the instances that were tried, and the statistics of each line."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from clusterproof.checker.claims.places import place_of
from clusterproof.checker.claims.space import Space
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.claims.values import FARTHEST
from clusterproof.checker.freeze import Frozen
from clusterproof.checker.kernel.claim_words import Excluded
from clusterproof.checker.kernel.evaluation import Outside
from clusterproof.checker.real_numbers.comparison import UNKNOWN, steps_taken
from clusterproof.checker.search.broken_potential import BrokenPotential
from clusterproof.checker.search.confirmation import confirmed, is_certain, is_inexact, of_real_numbers
from clusterproof.checker.search.evaluator import Evaluation, Evaluator
from clusterproof.checker.search.findings import Findings
from clusterproof.checker.search.margin import by_margin
from clusterproof.checker.search.worst_functions import WorstCase
from clusterproof.common import InvalidArgument
from clusterproof.common.limits import SPENT, SPENT_ON_ONE, TooMuchWork, Work, limited_lines

Result = TypeVar("Result")

LEAST = 30
"""Number of instances that the search evaluates before it decides whether rounding explains a broken line."""
DOUBTED = 10
"""Maximum number of unconfirmed violations per line. After that, the search confirms no more of them."""
LOOKED_AT = 16
"""One in this many instances is also evaluated with real numbers although all lines hold in floats."""
LOOKING = 300_000
"""Largest total number of real-number operations for instances at which all lines hold in floats."""
IN_VAIN = 3
"""After this many undecided instances of a line, real numbers are used only at instances that break it in floats."""
STOPPED = 2
"""The search ends after this many instances within the ranges have exceeded the limit on executed lines."""
MEMORY = 2 * 2**30
"""Number of bytes that a search may use; a few lines of Python that double a list can exceed it."""
RANDOM = (
    "its sides are computed from random numbers, which chance may explain: state expectation(...), or at_most(..., "
    "failure=...), or draw the object by drawn(...)"
)
"""The reason why a comparison of random numbers without a failure probability does not count."""
LINES, MANY_LINES = 3_000_000, 200_000
"""Limits on the executed Python lines for an instance beyond the first search range.

Beyond the first limit, the evaluation is stopped. Beyond the second limit, later instances are drawn closer to that
range.
"""


@dataclass
class Coverage:
    """The part of the space that the search has tried.

    Attributes
    ----------
    exhausted, listed
        Whether all instances of the listed values were evaluated, and how many of them are admissible.
    looked_at, looked_at_all
        For a random statement: the number of instances evaluated with a few replicates, and whether these were all
        instances.
    reached
        For each unbounded range, the largest value tried, as a multiple of the end of the first search range.
    given_up
        Number of instances beyond the first search range whose evaluation was stopped.
    stopped, why_stopped
        Instances within the first search range at which an evaluation or the search was stopped, and the first reason.
    farthest
        Largest drawn value of an unbounded range, as a multiple of the end of the first search range.
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
    """The evaluated instances of one statement, and their statistics for each line.

    Attributes
    ----------
    evaluator
        Evaluator of the statement.
    lines
        Statistics of each line, indexed by the line's name.
    instances
        Number of admissible instances that were evaluated.
    seen
        The lines that each instance breaks, or None if it breaks a hypothesis, indexed by the instance's key.
    outside
        Instances that break a hypothesis, each with the first broken hypothesis.
    coverage
        The part of the space that was tried.
    worst
        For a statement about functions of a class, the worst case of each line.
    work, last
        Counter of executed lines, and the last instance that was evaluated.
    looking
        Number of real-number operations so far.
    solving
        Number of real-number operations that solve equations among the hypotheses, or approach a thin set.
    counting
        Whether executed Python lines are being counted.
    asking
        Lines of the claim that are evaluated with real numbers at every instance.
    probing
        Whether the search is trying instances near the tightest one or near an end of a range.
    interrupted
        Whether the user has stopped the search.
    broken_potential
        An instance at which the potential of a loop fails, or None if none was found.
    frozen
        The claim as a text that the kernel reads, or None.
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
    solving: int = 0
    counting: bool = False
    asking: tuple[str, ...] = ()
    probing: bool = False
    interrupted: bool = False
    broken_potential: BrokenPotential | None = None
    frozen: Frozen = field(default_factory=lambda: Frozen(None, {}, {}))

    @property
    def statement(self) -> Statement:
        """The statement to search."""
        return self.evaluator.statement

    @property
    def space(self) -> Space:
        """The space of the statement."""
        return self.evaluator.statement.space

    @property
    def rejected(self) -> Counter[str]:
        """Number of rejected instances, indexed by the first hypothesis that they break."""
        return Counter(hypothesis for hypothesis, _ in self.outside)

    @property
    def is_proved(self) -> bool:
        """Whether every line has a proof for all values of the quantities."""
        return bool(self.worst) and all(worst.family for worst in self.worst.values())

    @property
    def is_open(self) -> bool:
        """Whether the search must go on: some line is unrefuted, or refuted only together with earlier lines."""
        if self.is_spent:
            return False
        return not self.lines or not all(each.found and each.alone for each in self.lines.values())

    @property
    def is_spent(self) -> bool:
        """Whether the search has reached its limit on executed lines, or was interrupted."""
        return self.interrupted or self.work.is_spent or len(self.coverage.stopped) >= STOPPED

    def until_refuted(self, instances: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield instances until every line is refuted."""
        return itertools.takewhile(lambda _: self.is_open, instances)

    def evaluate(self, instance: dict[str, Any]) -> tuple[str, ...] | None:
        """Evaluate a new instance; return the lines that it breaks, or None if it breaks a hypothesis."""
        key = self.space.key(instance)
        if key not in self.seen:
            self.evaluation(instance)
        return self.seen[key]

    def evaluation(self, instance: dict[str, Any]) -> Evaluation | None:
        """Evaluate an instance, and store its results if it is new; return None if it breaks a hypothesis."""
        key, evaluation = self.space.key(instance), self.conclude(instance)
        if evaluation is not None and key not in self.seen:
            self.keep(evaluation)
        self.seen[key] = None if evaluation is None else evaluation.broken
        return evaluation

    def conclude(self, instance: dict[str, Any], evaluator: Evaluator | None = None) -> Evaluation | None:
        """Evaluate an instance without storing its results; return None if it breaks a hypothesis or is stopped."""
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
        """Return the lines to evaluate with real numbers: false lines, and at some instances all lines."""
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
        """Store an instance within the first search range whose evaluation was stopped, and the reason."""
        coverage = self.coverage
        if len(coverage.stopped) < STOPPED:
            coverage.stopped.append(instance)
            coverage.why_stopped = coverage.why_stopped or why

    def interrupt(self) -> None:
        """Store the instance at which the user stopped the search; earlier results remain valid."""
        self.interrupted = True
        self.coverage.stopped.insert(0, self.last)
        self.coverage.why_stopped = "interrupted there"

    def evaluate_within_limit(self, instance: dict[str, Any]) -> tuple[str, ...] | None:
        """Evaluate an instance; limit the executed lines if values lie beyond the first search range."""
        broken = self.within_limit(instance, lambda: self.evaluate(instance))
        if broken is not None:
            reached = self.coverage.reached
            for name, multiple in self.space.multiples(instance).items():
                reached[name] = max(reached.get(name, 0), multiple)
        return broken

    def within_limit(self, instance: dict[str, Any], evaluate: Callable[[], Result]) -> Result | None:
        """Evaluate an instance with a function; return None if it exceeds the limit for very large values."""
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
        """Add the results of an evaluation to the statistics."""
        self.instances += 1
        if self.lines and self.lines.keys() != evaluation.lines.keys():
            rule = f"must be the same at every instance: {', '.join(self.lines) or 'one'}"
            remedy = "return given(...) for a line that does not apply to every instance"
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
        """Accept a violation in floats if rounding errors cannot explain it, but only after 30 instances."""
        findings = self.lines[name]
        while findings.waiting and instances >= LEAST and not (findings.found and findings.alone):
            evaluation = findings.waiting.pop(0)  # the simplest of the listed instances
            why = RANDOM if self.statement.random else ""
            why = why or by_margin(self.evaluator, evaluation, name, findings.magnitude)
            if not why:
                findings.found, findings.basis = evaluation, "floats"
                findings.alone = not set(evaluation.broken[: evaluation.broken.index(name)])
            else:
                reasons = [each for each in (evaluation.judged[name].why, why) if each]
                findings.why = findings.why or "; ".join(reasons)
                findings.rounding, findings.doubted = findings.rounding or evaluation, findings.doubted + 1
