"""Softmax regressions of a hundred devices in four clusters: the synthetic data of FPFC's Table 1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from algorithms import generator, sum_gradients
from algorithms.validation import check_choice, check_count
from synthetic.mixture import make_labels

TEST_SHARE = 0.2

BLOCK = 1024
"""Rows of data that are used at once."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftmaxMixture:
    """Clients with the mean cross-entropy of a linear classifier on a training set of their own.

    A model is the matrix (classes, features + 1) of weights and, last, biases, flattened. Clients
    of a cluster share the classifier that made their classes, argmax(W x + b + noise eps). Answers are
    exact: nothing is drawn after the data.

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
        Samples of a client are cut here, so that a task stays small; no cut where None.
    precision
        ``"double"`` or ``"single"``, of the data, of the starting points and so of a run.
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
        check_count("seed", self.seed, at_least=0, remedy="give a non-negative integer")
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
        names = ("clients", "clusters", "features", "classes", "distribution", "largest", "precision", "seed")
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

    def reference_optima(self, target: str) -> None:
        """Give None: see ``optimum`` for those that are computable, in minutes."""

    def optimum(self, clients: np.ndarray, *, pooled: bool = False) -> np.ndarray | None:
        """Minimise the summed loss of some clients; of all minimisers the one with rows that add to 0.

        Parameters
        ----------
        clients
            Integers (k,), such as those of a cluster.
        pooled
            Weight every sample alike instead of every client.

        Returns
        -------
        numpy.ndarray or None
            (d,); None where there is none, because a class is missing or can be told apart without
            error, as with fewer rows than parameters: the loss then falls for ever.
        """
        weights = self.sizes[clients] if pooled else np.ones(len(clients))
        parts = [self._training[client] for client in clients]
        x = np.concatenate([features.T for features, _ in parts]).astype(float)
        y = np.concatenate([targets for _, targets in parts])
        shares = np.repeat(weights / weights.sum() / self.sizes[clients], self.sizes[clients])
        return _newton(x, y, shares, self.classes)

    def initial_models(
        self, count: int, shape: tuple[int, ...], generator: np.random.Generator
    ) -> np.ndarray:
        """Draw standard normal models as the published code does, the same for all, (*shape, count, d)."""
        drawn = generator.standard_normal((*shape, 1, self.dimension)).astype(self._type)
        return np.repeat(drawn, count, axis=-2)

    def losses(self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Mean losses of models (..., P, d) on clients (..., k): (..., k, P)."""
        lead = np.broadcast_shapes(models.shape[:-2], clients.shape[:-1])
        models = np.broadcast_to(models, (*lead, *models.shape[-2:]))
        result = np.zeros((*lead, clients.shape[-1], models.shape[-2]))
        for at, features, targets, share in self._blocks(clients, lead):
            for position, model in enumerate(models[at[:-1]]):
                scores = self._matrix(model) @ features
                own = scores[targets, np.arange(len(targets))]
                result[(*at, position)] += share * (_log_sum_exp(scores) - own).sum()
        return result

    def gradients(
        self, points: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Gradients at the clients' own points (..., k, d): (..., k, d)."""
        result = np.zeros_like(points)
        for at, features, targets, share in self._blocks(clients, points.shape[:-2]):
            errors = _probabilities(self._matrix(points[at]) @ features)
            errors[targets, np.arange(len(targets))] -= 1
            result[at] += share * (errors @ features.T).ravel()
        return result

    def gradient_sums(
        self, models: np.ndarray, clients: np.ndarray, assignments: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Sum of the gradients of each cluster's participants at its model: (..., P, d)."""
        return np.asarray(sum_gradients(self, models, clients, assignments, generator))

    def losses_and_gradients(
        self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Losses (..., k, P) and gradients (..., k, P, d) of models (..., P, d)."""
        slopes = []
        for position in range(models.shape[-2]):
            lead = np.broadcast_shapes(models.shape[:-2], clients.shape[:-1])
            shape = (*lead, clients.shape[-1], self.dimension)
            slopes.append(
                self.gradients(np.broadcast_to(models[..., position, None, :], shape), clients, generator)
            )
        return self.losses(models, clients, generator), np.stack(slopes, axis=-2)

    def hessian_products(
        self, points: np.ndarray, directions: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Hessians of the clients' losses at points times directions, all (..., k, d)."""
        result = np.zeros_like(points)
        for at, features, _, share in self._blocks(clients, points.shape[:-2]):
            likely = _probabilities(self._matrix(points[at]) @ features)
            moved = self._matrix(directions[at]) @ features
            moved = likely * (moved - (likely * moved).sum(axis=0))
            result[at] += share * (moved @ features.T).ravel()
        return result

    def accuracies(self, points: np.ndarray, clients: np.ndarray) -> np.ndarray:
        """Share of each client's test samples that its own point (..., k, d) predicts right, (..., k)."""
        result = np.empty(points.shape[:-1])
        spread = np.broadcast_to(clients, result.shape)
        for at in np.ndindex(result.shape):
            features, targets = self._testing[int(spread[at])]
            result[at] = ((self._matrix(points[at]) @ features).argmax(axis=0) == targets).mean()
        return result

    def training_data(self, client: int) -> tuple[np.ndarray, np.ndarray]:
        """Features (n, features) and classes (n,) of a client's training set."""
        features, targets = self._training[client]
        return features[:-1].T, targets

    def _matrix(self, model: np.ndarray) -> np.ndarray:
        return model.reshape(self.classes, -1).astype(self._type, copy=False)

    @property
    def _type(self) -> np.dtype:
        return np.dtype(np.float64 if self.precision == "double" else np.float32)

    def _blocks(
        self, clients: np.ndarray, lead: tuple[int, ...]
    ) -> Iterator[tuple[tuple[int, ...], np.ndarray, np.ndarray, float]]:
        """Place, features (features + 1, b), classes (b,) and weight of a row, for every client (..., k).

        One client after the other, since their sets differ in size a hundredfold, and of the large ones
        as many rows at once as stay in the cache between their two products.
        """
        spread = np.broadcast_to(clients, (*lead, clients.shape[-1]))
        for at in np.ndindex(spread.shape):
            features, targets = self._training[int(spread[at])]
            for start in range(0, len(targets), BLOCK):
                part = slice(start, start + BLOCK)
                yield at, features[:, part], targets[part], 1 / len(targets)

    @property
    def _training(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return self._data[0]

    @property
    def _testing(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return self._data[1]

    @cached_property
    def _data(self) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[tuple[np.ndarray, np.ndarray]]]:
        """Training and test sets, one column a sample, the last row ones; a stream a client."""
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
            training.append((np.ascontiguousarray(columns[:, :kept]), targets[:kept]))
            testing.append((columns[:, kept:], targets[kept:]))
        return training, testing


def _log_sum_exp(scores: np.ndarray) -> np.ndarray:
    """Logarithm of the sum of exponentials over the first axis."""
    largest = scores.max(axis=0)
    return np.asarray(largest + np.log(np.exp(scores - largest).sum(axis=0)))


def _probabilities(scores: np.ndarray) -> np.ndarray:
    """Softmax over the first axis, in place: reductions over the long axis are the slow ones."""
    scores -= scores.max(axis=0)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=0)
    return scores


def _newton(x: np.ndarray, y: np.ndarray, shares: np.ndarray, classes: int) -> np.ndarray | None:
    """Minimise the loss weighted by shares (n,) that add to 1; None where it has no minimum.

    Where the loss falls for ever, it does so as exp(-t), on which a Newton step has length 1 whatever t:
    the steps then do not shrink while the gradient vanishes.
    """
    width = x.shape[1]
    model = np.zeros((classes, width))
    rows = np.arange(len(y))

    def loss(candidate: np.ndarray) -> float:
        scores = candidate @ x.T
        return float(shares @ (_log_sum_exp(scores) - scores[y, rows]))

    # the same added to all classes: the one direction that is flat everywhere
    flat = np.kron(np.ones((classes, classes)) / classes, np.eye(width))
    for _ in range(100):
        likely = _probabilities(model @ x.T).T
        errors = likely.copy()
        errors[rows, y] -= 1
        gradient = (errors * shares[:, None]).T @ x
        hessian = np.empty((classes, width, classes, width))
        for one in range(classes):
            for other in range(one + 1):
                weight = likely[:, one] * ((one == other) - likely[:, other]) * shares
                block = (x * weight[:, None]).T @ x
                hessian[one, :, other, :], hessian[other, :, one, :] = block, block.T
        try:
            direction = np.linalg.solve(hessian.reshape(classes * width, -1) + flat, gradient.ravel())
        except np.linalg.LinAlgError:
            return None
        scale, step = 1.0, direction.reshape(classes, width)
        if np.linalg.norm(step) <= 1e-8 * (1 + np.linalg.norm(model)):
            return (model - step).ravel()
        if np.linalg.norm(gradient) < 1e-13:
            return None
        while scale > 1e-6 and not loss(model - scale * step) <= loss(model) + 1e-15:
            scale /= 2
        model = model - scale * step
    return None
