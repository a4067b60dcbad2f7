"""Runs of SCAFFOLD and FedLin, whose rounds lead to the common optimum: the exact factor of a round, and Psi."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from clusterproof.algorithms import Scaffold
from clusterproof.theory.runs.method import MethodRun


class CorrectedRun(MethodRun):
    """A run of SCAFFOLD or FedLin."""

    @cached_property
    def radius(self) -> float | None:
        """The spectral radius of a round on quadratics; None if it is unknown, or its matrix is large."""
        if self.random is not None or np.ptp(self.weights) or self.map is None:
            return None
        return self.map.rate

    @property
    def control_weight(self) -> float:
        """Factor of Psi of SCAFFOLD before its mean over clients: (K eta)^2, a third of it with option I."""
        third = 3 if self.algorithm.option == "I" else 1
        return float((self.local_steps * self.algorithm.step_size) ** 2 / third)

    @property
    def measure(self) -> dict[str, Callable[..., object]]:
        """Psi of SCAFFOLD."""
        return {"psi": self._psi} if isinstance(self.algorithm, Scaffold) else {}

    def _psi(self, state: Any, task: Any) -> np.ndarray:
        distance = np.square(state.models[..., 0, :] - task.pooled_optimum).sum(axis=-1)
        controls = np.square(state.controls - state.control - self.gradients).sum(axis=-1)
        return np.asarray(distance + self.control_weight * controls.mean(axis=-1))
