"""Runs of a method with one model: the map of a round, and where the rounds rest, from the method's text."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.exact.affine_rounds import RoundMap
from clusterproof.theory.runs.one_model import OneModelRun

LARGEST = 500
"""Numbers in the state of a method with vectors of the clients up to which the map of a round is computed."""


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


class MethodRun(OneModelRun):
    """A run of a method with one model of the server."""

    @cached_property
    def map(self) -> RoundMap | None:
        """A round on quadratics, clients with one Hessian as one; None where it is not known, or not affine."""
        groups, algorithm = self.groups, self.algorithm
        if groups is None or getattr(algorithm, "reshuffle", False):
            return None
        method, weights = algorithm.method, self.weights
        size = sum(len(groups.hessians) if name in method.of_clients else 1 for name in method.states)
        if method.of_clients and (np.ptp(weights) or size * self.task.dimension > LARGEST):
            return None
        return affine_rounds.method_map_if_affine(
            method.rule,
            groups.hessians,
            groups.mean_centers(weights),
            local_steps=self.local_steps,
            shares=groups.shares(weights),
            **algorithm.round_settings,
        )

    @cached_property
    def rest(self) -> RestingPoint | None:
        """The fixed point; None where the losses are not quadratics, or the map of a round is not known."""
        if self.map is None:
            return None
        try:
            point = self.map.fixed_point[: self.task.dimension]
        except np.linalg.LinAlgError:  # a step of 2 / L returns to where it began
            return None
        distance = float(np.linalg.norm(point - self.task.pooled_optimum))
        return RestingPoint(point, distance if distance > ROUNDING * self.unit else 0.0, self.map.rate)
