"""Try one statement: prove it, else enumerate its space, else take the extremes and search."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.algorithms.time_limit import TimeLimitExceeded, time_limit
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.conclusions import WHOLE, Conclusion, Entries, Judgement, judge
from clusterproof.theory.checker.corners import (
    BEYOND,
    CORNERS,
    beyond,
    corners,
    neighbours,
    open_ends,
    spread_draws,
    toward,
)
from clusterproof.theory.checker.expectation import Expectation, replicates_to_try
from clusterproof.theory.checker.frequency import Frequency
from clusterproof.theory.checker.proof import Unproved, certify
from clusterproof.theory.checker.proof_sources import objection
from clusterproof.theory.checker.ranges import Interval
from clusterproof.theory.checker.sides import Outside, Sides, naming_hypotheses
from clusterproof.theory.checker.space_search import search
from clusterproof.theory.checker.statement import DRAWN, SEARCHED, Statement
from clusterproof.theory.checker.ties import COMPARED, Tie, recording_calls

STEP_SECONDS = 0.2
"""The next multiple of an open end is tried where it is expected to take less processor time."""
LONGEST_STEP = 1.0
"""Seconds of processor time after which such a step is given up, where the expectation was wrong."""
SIMPLER = 50
"""Simpler values of each quantity that are tried in place of those of a counterexample."""
HALVINGS = 8
"""Steps from an instance towards an end of a range, after which a hypothesis that forbids the end is met."""
DRAWN_CORNERS = 8
"""Corners that are tried with objects that are drawn."""
TRIES = 50
"""Draws for each instance that is wanted, after which too few are admissible."""


@dataclass(frozen=True)
class Extreme:
    """Largest factor that some instance needs, and that instance; no factor where none comes near."""

    factor: Any
    instance: dict[str, Any]


@dataclass(frozen=True)
class Evaluation:
    """An instance with its conclusions, what they give, and how many replicates they took."""

    instance: dict[str, Any]
    conclusions: dict[str, Conclusion]
    judged: dict[str, Judgement]
    replicates: int | None = None

    @property
    def broken(self) -> str | None:
        """Name of the first conclusion that the instance refutes."""
        return next((name for name, one in self.judged.items() if one.broken), None)

    @property
    def used(self) -> float:
        """Largest share of what is allowed that a conclusion uses."""
        factors = (one.factors.get(WHOLE) for one in self.judged.values())
        return max((float(factor) for factor in factors if factor is not None), default=0.0)


@dataclass
class Trial:
    """What the trial of one statement gives.

    Attributes
    ----------
    instances
        Distinct admissible instances that were evaluated.
    listed
        Those among them that the ranges list, where all of these were evaluated.
    exhausted
        Whether those are all that the ranges list.
    complete
        Whether the ranges list all that the statement speaks of.
    rejected
        Draws, or listed instances, by the hypothesis that they broke first.
    outside
        Those draws, each with that hypothesis.
    symbolic
        Whether the proof has symbols, instead of cases only.
    unproved
        Why the proof that was asked for did not go through; empty where it did, None where none was asked.
    exact
        Whether all sides were exact numbers.
    factors
        Running maxima by conclusion and term.
    tightest
        The evaluation that uses most of what is allowed.
    found
        The evaluation that refutes the statement.
    evaluated
        Admissible instances with the share that they use, for the constants.
    entries
        Entries over all instances, by conclusion; None where their shapes differ.
    typical
        Of each instance the share that half of the entries use, by conclusion.
    stated
        Names of the hypotheses, in order.
    reached
        Multiple of the printed end up to which each open range was searched.
    trials, failures
        Repetitions of probability statements, and those that broke them.
    levels
        Probabilities that statements about events allow.
    undecided
        Instances of which the interval of an expectation decides nothing, by the reason.
    settings
        Number of random settings, among which the error level is divided.
    """

    statement: Statement
    instances: int = 0
    listed: int = 0
    exhausted: bool = False
    complete: bool = False
    rejected: Counter[str] = field(default_factory=Counter)
    outside: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    symbolic: bool = False
    unproved: str | None = None
    exact: bool = True
    factors: dict[tuple[str, str], Extreme] = field(default_factory=dict)
    tightest: Evaluation | None = None
    found: Evaluation | None = None
    evaluated: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    entries: dict[str, Entries | None] = field(default_factory=dict)
    typical: dict[str, list[float]] = field(default_factory=dict)
    stated: dict[str, None] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    trials: int = 0
    failures: int = 0
    levels: set[float] = field(default_factory=set)
    undecided: Counter[str] = field(default_factory=Counter)
    settings: int = 1

    def identities(self, conclusion: str) -> tuple[list[int], float] | None:
        """Entries of a conclusion whose sides are the same number at every instance, and the largest factor elsewhere.

        Entries are counted along the first axis. None where there are none, or nothing else.
        """
        entries = self.entries.get(conclusion)
        if entries is None or self.instances < 2:
            return None
        rows = entries.identities.reshape(len(entries.identities), -1).all(axis=1)
        if not rows.any() or rows.all():
            return None
        return [int(i) for i in np.flatnonzero(rows)], float(entries.factors[~rows].max())

    @property
    def hidden(self) -> bool:
        """Whether the statement holds up to a hidden constant."""
        sides = {} if self.tightest is None else self.tightest.conclusions
        return any(isinstance(each, Sides) and each.hidden for each in sides.values())

    @property
    def proved(self) -> bool:
        """Whether a proof went through."""
        return self.unproved == ""


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
        try:
            records = tuple(record for record, _ in statement.space.records.values())
            if wrong := objection(statement.function, records):
                raise Unproved(wrong)
            trial.symbolic = certify(statement.space, statement.conclude)
        except Unproved as reason:
            trial.unproved = str(reason)
        else:
            trial.unproved = ""
    _Evaluator(statement, context, trial, ties).run()
    if trial.proved and not trial.instances:
        # a proof on symbols passes over the hypotheses
        trial.unproved = "no instance was found that meets its hypotheses"
    return trial


def planned(statement: Statement) -> int:
    """Number of settings of a random statement: known beforehand, whatever they give."""
    budget = DRAWN if statement.budget is None else statement.budget
    listed = statement.space.instances(budget)
    further = drawn_corners(statement, budget) if listed is None and statement.space.replicates else 0
    return max(1, len(statement.first) + further + (budget if listed is None else len(listed)))


def drawn_corners(statement: Statement, budget: int) -> int:
    """Number of corners that are tried with drawn objects, or with replicates: none of them is chosen."""
    ranges = statement.space.ranges.values()
    return min(DRAWN_CORNERS, budget) if any(isinstance(each, Interval) for each in ranges) else 0


def evaluate(statement: Statement, context: Context, one: dict[str, Any]) -> Evaluation:
    """Evaluate one instance, with all replicates.

    Raises
    ------
    Outside
        If it breaks a hypothesis.
    """
    evaluator = _Evaluator(statement, context, Trial(statement), ())
    evaluator.sizes = evaluator.sizes[-1:]
    return evaluator._conclude(one)


class _Evaluator:
    """Evaluates instances once each and keeps the running maxima."""

    def __init__(self, statement: Statement, context: Context, trial: Trial, ties: Sequence[Tie]) -> None:
        self.statement, self.context, self.trial, self.ties = statement, context, trial, ties
        self.seen: dict[str, tuple[bool, float] | None] = {}
        self.distinct = False
        self.replicates = context.trials if statement.space.replicates is not None else None
        self.sizes: list[int | None] = [None]
        if statement.space.replicates is not None:
            self.sizes = [*replicates_to_try(context.trials or statement.replicates)]
        self.looks = 2 * len(self.sizes)  # twice, since a second sample may be compared
        if statement.random:
            trial.settings = planned(statement)

    def run(self) -> None:
        """Evaluate until something breaks, or all that is to be tried was; what is tightest with all replicates."""
        self._try()
        trial, tightest = self.trial, self.trial.tightest
        if trial.found is None and tightest is not None and tightest.replicates != self.sizes[-1]:
            self.sizes = self.sizes[-1:]
            self._keep(evaluation := self._conclude(tightest.instance))
            trial.found = evaluation if evaluation.broken is not None else None

    def _try(self) -> None:
        trial, statement, space = self.trial, self.statement, self.statement.space
        budget = statement.budget or (DRAWN if space.sampled or statement.random else SEARCHED)
        listed = space.instances(budget if statement.random else statement.exhaustible)
        if self._any_breaks(statement.first):
            return
        if listed is not None:
            self.distinct = not statement.first
            trial.exhausted = not self._any_breaks(listed)
            trial.complete = space.complete
            trial.listed = trial.instances
            if trial.found is None and not trial.complete:
                self.distinct = False
                self._look_further(min(len(listed), SEARCHED))
            return
        if self.replicates is None:
            budget = self.context.number_of_trials(budget)
        if (statement.random or space.sampled) and not space.searched:
            self._any_breaks(self._draws(budget))
        else:
            self._search(budget, climbs=not (statement.random or space.sampled))
        if trial.found is None:
            self._look_further(budget)
        short = COMPARED - min((tie.compared for tie in self.ties if not tie.refused), default=COMPARED)
        if trial.found is None and short > 0:
            if space.searched:
                self._search(4 * short, climbs=False, name=" again")  # some are drawn twice
            else:
                self._any_breaks(self._draws(short))

    def _search(self, budget: int, *, climbs: bool, name: str = "") -> None:
        """Search with hypothesis, and simplify what breaks the statement."""
        seed = f"{self.context.seed} {self.context.claim} {self.statement.name}{name}"
        found = search(self.statement.space, self.evaluate, seed=seed, budget=budget, climbs=climbs)
        self.trial.found = None if found is None else self._conclude(found)

    def _look_further(self, budget: int) -> None:
        """Try corners, values beyond open ends, other magnitudes, and neighbours of what uses most of the bound."""
        statement, space, tightest = self.statement, self.statement.space, self.trial.tightest
        if tightest is None:
            return
        base = tightest.instance
        stream = self.context.generator(statement.name, "corners")
        if space.sampled or space.replicates is not None:
            drawn = (space.draw(stream) for _ in range(drawn_corners(statement, budget)))
            self._any_breaks(one for base in drawn for one in corners(space, stream, base, 1))
            return
        found = self._any_breaks(corners(space, stream, base, min(CORNERS, budget)))
        if not found and not statement.random:
            found = (
                self._any_breaks(spread_draws(space, stream, base, budget // 4))
                or self._climb(budget // 4)
                or self._breaks_at_a_hypothesis()
            )
        if found or self._breaks_beyond():
            self._simplify()

    def _breaks_at_a_hypothesis(self) -> bool:
        """Move each quantity of the tightest instance towards its ends, up to where a hypothesis forbids it."""
        space, tightest = self.statement.space, self.trial.tightest
        assert tightest is not None
        for name, side in itertools.product(space.ranges, (0, 1)):
            inside, outside = Fraction(0), Fraction(1)
            share = outside
            for _ in range(HALVINGS):
                moved = toward(space, tightest.instance, name, side, share)
                seen = None if moved is None else self.evaluate(moved)
                if seen is not None and seen[0]:
                    return True
                inside, outside = (inside, share) if seen is None else (share, outside)
                if inside == outside:
                    break
                share = (inside + outside) / 2
        return False

    def _breaks_beyond(self) -> bool:
        """Go beyond each open end, one quantity at a time, from the tightest instance, as long as that is quick."""
        trial, space = self.trial, self.statement.space
        if trial.tightest is None or not open_ends(space):
            return False
        start = trial.tightest.instance
        began = time.process_time()
        self._conclude(start)
        usual = max(time.process_time() - began, 1e-4)
        for name, sign in open_ends(space):
            before = usual
            for multiple in BEYOND:
                moved = beyond(space, start, name, sign, multiple)
                if moved is None:
                    break
                began = time.process_time()
                try:
                    with time_limit(LONGEST_STEP):
                        broken = self._any_breaks([moved])
                except (ArithmeticError, MemoryError, TimeLimitExceeded):
                    break
                if broken:
                    return True
                trial.reached[name] = multiple
                seconds = time.process_time() - began
                # the next step takes as many times longer, and ten times at least
                if seconds * max(10.0, seconds / before) > STEP_SECONDS:
                    break
                before = max(seconds, usual)
        return False

    def _climb(self, steps: int) -> bool:
        """Move from the tightest instance to better neighbours."""
        trial = self.trial
        while steps > 0 and trial.tightest is not None:
            start = trial.tightest
            around = list(itertools.islice(neighbours(self.statement.space, start.instance), steps))
            if self._any_breaks(around):
                return True
            steps -= len(around)
            if trial.tightest is start:
                return False
        return False

    def _simplify(self) -> None:
        """Replace quantities of what was found by simpler ones, as long as it breaks the statement."""
        found = self.trial.found
        assert found is not None
        space = self.statement.space
        for name, allowed in space.ranges.items():
            for value in itertools.islice(allowed.values(found.instance) or (), SIMPLER):
                moved = dict(found.instance) | {name: value}
                if value == found.instance[name]:
                    break
                holds = all(each.holds(moved[key], moved) for key, each in space.ranges.items())
                if holds and self._any_breaks([moved]):
                    found = self.trial.found
                    assert found is not None
                    break
        self.trial.found = found

    def _any_breaks(self, instances: Iterable[dict[str, Any]]) -> bool:
        return any((seen := self.evaluate(one)) is not None and seen[0] for one in instances)

    def _draws(self, count: int) -> Iterator[dict[str, Any]]:
        """Draw settings, none of them chosen by what another gave, until enough are admissible."""
        start = self.trial.instances
        for number in range(TRIES * count):
            if self.trial.instances - start >= count:
                return
            yield self.statement.space.draw(self.context.generator(self.statement.name, "instance", number))

    def evaluate(self, one: dict[str, Any]) -> tuple[bool, float] | None:
        """Evaluate an instance, once."""
        if self.distinct:
            return self._evaluate(one)
        key = self.statement.space.key(one)
        if key not in self.seen:
            self.seen[key] = self._evaluate(one)
        return self.seen[key]

    def _evaluate(self, one: dict[str, Any]) -> tuple[bool, float] | None:
        trial = self.trial
        try:
            evaluation = self._conclude(one)
        except Outside as outside:
            trial.rejected[str(outside)] += 1
            trial.outside.append((str(outside), one))
            return None
        trial.instances += 1
        trial.exact &= all(one.exact for one in evaluation.judged.values())
        trial.evaluated.append((evaluation.used, one))
        # the conclusions of one evaluation speak of the same repetitions
        trial.trials += max((one.trials or 0 for one in evaluation.judged.values()), default=0)
        trial.failures += max((one.failures or 0 for one in evaluation.judged.values()), default=0)
        trial.levels |= {
            each.allowed for each in evaluation.conclusions.values() if isinstance(each, Frequency)
        }
        if why := next((one.undecided for one in evaluation.judged.values() if one.undecided), ""):
            trial.undecided[why] += 1
        self._keep(evaluation)
        if evaluation.broken is not None:
            trial.found = evaluation
        return evaluation.broken is not None, evaluation.used

    def _conclude(self, one: dict[str, Any]) -> Evaluation:
        """Evaluate an instance; of expectations with doubled replicates until their intervals decide."""
        for replicates in self.sizes:
            with recording_calls() as calls, naming_hypotheses(self.trial.stated):
                conclusions = self._sample(one, replicates)
            with self.statement.naming_errors(one):
                judged = self._judge(conclusions, one, replicates)
            if all(
                isinstance(each, Expectation) and judged[name].settled for name, each in conclusions.items()
            ):
                break
        for tie in self.ties:
            tie.compare(self.statement.name, self.statement.space.arguments(one), conclusions, calls)
        return Evaluation(one, conclusions, judged, replicates)

    def _sample(self, one: dict[str, Any], replicates: int | None, words: str = "") -> dict[str, Conclusion]:
        context = self.context
        return self.statement.conclude(
            one, seed=context.seed, claim=context.claim + words, replicates=replicates
        )

    def _judge(
        self, conclusions: dict[str, Conclusion], one: dict[str, Any], replicates: int | None
    ) -> dict[str, Judgement]:
        """Judge one sample; what breaks an asymptotic interval must break that of a second sample, too."""
        significance = self.context.significance / self.trial.settings
        if not any(isinstance(each, Expectation) for each in conclusions.values()):
            return judge(conclusions, significance, one)
        judged = judge(conclusions, significance / self.looks, one)
        if any(each.broken and each.confirms for each in judged.values()):
            again = judge(self._sample(one, replicates, " again"), significance / self.looks, one)
            judged = {
                name: each.confirmed(again[name]) if each.confirms else each for name, each in judged.items()
            }
        return judged

    def _keep(self, evaluation: Evaluation) -> None:
        trial = self.trial
        if trial.tightest is None or evaluation.used > trial.tightest.used:
            trial.tightest = evaluation
        for name, judgement in evaluation.judged.items():
            if judgement.typical is not None:
                trial.typical.setdefault(name, []).append(judgement.typical)
            known_entries, entries = trial.entries.get(name, judgement.entries), judgement.entries
            if (
                entries is None
                or known_entries is None
                or entries.factors.shape != known_entries.factors.shape
            ):
                trial.entries[name] = None
            else:
                trial.entries[name] = known_entries.joined(entries)
            for term, factor in judgement.factors.items():
                known = trial.factors.get((name, term))
                if known is None or (factor is not None and (known.factor is None or factor > known.factor)):
                    trial.factors[name, term] = Extreme(factor, evaluation.instance)
