"""Records of the content of a page: outcomes of theorems on a run, as numbers and names, and the figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from clusterproof.theory.bounds.hypotheses import Hypothesis, Value, unmet

Role = Literal[
    "run", "round alone", "without noise", "repaired", "printed", "printed factor", "start", "limit"
]
"""The possible roles of curves. The role determines colour and line style."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve and its label.

    Attributes
    ----------
    role
        Role of the curve.
    name
        Name of the theorem for a bound, and the role for all other curves.
    label
        Label of the curve, with formulas in TeX.
    values
        One value per round, or NaN if there is no value.
    band
        Lower and upper ends of a band around the curve, or None.
    last
        An additional value after the last round, for example a smaller bound, or None.
    """

    role: Role
    name: str
    label: str
    values: np.ndarray
    band: tuple[np.ndarray, np.ndarray] | None = None
    last: float | None = None


@dataclass(frozen=True, eq=False)
class ErrorPicture:
    """Errors of a run before the first and after every round, and related curves.

    Attributes
    ----------
    title, quantity
        Title ("" stands for the title of the page), and label of the vertical axis.
    curves
        Curves with ``rounds + 1`` values each.
    factor
        Text about the factor, and the last round over which it is measured, or None if no factor is measured.
    """

    title: str
    quantity: str
    curves: tuple[Curve, ...]
    factor: tuple[str, int] | None = None


@dataclass(frozen=True, eq=False)
class ResidualPicture:
    """Mean residuals of a run of FPFC against the number of rounds K = 1, 2, ..., and groups.

    Attributes
    ----------
    curves
        Curves with one value per K.
    ratios
        Ratios of bounds to the mean after the last round, as text, indexed by the role of the bound.
    groups
        Number of groups after every round, (rounds, runs).
    true_groups
        Number of true groups.
    """

    curves: tuple[Curve, ...]
    ratios: dict[Role, str]
    groups: np.ndarray
    true_groups: int


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
        Largest number of runs above the bound that is compatible with its failure probability.
    """

    when: When
    count: int
    runs: int
    allowed: float


@dataclass(frozen=True)
class Worst:
    """The round and the cluster in which a quantity exceeds its bound most.

    Attributes
    ----------
    quantity
        Name of the quantity.
    measured, allowed
        Value of the quantity, and bound, in this round and cluster.
    round
        The round.
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
        Id of the claim, for example ``cfl-mgd/theorem-d``.
    source
        Source of the claim: a sentence in the paper, one reading of a sentence, or our own claim.
    quantity
        Name of the bounded quantity.
    measured, allowed, start
        Value after the last round, the theorem's bound on this value, and initial value, or None. ``measured`` is the
        95 % quantile for at least 20 runs, and the largest value for fewer runs.
    hypotheses
        Every hypothesis that can be evaluated.
    above
        Counts of runs above the bound.
    worst
        The largest excess of a run over the bound.
    constants
        Other numbers, indexed by their names in the glossary.
    reason
        Name of the glossary's sentence with the reason, or "" if the numbers are the reason.
    remedy
        An option that would make the outcome conclusive.
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
        """The first hypothesis that is not satisfied."""
        return unmet(self.hypotheses)

    @property
    def ratio(self) -> float | None:
        """``allowed`` divided by ``measured``, or None if one of them is missing or may be a rounding error."""
        rounding = self.reason == "rounding"
        if rounding or self.allowed is None or not self.measured or self.allowed <= 0:
            return None
        return self.allowed / self.measured
