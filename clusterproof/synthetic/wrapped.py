"""Tasks that wrap another task: a base class, and a task that converts arrays to another array library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from clusterproof.algorithms import Task
from clusterproof.common.arrays import Array, to_numpy


class WrappedTask(Task):
    """Base class of wrappers, with the same sizes, labels, settings and optima as the wrapped ``task``.

    Subclasses define losses and gradients.
    """

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
        """Draw initial models with the wrapped task, (*shape, count, d)."""
        return np.asarray(self.task.initial_models(count, shape, generator))

    def reference_optima(self, target: str) -> np.ndarray | None:
        """Return the optima of the wrapped task as NumPy arrays, see ``Task.reference_optima``."""
        return self.task.reference_optima(target)


def _served(name: str) -> Callable[..., Any]:
    """Return a method that calls the wrapped task's method ``name`` and converts arguments and results."""

    def method(self: OnArrays, *arguments: Any, **options: Any) -> Any:
        given = (to_numpy(value) if is_array_api_obj(value) else value for value in arguments)
        values = getattr(self.task, name)(*given, **options)
        return tuple(map(self._convert, values)) if isinstance(values, tuple) else self._convert(values)

    method.__name__, method.__doc__ = name, f"Return the arrays of the task's method `{name}`."
    return method


@dataclass(frozen=True, eq=False)
class OnArrays(WrappedTask):
    """A task that computes the same numbers as ``task``, but returns arrays of another library.

    Parameters
    ----------
    task
        Any task that computes with NumPy arrays. The wrapper has the same optional methods as ``task``.
    namespace
        An array-API namespace such as ``array_api_compat.torch`` or ``array_api_strict``.
    device
        Device of the arrays, or None for the library's default.
    """

    task: Task
    namespace: Any
    device: Any = None

    initial_models = _served("initial_models")
    losses = _served("losses")
    gradients = _served("gradients")
    gradient_sums = _served("gradient_sums")
    hessian_products = _served("hessian_products")
    sample_gradients = _served("sample_gradients")
    losses_and_gradients = _served("losses_and_gradients")
    accuracies = _served("accuracies")

    @property
    def stored_samples(self) -> int:
        """Number of stored samples of every client."""
        return self.task.stored_samples

    @property
    def samples(self) -> int | None:
        """Number of samples in a batch, or None if the task has no such number."""
        samples: int | None = getattr(self.task, "samples", None)
        return samples

    def _convert(self, values: Any) -> Array:
        return self.namespace.asarray(values, device=self.device)
