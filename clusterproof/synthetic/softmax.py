"""Softmax regressions of a hundred devices in four clusters: the synthetic data of FPFC's Table 1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from clusterproof.algorithms import Descent, Task, Trained, generator
from clusterproof.algorithms.validation import check_choice, check_count, check_seed
from clusterproof.synthetic.mixture import make_labels
from clusterproof.synthetic.softmax_passes import Rows, descend
from clusterproof.synthetic.softmax_sample import Sample, aligned_rows

TEST_SHARE = 0.2


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftmaxMixture(Task):
    """Clients with the mean cross-entropy of a linear classifier on a training set of their own.

    A model is the matrix (classes, features + 1) of weights and, last, biases, flattened. Clients
    of a cluster share the classifier that made their classes, argmax(W x + b + noise eps). Answers are
    exact, and nothing is drawn after the data, unless there are mini-batches.

    Parameters
    ----------
    clients, clusters
        m and P; the clusters' sizes are equal or nearly.
    features, classes
        Of the data; d = classes * (features + 1).
    distribution
        ``"published"``, of the authors' code: x uniform on [0, 1], noise 0.5, and 5 (int(e^z) + 50) samples with
        z ~ N(4, 4). ``"li"``, which the paper refers to (Li et al., 2020, alpha = beta = 1): x of client
        i normal around v_i with variances j^-1.2, v_i ~ N(B_i, 1), B_i ~ N(0, 1), no noise, and
        int(e^z) + 50 samples.
    largest
        Samples of a client are cut here, so that a task stays small; no cut if None.
    precision
        ``"double"`` or ``"single"``, of the data, of the starting points and so of a run.
    batch_size
        Samples of a mini-batch; all if None. Gradients and products with Hessians are then of a batch of its
        own each, drawn without replacement, and local training walks through permutations of the
        client's data, whose last batch may be smaller. Losses alone are always of all samples.
    local_unit
        What a local step is: ``"step"``, one gradient step, or ``"epoch"``, a pass over the client's data in
        mini-batches.
    seed
        Of the data.

    Raises
    ------
    InvalidArgument
        If an argument is out of range.

    Notes
    -----
    In both, W and b of a cluster are normal around one number mu ~ N(0, 1) of the cluster, which adds the same to
    every class's score wherever it stands, and so changes no class. A fifth of the samples is for
    testing.
    """

    clients: int = 100
    clusters: int = 4
    features: int = 60
    classes: int = 10
    distribution: str = "published"
    largest: int | None = None
    precision: str = "double"
    batch_size: int | None = None
    local_unit: str = "step"
    seed: int = 0
    labels: np.ndarray = field(init=False, repr=False)
    generating_models: np.ndarray = field(init=False, repr=False)
    """Classifiers that made the classes, (P, d)."""

    def __post_init__(self) -> None:
        """Validate the arguments and draw the clusters' classifiers."""
        check_count("features", self.features, at_least=1, remedy="the paper has 60")
        check_count("classes", self.classes, at_least=2, remedy="the paper has 10")
        check_choice(
            "distribution", self.distribution, ("published", "li"), remedy="'published' is the code's"
        )
        check_choice("precision", self.precision, ("double", "single"), remedy="'double' is the default")
        if self.largest is not None:
            check_count("largest", self.largest, at_least=5, remedy="leave it out for the paper's sizes")
        if self.batch_size is not None:
            check_count("batch_size", self.batch_size, at_least=1, remedy="leave it out for all samples")
        check_choice("local_unit", self.local_unit, ("step", "epoch"), remedy="'step' is one gradient step")
        check_seed(self.seed)
        object.__setattr__(self, "labels", make_labels(self.clients, self.clusters))
        stream = generator(self.seed, "softmax", "classifiers")
        means = stream.standard_normal((self.clusters, 1))
        drawn = means + stream.standard_normal((self.clusters, self.dimension))
        object.__setattr__(self, "generating_models", drawn)

    @property
    def dimension(self) -> int:
        """Number of parameters of a model (d)."""
        return self.classes * (self.features + 1)

    @property
    def settings(self) -> dict[str, Any]:
        """Constructor arguments as plain JSON values."""
        names = (field.name for field in fields(self) if field.init)
        return {"task": "softmax", **{name: getattr(self, name) for name in names}}

    @cached_property
    def sizes(self) -> np.ndarray:
        """Training samples of each client (n_i), (m,)."""
        return np.array([len(targets) for _, targets in self._training])

    @cached_property
    def client_smoothness(self) -> np.ndarray:
        """Largest curvature of each client's loss over all models (L_f), (m,).

        Half the largest eigenvalue of X'X / n: diag(p) - pp' is at most 1/2, and two equally likely classes
        reach it on all rows at once.
        """
        return np.array([np.linalg.eigvalsh(x @ x.T / x.shape[1])[-1] / 2 for x, _ in self._training])

    @property
    def smoothness(self) -> float:
        """Largest curvature of a client's loss (L_f)."""
        return float(self.client_smoothness.max())

    @property
    def strong_convexity(self) -> float:
        """0: adding the same to all classes changes nothing."""
        return 0.0

    def initial_models(
        self, count: int, shape: tuple[int, ...], generator: np.random.Generator
    ) -> np.ndarray:
        """Draw standard normal models as the published code does, the same for all, (*shape, count, d)."""
        drawn = generator.standard_normal((*shape, 1, self.dimension)).astype(self._type)
        return np.repeat(drawn, count, axis=-2)

    def losses(self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return the mean losses of models (..., P, d) on clients (..., k): (..., k, P)."""
        lead = np.broadcast_shapes(models.shape[:-2], clients.shape[:-1])
        models = np.broadcast_to(models, (*lead, *models.shape[-2:]))
        result = np.empty((*lead, clients.shape[-1], models.shape[-2]))
        for at, client in _each(clients, lead):
            result[at] = [self._samples[client].loss(self._matrix(model)) for model in models[at[:-1]]]
        return result

    def gradients(
        self, points: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return the gradients at one point per client, (..., k, d): (..., k, d)."""
        result = np.empty_like(points)
        for at, client in _each(clients, points.shape[:-2]):
            result[at] = self._batch(client, generator).gradient(self._matrix(points[at])).ravel()
        return result

    def losses_and_gradients(
        self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the losses (..., k, P) and gradients (..., k, P, d) of models (..., P, d)."""
        lead = np.broadcast_shapes(models.shape[:-2], clients.shape[:-1])
        models = np.broadcast_to(models, (*lead, *models.shape[-2:]))
        losses = np.empty((*lead, clients.shape[-1], models.shape[-2]))
        gradients = np.empty((*losses.shape, models.shape[-1]), models.dtype)
        for at, client in _each(clients, lead):
            batch = self._batch(client, generator)
            for position, model in enumerate(models[at[:-1]]):
                matrix = self._matrix(model)
                losses[(*at, position)] = batch.loss(matrix)
                gradients[(*at, position)] = batch.gradient(matrix).ravel()
        return losses, gradients

    def hessian_products(
        self, points: np.ndarray, directions: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Hessians of the clients' losses at points times directions, all (..., k, d)."""
        result = np.empty_like(points)
        for at, client in _each(clients, points.shape[:-2]):
            matrix, direction = self._matrix(points[at]), self._matrix(directions[at])
            result[at] = self._batch(client, generator).hessian_product(matrix, direction).ravel()
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
        """Carry out local steps, each of them a ``local_unit``, see ``Task.local_steps``."""
        if descent.reshuffled or self.batch_size is None:
            return super().local_steps(
                points,
                clients,
                generator,
                descent,
                buffers=buffers,
                anchors=anchors,
                corrections=corrections,
            )
        spread = np.broadcast_to(clients, points.shape[:-1]).reshape(-1)
        shape = (-1, self.classes, self.features + 1)
        w = points.astype(self._type).reshape(shape)
        u = np.zeros_like(w) if buffers is None else buffers.astype(self._type).reshape(shape)
        pulled = w.copy() if anchors is None else anchors.astype(self._type).reshape(shape)
        corrected = None if corrections is None else corrections.astype(self._type).reshape(shape)
        a_pass = -(-self.sizes[spread] // self.batch_size)
        steps = np.broadcast_to(descent.steps, (*points.shape[:-1], 1)).reshape(-1)
        steps = steps * (a_pass if self.local_unit == "epoch" else 1)
        descend(
            self._rows,
            spread,
            w,
            u,
            pulled,
            corrected,
            generator,
            batch_size=self.batch_size,
            steps=steps,
            step_size=descent.step_size,
            momentum=descent.momentum,
            proximal=descent.proximal,
        )
        kept = points.dtype
        with_buffers = buffers is not None or descent.momentum
        return Trained(
            w.reshape(points.shape).astype(kept),
            u.reshape(points.shape).astype(kept) if with_buffers else None,
            steps.reshape((*points.shape[:-1], 1)),
        )

    @cached_property
    def whole(self) -> SoftmaxMixture:
        """The same data without mini-batches."""
        other = replace(self, batch_size=None)
        # what is drawn once is not drawn again
        vars(other)["_data"] = self._data
        return other

    def accuracies(self, points: np.ndarray, clients: np.ndarray) -> np.ndarray:
        """Return the share of each client's test samples that its own point (..., k, d) predicts right, (..., k)."""
        result = np.empty(points.shape[:-1])
        for at, client in _each(clients, points.shape[:-2]):
            features, targets = self._testing[client]
            result[at] = ((self._matrix(points[at]) @ features).argmax(axis=0) == targets).mean()
        return result

    def training_data(self, client: int) -> tuple[np.ndarray, np.ndarray]:
        """Features (n, features) and classes (n,) of a client's training set."""
        features, targets = self._training[client]
        return features[:-1].T, targets

    def testing_data(self, client: int) -> tuple[np.ndarray, np.ndarray]:
        """Features (n, features) and classes (n,) of a client's test set."""
        features, targets = self._testing[client]
        return features[:-1].T, targets

    def _matrix(self, model: np.ndarray) -> np.ndarray:
        return model.reshape(self.classes, -1).astype(self._type, copy=False)

    @property
    def _type(self) -> np.dtype:
        return np.dtype(np.float64 if self.precision == "double" else np.float32)

    def _batch(self, client: int, generator: np.random.Generator) -> Sample:
        """What a gradient of a client is taken on."""
        if self.batch_size is None or self.batch_size >= self.sizes[client]:
            return self._samples[client]
        features, targets = self._training[client]
        chosen = generator.choice(len(targets), self.batch_size, replace=False)
        return Sample.of(features[:, chosen], targets[chosen], self.classes)

    @cached_property
    def _samples(self) -> list[Sample]:
        return [Sample.of(features, targets, self.classes) for features, targets in self._training]

    @cached_property
    def _rows(self) -> Rows:
        return Rows.of(self._training, self.classes)

    @property
    def _training(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return self._data[0]

    @property
    def _testing(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return self._data[1]

    @cached_property
    def _data(self) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[tuple[np.ndarray, np.ndarray]]]:
        """Training and test sets, one column per sample, the last row ones; a stream a client."""
        training, testing = [], []
        for client, label in enumerate(self.labels):
            stream = generator(self.seed, "softmax", "client", client)
            size = int(min(stream.lognormal(4, 2), 1e6)) + 50
            size *= 5 if self.distribution == "published" else 1
            size = size if self.largest is None else min(size, self.largest)
            features = np.ones((size, self.features + 1))
            if self.distribution == "published":
                features[:, :-1] = stream.random((size, self.features))
            else:
                middle = stream.standard_normal() + stream.standard_normal(self.features)
                spread = np.arange(1, self.features + 1) ** -0.6
                features[:, :-1] = middle + spread * stream.standard_normal((size, self.features))
            scores = features @ self.generating_models[label].reshape(self.classes, -1).T
            if self.distribution == "published":
                scores += 0.5 * stream.standard_normal(scores.shape)
            targets = scores.argmax(axis=1)
            kept = round((1 - TEST_SHARE) * size)
            columns = np.ascontiguousarray(features.T, dtype=self._type)
            own = aligned_rows(len(columns), kept, self._type)
            own[...] = columns[:, :kept]
            training.append((own, targets[:kept]))
            testing.append((columns[:, kept:], targets[kept:]))
        return training, testing


def _each(clients: np.ndarray, lead: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Place and number of every client (..., k), one after the other: their sets differ a hundredfold."""
    spread = np.broadcast_to(clients, (*lead, clients.shape[-1]))
    for at in np.ndindex(spread.shape):
        yield at, int(spread[at])
