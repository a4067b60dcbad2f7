"""Tiny convex tasks on which every round of an algorithm is known to rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.synthetic import QuadraticMixture

DIMENSION = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class ConformanceTask:
    """N clients with the losses f_i(w) = (w - b_i)' A_i (w - b_i) / 2, and where the server starts.

    Attributes
    ----------
    curvatures
        A_i, symmetric positive definite, (N, d, d).
    optima
        b_i, (N, d).
    samples
        Number of samples of each client (n_i), positive integers (N,).
    start
        The model before the first round, (d,).
    starts
        The models before the first round of an algorithm with P clusters, (P, d); None for other algorithms.
    """

    curvatures: np.ndarray
    optima: np.ndarray
    samples: np.ndarray
    start: np.ndarray
    starts: np.ndarray | None = None

    @property
    def clients(self) -> int:
        """Number of clients (N)."""
        return len(self.samples)

    @property
    def dimension(self) -> int:
        """Number of parameters of a model (d)."""
        return len(self.start)

    def loss(self, client: int, model: np.ndarray) -> float:
        """Return f_i at a model (d,)."""
        difference = model - self.optima[client]
        return float(difference @ self.curvatures[client] @ difference / 2)

    def gradient(self, client: int, model: np.ndarray) -> np.ndarray:
        """Return the gradient A_i (w - b_i) at a model (d,)."""
        product: np.ndarray = self.curvatures[client] @ (model - self.optima[client])
        return product

    @cached_property
    def _factors(self) -> np.ndarray:
        """Return the matrices sqrt(d / 2) L_i', where A_i = L_i L_i', (N, d, d)."""
        factors = np.swapaxes(np.linalg.cholesky(self.curvatures), -1, -2)
        scaled: np.ndarray = np.sqrt(self.dimension / 2) * factors
        return scaled

    def rows(self, client: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a client's data as n_i identical rows, so that any batch has the client's exact gradient.

        Returns
        -------
        tuple
            Rows X (n_i, d, d) and targets X b_i (n_i, d): the mean over rows and outputs of (X w - target)^2 is
            f_i(w), whatever the batch.
        """
        row = self._factors[client]
        repeated = np.repeat(row[None], self.samples[client], axis=0)
        return repeated, repeated @ self.optima[client]

    def moved(self, shift: float = 0.0, scale: float = 1.0) -> ConformanceTask:
        """Return the image of the task under w -> scale w + shift; gradients are multiplied by ``scale``."""
        return replace(
            self,
            optima=scale * self.optima + shift,
            start=scale * self.start + shift,
            starts=None if self.starts is None else scale * self.starts + shift,
        )

    def permuted(self, order: Sequence[int]) -> ConformanceTask:
        """Return the task whose client k is this one's client ``order[k]``."""
        index = list(order)
        return replace(
            self, curvatures=self.curvatures[index], optima=self.optima[index], samples=self.samples[index]
        )

    def copied(self) -> ConformanceTask:
        """Return the task with arrays of its own, which others may write to."""
        return ConformanceTask(
            curvatures=self.curvatures.copy(),
            optima=self.optima.copy(),
            samples=self.samples.copy(),
            start=self.start.copy(),
            starts=None if self.starts is None else self.starts.copy(),
        )

    def to_quadratic_mixture(self) -> QuadraticMixture:
        """Return the same clients as a task of the library, in a cluster each where there are ``starts``."""
        clusters = 1 if self.starts is None else len(self.starts)
        labels = np.arange(self.clients) % clusters
        return QuadraticMixture(
            hessians=self.curvatures, centers=self.optima, labels=labels, client_samples=self.samples
        )

    @classmethod
    def from_quadratic_mixture(cls, task: QuadraticMixture, start: Any) -> ConformanceTask:
        """Return the clients of a task of the library, started at ``start``, (d,) or one model a cluster (P, d).

        Raises
        ------
        InvalidArgument
            If ``start`` has another shape.
        """
        start = np.array(start, dtype=float)
        if start.shape[-1:] != (task.dimension,) or start.ndim not in (1, 2):
            rule = f"must have the shape ({task.dimension},) or (P, {task.dimension})"
            raise InvalidArgument("start", start.shape, rule, "give the model before the first round")
        clustered = start.ndim == 2
        return cls(
            curvatures=task.hessians,
            optima=task.centers,
            samples=np.asarray(task.client_samples),
            start=start[0] if clustered else start,
            starts=start if clustered else None,
        )


def random_task(
    seed: int, samples: Sequence[int], *, clusters: int = 0, dimension: int = DIMENSION
) -> ConformanceTask:
    """Draw clients whose curvatures do not commute, with eigenvalues in [0.4, 2.5] and optima about 2 apart.

    Parameters
    ----------
    seed
        The same seed gives the same task.
    samples
        Number of samples of each client.
    clusters
        Number of models that a clustered algorithm starts from; 0 for other algorithms.
    dimension
        Number of parameters of a model.
    """
    generator = np.random.default_rng([seed, 20_261_122])
    clients = len(samples)
    rotations = np.linalg.qr(generator.standard_normal((clients, dimension, dimension)))[0]
    eigenvalues = generator.uniform(0.4, 2.5, (clients, 1, dimension))
    curvatures = (rotations * eigenvalues) @ np.swapaxes(rotations, -1, -2)
    directions = generator.standard_normal((clients, dimension))
    optima = 1.5 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    starts = None
    if clusters:
        # starts near different optima, so that each is somebody's best model in the first round
        starts = 0.6 * optima[:clusters] + 0.2 * generator.standard_normal((clusters, dimension))
    return ConformanceTask(
        curvatures=(curvatures + np.swapaxes(curvatures, -1, -2)) / 2,
        optima=optima + 0.3,
        samples=np.array(samples),
        start=0.5 * generator.standard_normal(dimension),
        starts=starts,
    )
