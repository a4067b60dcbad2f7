"""Softmax regression with a hundred clients in four clusters: the synthetic data of Table 1 in the FPFC paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from clusterproof.algorithms import Descent, Task, Trained
from clusterproof.common import generator
from clusterproof.common.validation import InvalidArgument, check_choice, check_count, check_seed
from clusterproof.synthetic.mixture import make_labels

TRAINING_SHARE = 0.8


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftmaxMixture(Task):
    """Clients whose loss is the mean cross-entropy of a linear classifier on the client's own training data.

    A model is a flattened matrix (classes, features + 1); the last column contains the biases, and all other columns
    contain the weights. Data are drawn as in the authors' code: client i of cluster p has 5 (int(e^z) + 50) samples
    with z ~ N(4, 4). A sample x is uniform on [0, 1]^f, and its class is argmax(W_p x + b_p + eps / 2) with standard
    normal eps. Each cluster has one number drawn from N(0, 1), and the entries of W_p and b_p are normal around this
    number. A fifth of the samples is used for testing.

    Parameters
    ----------
    clients, clusters
        Numbers of clients (m) and of clusters (P). The sizes of two clusters differ by at most one client.
    features, classes
        Numbers of features and classes of the data; a model has d = classes * (features + 1) parameters.
    largest
        Largest number of samples of a client; if None, there is no limit.
    precision
        ``"double"`` or ``"single"``: precision of the data and the starting points, and therefore of a run.
    batch_size
        Number of samples in a mini-batch. If it is given, a local step is a pass over the client's data in a new random
        order, with one gradient step per mini-batch. The last mini-batch may be smaller. Losses and gradients outside
        local steps always use all samples.
    seed
        Seed of the data.

    Raises
    ------
    InvalidArgument
        If an argument is out of range.
    """

    clients: int = 100
    clusters: int = 4
    features: int = 60
    classes: int = 10
    largest: int | None = None
    precision: str = "double"
    batch_size: int | None = None
    seed: int = 0
    labels: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Validate the arguments."""
        check_count("features", self.features, at_least=1, remedy="the paper uses 60")
        check_count("classes", self.classes, at_least=2, remedy="the paper uses 10")
        check_choice("precision", self.precision, ("double", "single"), remedy="'double' is the default")
        if self.largest is not None:
            check_count("largest", self.largest, at_least=5, remedy="leave it out to get the paper's sizes")
        if self.batch_size is not None:
            check_count("batch_size", self.batch_size, at_least=1, remedy="leave it out to use all samples")
        check_seed(self.seed)
        object.__setattr__(self, "labels", make_labels(self.clients, self.clusters))

    @property
    def dimension(self) -> int:
        """Number of parameters of a model (d)."""
        return self.classes * (self.features + 1)

    @property
    def settings(self) -> dict[str, Any]:
        """The constructor's arguments, as plain JSON values."""
        names = (field.name for field in fields(self) if field.init)
        return {"task": "softmax", **{name: getattr(self, name) for name in names}}

    @cached_property
    def generating_models(self) -> np.ndarray:
        """True classifiers, from which the classes of the samples are drawn, (P, d)."""
        stream = generator(self.seed, "softmax", "classifiers")
        means = stream.standard_normal((self.clusters, 1))
        return np.asarray(means + stream.standard_normal((self.clusters, self.dimension)))

    @cached_property
    def client_samples(self) -> np.ndarray:
        """Number of training samples of each client (n_i), (m,)."""
        return np.array([len(targets) for _, targets in self.training])

    def initial_models(
        self, count: int, shape: tuple[int, ...], generator: np.random.Generator
    ) -> np.ndarray:
        """Draw standard normal models, (*shape, count, d). As in the authors' code, all models are the same vector."""
        drawn = generator.standard_normal((*shape, 1, self.dimension)).astype(self._type)
        return np.repeat(drawn, count, axis=-2)

    def losses(self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return the mean losses (..., k, P) of models (..., P, d) for clients (..., k)."""
        lead = np.broadcast_shapes(models.shape[:-2], clients.shape[:-1])
        models = np.broadcast_to(models, (*lead, *models.shape[-2:]))
        result = np.empty((*lead, clients.shape[-1], models.shape[-2]))
        for place, client in _each(clients, result.shape[:-1]):
            samples, targets = self.training[client]
            for number, model in enumerate(models[place[:-1]]):
                scores = self._matrix(model) @ samples
                scores -= scores.max(axis=0)
                right = scores[targets, np.arange(len(targets))]
                result[(*place, number)] = (np.log(np.exp(scores).sum(axis=0)) - right).mean(dtype=float)
        return result

    def gradients(
        self, points: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return the gradients (..., k, d) at one point per client; the points have the same shape."""
        result = np.empty_like(points)
        for place, client in _each(clients, points.shape[:-1]):
            result[place] = _gradient(self._matrix(points[place]), *self.training[client]).ravel()
        return result

    def hessian_products(
        self, points: np.ndarray, directions: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return the products of the losses' Hessians at given points and given directions.

        All three have the shape (..., k, d).
        """
        result = np.empty_like(points)
        for place, client in _each(clients, points.shape[:-1]):
            samples, targets = self.training[client]
            likely = _probabilities(self._matrix(points[place]) @ samples)
            moved = self._matrix(directions[place]) @ samples
            moved -= (likely * moved).sum(axis=0)
            result[place] = ((likely * moved) @ samples.T).ravel() / len(targets)
        return result

    def local_steps(
        self,
        points: np.ndarray,
        clients: np.ndarray,
        generator: np.random.Generator,
        descent: Descent,
        *,
        buffers: np.ndarray | None = None,
        anchors: np.ndarray | None = None,
        corrections: np.ndarray | None = None,
    ) -> Trained:
        """Take local steps as in ``Task.local_steps``, with mini-batches if ``batch_size`` is given."""
        if self.batch_size is None:
            return super().local_steps(
                points,
                clients,
                generator,
                descent,
                buffers=buffers,
                anchors=anchors,
                corrections=corrections,
            )
        if buffers is not None or corrections is not None or descent.momentum or descent.proximal:
            rule = "allows only plain gradient steps, without momentum, proximal term or corrections"
            raise InvalidArgument("batch_size", self.batch_size, rule, "leave it out")
        trained, steps = points.copy(), np.zeros((*points.shape[:-1], 1), dtype=int)
        passes = np.broadcast_to(descent.steps, steps.shape)
        for place, client in _each(clients, points.shape[:-1]):
            (samples, targets), matrix = self.training[client], self._matrix(trained[place])
            for _ in range(int(passes[place][0])):
                order = generator.permutation(len(targets))
                for first in range(0, len(targets), self.batch_size):
                    batch = order[first : first + self.batch_size]
                    matrix = matrix - descent.step_size * _gradient(matrix, samples[:, batch], targets[batch])
                    steps[place] += 1
            trained[place] = matrix.ravel()
        return Trained(trained, None, steps)

    def accuracies(self, points: np.ndarray, clients: np.ndarray) -> np.ndarray:
        """Return the share of each client's test samples that the client's model classifies correctly, (..., k)."""
        result = np.empty(points.shape[:-1])
        for place, client in _each(clients, result.shape):
            samples, targets = self.testing[client]
            result[place] = ((self._matrix(points[place]) @ samples).argmax(axis=0) == targets).mean()
        return result

    @property
    def training(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Each client's training samples (features + 1, n), where the last feature is 1, and their classes (n,)."""
        return self._data[0]

    @property
    def testing(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Each client's test samples (features + 1, n), and their classes (n,)."""
        return self._data[1]

    def _matrix(self, model: np.ndarray) -> np.ndarray:
        return model.reshape(self.classes, -1).astype(self._type, copy=False)

    @property
    def _type(self) -> np.dtype:
        return np.dtype(np.float64 if self.precision == "double" else np.float32)

    @cached_property
    def _data(self) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[tuple[np.ndarray, np.ndarray]]]:
        """Training and test samples of all clients; each client has its own random generator."""
        training, testing = [], []
        for client, label in enumerate(self.labels):
            stream = generator(self.seed, "softmax", "client", client)
            size = 5 * (int(min(stream.lognormal(4, 2), 1e6)) + 50)
            size = size if self.largest is None else min(size, self.largest)
            samples = np.ones((size, self.features + 1))
            samples[:, :-1] = stream.random((size, self.features))
            scores = samples @ self.generating_models[label].reshape(self.classes, -1).T
            targets = (scores + 0.5 * stream.standard_normal(scores.shape)).argmax(axis=1)
            kept = round(TRAINING_SHARE * size)
            columns = np.ascontiguousarray(samples.T, dtype=self._type)
            training.append((np.ascontiguousarray(columns[:, :kept]), targets[:kept]))
            testing.append((columns[:, kept:], targets[kept:]))
        return training, testing


def _gradient(matrix: np.ndarray, samples: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the gradient of the mean cross-entropy of a classifier (classes, f + 1) on samples (f + 1, n)."""
    errors = _probabilities(matrix @ samples)
    errors[targets, np.arange(len(targets))] -= 1
    return np.asarray(errors @ samples.T / len(targets))


def _probabilities(scores: np.ndarray) -> np.ndarray:
    """Compute softmax over the classes, the first axis of (classes, n), in place."""
    scores -= scores.max(axis=0)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=0)
    return scores


def _each(clients: np.ndarray, shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield position and index of each client in (..., k), because clients have data sets of different sizes."""
    spread = np.broadcast_to(clients, shape)
    for place in np.ndindex(shape):
        yield place, int(spread[place])
