"""The evaluation of one instance: the two sides of each line, and whether the line holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from clusterproof.checker.claims.expectation import Expectation, replicates_to_try
from clusterproof.checker.claims.judge import Conclusion, Judgement, judge
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.kernel.ranges import Instance


@dataclass(frozen=True)
class Evaluation:
    """An instance with its lines, the judgement of each line, and the number of replicates."""

    instance: dict[str, Any]
    lines: Mapping[str, Conclusion]
    judged: Mapping[str, Judgement]
    replicates: int | None = None

    @property
    def broken(self) -> tuple[str, ...]:
        """Names of the lines that the instance refutes, in the order of the claim."""
        return tuple(name for name, each in self.judged.items() if each.broken and not each.undefined)


@dataclass(frozen=True)
class Evaluator:
    """Evaluator of the instances of one statement; equal instances always have equal results.

    Attributes
    ----------
    statement
        The statement to evaluate.
    seed
        Seed of the random numbers.
    significance
        Probability that at least one interval is wrong.
    settings
        Number of instances. Each instance gets an equal share of the significance.
    sizes
        Increasing numbers of replicates to try until the interval of an expectation decides the line. For other
        statements: (None,).
    samples
        Number of samples. Each sample gets an equal share of the significance of one instance. There are two samples
        per size, because a second sample may be necessary.
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
        """Return the evaluator of a statement; ``replicates`` overrides the number of replicates in the statement."""
        sizes: tuple[int | None, ...] = (None,)
        if statement.repeated:
            sizes = (*replicates_to_try(replicates or statement.replicates),)
        return cls(statement, seed, significance, sizes=sizes, samples=2 * len(sizes))

    def lines(
        self, instance: Instance, replicates: int | None = None, sample: str = ""
    ) -> dict[str, Conclusion]:
        """Evaluate the function; each value of ``sample`` stands for an independent sample of random numbers."""
        if not self.statement.random:
            return self.statement.lines(instance)
        stream = self.statement.stream(self.seed, instance, sample)
        return self.statement.lines(instance, stream, replicates)

    def evaluate(self, instance: dict[str, Any]) -> Evaluation:
        """Evaluate an instance; for an expectation, double the number of replicates until the intervals decide it.

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
        """Return an evaluator that always uses ``replicates`` replicates."""
        return replace(self, sizes=(replicates,))

    def _judge(self, lines: dict[str, Conclusion], instance: Instance) -> dict[str, Judgement]:
        """Judge one sample; if an asymptotic interval contradicts a line, a second sample must also contradict it."""
        share = self.significance / self.settings
        if not any(isinstance(each, Expectation) for each in lines.values()):
            return judge(lines, share, instance)
        share /= self.samples
        judged = judge(lines, share, instance)
        if any(each.broken and each.confirms for each in judged.values()):
            again = judge(self.lines(instance, self.sizes[-1], "again"), share, instance)
            judged = {n: each.confirmed(again[n]) if each.confirms else each for n, each in judged.items()}
        return judged
