"""Base class of tasks that wrap another task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clusterproof.algorithms import Task


class WrappedTask(Task):
    """Sizes, labels, settings and optima of ``task``; subclasses define losses and gradients."""

    task: Task

    @property
    def client_samples(self) -> np.ndarray:
        """Samples of each client (n_i), (m,)."""
        return self.task.client_samples

    @property
    def clusters(self) -> int:
        """Number of true clusters (P)."""
        return self.task.clusters

    @property
    def dimension(self) -> int:
        """Number of parameters of a model (d)."""
        return self.task.dimension

    @property
    def labels(self) -> np.ndarray:
        """The true cluster of each client, (m,), in numpy."""
        return self.task.labels

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the task itself."""
        return self.task.settings

    def initial_models(
        self, count: int, shape: tuple[int, ...], generator: np.random.Generator
    ) -> np.ndarray:
        """Draw the starting models of the task, (*shape, count, d)."""
        return np.asarray(self.task.initial_models(count, shape, generator))

    def reference_optima(self, target: str) -> np.ndarray | None:
        """Return the minimisers that an algorithm aims at, in numpy."""
        return self.task.reference_optima(target)
