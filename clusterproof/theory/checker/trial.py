"""Try one statement: prove it, else enumerate its space, else take the extremes and draw instances."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.time_limit import TimeLimitExceeded, time_limit
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.comparison import Comparison
from clusterproof.theory.checker.conclusions import Conclusion
from clusterproof.theory.checker.evaluation import Evaluation, Evaluator, Trial, numbers_of
from clusterproof.theory.checker.expectation import Expectation
from clusterproof.theory.checker.frequency import Frequency
from clusterproof.theory.checker.more_digits import confirmed
from clusterproof.theory.checker.proof import Unproved, certify
from clusterproof.theory.checker.purity import Memory
from clusterproof.theory.checker.range_ends import Instance
from clusterproof.theory.checker.ranges import Interval
from clusterproof.theory.checker.rounding import SMALLEST, TOLERANCE, as_floats
from clusterproof.theory.checker.sampler import (
    FARTHEST,
    again,
    complexity,
    corners,
    draw,
    named_in,
    simpler,
    times_end,
)
from clusterproof.theory.checker.search import search
from clusterproof.theory.checker.sides import Outside, naming_hypotheses, recording_inexact
from clusterproof.theory.checker.statement import DECIDED, Statement
from clusterproof.theory.checker.statistics import binomial_tail
from clusterproof.theory.checker.ties import COMPARED, Tie

CORNERS = 256
"""Corners that are tried first."""
CLIMBING = 0.25
"""Share of the instances that change a quantity of the tightest one."""
REDRAWS = 20
"""Times that the quantities which a hypothesis names are drawn again."""
MOST = 5
"""Times as many instances may break a hypothesis as are wanted."""
SIMPLIFYING = 400
"""Times that the other quantities are drawn again, where a simpler value of one alone breaks nothing."""
SECONDS = 10.0
"""Processor time after which no further instance is drawn."""
LONGEST = 0.5
"""Seconds of processor time after which values as far beyond an open end are no longer drawn."""
FAR = (10, 100, 1000)
"""Multiples of an open end that the tightest instance is moved to."""
SLOWING, DOUBLINGS = 0.8, 10
"""Increment over the one before below which growth slows down, and doublings of an end up to 1000 times itself."""
FEW = 10
"""Of a random setting's repetitions the share, one of so many, by which the settings that are decided are chosen."""
LEAST = 30
"""Repetitions of a setting at least."""


def attempt(statement: Statement, context: Context, ties: Sequence[Tie] = ()) -> Trial:
    """Try a statement: a proof where one is asked for, then extremes, enumeration, draws or search in any case.

    Parameters
    ----------
    statement
        What is tried.
    context
        Seed, budget (or repetitions, for random statements) and the error level of this statement.
    ties
        Proofs by separate functions, compared with the statement at every instance that is tried.
    """
    trial = Trial(statement)
    if statement.prove:
        trial.unproved = ""
        try:
            trial.symbolic = certify(statement.space, statement.conclude)
        except Unproved as reason:
            trial.unproved = str(reason)
    _Search(trial, context, ties).run()
    if trial.proved and not trial.instances:
        # a proof on symbols passes over the hypotheses
        trial.unproved = "no instance was found that meets its hypotheses"
    return trial


class _Search(Evaluator):
    """Chooses the instances that are evaluated."""

    farthest = float(FARTHEST)
    first_found: Evaluation | None = None

    def run(self) -> None:
        """Evaluate until something breaks, or all that is to be tried was."""
        trial, statement = self.trial, self.statement
        self.began = time.process_time()
        self.memory = Memory(statement.function)
        self.numbers = None if statement.random or statement.space.searched else {}
        if self.any_breaks(statement.first):
            pass
        elif statement.space.searched:
            self._search()
        elif statement.repeated:
            self._decide_settings()
        else:
            self._draw_instances()
        if trial.found is not None and not statement.repeated:
            self._require_more_digits()
        if trial.found is None and not statement.repeated:
            trial.unlikely = self._unlikely()
        if trial.found is None:
            self._compare_ties()

    def _require_more_digits(self) -> None:
        """Keep what breaks the statement only if rounding does not explain it, beside the sides of 30 instances."""
        trial, statement = self.trial, self.statement
        found = trial.found
        assert found is not None
        if not found.judged[found.broken or ""].exact:
            for number in range(max(0, LEAST - trial.instances)):
                self._admissible(self.context.generator(statement.name, "magnitude", number))
        for one in (found, self.first_found):
            if one is not None and confirmed(statement, self.context, one, trial.magnitude):
                trial.found = one
                return
        trial.found, trial.rounding, trial.exhausted = None, found, False

    def _draw_instances(self) -> None:
        trial, statement, space = self.trial, self.statement, self.statement.space
        wanted = self.wanted
        listed = space.instances(statement.exhaustible if space.complete and not statement.random else wanted)
        if listed is not None:
            self.distinct = not statement.first
            trial.exhausted = not self.any_breaks(listed)
            trial.listed = trial.instances
            self.distinct = False
            if space.complete and trial.found is None:
                self._require_purity(listed)
                return
            # with random numbers no more than the error level is divided among
            wanted = max(0 if statement.random else wanted // 4, wanted - len(listed))
        self.numbers = None
        start, number = trial.instances, 0
        if trial.found is None and not space.sampled:
            self.any_breaks(itertools.islice(corners(space), min(CORNERS, wanted)))
        while trial.found is None and trial.instances - start < wanted and len(trial.outside) < MOST * wanted:
            if time.process_time() - self.began > SECONDS:
                trial.stopped = SECONDS
                break
            self._admissible(self.context.generator(statement.name, "instance", number))
            number += 1
        if trial.found is not None and not statement.random and not space.sampled:
            self.first_found = trial.found
            self._simplify()
        elif trial.found is None and not statement.random and not space.sampled:
            self._go_far()

    def _go_far(self) -> None:
        """Go from the tightest instance to multiples of each open end; if that is slow, see how the ratio grows."""
        trial, space = self.trial, self.statement.space
        if trial.tightest is None:
            return
        start = trial.tightest.instance
        for name, allowed in space.ranges.items():
            if not isinstance(allowed, Interval) or not (allowed.upwards or allowed.downwards):
                continue
            for multiple in (each for each in FAR if each <= self.farthest):
                for sign in [1] * allowed.upwards + [-1] * allowed.downwards:
                    seen = self._evaluate_within_limit(times_end(space, start, name, sign * multiple))
                    if seen is not None and seen[0]:
                        self.first_found = trial.found
                        self._simplify()
                        return
            if allowed.upwards and trial.reached.get(name, 0) < FAR[-1] // 2 and self._grows(start, name):
                trial.grows = name

    def _grows(self, start: Instance, name: str) -> bool:
        """Whether the ratio, at an eighth, a quarter, half and the whole of an open end, goes on growing past 1."""
        ratios = []
        for share in (8, 4, 2, 1):
            one = times_end(self.statement.space, start, name, Fraction(1, share))
            seen = None if one is None else self.evaluate(one)
            if seen is None:
                return False
            ratios.append(seen[1])
        steps = [after - before for before, after in itertools.pairwise(ratios)]
        if not all(step > 0 for step in steps) or any(b < SLOWING * a for a, b in itertools.pairwise(steps)):
            return False
        growth = steps[-1] / steps[-2]
        return ratios[-1] + sum(steps[-1] * growth**n for n in range(1, DOUBLINGS + 1)) > 1

    def _require_purity(self, listed: Sequence[dict[str, Any]]) -> None:
        """Evaluate an exhausted space a second time, in reverse order; exact sides must come out again.

        Where the first time left something in a list, a dictionary, a set or a cache, it is forgotten for a third time:
        an entry under a wrong key is found by whoever comes second.

        Raises
        ------
        InvalidArgument
            If the function gives other sides: it keeps something from one call to the next.
        """
        if not self.trial.exact or self.statement.random:
            return
        self._require_same_sides(listed)
        if self.memory.changed:
            with self.memory.forgotten():
                self._require_same_sides(listed)

    def _require_same_sides(self, listed: Sequence[dict[str, Any]]) -> None:
        with recording_inexact() as inexact:
            for one in reversed(listed):
                try:
                    again = numbers_of(self._sample(one, None))
                except Outside as outside:
                    again = str(outside)
                if again != (self.numbers or {}).get(self.statement.space.key(one)):
                    name = getattr(self.statement.function, "__name__", self.statement.name)
                    rule = "must give the same sides whenever it is called"
                    remedy = "keep nothing from one call to the next"
                    raise InvalidArgument(name, "a function with a memory", rule, remedy)
        if inexact:
            self.trial.exact = False

    def _admissible(self, stream: np.random.Generator) -> None:
        """Draw an instance; as long as it breaks a hypothesis, draw quantities that this names again."""
        space, trial = self.statement.space, self.trial
        one = None
        if trial.tightest is not None and not self.statement.random and stream.random() < CLIMBING:
            names = self._some(stream, list(space.ranges))
            one = again(space, stream, trial.tightest.instance, names, self.farthest)
        one = one or draw(space, stream, self.farthest)
        for _ in range(REDRAWS):
            if one is None:
                one = draw(space, stream, self.farthest)
                continue
            if self._evaluate_within_limit(one) is not None:
                return
            names = named_in(space, trial.outside[-1][0]) if trial.outside else list(space.ranges)
            one = again(space, stream, one, self._some(stream, names), self.farthest)

    @staticmethod
    def _some(stream: np.random.Generator, names: Sequence[str]) -> list[str]:
        chosen = [name for name in names if stream.random() < 0.5]
        return chosen or [names[int(stream.integers(len(names)))]]

    def _evaluate_within_limit(self, one: dict[str, Any] | None) -> tuple[bool, float] | None:
        """Evaluate an instance; of values beyond the ranges' ends in limited time."""
        if one is None:
            return None
        beyond = self.statement.space.beyond(one)
        if beyond <= 1:
            return self.evaluate(one)
        began = time.process_time()
        try:
            with time_limit(2 * LONGEST):
                seen = self.evaluate(one)
        except (ArithmeticError, MemoryError, TimeLimitExceeded):
            self.farthest = max(1.0, min(self.farthest, beyond / 2))
            return None
        if time.process_time() - began > LONGEST:
            self.farthest = max(1.0, min(self.farthest, beyond / 2))
        if seen is not None:
            for name, multiple in self.statement.space.multiples(one).items():
                self.trial.reached[name] = max(self.trial.reached.get(name, 0), multiple)
        return seen

    def _simplify(self) -> None:
        """Replace quantities of what was found by simpler ones; if one alone breaks nothing, draw the others again."""
        space, trial = self.statement.space, self.trial
        stream, left = self.context.generator(self.statement.name, "simpler"), SIMPLIFYING
        while True:
            found = trial.found
            assert found is not None
            one, cost = found.instance, complexity(space, found.instance)
            far = space.multiples(one)  # slow ones first
            moves = [
                dict(one) | {name: value}
                for name in sorted(space.ranges, key=lambda name: name not in far)
                for value in simpler(space.ranges[name], one, name)
            ]
            moves = [move for move in moves if complexity(space, move) < cost]
            if self.any_breaks(move for move in moves if space.holds(move)):
                continue
            for move in moves:
                (name,) = (name for name in move if move[name] is not one[name])
                others = [other for other in space.ranges if other != name]
                for _ in range(min(left, REDRAWS) if others else 0):
                    left -= 1
                    drawn = again(space, stream, move, self._some(stream, others), 1)
                    if drawn is not None and complexity(space, drawn) < cost and self.any_breaks([drawn]):
                        break
                if trial.found is not found:
                    break
            if trial.found is found:
                return

    def _decide_settings(self) -> None:
        """Look at many settings of random numbers with few repetitions each, and decide the worst with fresh ones."""
        trial, statement, space = self.trial, self.statement, self.statement.space
        wanted = statement.evaluations
        listed = space.instances(wanted)
        settings: Iterable[dict[str, Any]] = self._settings(wanted) if listed is None else listed
        if listed is not None and len(listed) <= DECIDED:
            trial.settings = len(statement.first) + max(1, len(listed))
        looks: list[tuple[float, int, dict[str, Any]]] = []
        looked: set[str] = set()
        most = self.sizes[-1] or LEAST
        few = max(min(most, LEAST), most // FEW)
        for one in settings:
            if listed is not None and len(listed) <= DECIDED:
                looks.append((0.0, len(looks), one))
                continue
            if time.process_time() - self.began > SECONDS:
                trial.stopped = SECONDS
                break
            if (key := space.key(one)) in looked:
                continue
            looked.add(key)
            try:
                with naming_hypotheses(trial.stated):
                    conclusions = self._sample(one, few, " first")
            except Outside as outside:
                trial.rejected[str(outside)] += 1
                trial.outside.append((str(outside), one))
                continue
            looks.append((max(map(suspicion, conclusions.values())), len(looks), one))
            trial.looked_at += 1
        looks.sort(key=lambda look: -look[0])
        trial.exhausted = not self.any_breaks(one for _, _, one in looks[:DECIDED]) and listed is not None
        if trial.found is None and trial.tightest is not None:
            trial.unlikely = self._unlikely()
            if trial.unlikely is not None and trial.tightest.replicates is not None:
                self.sizes = [trial.trials]
            if trial.tightest.replicates != self.sizes[-1]:
                self.sizes = self.sizes[-1:]
                self.keep(evaluation := self.conclude(trial.tightest.instance))
                trial.found = evaluation if evaluation.broken is not None else None

    def _settings(self, wanted: int) -> Iterable[dict[str, Any]]:
        space, trial = self.statement.space, self.trial
        yield from itertools.islice(corners(space), wanted // 4)
        for number in range(5 * wanted):
            if trial.looked_at >= wanted:
                return
            stream = self.context.generator(self.statement.name, "instance", number)
            one = draw(space, stream, self.farthest)
            for _ in range(REDRAWS):
                if one is None:
                    break
                before = len(trial.outside)
                yield one
                if len(trial.outside) == before:
                    break
                one = again(
                    space,
                    stream,
                    one,
                    self._some(stream, named_in(space, trial.outside[-1][0])),
                    self.farthest,
                )

    def _unlikely(self) -> float | None:
        """Probability of as many failures over several instances, if it is below the error level."""
        trial = self.trial
        tightest = trial.tightest.conclusions.values() if trial.tightest else ()
        if (
            trial.events != 1
            or trial.instances == 1
            or any(isinstance(each, Frequency) and each.exactly for each in tightest)
        ):
            return None
        # a setting's interval errs on this side with half of its level, which leaves room for one more
        found = binomial_tail(trial.failures, trial.trials, max(trial.levels))
        return found if found < self.context.significance / trial.settings else None

    def _search(self, name: str = "") -> None:
        """Search with hypothesis, and simplify what breaks the statement."""
        seed = f"{self.context.seed} {self.context.claim} {self.statement.name}{name}"
        found = search(
            self.statement.space,
            self.evaluate,
            seed=seed,
            budget=self.wanted,
            climbs=not self.statement.random,
        )
        self.trial.found = None if found is None else self.conclude(found)

    def _compare_ties(self) -> None:
        """Draw further instances until the statement was compared with its proofs at enough."""
        for number in range(0 if self.trial.exhausted and self.statement.space.complete else 4 * COMPARED):
            if (
                all(tie.refused or tie.compared >= COMPARED for tie in self.ties)
                or self.trial.found is not None
            ):
                return
            if self.statement.space.searched:
                self._search(f" again {number}")
            else:
                self._admissible(self.context.generator(self.statement.name, "further", number))


def suspicion(conclusion: Conclusion) -> float:
    """How much few repetitions speak against a conclusion, in standard deviations where they decide."""
    if isinstance(conclusion, Expectation):
        with np.errstate(all="ignore"):
            mean, spread = conclusion.samples.mean(axis=0), conclusion.samples.std(axis=0)
            excess = {"at_most": 1, "at_least": -1}.get(conclusion.sense, 0) * (mean - conclusion.allowed)
            excess = np.where(conclusion.sense == "equal", np.abs(mean - conclusion.allowed), excess)
            least = TOLERANCE * np.maximum(np.abs(mean), np.abs(conclusion.allowed)) + SMALLEST
            worst = float(np.max(np.nan_to_num(excess / np.maximum(spread, least), nan=math.inf)))
        return worst * len(conclusion.samples) ** 0.5
    if isinstance(conclusion, Frequency):
        count, share = conclusion.events.size, float(conclusion.events.mean())
        gap = share - conclusion.allowed
        spread = math.sqrt(max(conclusion.allowed * (1 - conclusion.allowed), 1 / count) / count)
        return (abs(gap) if conclusion.exactly else gap) / spread
    compared = Comparison(conclusion)
    if conclusion.failure is None:
        return math.inf if compared.broken.any() else float(as_floats(compared.shares).max(initial=0.0))
    count = len(compared.measured)
    share = float(compared.by_replicate(compared.broken).mean())
    spread = math.sqrt(max(conclusion.failure * (1 - conclusion.failure), 1 / count) / count)
    return (share - conclusion.failure) / spread
