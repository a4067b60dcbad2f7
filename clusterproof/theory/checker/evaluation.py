"""Evaluate one statement on instances, and keep what they give: factors, entries, the tightest instance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.algorithms.time_limit import TimeLimitExceeded, time_limit
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.conclusions import WHOLE, Conclusion, Entries, Judgement, judge
from clusterproof.theory.checker.expectation import Expectation, replicates_to_try
from clusterproof.theory.checker.frequency import Frequency
from clusterproof.theory.checker.rounding import as_float, as_floats
from clusterproof.theory.checker.sides import Outside, Sides, naming_hypotheses
from clusterproof.theory.checker.statement import DECIDED, Statement
from clusterproof.theory.checker.symbols import Condition
from clusterproof.theory.checker.ties import Tie

EXACT_SECONDS = 0.2
"""Seconds of processor time in which an instance that breaks a statement in floats is evaluated in fractions."""


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
        return max((as_float(factor) for factor in factors if factor is not None), default=0.0)


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
        Probabilities that are allowed.
    events
        Most events, each with its own probability, that an evaluation counts.
    unlikely
        Probability of as many failures over all instances, where it is below the error level; None where it is not.
    inconclusive
        Instances of which the interval of an expectation decides nothing, by the reason.
    excused
        Instances that would break it if less than 1e-14 of their floats were not rounding.
    settings
        Number of random settings, among which the error level is divided.
    looked_at
        Settings that were compared with few repetitions, to choose those that are decided.
    stopped
        Seconds after which the search was stopped; None where it ended.
    rounding
        The evaluation that breaks the statement by no more than rounding may explain.
    grows
        Quantity with which the tightest ratio grows without slowing down, if it would pass 1.
    magnitude
        Largest magnitude of a side that is a float.
    """

    statement: Statement
    instances: int = 0
    listed: int = 0
    exhausted: bool = False
    rejected: Counter[str] = field(default_factory=Counter)
    outside: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    symbolic: bool = False
    unproved: str | None = None
    exact: bool = True
    factors: dict[tuple[str, str], Extreme] = field(default_factory=dict)
    tightest: Evaluation | None = None
    found: Evaluation | None = None
    entries: dict[str, Entries | None] = field(default_factory=dict)
    typical: dict[str, list[float]] = field(default_factory=dict)
    stated: dict[str, Condition | None] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    trials: int = 0
    failures: int = 0
    levels: set[float] = field(default_factory=set)
    events: int = 0
    unlikely: float | None = None
    inconclusive: Counter[str] = field(default_factory=Counter)
    excused: int = 0
    settings: int = 1
    looked_at: int = 0
    stopped: float | None = None
    rounding: Evaluation | None = None
    grows: str = ""
    magnitude: float = 0.0

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
    def proved(self) -> bool:
        """Whether a proof went through."""
        return self.unproved == ""


class Evaluator:
    """Evaluates instances once each and keeps the running maxima.

    Parameters
    ----------
    trial
        Of the statement; it is filled.
    context
        Seed, number of replicates and the error level of the statement.
    ties
        Proofs by separate functions, compared with the statement at every instance.
    """

    def __init__(self, trial: Trial, context: Context, ties: Sequence[Tie] = ()) -> None:
        statement = trial.statement
        self.statement, self.context, self.trial, self.ties = statement, context, trial, ties
        self.seen: dict[str, tuple[bool, float] | None] = {}
        self.distinct = False
        self.numbers: dict[str, str] | None = None
        self.sizes: list[int | None] = [None]
        if statement.space.replicates is not None:
            self.sizes = [*replicates_to_try(context.trials or statement.replicates)]
        self.looks = 2 * len(self.sizes)  # twice, since a second sample may be compared
        # where a setting is repeated, the number that is given is that of the repetitions
        given = None if statement.repeated else context.trials
        self.wanted = given or statement.evaluations
        if statement.random:
            decided = statement.repeated and not statement.space.searched
            trial.settings = len(statement.first) + (DECIDED + 1 if decided else self.wanted)

    def any_breaks(self, instances: Iterable[dict[str, Any]]) -> bool:
        """Whether one of the instances breaks the statement; those after it are not evaluated."""
        return any((seen := self.evaluate(one)) is not None and seen[0] for one in instances)

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
            evaluation = self.conclude(one)
        except Outside as outside:
            trial.rejected[str(outside)] += 1
            trial.outside.append((str(outside), one))
            if self.numbers is not None:
                self.numbers[self.statement.space.key(one)] = str(outside)
            return None
        if self.numbers is not None:
            self.numbers[self.statement.space.key(one)] = numbers_of(evaluation.conclusions)
        trial.instances += 1
        trial.exact &= all(one.exact for one in evaluation.judged.values())
        # the conclusions of one evaluation speak of the same repetitions
        trial.trials += max((one.trials or 0 for one in evaluation.judged.values()), default=0)
        trial.failures += max((one.failures or 0 for one in evaluation.judged.values()), default=0)
        levels = [each.allowed for each in evaluation.conclusions.values() if isinstance(each, Frequency)]
        sides = [each for each in evaluation.conclusions.values() if isinstance(each, Sides)]
        levels += {float(each.failure) for each in sides if each.failure is not None}
        trial.levels |= set(levels)
        trial.events = max(trial.events, len(levels))
        if why := next((one.inconclusive for one in evaluation.judged.values() if one.inconclusive), ""):
            trial.inconclusive[why] += 1
        trial.excused += any(one.excused for one in evaluation.judged.values())
        if not trial.exact:
            trial.magnitude = max(trial.magnitude, largest_side(evaluation.conclusions))
        self.keep(evaluation)
        if evaluation.broken is not None:
            trial.found = evaluation
        return evaluation.broken is not None, evaluation.used

    def conclude(self, one: dict[str, Any]) -> Evaluation:
        """Evaluate an instance; of expectations with doubled replicates until their intervals decide."""
        for replicates in self.sizes:
            with naming_hypotheses(self.trial.stated):
                conclusions = self._sample(one, replicates)
            with self.statement.naming_errors(one):
                judged = self._judge(conclusions, one, replicates)
            if all(
                isinstance(each, Expectation) and judged[name].settled for name, each in conclusions.items()
            ):
                break
        for tie in self.ties:
            tie.compare(self.statement.name, self.statement.space.arguments(one), conclusions)
        if not self.statement.random and any(each.broken for each in judged.values()):
            conclusions, judged = self._exactly(one) or (conclusions, judged)
        return Evaluation(one, conclusions, judged, replicates)

    def _exactly(self, one: dict[str, Any]) -> tuple[dict[str, Conclusion], dict[str, Judgement]] | None:
        """Conclude of what breaks in floats, with the same numbers as fractions; None unless it holds exactly."""
        floats = {name for name, value in one.items() if isinstance(value, float) and math.isfinite(value)}
        if not floats:
            return None
        exact = {name: Fraction(value) if name in floats else value for name, value in one.items()}
        try:
            with time_limit(EXACT_SECONDS):
                conclusions = self._sample(exact, None)
                judged = judge(conclusions, self.context.significance, exact)
        except (Exception, TimeLimitExceeded):  # a statement need not be defined for fractions
            return None
        if not all(each.exact and not each.broken for each in judged.values()):
            return None
        return conclusions, {name: replace(each, exact=False) for name, each in judged.items()}

    def _sample(self, one: dict[str, Any], replicates: int | None, words: str = "") -> dict[str, Conclusion]:
        context = self.context
        return self.statement.conclude(
            one, seed=context.seed, claim=context.claim + words, replicates=replicates
        )

    def _judge(
        self, conclusions: dict[str, Conclusion], one: dict[str, Any], replicates: int | None
    ) -> dict[str, Judgement]:
        """Judge one sample; what breaks an asymptotic interval must break that of a second one, of all replicates."""
        significance = self.context.significance / self.trial.settings
        if not any(isinstance(each, Expectation) for each in conclusions.values()):
            return judge(conclusions, significance, one)
        judged = judge(conclusions, significance / self.looks, one)
        if any(each.broken and each.confirms for each in judged.values()):
            again = judge(self._sample(one, self.sizes[-1], " again"), significance / self.looks, one)
            judged = {
                name: each.confirmed(again[name]) if each.confirms else each for name, each in judged.items()
            }
        return judged

    def keep(self, evaluation: Evaluation) -> None:
        """Join what an evaluation gives to what the others gave."""
        trial = self.trial
        if trial.tightest is None or evaluation.used > trial.tightest.used:
            trial.tightest = evaluation
        for name, judgement in evaluation.judged.items():
            if judgement.typical is not None:
                trial.typical.setdefault(name, []).append(judgement.typical)
            entries = trial.entries.get(name, judgement.entries)
            trial.entries[name] = entries and entries.joined(judgement.entries)
            for term, factor in judgement.factors.items():
                known = trial.factors.get((name, term))
                if known is None or (factor is not None and (known.factor is None or factor > known.factor)):
                    trial.factors[name, term] = Extreme(factor, evaluation.instance)


def evaluate(statement: Statement, context: Context, one: dict[str, Any]) -> Evaluation:
    """Evaluate one instance, with all replicates.

    Raises
    ------
    Outside
        If it breaks a hypothesis.
    """
    evaluator = Evaluator(Trial(statement), context)
    evaluator.sizes = evaluator.sizes[-1:]
    return evaluator.conclude(one)


def numbers_of(conclusions: Mapping[str, Conclusion]) -> str:
    """Write all numbers of sure conclusions, to compare two evaluations."""
    sides = {name: each for name, each in conclusions.items() if isinstance(each, Sides)}
    return repr([(name, each.pairs or each.measured, {**each.terms}) for name, each in sorted(sides.items())])


def largest_side(conclusions: Mapping[str, Any]) -> float:
    """Largest finite magnitude of a side that is a float."""
    largest = 0.0
    for sides in conclusions.values():
        if isinstance(sides, Sides):
            pairs = sides.pairs if sides.identity else ((sides.measured, sides.allowed),)
            for value in (side for pair in pairs for side in pair):
                array = np.abs(as_floats(value))
                largest = max(largest, float(np.max(array, initial=0.0, where=np.isfinite(array))))
    return largest
