"""One instance of a statement: its lines, and what each of them gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from clusterproof.checker.claims.expectation import Expectation, replicates_to_try
from clusterproof.checker.claims.judge import Conclusion, Judgement, judge
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.kernel.spaces import Instance


@dataclass(frozen=True)
class Evaluation:
    """An instance with its lines, what they give, and how many replicates they took."""

    instance: dict[str, Any]
    lines: Mapping[str, Conclusion]
    judged: Mapping[str, Judgement]
    replicates: int | None = None

    @property
    def broken(self) -> tuple[str, ...]:
        """Names of the lines that the instance refutes, in their order."""
        return tuple(name for name, each in self.judged.items() if each.broken and not each.undefined)


@dataclass(frozen=True)
class Evaluator:
    """Evaluates instances of one statement: the same instance gives the same evaluation.

    Attributes
    ----------
    statement
        What is evaluated.
    seed
        Of the random numbers.
    significance
        Error probability of all intervals together.
    settings
        Instances among which it is divided.
    sizes
        Replicates that are tried in turn until the interval of an expectation decides; None for a statement without.
    samples
        Samples of each instance among which its share is divided: twice as many, since a second one may be compared.
    """

    statement: Statement
    seed: int
    significance: float
    settings: int = 1
    sizes: tuple[int | None, ...] = (None,)
    samples: int = 2

    @classmethod
    def of(
        cls, statement: Statement, seed: int, significance: float, replicates: int | None = None
    ) -> Evaluator:
        """Return the evaluator of a statement; ``replicates`` in place of its own number."""
        sizes: tuple[int | None, ...] = (None,)
        if statement.repeated:
            sizes = (*replicates_to_try(replicates or statement.replicates),)
        return cls(statement, seed, significance, sizes=sizes, samples=2 * len(sizes))

    def lines(
        self, instance: Instance, replicates: int | None = None, sample: str = ""
    ) -> dict[str, Conclusion]:
        """Evaluate the function; ``sample`` names another one of its random numbers."""
        if not self.statement.random:
            return self.statement.lines(instance)
        stream = self.statement.stream(self.seed, instance, sample)
        return self.statement.lines(instance, stream, replicates)

    def evaluate(self, instance: dict[str, Any]) -> Evaluation:
        """Evaluate an instance; of expectations with doubled replicates until their intervals decide.

        Raises
        ------
        Outside
            If the instance breaks a hypothesis.
        """
        for replicates in self.sizes:
            lines = self.lines(instance, replicates)
            with self.statement.naming_errors(instance):
                judged = self._judge(lines, instance)
            if all(isinstance(lines[name], Expectation) and each.settled for name, each in judged.items()):
                break
        return Evaluation(instance, lines, judged, replicates)

    def with_replicates(self, replicates: int | None) -> Evaluator:
        """Return an evaluator that takes so many replicates at once."""
        return replace(self, sizes=(replicates,))

    def _judge(self, lines: dict[str, Conclusion], instance: Instance) -> dict[str, Judgement]:
        """Judge one sample; what breaks an asymptotic interval must break that of a second one, of all replicates."""
        share = self.significance / self.settings
        if not any(isinstance(each, Expectation) for each in lines.values()):
            return judge(lines, share, instance)
        share /= self.samples
        judged = judge(lines, share, instance)
        if any(each.broken and each.confirms for each in judged.values()):
            again = judge(self.lines(instance, self.sizes[-1], "again"), share, instance)
            judged = {n: each.confirmed(again[n]) if each.confirms else each for n, each in judged.items()}
        return judged
