"""Measurements of a run, the constants that they bound from both sides, and the record of a judged hypothesis."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from clusterproof.experiments.diagnosis.observation import ClusterObservation, Observation

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


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """One hypothesis, judged.

    Attributes
    ----------
    name
        As in the paper.
    statement, required, measured
        The condition, what it requires of this run, and what was measured, with its uncertainty.
    answer, scope
        Whether it holds, and what the answer is about.
    reason
        A sentence.
    numbers
        What was measured and required, by name.
    """

    name: str
    statement: str
    required: str
    measured: str
    answer: Answer
    scope: Scope
    reason: str
    numbers: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """What hypotheses are judged on.

    Attributes
    ----------
    observations
        Measured rounds in their order, at least one. The models of the last stand for the optima.
    start
        Models before the first round (P, d), or None if they were not observed.
    clients, clusters, dimension, rounds
        m, P, d and T.
    proportions
        l_p of the true clusters, (P,).
    choice_samples, gradient_samples, held
        See ``Views``.
    averaging, momentum, local_steps, participation, normalisation
        Of the algorithm, CFL-MGD or IFCA, which is without momentum.
    foreign
        Name of an algorithm that is neither; empty otherwise.
    """

    observations: tuple[Observation, ...]
    start: np.ndarray | None
    clients: int
    clusters: int
    dimension: int
    rounds: int
    proportions: np.ndarray
    choice_samples: int
    gradient_samples: int
    held: int | None
    averaging: str
    momentum: float
    local_steps: int
    participation: float
    normalisation: str
    foreign: str = ""

    def over_cells(self, quantity: Callable[[Observation, ClusterObservation], float]) -> list[float]:
        """Evaluate a quantity for every cluster of every measured round."""
        return [float(quantity(round_, cell)) for round_ in self.observations for cell in round_.clusters]

    @property
    def last(self) -> Observation:
        """The last measured round."""
        return self.observations[-1]

    @property
    def smoothness(self) -> float:
        """Largest curvature that was found: no L is smaller, up to the choice of clients."""
        return self.scaled_smoothness(lambda *_: 1.0)[0]

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

    def effective_step(self, observation: Observation, cell: ClusterObservation) -> float:
        """Return the factor of a cluster's mean gradient in one step: eta l_p where (5) divides by m."""
        if self.averaging == "model" or self.normalisation == "cluster":
            return observation.step_size
        present = self.participation if self.normalisation == "clients" else 1.0
        return observation.step_size * float(self.proportions[cell.cluster]) * present

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


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The measurements of a run, and the hypotheses judged by them, one per row of the report."""

    evidence: Evidence
    hypotheses: tuple[Hypothesis, ...]
