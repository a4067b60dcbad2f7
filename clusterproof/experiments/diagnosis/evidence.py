"""Measurements of a run, the constants that they bound from both sides, and the record of a judged hypothesis."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.algorithms.protocol import Algorithm
from clusterproof.experiments.diagnosis.observation import ClusterObservation, Observation
from clusterproof.experiments.diagnosis.task_variants import TaskVariants

FAILURE = 0.01
"""Probability that any one of a run's bounds from samples is wrong, all of them together."""


class Answer(enum.StrEnum):
    """Whether a hypothesis holds; vacuous is one that could not fail."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "not decidable"
    VACUOUS = "vacuous"


class Scope(enum.StrEnum):
    """What an answer is about."""

    EXACT = "exact: follows from the settings"
    LOCAL = "local: at the measured models, on the clients that were asked"
    STAND_IN = "stand-in: the last model in the optimum's place"


@dataclass(frozen=True)
class Hypothesis:
    """One hypothesis, judged.

    Attributes
    ----------
    name, statement
        As in the paper.
    scope
        What the answer is about.
    answer
        Whether it holds.
    required
        What the condition requires of this run.
    reason
        A sentence.
    numbers
        What was measured and required, by name.
    """

    name: str
    statement: str
    scope: Scope
    answer: Answer
    required: str
    reason: str
    numbers: dict[str, float]

    @property
    def measured(self) -> str:
        """The numbers in one line."""
        return ", ".join(f"{name.replace('_', ' ')} {number(value)}" for name, value in self.numbers.items())


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """What hypotheses are judged on.

    Attributes
    ----------
    observations
        Measured rounds in their order, at least one. The models of the last stand for the optima.
    start
        Models before the first round (P, d), or None if they were not observed.
    variants
        The task.
    algorithm
        The algorithm; its parameters are read from its ``dynamics``.
    rounds
        Number of rounds of the run (T).
    """

    observations: tuple[Observation, ...]
    start: np.ndarray | None
    variants: TaskVariants
    algorithm: Algorithm[Any]
    rounds: int

    def parameter(self, name: str, default: Any) -> Any:
        """Return a parameter of the algorithm; ``default`` if it has none, as IFCA has no momentum."""
        return getattr(self.algorithm.dynamics, name, default)

    @property
    def recursion_is_known(self) -> bool:
        """Whether the algorithm's steps are those of CFL-MGD or IFCA."""
        return self.algorithm.dynamics.name in ("cfl-mgd", "ifca")

    @property
    def proportions(self) -> np.ndarray:
        """l_p of the true clusters, (P,)."""
        task = self.variants.batch
        return np.bincount(np.asarray(task.labels), minlength=task.clusters) / task.clients

    def over_cells(self, quantity: Callable[[Observation, ClusterObservation], float]) -> list[float]:
        """Evaluate a quantity for every cluster of every measured round."""
        return [float(quantity(round_, cell)) for round_ in self.observations for cell in round_.clusters]

    @property
    def last(self) -> Observation:
        """The last measured round."""
        return self.observations[-1]

    @property
    def smoothness_range(self) -> tuple[float, float]:
        """Lower bound on L, from clients that were not used in the search, and upper bound at these models."""
        return self.scaled_smoothness(lambda *_: 1.0)[1:]

    def scaled_smoothness(
        self, factor: Callable[[Observation, ClusterObservation], float]
    ) -> tuple[float, float, float]:
        """Return the largest of a factor times L over the measurements: as found, lower bound and upper bound."""
        each = self.failure
        return (
            max(self.over_cells(lambda o, c: factor(o, c) * c.curvature.value[1])),
            max(self.over_cells(lambda o, c: factor(o, c) * c.curvature.others.lower(each)[1])),
            max(self.over_cells(lambda o, c: factor(o, c) * (c.curvature.outer[1] + c.curvature.rounding))),
        )

    @property
    def strong_convexity(self) -> float:
        """Smallest curvature that was found: no mu is larger, up to the choice of clients."""
        return min(self.over_cells(lambda _, cell: cell.curvature.value[0]))

    @property
    def strong_convexity_range(self) -> tuple[float, float]:
        """Lower bound on mu at these models, and upper bound, from clients that were not used in the search."""
        each = self.failure
        return (
            min(self.over_cells(lambda _, c: c.curvature.outer[0] - c.curvature.rounding)),
            min(self.over_cells(lambda _, c: c.curvature.others.upper(each)[0] + c.curvature.rounding)),
        )

    @property
    def loss_variance(self) -> float:
        """Largest variance of one sample's loss at any measured model (sigma^2)."""
        return max(self.over_cells(lambda _, cell: cell.loss_variance.value.max()))

    @property
    def start_distances(self) -> np.ndarray:
        """Distance of each cluster's first model to its last, (Q,); NaN if the first were not observed."""
        models = [cell.model for cell in self.last.clusters]
        if self.start is None:
            return np.full(len(models), np.nan)
        return np.asarray(np.linalg.norm(self.start[models] - self.last.models, axis=-1))

    @property
    def failure(self) -> float:
        """Probability that any one bound from samples is wrong."""
        return FAILURE / (2 * len(self.over_cells(lambda *_: 1.0)))


def number(value: float) -> str:
    """Format a number for reading."""
    return f"{value:.3g}"


def compare(least: float, most: float, limit: float) -> Answer:
    """Decide whether a quantity that lies between two bounds is at most ``limit``."""
    return Answer.FAILS if least > limit else Answer.HOLDS if most <= limit else Answer.UNDECIDED


def decide(
    evidence: Evidence, holds: Callable[[float, float], bool], *, needs_sample: bool = False
) -> tuple[Answer, str]:
    """Decide a condition on mu > 0 and L that is the easier to meet, the larger mu and the smaller L.

    Parameters
    ----------
    evidence
        Bounds both constants from both sides.
    holds
        Whether mu and L meet the condition.
    needs_sample
        Whether the condition is about more than the measured models, so that it can only be refuted.

    Returns
    -------
    tuple
        The answer, and a sentence that gives the decisive constants.
    """
    least_curved, most_curved = evidence.strong_convexity_range
    least_smooth, most_smooth = evidence.smoothness_range
    if most_curved <= 0:
        return Answer.FAILS, "There is no mu > 0 (Assumption 2), and so nothing that meets it."
    smooth = max(least_smooth, most_curved)
    favourable = f"mu = {number(most_curved)} and L = {number(smooth)}"
    if not holds(most_curved, smooth):
        return Answer.FAILS, f"It is not met even by {favourable}, the most favourable that were measured."
    bounded = least_curved > 0 and math.isfinite(most_smooth)
    if not needs_sample and bounded and holds(least_curved, most_smooth):
        unfavourable = f"mu = {number(least_curved)} and L = {number(most_smooth)}"
        return Answer.HOLDS, f"It is met even by {unfavourable}, the least favourable that were measured."
    reason = f"It is met by {favourable}, but nothing shows that constants such as these serve everywhere."
    return Answer.UNDECIDED, reason
