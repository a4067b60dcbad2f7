"""A run's measurements together, and the constants that they bound from the one side and the other."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clusterproof.neural.diagnosis.observation import ClusterObservation, Observation

FAILURE = 0.01
"""Probability with which any one of a run's bounds from samples may be wrong, all of them together."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """What hypotheses are judged on.

    Attributes
    ----------
    observations
        Measured rounds in their order, at least one.
    start
        Models before the first round (P, d), or None if they were not seen.
    clients, clusters, dimension, rounds
        m, P, d and T.
    proportions
        l_p of the true clusters, (P,).
    choice_samples, gradient_samples, held
        n' of the samples that a client chooses with and of a gradient, and n that a client holds; None
        where every batch is fresh.
    averaging, momentum, local_steps, participation, normalisation
        Of the algorithm, CFL-MGD or IFCA, which is without momentum.
    foreign
        Name of an algorithm that is neither; empty where it is one.
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

    @property
    def cells(self) -> list[ClusterObservation]:
        """Every cluster of every measured round."""
        return [cell for observation in self.observations for cell in observation.clusters]

    @property
    def last(self) -> Observation:
        """The last measured round, whose models stand for the optima."""
        return self.observations[-1]

    @property
    def step_size(self) -> float:
        """Largest step size of the measured rounds."""
        return max(observation.step_size for observation in self.observations)

    @property
    def smoothness(self) -> float:
        """Largest curvature that was found: no L is smaller, but for which clients were asked."""
        return max(float(cell.curvature.value[1]) for cell in self.cells)

    @property
    def smoothness_range(self) -> tuple[float, float]:
        """What L is at least, on clients that had no part in the search, and at most at these models."""
        least = max(float(cell.curvature.others.lower(self.each)[1]) for cell in self.cells)
        return least, max(float(cell.curvature.outer[1]) + cell.curvature.rounding for cell in self.cells)

    @property
    def strong_convexity(self) -> float:
        """Smallest curvature that was found: no mu is larger, but for which clients were asked."""
        return min(float(cell.curvature.value[0]) for cell in self.cells)

    @property
    def strong_convexity_range(self) -> tuple[float, float]:
        """What mu is at least at these models, and at most, on clients that had no part in the search."""
        most = min(
            float(cell.curvature.others.upper(self.each)[0]) + cell.curvature.rounding for cell in self.cells
        )
        return min(float(cell.curvature.outer[0]) - cell.curvature.rounding for cell in self.cells), most

    @property
    def separation(self) -> float:
        """Smallest distance of the last models (Delta)."""
        return self.last.separation

    @property
    def loss_variance(self) -> float:
        """Largest variance of one sample's loss at any measured model (sigma^2)."""
        return max(float(cell.loss_variance.value.max()) for cell in self.cells)

    @property
    def smallest_share(self) -> float:
        """Smallest l_p (l)."""
        return float(self.proportions.min())

    @property
    def start_distances(self) -> np.ndarray:
        """Distance of each cluster's first model to its last, (Q,); NaN if the first were not seen."""
        models = [cell.model for cell in self.last.clusters]
        if self.start is None:
            return np.full(len(models), np.nan)
        return np.asarray(np.linalg.norm(self.start[models] - self.last.models, axis=-1))

    def effective_step(self, observation: Observation, cell: ClusterObservation) -> float:
        """Give what multiplies a cluster's mean gradient in one step: eta l_p where (5) divides by m."""
        if self.averaging == "model" or self.normalisation == "cluster":
            return observation.step_size
        present = self.participation if self.normalisation == "clients" else 1.0
        return observation.step_size * float(self.proportions[cell.cluster]) * present

    @property
    def each(self) -> float:
        """Probability with which any one bound from samples may be wrong."""
        return FAILURE / (2 * len(self.cells))


def remaining_distance(cell: ClusterObservation) -> float:
    """Give what any stationary point is at least away, ||grad phi|| / L, with the local L."""
    most = float(cell.curvature.value[1])
    return cell.gradient_norm / most if most > 0 else math.inf
