"""Statistics of the evaluated instances for one line of a statement."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clusterproof.checker.claims.expectation import Expectation
from clusterproof.checker.claims.frequency import Frequency
from clusterproof.checker.claims.judge import Conclusion, Entries
from clusterproof.checker.claims.rounding import SMALLEST, TOLERANCE, as_floats
from clusterproof.checker.claims.sides import Sides
from clusterproof.checker.search.evaluator import Evaluation


@dataclass
class Findings:
    """Statistics of all instances evaluated so far for one line.

    Attributes
    ----------
    instances, excluded
        Number of admissible instances. Number of instances to which the line does not apply, indexed by the hypothesis
        of ``given`` that fails.
    exact
        Whether the two sides were exact numbers at all instances.
    largest
        Largest value of each quantity that is an integer, such as a number of rounds.
    tightest
        The evaluation at which the measured side is closest to the bound.
    factors
        Factors on the bound and on each term that are sufficient at all instances, each with the instance that requires
        it.
    elsewhere
        Largest factor on the whole bound among instances with two different sides, and the instance that requires it.
    attained, common
        Number of instances at which the two sides are equal, and all quantities that have the same value at these
        instances.
    found, alone, basis
        ``found``: first evaluation that refutes the line. ``alone``: whether some evaluation refutes this line but no
        earlier line. ``basis``: ``"intervals"`` if interval arithmetic or exact numbers refuted the line, or
        ``"floats"`` if the violation was larger than rounding errors.
    echoed
        Earlier lines that are false at every instance at which this line is false, or None before the first evaluation.
    waiting
        Evaluations that break the line in floats, and that real numbers have not yet decided.
    rounding, doubted, why
        About evaluations that break the line in floats, but that rounding errors may explain: the first one, their
        number, and the reason.
    unanswered
        Number of evaluations that real numbers could not decide.
    infinite, undefined
        Number of instances at which both sides are infinite, and the first evaluation at which a side is NaN.
    rounded
        Number of instances at which an exact side exceeds a side in floats by less than the tolerance.
    corrected, all_hold
        ``corrected``: number of instances at which the line is false in floats but true over the real numbers.
        ``all_hold``: whether the line holds over the real numbers at every instance of the space.
    trials, failures, levels
        For a statement about a probability: number of replicates, number of failures, and number of replicates for
        each allowed probability.
    inconclusive
        Number of instances at which the interval for an expectation does not decide the line, indexed by the reason.
    magnitude
        Largest magnitude of a side in floats.
    grows
        Name of an unbounded quantity for which an extrapolation of the ratio exceeds 1, or an empty string.
    unlikely
        Probability of at least the observed number of failures if the line is true, or None if it exceeds the error
        level.
    """

    instances: int = 0
    excluded: Counter[str] = field(default_factory=Counter)
    exact: bool = True
    largest: dict[str, int] = field(default_factory=dict)
    tightest: Evaluation | None = None
    used: float = -1.0
    factors: dict[str, tuple[Any, dict[str, Any]]] = field(default_factory=dict)
    elsewhere: tuple[float, dict[str, Any]] | None = None
    attained: int = 0
    common: dict[str, Any] | None = None
    found: Evaluation | None = None
    alone: bool = False
    basis: str = ""
    echoed: tuple[str, ...] | None = None
    waiting: list[Evaluation] = field(default_factory=list)
    rounding: Evaluation | None = None
    doubted: int = 0
    why: str = ""
    unanswered: int = 0
    corrected: int = 0
    all_hold: bool = False
    infinite: int = 0
    undefined: Evaluation | None = None
    rounded: int = 0
    trials: int = 0
    failures: int = 0
    levels: Counter[float] = field(default_factory=Counter)
    inconclusive: Counter[str] = field(default_factory=Counter)
    magnitude: float = 0.0
    grows: str = ""
    unlikely: float | None = None

    def echo(self, evaluation: Evaluation, name: str) -> tuple[str, ...]:
        """Return the earlier lines that an evaluation breaks; remove lines that it does not break from ``echoed``."""
        earlier = evaluation.broken[: evaluation.broken.index(name)]
        self.echoed = tuple(line for line in earlier if self.echoed is None or line in self.echoed)
        return earlier

    def keep(self, evaluation: Evaluation, name: str, line: Conclusion, *, probing: bool = False) -> None:
        """Add the result of an evaluation to the statistics of this line.

        If the search is ``probing`` instances near the tightest one, these are not a sample of the whole space. They
        are therefore not counted in ``attained`` and ``elsewhere``.
        """
        judged = evaluation.judged[name]
        self.corrected += bool(judged.basis) and not judged.broken
        if judged.undefined:
            self.infinite += judged.infinite
            self.undefined = self.undefined or (None if judged.infinite else evaluation)
            return
        self.instances += 1
        self.rounded += judged.rounded
        self.exact &= judged.exact
        for quantity, value in evaluation.instance.items():
            if type(value) is int:
                self.largest[quantity] = max(value, self.largest.get(quantity, value))
        self.trials += judged.trials or 0
        self.failures += judged.failures or 0
        if isinstance(line, Frequency):
            self.levels[line.allowed] += judged.trials or 0
        elif isinstance(line, Sides) and line.failure is not None:
            self.levels[float(line.failure)] += judged.trials or 0
        if judged.inconclusive:
            self.inconclusive[judged.inconclusive] += 1
        if not self.exact and isinstance(line, Sides):
            self.magnitude = max(self.magnitude, _largest_side(line))
        if (
            judged.broken
            and isinstance(line, Sides)
            and line.failure is None
            and not (judged.exact or judged.basis)
        ):
            return  # rounding may explain why the line is broken
        if judged.used > self.used:
            self.tightest, self.used = evaluation, judged.used
        for term, factor in judged.factors.items():
            known = self.factors.get(term)
            if known is None or (factor is not None and (known[0] is None or factor > known[0])):
                self.factors[term] = (factor, evaluation.instance)
        if probing:
            return
        if judged.attained:
            self.attained += 1
            before = evaluation.instance if self.common is None else self.common
            self.common = {n: v for n, v in before.items() if _is_same(evaluation.instance[n], v)}
        elif self.elsewhere is None or judged.used > self.elsewhere[0]:
            self.elsewhere = (judged.used, evaluation.instance)


def _is_same(first: Any, second: Any) -> bool:
    return first is second or (type(first) is type(second) and np.array_equal(first, second))


def _largest_side(sides: Sides) -> float:
    """Return the largest finite magnitude among the entries of both sides."""
    pairs = sides.pairs if sides.identity else ((sides.measured, sides.allowed),)
    arrays = (np.abs(as_floats(side)) for pair in pairs for side in pair)
    return max(float(np.max(array, initial=0.0, where=np.isfinite(array))) for array in arrays)


def suspicion(line: Any) -> float:
    """Return by how many standard deviations the result of a few replicates exceeds the bound of a line."""
    if isinstance(line, Expectation):
        with np.errstate(all="ignore"):
            mean, spread = line.samples.mean(axis=0), line.samples.std(axis=0)
            excess = {"at_most": 1, "at_least": -1}.get(line.sense, 0) * (mean - line.allowed)
            excess = np.where(line.sense == "equal", np.abs(mean - line.allowed), excess)
            least = TOLERANCE * np.maximum(np.abs(mean), np.abs(line.allowed)) + SMALLEST
            worst = float(np.max(np.nan_to_num(excess / np.maximum(spread, least), nan=math.inf)))
        return worst * math.sqrt(len(line.samples))
    if isinstance(line, Frequency):
        count, allowed = line.events.size, line.allowed
        gap = float(line.events.mean()) - allowed
        spread = math.sqrt(max(allowed * (1 - allowed), 1 / count) / count)
        return float((abs(gap) if line.exactly else gap) / spread)
    entries = Entries(line)
    if line.failure is None:
        return math.inf if entries.broken.any() else float(as_floats(entries.factors()).max(initial=0.0))
    count = len(entries.measured)
    share = float(entries.by_replicate(entries.broken).mean())
    spread = math.sqrt(max(line.failure * (1 - line.failure), 1 / count) / count)
    return float((share - line.failure) / spread)
