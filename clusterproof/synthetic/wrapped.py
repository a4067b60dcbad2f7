"""Base class of tasks that wrap another task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clusterproof.algorithms import Task


class WrappedTask(Task):
    """Base class with the sizes, labels, settings and optima of ``task``; subclasses define losses and gradients."""

    task: Task

    @property
    def client_samples(self) -> np.ndarray:
        """Number of samples of each client (n_i), (m,)."""
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
        """The true cluster of each client, (m,), as a NumPy array."""
        return self.task.labels

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings of the wrapped task."""
        return self.task.settings

    def initial_models(
        self, count: int, shape: tuple[int, ...], generator: np.random.Generator
    ) -> np.ndarray:
        """Draw the starting models of the task, (*shape, count, d)."""
        return np.asarray(self.task.initial_models(count, shape, generator))

    def reference_optima(self, target: str) -> np.ndarray | None:
        """Return the optima that an algorithm approximates, as NumPy arrays."""
        return self.task.reference_optima(target)
