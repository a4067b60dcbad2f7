"""Try one statement on its examples, on all instances or on drawn ones, until its evaluations are spent."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np

from clusterproof.algorithms import InvalidArgument, generator
from clusterproof.algorithms.time_limit import TimeLimitExceeded, time_limit
from clusterproof.theory.claims.claim import Statement, name_of
from clusterproof.theory.claims.drawing import FARTHEST
from clusterproof.theory.claims.expectation import Expectation, replicates_to_try
from clusterproof.theory.claims.frequency import Frequency
from clusterproof.theory.claims.judge import Conclusion, Judgement, judge
from clusterproof.theory.claims.more_digits import confirmed
from clusterproof.theory.claims.progress import Evaluation, Progress, needs_no_digits, numbers_of, suspicion
from clusterproof.theory.claims.prove import COMPARED, Tie, Unproved, prove
from clusterproof.theory.claims.purity import Memory
from clusterproof.theory.claims.ranges import Instance, Integers, Interval, Rationals
from clusterproof.theory.claims.sides import Excluded, Outside, naming_hypotheses, recording_inexact
from clusterproof.theory.claims.statistics import binomial_tail
from clusterproof.theory.claims.symbols import Condition
from clusterproof.theory.claims.traced import TracedLine, has_class, trace_lines

Result = TypeVar("Result")

CORNERS = 256
"""Corners that are tried first, of half of the instances at most."""
CLIMBING, RARE = 0.25, 0.1
"""Share of the drawn instances that change some quantities of the tightest one; three times as many if fewer instances
than this share meet the hypotheses."""
CLIMBS = 2
"""Share of the evaluations, one of so many, by which vectors and sequences are made worse entry by entry."""
REDRAWS = 20
"""Times that the quantities which a hypothesis names are drawn again."""
MOST = 5
"""Times as many instances may break a hypothesis, and be drawn, as are wanted."""
SIMPLIFYING = 400
"""Times that the other quantities are drawn again, if a simpler value of one alone breaks nothing."""
SECONDS = 10.0
"""Processor time after which no further instance is drawn; a claim with a number of its own has 30 in any case."""
LONGEST = 0.5
"""Seconds of processor time after which values as far beyond an open end are no longer drawn."""
FAR = (10, 100, 1000)
"""Multiples of an open end that the tightest instance is moved to."""
VERY_FAR, QUICK = range(4, 19), 0.05
"""Powers of ten, and the seconds of processor time for two evaluations up to which the next one is tried: so many that
the load of a machine seldom decides."""
SLOWING, DOUBLINGS = 0.8, 10
"""Increment over the one before below which growth slows down, and doublings of an end up to 1000 times itself."""
DECIDED = 5
"""Random instances that are decided with all replicates: those that few replicates speak against most."""
FEW = 10
"""Share of the replicates, one of so many, by which they are chosen."""
LEAST = 30
"""Least number of such replicates, and of instances before a violation in floats is confirmed."""


class Trial:
    """The trial of one statement.

    Parameters
    ----------
    statement
        What is tried.
    seed, claim
        Axes of the random numbers.
    significance
        Error probability that its intervals may have together.
    evaluations
        In place of the statement's own number of instances, or of repetitions if these are repeated.
    run
        Whether to try it; otherwise single instances can be evaluated by ``at``.

    Attributes
    ----------
    progress
        What was found of each line, by name.
    instances
        Admissible instances that were evaluated.
    rejected, outside
        Instances that break a hypothesis, counted by the one that they broke first, and themselves.
    stated
        The hypotheses, in order.
    exhausted, listed
        Whether all instances that the ranges list were evaluated, and how many of them are admissible.
    looked_at, looked_at_all
        Instances that few repetitions looked at, of which the worst were evaluated, and whether these were all.
    reached
        Multiple of its end up to which each open range was tried.
    stopped
        Seconds after which the trial was stopped; None if it ended.
    given_up
        Seconds after which the evaluation of an instance beyond the ranges' ends was stopped, one for each.
    ties
        Its proofs.
    unproved
        By line, why the function is not proved on symbols; None if that was not tried.
    traced
        Of a statement about functions of a class, what worst cases give for each line.
    """

    def __init__(
        self,
        statement: Statement,
        seed: int,
        claim: str,
        significance: float,
        evaluations: int | None = None,
        *,
        run: bool = True,
    ) -> None:
        self.statement, self.space = statement, statement.space
        self.seed, self.claim, self.significance = seed, claim, significance
        self.progress: dict[str, Progress] = {}
        self.instances, self.listed, self.looked_at, self.settings = 0, 0, 0, 1
        self.rejected: Counter[str] = Counter()
        self.outside: list[tuple[str, dict[str, Any]]] = []
        self.stated: dict[str, Condition | None] = {}
        self.exhausted = self.looked_at_all = False
        self.reached: dict[str, int] = {}
        self.stopped: float | None = None
        self.given_up: list[float] = []
        self.farthest = FARTHEST
        self.seen: dict[str, tuple[str, ...] | None] = {}
        self.numbers: dict[str, Any] | None = None
        self.sizes: list[int | None] = [None]
        if self.space.replicates is not None:
            self.sizes = [*replicates_to_try(evaluations or statement.replicates)]
        self.looks = 2 * len(self.sizes)  # twice, since a second sample may be compared
        self.wanted = statement.wanted if evaluations is None or statement.repeated else evaluations
        if statement.random:
            self.settings = len(statement.first) + (DECIDED + 1 if statement.repeated else self.wanted)
        self.ties: list[Tie] = []
        self.traced: Mapping[str, TracedLine] = {}
        self.unproved: Mapping[str, str] | None = None
        if run:
            self.memory = Memory(statement.function)
            self._prove()
            self._run()

    def _prove(self) -> None:
        """Try the statement's proofs, and the statement itself on symbols."""
        statement = self.statement
        self.ties = [Tie.of(proof) for proof in statement.proofs]
        if not (statement.random or self.space.drawn):
            try:
                self.unproved = prove(self.space, statement.lines).unproved
            except Unproved as reason:
                self.unproved = {"": str(reason)}

    # ---- the order in which instances are tried

    def _run(self) -> None:
        self.began = time.process_time()
        for instance in self.statement.first:
            self.evaluate(instance)
        if has_class(self.space) and not self.statement.random:
            self.traced = trace_lines(self)
        if self.statement.repeated:
            self._decide_settings()
        else:
            self._sample()
        for name, progress in self.progress.items():
            self._confirm(name, LEAST)
            if self.statement.random:
                progress.unlikely = self._unlikely(progress)
            else:
                self._simplify(name)
        if not self.statement.random:
            self._compare_ties()

    def _sample(self) -> None:
        """Evaluate all instances, if they are not too many; else the corners, and drawn ones."""
        statement, wanted = self.statement, self.wanted
        listed = self.space.instances(wanted)
        if listed is not None:
            self.numbers = None if statement.random else {}
            for instance in listed:
                if not self._is_open():
                    break
                self.evaluate(instance)
            else:
                self.exhausted = True
            self.listed = self.instances
            if self.space.complete:
                self._require_purity(listed)
                return
            # off the grid; with random numbers no more than the error level is divided among
            wanted = max(0 if statement.random else wanted // 4, wanted - len(listed))
        self.numbers = None
        start, number = self.instances, 0
        if not self.space.drawn:
            corners = itertools.islice(self.space.corners(), min(CORNERS, wanted // 2))
            for instance in self._until_refuted(corners):
                self.evaluate(instance)
        # draws may only repeat instances, admissible or not
        while (
            self._is_open()
            and self.instances - start < wanted
            and max(number, len(self.outside)) < MOST * wanted
        ):
            least = LEAST if self.statement.evaluations else 0
            if time.process_time() - self.began > SECONDS and self.instances >= least:
                self.stopped = SECONDS
                break
            self._admissible(generator(self.seed, self.claim, statement.name, "instance", number))
            number += 1
        if not statement.random and self.space.several:
            for name in list(self.progress):
                self._climb(name, wanted // CLIMBS // len(self.progress))
        if not statement.random and not self.space.drawn:
            for name in list(self.progress):
                self._go_far(name)
            if self.ties or "" in (self.unproved or {}).values():
                self._go_very_far()

    def _is_open(self) -> bool:
        """Return whether some line is not refuted yet, or only where an earlier one is."""
        return not self.progress or not all(each.found and each.alone for each in self.progress.values())

    def _until_refuted(self, instances: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for instance in instances:
            if not self._is_open():
                return
            yield instance

    def _admissible(self, stream: np.random.Generator) -> None:
        """Draw an instance; as long as it breaks a hypothesis, draw quantities that this names again."""
        space, instance = self.space, None
        tightest = [each.tightest for each in self.progress.values() if each.tightest and not each.found]
        share = CLIMBING if self.instances > RARE * len(self.outside) else 1 - CLIMBING
        if tightest and not self.statement.random and stream.random() < share:
            start, nudged = tightest[int(stream.integers(len(tightest)))].instance, bool(stream.integers(2))
            names = _some(stream, list(space.ranges))
            instance = space.draw(stream, self.farthest, start=start, names=names, nudged=nudged)
        instance = instance or space.draw(stream, self.farthest)
        for _ in range(REDRAWS):
            if instance is None:
                instance = space.draw(stream, self.farthest)
                continue
            if self._evaluate_within_limit(instance) is not None:
                return
            names = space.named_in(self.outside[-1][0]) if self.outside else list(space.ranges)
            instance = space.draw(stream, self.farthest, start=instance, names=_some(stream, names))

    def _evaluate_within_limit(self, instance: dict[str, Any]) -> tuple[str, ...] | None:
        """Evaluate an instance; of values beyond the ranges' ends in limited time."""
        seen = self._within_limit(instance, lambda: self.evaluate(instance))
        if seen is not None:
            for name, multiple in self.space.multiples(instance).items():
                self.reached[name] = max(self.reached.get(name, 0), multiple)
        return seen

    def _within_limit(self, instance: dict[str, Any], evaluate: Callable[[], Result]) -> Result | None:
        """Call a function of an instance; None if values beyond the ranges' ends take too long: then draw less far."""
        multiples = self.space.multiples(instance)
        if not multiples:
            return evaluate()
        beyond, began = max(2, *multiples.values()), time.process_time()
        result, ended = None, False
        try:
            with suppress(ArithmeticError, MemoryError), time_limit(2 * LONGEST):
                result, ended = evaluate(), True
        except TimeLimitExceeded:
            self.given_up.append(2 * LONGEST)
        if not ended or time.process_time() - began > LONGEST:
            self.farthest = max(1.0, min(self.farthest, beyond / 2))
        return result

    def _climb(self, line: str, evaluations: int) -> None:
        """Change entries of vectors and sequences, one after the other, as long as a line uses more of its bound.

        It starts at the tightest instance, and there with extreme values of each, so that a sequence is built greedily.
        """
        progress, space = self.progress[line], self.space
        if progress.found or progress.tightest is None or progress.used == 0:
            return
        first = progress.tightest.instance
        extremes = [
            space.fit({**first, name: value})
            for name in space.several
            for value in space.extremes(name, first)
        ]
        used: dict[str, float] = {}

        def evaluate(instance: dict[str, Any]) -> float:
            """Return how much of its bound the line uses; -1 if the instance breaks a hypothesis, or is none."""
            key = space.key(instance)
            if key not in used:
                evaluation = self._evaluation(instance, key) if space.holds(instance) else None
                judged = None if evaluation is None else evaluation.judged.get(line)
                used[key] = -1.0 if judged is None else judged.used
            return used[key]

        def is_open() -> bool:
            late = time.process_time() - self.began > 2 * SECONDS
            return len(used) < evaluations and not late and self._is_open() and progress.found is None

        for start in [first, *extremes]:
            best, most, improved = start, evaluate(start), True
            while improved and is_open():
                improved, place, moves = False, 0, space.changes(best)
                while is_open() and (move := next(moves, None)) is not None:
                    place += 1
                    if evaluate(move) > most:
                        best, most, improved = move, evaluate(move), True
                        moves = itertools.islice(space.changes(best), place, None)

    def _go_far(self, line: str) -> None:
        """Go from the tightest instance to multiples of each open end; if that is slow, see how the ratio grows."""
        progress, space = self.progress[line], self.space
        if progress.found or progress.tightest is None:
            return
        start = progress.tightest.instance
        for name, allowed in space.ranges.items():
            if not isinstance(allowed, Interval) or not (allowed.upwards or allowed.downwards):
                continue
            for multiple in (each for each in FAR if each <= self.farthest):
                for sign in [1] * allowed.upwards + [-1] * allowed.downwards:
                    far = space.at_multiple(start, name, sign * multiple)
                    if far is not None:
                        self._evaluate_within_limit(far)
            if allowed.upwards and self.reached.get(name, 0) < FAR[1] // 2 and self._grows(line, start, name):
                progress.grows = name

    def _go_very_far(self) -> None:
        """Compare what is proved far beyond the ranges, too, as long as that is quick."""
        space = self.space
        tightest = next((each.tightest for each in self.progress.values() if each.tightest), None)
        stream = generator(self.seed, self.claim, self.statement.name, "very far")
        for name, allowed in space.ranges.items():
            if tightest is None or not isinstance(allowed, Integers | Rationals) or not allowed.upwards:
                continue
            for power in VERY_FAR:
                far = space.at_multiple(tightest.instance, name, 10**power)
                others = (
                    None
                    if far is None
                    else space.draw(
                        stream, 1, start=far, names=[other for other in space.ranges if other != name]
                    )
                )
                began = time.process_time()
                for instance in (far, others):
                    if instance is not None:
                        instance[name] += int(
                            isinstance(allowed, Integers)
                        )  # a float would lose the last digit
                        self._evaluate_within_limit(instance)
                if time.process_time() - began > QUICK:
                    break

    def _grows(self, line: str, start: Instance, name: str) -> bool:
        """Return whether the ratio, up to the whole of an open end, goes on growing past 1."""
        ratios = []
        for share in (8, 4, 2, 1):
            instance = self.space.at_multiple(start, name, Fraction(1, share))
            evaluation = None if instance is None else self._conclude(instance)
            if evaluation is None or line not in evaluation.judged:
                return False
            ratios.append(evaluation.judged[line].used)
        steps = [after - before for before, after in itertools.pairwise(ratios)]
        if not all(step > 0 for step in steps) or any(b < SLOWING * a for a, b in itertools.pairwise(steps)):
            return False
        growth = steps[-1] / steps[-2]
        return ratios[-1] + sum(steps[-1] * growth**n for n in range(1, DOUBLINGS + 1)) > 1

    def _compare_ties(self) -> None:
        """Evaluate further instances until the statement was compared with its proofs at enough."""
        if not self.ties or (self.exhausted and self.space.complete):
            return
        for number in range(4 * COMPARED):
            if self.instances >= COMPARED:
                return
            self._admissible(generator(self.seed, self.claim, self.statement.name, "further", number))

    # ---- one instance

    def evaluate(self, instance: dict[str, Any]) -> tuple[str, ...] | None:
        """Evaluate an instance, once, and return the lines that it breaks; None if it breaks a hypothesis."""
        key = self.space.key(instance)
        if key not in self.seen:
            self._evaluation(instance, key)
        return self.seen[key]

    def _evaluation(self, instance: dict[str, Any], key: str) -> Evaluation | None:
        evaluation = self._conclude(instance, key)
        if evaluation is not None and key not in self.seen:
            self._keep(evaluation)
        self.seen[key] = None if evaluation is None else evaluation.broken
        return evaluation

    def _conclude(self, instance: dict[str, Any], key: str = "") -> Evaluation | None:
        """Evaluate an instance, and compare it with the proofs; None if it breaks a hypothesis."""
        try:
            evaluation = self._evaluate(instance)
        except Outside as outside:
            self.rejected[str(outside)] += 1
            self.outside.append((str(outside), instance))
            if self.numbers is not None:
                self.numbers[key] = str(outside)
            return None
        if self.numbers is not None:
            self.numbers[key] = numbers_of(evaluation.lines)
        for tie in self.ties:
            tie.compare(self.space.arguments(instance), evaluation.lines)
        return evaluation

    def _evaluate(self, instance: dict[str, Any]) -> Evaluation:
        """Evaluate an instance; of expectations with doubled replicates until their intervals decide."""
        for replicates in self.sizes:
            with naming_hypotheses(self.stated):
                lines = self._lines(instance, replicates)
            with self.statement.naming_errors(instance):
                judged = self._judge(lines, instance)
            if all(isinstance(lines[name], Expectation) and each.settled for name, each in judged.items()):
                break
        return Evaluation(instance, lines, judged, replicates)

    def at(self, instance: dict[str, Any]) -> Evaluation:
        """Evaluate a single instance with all replicates.

        Raises
        ------
        Outside
            If it breaks a hypothesis.
        """
        self.sizes = self.sizes[-1:]
        return self._evaluate(instance)

    def _lines(
        self, instance: dict[str, Any], replicates: int | None, words: str = ""
    ) -> dict[str, Conclusion]:
        return self.statement.lines(instance, seed=self.seed, claim=self.claim + words, replicates=replicates)

    def _judge(self, lines: dict[str, Conclusion], instance: dict[str, Any]) -> dict[str, Judgement]:
        """Judge one sample; what breaks an asymptotic interval must break that of a second one, of all replicates."""
        significance = self.significance / self.settings
        if not any(isinstance(each, Expectation) for each in lines.values()):
            return judge(lines, significance, instance)
        judged = judge(lines, significance / self.looks, instance)
        if any(each.broken and each.confirms for each in judged.values()):
            again = judge(
                self._lines(instance, self.sizes[-1], " again"), significance / self.looks, instance
            )
            judged = {n: each.confirmed(again[n]) if each.confirms else each for n, each in judged.items()}
        return judged

    def _keep(self, evaluation: Evaluation) -> None:
        """Join what an evaluation gives to what the others gave."""
        self.instances += 1
        if self.progress and self.progress.keys() != evaluation.lines.keys():
            rule = f"must be the same at every instance: {', '.join(self.progress) or 'one'}"
            remedy = "return a line that is not stated there by given(...)"
            raise InvalidArgument("lines", ", ".join(evaluation.lines), rule, remedy)
        for name, line in evaluation.lines.items():
            progress = self.progress.setdefault(name, Progress())
            if isinstance(line, Excluded):
                progress.excluded[line.hypothesis] += 1
                continue
            progress.keep(evaluation, name, line)
        for name in evaluation.broken:
            progress = self.progress[name]
            earlier = progress.echo(evaluation, name)
            if progress.found is not None and (progress.alone or earlier):
                continue
            if needs_no_digits(evaluation, name):
                progress.found, progress.alone = evaluation, not earlier
            elif progress.doubted < FEW:
                progress.waiting.append(evaluation)
        for name, progress in self.progress.items():
            if progress.waiting:
                self._confirm(name, self.instances)

    def _confirm(self, name: str, instances: int) -> None:
        """Keep what breaks a line in floats, if rounding does not explain it beside the sides of 30 instances."""
        progress = self.progress[name]
        while progress.waiting and instances >= LEAST and not (progress.found and progress.alone):
            evaluation = progress.waiting.pop(0)  # the simplest of those that are listed
            broken = confirmed(self.statement, evaluation, name, progress.magnitude, self.seed, self.claim)
            if broken:
                progress.found = evaluation
                progress.alone = not set(evaluation.broken[: evaluation.broken.index(name)])
            elif broken is False:
                progress.corrected += 1
            else:
                progress.rounding, progress.doubted = evaluation, progress.doubted + 1

    # ---- what breaks, made simpler

    def _simplify(self, name: str) -> None:
        """Replace quantities of what breaks a line by simpler ones; if one alone breaks nothing, draw the others."""
        progress, space = self.progress[name], self.space
        first, left = progress.found, SIMPLIFYING
        key = space.key
        if first is not None and key(first.instance) in map(key, self.statement.first):
            return  # an example is reported as its author wrote it
        stream = generator(self.seed, self.claim, self.statement.name, "simpler", name)
        while (found := progress.found) is not None:
            moves = space.simpler(found.instance)
            if any(space.holds(move) and self._still_breaks(name, move) for move in moves):
                continue
            cost = space.complexity(found.instance)
            for move, _ in itertools.product(() if space.drawn else moves, range(REDRAWS)):
                if left == 0 or progress.found is not found:
                    break
                left -= 1
                others = [other for other in space.ranges if move[other] is found.instance[other]]
                if not others:
                    break
                drawn = space.draw(stream, 1, start=move, names=_some(stream, others))
                if drawn is not None and space.complexity(drawn) < cost:
                    self._still_breaks(name, drawn)
            if progress.found is found:
                break
        if found is first or found is None or needs_no_digits(found, name):
            return
        if not confirmed(self.statement, found, name, progress.magnitude, self.seed, self.claim):
            progress.found = first

    def _still_breaks(self, name: str, instance: dict[str, Any]) -> bool:
        """Evaluate an instance, and keep it as what refutes a line if it does (alone, if that was so before)."""
        progress, key = self.progress[name], self.space.key(instance)
        if key in self.seen and name not in (self.seen[key] or ()):
            return False
        evaluation = self._evaluation(instance, key)
        if evaluation is None or name not in evaluation.broken:
            return False
        if progress.echo(evaluation, name) and progress.alone:
            return False
        progress.found = evaluation
        return True

    # ---- statements with random numbers

    def _decide_settings(self) -> None:
        """Look at many instances with few repetitions each, and decide the worst with fresh ones."""
        listed = self.space.instances(self.wanted)
        few = listed is not None and len(listed) <= DECIDED
        if listed is not None and few:
            self.settings = len(self.statement.first) + max(1, len(listed))
        looks: list[tuple[float, int, dict[str, Any]]] = []
        looked: set[str] = set()
        most = self.sizes[-1] or LEAST
        for instance in self._settings() if listed is None else listed:
            if few:
                looks.append((0.0, len(looks), instance))
                continue
            if time.process_time() - self.began > SECONDS:
                self.stopped = SECONDS
                break
            if (key := self.space.key(instance)) in looked:
                continue
            looked.add(key)
            try:
                with naming_hypotheses(self.stated):
                    lines = self._within_limit(
                        instance, partial(self._lines, instance, max(min(most, LEAST), most // FEW), " first")
                    )
            except Outside as outside:
                self.rejected[str(outside)] += 1
                self.outside.append((str(outside), instance))
                continue
            if lines is None:
                continue
            worst = max(
                (suspicion(each) for each in lines.values() if not isinstance(each, Excluded)), default=0.0
            )
            looks.append((worst, len(looks), instance))
            self.looked_at += 1
        looks.sort(key=lambda look: -look[0])
        for instance in self._until_refuted(instance for _, _, instance in looks[:DECIDED]):
            self.evaluate(instance)
        self.exhausted = few and self._is_open()
        self.looked_at_all = listed is not None
        self._decide_tightest()

    def _decide_tightest(self) -> None:
        """Evaluate the tightest instance of a line that is not refuted with all repetitions, if it had fewer."""
        for progress in list(self.progress.values()):
            tightest = progress.tightest
            if progress.found or tightest is None:
                continue
            unlikely = self._unlikely(progress)
            size = self.sizes[-1] if unlikely is None or tightest.replicates is None else progress.trials
            if tightest.replicates != size:
                self.sizes = [size]
                if (evaluation := self._conclude(tightest.instance)) is not None:
                    self._keep(evaluation)

    def _settings(self) -> Iterator[dict[str, Any]]:
        yield from itertools.islice(self.space.corners(), self.wanted // 4)
        for number in range(MOST * self.wanted):
            if self.looked_at >= self.wanted:
                return
            stream = generator(self.seed, self.claim, self.statement.name, "instance", number)
            instance = self.space.draw(stream, self.farthest)
            for _ in range(REDRAWS):
                if instance is None:
                    break
                before = len(self.outside)
                yield instance
                if len(self.outside) == before:
                    break
                names = self.space.named_in(self.outside[-1][0])
                instance = self.space.draw(stream, self.farthest, start=instance, names=_some(stream, names))

    def _unlikely(self, progress: Progress) -> float | None:
        """Probability of as many failures over several instances, if it is below the error level."""
        tightest = progress.tightest.lines.values() if progress.tightest else ()
        exactly = any(isinstance(each, Frequency) and each.exactly for each in tightest)
        if not progress.trials or not progress.levels or progress.instances == 1 or exactly:
            return None
        # an instance's interval errs on this side with half of its level, which leaves room for one more
        tail = binomial_tail(progress.failures, progress.trials, max(progress.levels))
        return tail if tail < self.significance / self.settings else None

    # ---- purity

    def _require_purity(self, listed: Sequence[dict[str, Any]]) -> None:
        """Evaluate an exhausted space a second time, in reverse order; exact sides must come out again.

        If the first time left something in a list, a dictionary, a set or a cache, it is forgotten for a third time: an
        entry under a wrong key is found by the second instance.

        Raises
        ------
        InvalidArgument
            If the function gives other sides: it keeps something from one call to the next.
        """
        if (
            self.statement.random
            or not self._is_open()
            or not any(each.exact for each in self.progress.values())
        ):
            return
        for each in self.memory.iterators:
            rule, remedy = "must not be read from outside of the function", "make a list or a tuple of it"
            raise InvalidArgument("iterator", each, rule, remedy)
        self._require_same_sides(listed)
        if self.memory.changed:
            with self.memory.forgotten():
                self._require_same_sides(listed)

    def _require_same_sides(self, listed: Sequence[dict[str, Any]]) -> None:
        first = self.numbers or {}
        with recording_inexact() as inexact:
            for instance in reversed(listed):
                key = self.space.key(instance)
                try:
                    again = numbers_of(self._lines(instance, None))
                except Outside as outside:
                    again = str(outside)
                if key in first and again != first[key]:
                    rule = "must give the same sides whenever it is called"
                    remedy = "keep nothing from one call to the next"
                    raise InvalidArgument(
                        name_of(self.statement.function), "a function with a memory", rule, remedy
                    )
        if inexact:
            for progress in self.progress.values():
                progress.exact = False


def _some(stream: np.random.Generator, names: Sequence[str]) -> list[str]:
    """Choose some of the names, at least one."""
    return [name for name in names if stream.random() < 0.5] or [names[int(stream.integers(len(names)))]]
