"""Pairs of models in the basin of a Gaussian regression, and the exact probability of a wrong choice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated

import numpy as np

from clusterproof.checker.claims import choice, integers, rationals
from clusterproof.synthetic import RegressionMixture

Length = Annotated[Fraction, rationals(0, 1, 4)]
"""Distance from the optimum, in units of the basin's radius."""
Angle = Annotated[Fraction, rationals(0, 2, 8)]
"""Angle, in units of pi."""


@dataclass(frozen=True)
class Pair:
    """Two models in the plane, each in the basin of one of two optima. The distance between the optima is Delta.

    The task is Gaussian regression with Sigma = diag(1, 1 / kappa) or diag(1 / kappa, 1).
    """

    condition_number: Annotated[int, integers(1, 20, upwards=True)]
    separation: Annotated[Fraction, choice(Fraction(1), Fraction(2), Fraction(1, 2))]
    noise: Annotated[Fraction, rationals(0, 3, 8, upwards=True)]
    samples: Annotated[int, integers(1, 200, upwards=True)]
    steep_axis: Annotated[int, choice(0, 1)]
    own_length: Length
    own_angle: Angle
    other_length: Length
    other_angle: Angle

    @cached_property
    def task(self) -> RegressionMixture:
        """The regression task, with both optima on the first axis."""
        variances = [1.0, 1 / float(self.condition_number)]
        return RegressionMixture(
            optima=np.array([[0.0, 0.0], [float(self.separation), 0.0]]),
            covariance=np.array(variances if self.steep_axis == 0 else variances[::-1]),
            noise=float(self.noise),
            labels=np.array([0, 1]),
            samples=int(self.samples),
        )

    @cached_property
    def models(self) -> np.ndarray:
        """The model of the client's cluster, and the other model, (2, 2)."""
        angles = np.pi * np.array([float(self.own_angle), float(self.other_angle)])
        lengths = self.task.basin_radius * np.array([float(self.own_length), float(self.other_length)])
        offsets = lengths[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        return np.asarray(self.task.optima + offsets)

    @cached_property
    def sigma(self) -> float:
        """The larger standard deviation of one sample's loss at both models, which is sigma in Assumption 3."""
        return math.sqrt(max(float(self.task.loss_variance(model, 0)) for model in self.models))

    @property
    def exact(self) -> float:
        """The exact probability of a wrong choice, from the F distribution."""
        return float(self.task.misclassification_probability(self.models, 0)[1])

    @property
    def midpoint(self) -> float:
        """The level delta, the mean of the cluster's expected losses at both models."""
        return float(self.task.expected_loss(self.models, 0).mean())

    def loss_exceeds(self, model: int, level: float) -> float:
        """Return the exact probability P(phi_i(model) > level) for a client of cluster 0."""
        from scipy.special import gammaincc

        return float(gammaincc(self.task.samples / 2, self._scaled(model, level)))

    def loss_at_most(self, model: int, level: float) -> float:
        """Return the exact probability P(phi_i(model) <= level) for a client of cluster 0."""
        from scipy.special import gammainc

        return float(gammainc(self.task.samples / 2, self._scaled(model, level)))

    def _scaled(self, model: int, level: float) -> float:
        # n' residuals have variance tau^2, so 2 n' phi_i / tau^2 is chi-square with n' degrees of freedom
        variance = float(self.task.residual_variance(self.models[model], 0))
        return self.task.samples * level / variance if variance > 0 else float("inf")
