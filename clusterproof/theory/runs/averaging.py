"""Runs of FedAvg and FedProx: where their rounds rest, and how unlike the clients' gradients are."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.runs.one_model import OneModelRun


class RestingPoint(NamedTuple):
    """Where rounds of all clients with exact gradients rest, on quadratics.

    Attributes
    ----------
    point
        (d,).
    distance
        From the common optimum; 0 where that is rounding.
    radius
        Spectral radius of a round.
    """

    point: np.ndarray
    distance: float
    radius: float


class AveragingRun(OneModelRun):
    """A run of FedAvg or FedProx."""

    @cached_property
    def rest(self) -> RestingPoint | None:
        """The fixed point; None where the losses are not quadratics or a step takes one sample."""
        groups, algorithm = self.groups, self.algorithm
        if groups is None or getattr(algorithm, "reshuffle", False):
            return None
        after = affine_rounds.averaging_map(
            groups.hessians,
            groups.mean_centers(self.weights),
            step_size=algorithm.step_size,
            local_steps=algorithm.local_steps,
            proximal=getattr(algorithm, "proximal", 0.0),
            server_step_size=getattr(algorithm, "server_step_size", 1.0),
            shares=groups.shares(self.weights),
        )
        if not np.isfinite(after.matrix).all():
            return None
        try:
            point = after.fixed_point
        except np.linalg.LinAlgError:  # a step of 2 / L returns to where it began
            return None
        distance = float(np.linalg.norm(point - self.task.pooled_optimum))
        return RestingPoint(point, distance if distance > ROUNDING * self.unit else 0.0, after.rate)

    @property
    def dissimilarity(self) -> float | None:
        """B of FedProx at the start, the root mean square of the gradients by their mean; None where not known."""
        if self.inexact or self.algorithm.proximal <= 0:
            return None
        gradients = self.gradients_at(self.path[0, 0])
        mean = float(np.linalg.norm(gradients.mean(axis=0)))
        found = float(np.sqrt(np.square(gradients).sum(axis=-1).mean())) / mean if mean else math.inf
        return found if math.isfinite(found) else None
