"""What a theorem says of a run, as numbers and names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from clusterproof.theory.bounds.hypotheses import Hypothesis, Value, unmet

OutcomeWord = Literal["holds", "is broken", "says nothing", "does not apply", "inconclusive"]
Source = Literal["printed", "reading", "ours"]
When = Literal["in some round", "before the last round", "after the last round", "in the mean"]


@dataclass(frozen=True)
class Above:
    """Runs above a bound.

    Attributes
    ----------
    when
        In which rounds.
    count, runs
        How many runs are above, of how many.
    allowed
        How many may be, by the failure probability of the bound.
    """

    when: When
    count: int
    runs: int
    allowed: float


@dataclass(frozen=True)
class Worst:
    """Where a quantity is farthest above what is allowed.

    Attributes
    ----------
    quantity
        Its name.
    measured, allowed
        What it is there, and what is allowed.
    round
        After which round.
    cluster
        Counted from 1; None of one model.
    """

    quantity: str
    measured: float
    allowed: float
    round: int
    cluster: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What a theorem says of a run.

    Attributes
    ----------
    outcome
        Whether the run keeps to it.
    claim
        Id of the claim, such as ``cfl-mgd/theorem-d``.
    source
        Whose sentence it is: the paper's, one reading of it, or ours.
    quantity
        Name of what it bounds.
    measured, allowed, start
        What the run has after its last round, what the theorem allows there, and what the run started with. Of at
        least 20 runs ``measured`` is the 95 % quantile, of fewer the largest. None where there is no number.
    hypotheses
        Every hypothesis that can be evaluated.
    above
        Counts of runs above the bound.
    worst
        Where the run is farthest above it.
    constants
        Further numbers, by names of the glossary.
    reason
        Name of the sentence of the glossary that says why; empty where the numbers say it.
    remedy
        An option that would decide.
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
        """The first hypothesis that is not met."""
        return unmet(self.hypotheses)

    @property
    def ratio(self) -> float | None:
        """``allowed`` over ``measured``; None where one is missing, or rounding."""
        rounding = self.reason == "rounding"
        if rounding or self.allowed is None or not self.measured or self.allowed <= 0:
            return None
        return self.allowed / self.measured
