"""Outcomes of theorems on a run, as numbers and names."""

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
        The rounds in question.
    count, runs
        Number of runs above, and number of all runs.
    allowed
        Number of runs that may be above, by the failure probability of the bound.
    """

    when: When
    count: int
    runs: int
    allowed: float


@dataclass(frozen=True)
class Worst:
    """Place where a quantity is farthest above its bound.

    Attributes
    ----------
    quantity
        Name of the quantity.
    measured, allowed
        Value and bound of the quantity at this place.
    round
        The round after which the excess occurs.
    cluster
        The cluster, counted from 1; None for one model.
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
        Whether the run keeps to the theorem.
    claim
        Id of the claim, such as ``cfl-mgd/theorem-d``.
    source
        Source of the claim: the paper's sentence, one reading of it, or ours.
    quantity
        Name of the bounded quantity.
    measured, allowed, start
        The run's value after its last round, the theorem's bound there, and the run's value at the start. For at least
        20 runs ``measured`` is the 95 % quantile, for fewer the largest value. None if there is no number.
    hypotheses
        Every hypothesis that can be evaluated.
    above
        Counts of runs above the bound.
    worst
        The place where the run is farthest above the bound.
    constants
        Further numbers, by names of the glossary.
    reason
        Name of the glossary's sentence with the reason; empty if the numbers give the reason.
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
        """``allowed`` over ``measured``; None if one is missing, or is only rounding."""
        rounding = self.reason == "rounding"
        if rounding or self.allowed is None or not self.measured or self.allowed <= 0:
            return None
        return self.allowed / self.measured
