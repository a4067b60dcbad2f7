"""Runs of methods with one model, evaluated with the method's text.

And runs of FedAvg, FedProx, SCAFFOLD and FedLin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from clusterproof.algorithms import Scaffold
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.exact.affine_rounds import RoundMap
from clusterproof.theory.runs.one_model import OneModelRun

LARGEST = 500
"""Largest number of entries in a method's state, including the clients' vectors, for which a round's map is
computed."""


class RestingPoint(NamedTuple):
    """The fixed point of rounds with all clients and exact gradients, on quadratics.

    Attributes
    ----------
    point
        (d,).
    distance
        Distance between the fixed point and the common optimum, or 0 if it is only rounding.
    radius
        Spectral radius of a round.
    """

    point: np.ndarray
    distance: float
    radius: float


class MethodRun(OneModelRun):
    """A run of a method in which the server has one model."""

    @cached_property
    def map(self) -> RoundMap | None:
        """A round on quadratics, with one client per Hessian, or None if it is unknown or not affine."""
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
        """The fixed point of the rounds, or None if the losses are not quadratic, or the map of a round is unknown."""
        if self.map is None:
            return None
        try:
            point = self.map.fixed_point[: self.task.dimension]
        except np.linalg.LinAlgError:  # with a step of 2 / L, two rounds return to the start
            return None
        distance = float(np.linalg.norm(point - self.task.pooled_optimum))
        return RestingPoint(point, distance if distance > ROUNDING * self.unit else 0.0, self.map.rate)


class AveragingRun(MethodRun):
    """A run of FedAvg or FedProx."""

    @property
    def dissimilarity(self) -> float | None:
        """B of FedProx at the start: root mean square of the gradients divided by the norm of their mean, or None."""
        if self.inexact or self.algorithm.proximal <= 0:
            return None
        gradients = self.gradients_at(self.path[0, 0])
        mean = float(np.linalg.norm(gradients.mean(axis=0)))
        found = float(np.sqrt(np.square(gradients).sum(axis=-1).mean())) / mean if mean else math.inf
        return found if math.isfinite(found) else None


class CorrectedRun(MethodRun):
    """A run of SCAFFOLD or FedLin."""

    @cached_property
    def radius(self) -> float | None:
        """The spectral radius of a round on quadratics, or None if it is unknown, or if the matrix is large."""
        if self.random is not None or np.ptp(self.weights) or self.map is None:
            return None
        return self.map.rate

    @property
    def control_weight(self) -> float:
        """Weight of the mean over clients in SCAFFOLD's Psi: (K eta)^2, or a third of this number for option I."""
        third = 3 if self.algorithm.option == "I" else 1
        return float((self.local_steps * self.algorithm.step_size) ** 2 / third)

    @property
    def measure(self) -> dict[str, Callable[..., object]]:
        """SCAFFOLD's Psi of a state."""
        return {"psi": self._psi} if isinstance(self.algorithm, Scaffold) else {}

    def _psi(self, state: Any, task: Any) -> np.ndarray:
        distance = np.square(state.models[..., 0, :] - task.pooled_optimum).sum(axis=-1)
        controls = np.square(state.controls - state.control - self.gradients).sum(axis=-1)
        return np.asarray(distance + self.control_weight * controls.mean(axis=-1))
