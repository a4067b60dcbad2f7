"""Serve a numpy task to an algorithm that computes with another array library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from clusterproof.algorithms import CurvedTask, OneBatchTask, ScoredTask, Task
from clusterproof.algorithms.arrays import Array, to_numpy
from clusterproof.algorithms.protocol import TrainingTask
from clusterproof.synthetic.wrapped import WrappedTask


@dataclass(frozen=True, eq=False)
class OnArrays(WrappedTask):
    """A task whose answers are arrays of another library; the numbers are those of ``task``.

    Parameters
    ----------
    task
        Any task that computes in numpy; what it cannot answer, this one cannot either.
    namespace
        An array-API namespace such as ``array_api_compat.torch`` or ``array_api_strict``.
    device
        Where the arrays are put; the library's default if None.
    """

    task: Task
    namespace: Any
    device: Any = None

    @property
    def samples(self) -> int | None:
        """Rows of a batch, or None where the task has no such number."""
        samples: int | None = getattr(self.task, "samples", None)
        return samples

    def initial_models(self, count: int, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        """Starting points of the task."""
        return self._give(self.task.initial_models(count, shape, generator))

    def losses(self, models: Array, clients: Array, generator: np.random.Generator) -> Array:
        """Return the losses of the task, (..., k, P)."""
        return self._give(self.task.losses(to_numpy(models), to_numpy(clients), generator))

    def gradients(self, points: Array, clients: Array, generator: np.random.Generator) -> Array:
        """Return the gradients of the task, (..., k, d)."""
        return self._give(self.task.gradients(to_numpy(points), to_numpy(clients), generator))

    def gradient_sums(
        self, models: Array, clients: Array, assignments: Array, generator: np.random.Generator
    ) -> Array:
        """Return the sums of gradients of the task, (..., P, d)."""
        return self._give(
            self.task.gradient_sums(to_numpy(models), to_numpy(clients), to_numpy(assignments), generator)
        )

    def hessian_products(
        self, points: Array, directions: Array, clients: Array, generator: np.random.Generator
    ) -> Array:
        """Return the Hessian-vector products of the task, (..., k, d)."""
        return self._give(
            cast(CurvedTask, self.task).hessian_products(
                to_numpy(points), to_numpy(directions), to_numpy(clients), generator
            )
        )

    def reshuffled_training(
        self, points: Array, clients: Array, generator: np.random.Generator, *, step_size: float, passes: int
    ) -> Array:
        """Passes of the task over its clients' samples, (..., k, d)."""
        return self._give(
            cast(TrainingTask, self.task).reshuffled_training(
                to_numpy(points), to_numpy(clients), generator, step_size=step_size, passes=passes
            )
        )

    def losses_and_gradients(
        self, models: Array, clients: Array, generator: np.random.Generator
    ) -> tuple[Array, Array]:
        """Return the losses (..., k, P) and gradients (..., k, P, d) of the task, of one batch."""
        answers = cast(OneBatchTask, self.task).losses_and_gradients(
            to_numpy(models), to_numpy(clients), generator
        )
        return self._give(answers[0]), self._give(answers[1])

    def accuracies(self, points: Array, clients: Array) -> Array:
        """Return the accuracies of the task, (..., k)."""
        return self._give(cast(ScoredTask, self.task).accuracies(to_numpy(points), to_numpy(clients)))

    def _give(self, values: np.ndarray) -> Array:
        return self.namespace.asarray(values, device=self.device)
