"""Tiny convex tasks on which the result of every round of an algorithm is known up to rounding."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from clusterproof.synthetic import QuadraticMixture


@dataclass(frozen=True, eq=False, kw_only=True)
class ConformanceTask:
    """N clients with the losses f_i(w) = (w - b_i)' A_i (w - b_i) / 2, and the server's initial model.

    The task of ``two_class`` has other losses: f_i is the mean cross-entropy of a client's samples. The two logits of a
    sample x are W x; the model consists of the entries of W (2, p), so d = 2 p.

    Attributes
    ----------
    curvatures
        Matrices A_i, symmetric positive definite, (N, d, d).
    optima
        Optima b_i, (N, d).
    samples
        Number of samples of each client (n_i), positive integers (N,).
    start
        The model before the first round, (d,).
    starts
        The models before the first round of an algorithm with P clusters, (P, d), or None for other algorithms.
    groups
        The group of each client, integers (N,), if there are groups of similar clients, or None for other tasks.
    features, labels
        Samples x and their classes, 0 or 1, (N, n, p) and (N, n); client i has the first n_i samples. Both are None for
        quadratic losses. Otherwise ``curvatures`` and ``optima`` are zero and unused.
    """

    curvatures: np.ndarray
    optima: np.ndarray
    samples: np.ndarray
    start: np.ndarray
    starts: np.ndarray | None = None
    groups: np.ndarray | None = None
    features: np.ndarray | None = None
    labels: np.ndarray | None = None

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
        if self.features is not None:
            logarithms = self._log_probabilities(client, model)
            return -float(np.mean(logarithms[np.arange(len(logarithms)), self.rows(client)[1]]))
        difference = model - self.optima[client]
        return float(difference @ self.curvatures[client] @ difference / 2)

    def gradient(self, client: int, model: np.ndarray) -> np.ndarray:
        """Return the gradient of f_i at a model (d,); A_i (w - b_i) for quadratic losses."""
        if self.features is not None:
            rows, labels = self.rows(client)
            errors = np.exp(self._log_probabilities(client, model)) - np.eye(2)[labels]
            return np.asarray((errors.T @ rows / len(rows)).ravel())
        return np.asarray(self.curvatures[client] @ (model - self.optima[client]))

    def hessian(self, client: int, model: np.ndarray) -> np.ndarray:
        """Return the Hessian of f_i at a model, (d, d); A_i for quadratic losses."""
        if self.features is None:
            return np.asarray(self.curvatures[client])
        rows = self.rows(client)[0]
        # p (1 - p), where p is the probability of one of two classes
        weights = np.exp(self._log_probabilities(client, model).sum(axis=1)) / len(rows)
        return np.asarray(np.kron([[1.0, -1.0], [-1.0, 1.0]], (weights[:, None] * rows).T @ rows))

    def hessian_product(self, client: int, model: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Return the product of the Hessian of f_i at a model with a vector (d,)."""
        return np.asarray(self.hessian(client, model) @ vector)

    def _log_probabilities(self, client: int, model: np.ndarray) -> np.ndarray:
        """Return log softmax(W x) for each sample x of client i, (n_i, 2)."""
        logits = self.rows(client)[0] @ model.reshape(2, -1).T
        return np.asarray(logits - np.logaddexp(logits[:, :1], logits[:, 1:]))

    def rows(self, client: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a client's data as n_i identical samples; any batch of them has the client's exact gradient.

        Returns
        -------
        tuple
            Samples X = sqrt(d / 2) L_i' with A_i = L_i L_i', (n_i, d, d), and targets X b_i (n_i, d). The mean over
            samples and outputs of (X w - target)^2 is f_i(w) for every batch. For ``two_class`` the samples of a client
            are different, of shape (n_i, p), and the targets are class labels (n_i,).
        """
        if self.features is not None and self.labels is not None:
            count = self.samples[client]
            return self.features[client, :count], self.labels[client, :count]
        row = np.sqrt(self.dimension / 2) * np.linalg.cholesky(self.curvatures[client]).T
        repeated = np.repeat(row[None], self.samples[client], axis=0)
        return repeated, repeated @ self.optima[client]

    def moved(self, shift: float = 0.0, scale: float = 1.0) -> Self:
        """Transform the task by the map w -> scale w + shift; gradients are then multiplied by ``scale``."""
        return replace(
            self,
            optima=scale * self.optima + shift,
            start=scale * self.start + shift,
            starts=None if self.starts is None else scale * self.starts + shift,
        )

    def permuted(self, order: Sequence[int]) -> Self:
        """Reorder the clients: client k of the new task is client ``order[k]`` of this task."""
        of_clients = {name: value for name, value in self.arrays().items() if not name.startswith("start")}
        return replace(self, **{name: value[list(order)] for name, value in of_clients.items()})

    def arrays(self) -> dict[str, np.ndarray]:
        """Return every field that is not None."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def to_quadratic_mixture(self) -> QuadraticMixture:
        """Convert clients with quadratic losses to a task of the library, with one cluster per model in ``starts``."""
        labels = np.arange(self.clients) % (1 if self.starts is None else len(self.starts))
        return QuadraticMixture(
            hessians=self.curvatures, centers=self.optima, labels=labels, client_samples=self.samples
        )

    @classmethod
    def from_quadratic_mixture(cls, task: QuadraticMixture, start: Any) -> Self:
        """Convert the clients of a library task, with ``start`` (d,), or (P, d) for one model per cluster."""
        starts = np.array(start, dtype=float, ndmin=2)
        return cls(
            curvatures=task.hessians,
            optima=task.centers,
            samples=np.asarray(task.client_samples),
            start=starts[0],
            starts=starts if np.ndim(start) == 2 else None,
        )


def random_task(
    seed: int, samples: Sequence[int], *, clusters: int = 0, groups: int = 0, dimension: int = 3
) -> ConformanceTask:
    """Draw clients whose Hessians do not commute and have eigenvalues in [0.4, 2.5].

    Optima have distances of about 2.

    Parameters
    ----------
    seed
        Seed of the task; equal seeds give equal tasks.
    samples
        Number of samples of each client.
    clusters
        Number of initial models of a clustered algorithm, or 0 for other algorithms.
    groups
        Number of groups, at most 3. Clients in one group are nearly equal, and the groups' optima lie in orthogonal
        directions. Without groups (0), all clients differ.
    dimension
        Number of parameters (d).
    """
    generator = np.random.default_rng([seed, 20_261_122])
    clients = len(samples)
    rotations = np.linalg.qr(generator.standard_normal((clients, dimension, dimension)))[0]
    eigenvalues = generator.uniform(0.4, 2.5, (clients, 1, dimension))
    curvatures = (rotations * eigenvalues) @ np.swapaxes(rotations, -1, -2)
    directions = generator.standard_normal((clients, dimension))
    optima = 1.5 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    labels = np.arange(clients) % groups if groups else None
    if labels is not None:
        centres = np.linalg.qr(generator.standard_normal((dimension, dimension)))[0][labels]
        optima = 2 * centres + 0.1 * optima
        curvatures = curvatures[0] + 0.1 * curvatures
    # starts near different optima, so that each model is the best one for some client in the first round
    starts = 0.6 * optima[:clusters] + 0.2 * generator.standard_normal((clusters, dimension))
    return ConformanceTask(
        curvatures=(curvatures + np.swapaxes(curvatures, -1, -2)) / 2,
        optima=optima + 0.3,
        samples=np.array(samples),
        start=0.5 * generator.standard_normal(dimension),
        starts=starts if clusters else None,
        groups=labels,
    )


def two_class(seed: int, samples: Sequence[int], *, clusters: int = 0) -> ConformanceTask:
    """Draw clients with two classes, for code that accepts no loss other than cross-entropy.

    Each sample has two features. A client has different samples, so only full batches have the client's exact gradient.

    Parameters
    ----------
    seed, samples, clusters
        See ``random_task``.
    """
    generator = np.random.default_rng([seed, 20_261_123])
    clients, largest, features, dimension = len(samples), max(samples), 2, 4
    rows = generator.standard_normal((clients, largest, features))
    separators = generator.standard_normal((clients, features))
    scores = np.einsum("inp,ip->in", rows, separators) + 0.5 * generator.standard_normal((clients, largest))
    return ConformanceTask(
        curvatures=np.zeros((clients, dimension, dimension)),
        optima=np.zeros((clients, dimension)),
        samples=np.array(samples),
        start=0.5 * generator.standard_normal(dimension),
        starts=generator.standard_normal((clusters, dimension)) if clusters else None,
        features=rows,
        labels=(scores > 0).astype(int),
    )
