"""Records of the outcomes of theorems on a run, as numbers and names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from clusterproof.theory.bounds.hypotheses import Hypothesis, Value, unmet

OutcomeWord = Literal["holds", "is broken", "says nothing", "does not apply", "inconclusive"]
Source = Literal["printed", "reading", "ours"]
When = Literal["in some round", "before the last round", "at the end", "in the mean"]


@dataclass(frozen=True)
class Above:
    """Number of runs above a bound.

    Attributes
    ----------
    when
        The rounds to which the count refers.
    count, runs
        Number of runs above the bound, and number of all runs.
    allowed
        Number of runs that may be above the bound according to its failure probability.
    """

    when: When
    count: int
    runs: int
    allowed: float


@dataclass(frozen=True)
class Worst:
    """The place at which a quantity is farthest above its bound.

    Attributes
    ----------
    quantity
        Name of the quantity.
    measured, allowed
        Value of the quantity, and bound, at this place.
    round
        The round after which the excess occurs.
    cluster
        The cluster, counted from 1, or None for one model.
    """

    quantity: str
    measured: float
    allowed: float
    round: int
    cluster: int | None = None


@dataclass(frozen=True)
class Outcome:
    """The outcome of a theorem on a run.

    Attributes
    ----------
    outcome
        Outcome: holds, is broken, says nothing, does not apply, or inconclusive.
    claim
        Id of the claim, such as ``cfl-mgd/theorem-d``.
    source
        Source of the claim: a sentence in the paper, one reading of a sentence, or our own claim.
    quantity
        Name of the bounded quantity.
    measured, allowed, start
        Value after the last round, the theorem's bound on this value, and value at the start. ``measured`` is the 95 %
        quantile for at least 20 runs, otherwise the largest value. None if there is no number.
    hypotheses
        Every hypothesis that can be evaluated.
    above
        Counts of runs above the bound.
    worst
        The place at which the run is farthest above the bound.
    constants
        Further numbers, indexed by names in the glossary.
    reason
        Name of the sentence in the glossary that gives the reason; "" if the numbers are the reason.
    remedy
        An option that would decide the outcome.
    """

    outcome: OutcomeWord
    claim: str = ""
    source: Source = "ours"
    quantity: str = "error"
    measured: float | None = None
    allowed: float | None = None
    start: float | None = None
    hypotheses: tuple[Hypothesis, ...] = ()
    above: tuple[Above, ...] = ()
    worst: Worst | None = None
    constants: Mapping[str, Value] = field(default_factory=dict)
    reason: str = ""
    remedy: str = ""

    @property
    def unmet(self) -> Hypothesis | None:
        """The first hypothesis that fails."""
        return unmet(self.hypotheses)

    @property
    def ratio(self) -> float | None:
        """``allowed`` divided by ``measured``, or None if one of them is missing or is only rounding."""
        rounding = self.reason == "rounding"
        if rounding or self.allowed is None or not self.measured or self.allowed <= 0:
            return None
        return self.allowed / self.measured
