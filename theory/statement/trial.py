"""Try one statement: prove it, else enumerate its space, else take the extremes and search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from clusterproof.theory.claim import Context
from clusterproof.theory.statement.judging import WHOLE, Conclusion, Judgement, judge
from clusterproof.theory.statement.proof import Unproved, certify
from clusterproof.theory.statement.searching import search
from clusterproof.theory.statement.sides import Outside
from clusterproof.theory.statement.statement import DRAWN, SEARCHED, Statement

TRIES = 50
"""Draws for each instance that is wanted, after which too few are admissible."""
MEETING = 1000
"""Draws in which a statement that was proved must be met once."""


@dataclass(frozen=True)
class Extreme:
    """Largest factor that some instance needs, and that instance; no factor where none comes near."""

    factor: Any
    instance: dict[str, Any]


@dataclass(frozen=True)
class Evaluation:
    """An instance with its conclusions and what they give."""

    instance: dict[str, Any]
    conclusions: dict[str, Conclusion]
    judged: dict[str, Judgement]

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
    exhausted
        Whether those are all that the ranges list.
    complete
        Whether the ranges list all that the statement speaks of.
    rejected
        Draws, or listed instances, by the hypothesis that they broke first.
    outside
        Those draws, of which a vacuous statement consists.
    symbolic
        Whether the proof has symbols, instead of cases only.
    unproved
        Why the proof that was asked for did not go through; empty where it did, None where none was asked.
    factors
        Running maxima by conclusion and term.
    tightest
        The evaluation that uses most of what is allowed.
    found
        The evaluation that refutes the statement.
    evaluated
        Admissible instances with the share that they use, for the constants.
    trials, failures
        Repetitions of probability statements, and those that broke them.
    settings
        Number of random settings, among which the error level is divided.
    """

    statement: Statement
    instances: int = 0
    exhausted: bool = False
    complete: bool = False
    rejected: Counter[str] = field(default_factory=Counter)
    outside: list[dict[str, Any]] = field(default_factory=list)
    symbolic: bool = False
    unproved: str | None = None
    factors: dict[tuple[str, str], Extreme] = field(default_factory=dict)
    tightest: Evaluation | None = None
    found: Evaluation | None = None
    evaluated: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    trials: int = 0
    failures: int = 0
    settings: int = 1

    @property
    def proved(self) -> bool:
        """Whether a proof went through."""
        return self.unproved == ""


def attempt(statement: Statement, context: Context) -> Trial:
    """Try a statement in the order proof, enumeration, extremes, draws or search.

    Parameters
    ----------
    statement
        What is tried.
    context
        Seed, budget (or repetitions, for random statements) and the error level of this statement.
    """
    trial = Trial(statement)
    if statement.prove:
        try:
            trial.symbolic = certify(statement.space, statement.conclude)
        except Unproved as reason:
            trial.unproved = str(reason)
        else:
            if _is_met(statement, context):
                trial.unproved = ""
                return trial
            trial.unproved = "no instance was found that meets its hypotheses"
    _Evaluator(statement, context, trial).run()
    return trial


def _is_met(statement: Statement, context: Context) -> bool:
    """Whether some instance meets the hypotheses, which a proof on symbols passes over: else nothing is certified."""
    for number in range(MEETING):
        one = statement.space.draw(context.generator(statement.name, "meeting", number))
        try:
            statement.conclude(one)
        except Outside:
            continue
        return True
    return False


def planned(statement: Statement) -> int:
    """Number of settings of a random statement: known beforehand, whatever they give."""
    budget = DRAWN if statement.budget is None else statement.budget
    listed = statement.space.instances(budget)
    return max(1, len(statement.first) + (budget if listed is None else len(listed)))


class _Evaluator:
    """Evaluates instances once each and keeps the running maxima."""

    def __init__(self, statement: Statement, context: Context, trial: Trial) -> None:
        self.statement, self.context, self.trial = statement, context, trial
        self.seen: dict[str, tuple[bool, float] | None] = {}
        self.distinct = False
        self.replicates = context.trials if statement.space.replicates is not None else None
        if statement.random:
            trial.settings = planned(statement)

    def run(self) -> None:
        """Evaluate until something breaks, or all that is to be tried was."""
        trial, statement, space = self.trial, self.statement, self.statement.space
        budget = statement.budget or (DRAWN if space.sampled or statement.random else SEARCHED)
        listed = space.instances(budget if statement.random else statement.exhaustible)
        if self._any_breaks(statement.first):
            return
        if listed is not None:
            self.distinct = not statement.first
            trial.exhausted = not self._any_breaks(listed)
            trial.complete = space.complete
            return
        if self.replicates is None:
            budget = self.context.number_of_trials(budget)
        if statement.random or space.sampled:
            self._any_breaks(self._draws(budget))
            return
        found = search(
            space,
            self.evaluate,
            seed=f"{self.context.seed} {self.context.claim} {statement.name}",
            budget=budget,
        )
        trial.found = None if found is None else self._conclude(found)

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
            trial.outside.append(one)
            return None
        trial.instances += 1
        trial.evaluated.append((evaluation.used, one))
        # the conclusions of one evaluation speak of the same repetitions
        trial.trials += max((one.trials or 0 for one in evaluation.judged.values()), default=0)
        trial.failures += max((one.failures or 0 for one in evaluation.judged.values()), default=0)
        self._keep(evaluation)
        if evaluation.broken is not None:
            trial.found = evaluation
        return evaluation.broken is not None, evaluation.used

    def _conclude(self, one: dict[str, Any]) -> Evaluation:
        conclusions = self.statement.conclude(
            one, seed=self.context.seed, claim=self.context.claim, replicates=self.replicates
        )
        return Evaluation(
            one, conclusions, judge(conclusions, self.context.significance / self.trial.settings)
        )

    def _keep(self, evaluation: Evaluation) -> None:
        trial = self.trial
        if trial.tightest is None or evaluation.used > trial.tightest.used:
            trial.tightest = evaluation
        for name, judgement in evaluation.judged.items():
            for term, factor in judgement.factors.items():
                known = trial.factors.get((name, term))
                if known is None or (factor is not None and (known.factor is None or factor > known.factor)):
                    trial.factors[name, term] = Extreme(factor, evaluation.instance)
