"""Runs of a method with one model: the map of a round and its fixed point, from the method's text."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.exact.affine_rounds import RoundMap
from clusterproof.theory.runs.one_model import OneModelRun

LARGEST = 500
"""Largest number of entries in a method's state, with the clients' vectors, for which a round's map is computed."""


class RestingPoint(NamedTuple):
    """The fixed point of rounds of all clients with exact gradients, on quadratics.

    Attributes
    ----------
    point
        (d,).
    distance
        Distance from the common optimum; 0 if it is only rounding.
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
        """A round on quadratics, with clients of one Hessian as one; None if it is unknown or not affine."""
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
        """The fixed point; None if the losses are not quadratic, or the map of a round is unknown."""
        if self.map is None:
            return None
        try:
            point = self.map.fixed_point[: self.task.dimension]
        except np.linalg.LinAlgError:  # a step of 2 / L returns to its start
            return None
        distance = float(np.linalg.norm(point - self.task.pooled_optimum))
        return RestingPoint(point, distance if distance > ROUNDING * self.unit else 0.0, self.map.rate)
