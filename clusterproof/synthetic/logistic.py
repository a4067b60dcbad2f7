"""A mixture of ridge-penalised logistic regressions: strongly convex, smooth, not quadratic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from clusterproof.common import InvalidArgument, generator
from clusterproof.common.validation import check_choice, check_count, check_number
from clusterproof.synthetic.mixture import (
    Mixture,
    check_labels,
    check_random,
    check_samples,
    make_labels,
    read_array,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class LogisticMixture(Mixture):
    """Clients with f(chi; x, y) = log(1 + exp(-y x . chi)) + ridge ||chi||^2 / 2.

    The law D_p of a cluster is uniform on finitely many samples. Its expected loss is therefore a finite sum, and its
    optimum is known up to rounding errors.

    Parameters
    ----------
    features
        Samples x of each cluster's law, (P, N, d).
    targets
        y in {-1, 1}, (P, N).
    ridge
        Strength of the penalty, positive.
    labels
        True cluster of each client, integers (m,).
    samples
        Samples that a client draws, with replacement, for one purpose in one round (n').
    data
        ``"fresh"`` draws new samples for each round and purpose, ``"population"`` uses all of D_p.

    Raises
    ------
    InvalidArgument
        If an argument has a wrong shape, is not finite or is out of range.
    """

    name: ClassVar[str] = "logistic"

    features: np.ndarray
    targets: np.ndarray
    ridge: float
    labels: np.ndarray
    samples: int
    data: str = "fresh"
    optima: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Validate and normalise the arguments."""
        features = read_array("features", self.features, "P, N, d", "give each cluster its rows")
        targets = read_array("targets", self.targets, "P, N", "give each row its class, -1 or 1")
        if targets.shape != features.shape[:2] or not np.isin(targets, (-1.0, 1.0)).all():
            rule = f"must be -1 or 1, in an array {features.shape[:2]}"
            raise InvalidArgument("targets", targets.shape, rule, "recode the classes")
        check_number("ridge", self.ridge, above=0, remedy="strong convexity needs a positive penalty")
        check_samples(self.samples)
        check_choice("data", self.data, ("fresh", "population"), remedy="'fresh' resamples")
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "targets", targets)
        object.__setattr__(self, "labels", check_labels(self.labels, len(features)))
        object.__setattr__(self, "optima", self._cluster_optima())

    @classmethod
    def random(
        cls,
        *,
        clusters: int,
        clients: int,
        dimension: int,
        condition_number: float = 10.0,
        signal: float = 3.0,
        support: int = 200,
        samples: int = 100,
        proportions: Any = None,
        data: str = "fresh",
        seed: int = 0,
    ) -> LogisticMixture:
        """Draw clusters whose classes are split by random directions.

        Parameters
        ----------
        clusters, clients, dimension
            Numbers of clusters (P), of clients (m) and of parameters (d).
        condition_number
            Guaranteed condition number kappa = L / mu, greater than 1; it determines the ridge.
        signal
            Norm of the parameter that generates the targets; a larger norm separates the clusters more.
        support
            Samples of each cluster's law (N).
        samples
            Samples that a client uses for one purpose in one round (n').
        data
            "fresh" draws new samples for each round and purpose, "population" uses all samples of the cluster's law.
        proportions
            Shares of the clients in the clusters (l_p). If None, they are equal.

        Raises
        ------
        InvalidArgument
            If an argument is out of range.
        """
        check_random(dimension, seed, condition_number=condition_number, above_one=True)
        check_count("support", support, at_least=1, remedy="give the rows of each cluster's law")
        check_number("signal", signal, above=0, remedy="give the norm of the generating parameter")
        labels = make_labels(clients, clusters, proportions)
        stream = generator(seed, "logistic")
        directions = stream.standard_normal((clusters, dimension))
        directions *= signal / np.linalg.norm(directions, axis=-1, keepdims=True)
        features = stream.standard_normal((clusters, support, dimension))
        margins = np.einsum("pnd,pd->pn", features, directions)
        targets = np.where(stream.random((clusters, support)) < _sigmoid(margins), 1.0, -1.0)
        curvature = _largest_curvature(features)
        return cls(
            features=features,
            targets=targets,
            ridge=curvature / (condition_number - 1),
            labels=labels,
            samples=samples,
            data=data,
        )

    @classmethod
    def numbers_held(cls, sizes: Mapping[str, int]) -> int:
        """Return the number of values in the samples of all clusters' laws."""
        return sizes["clusters"] * sizes["support"] * sizes["dimension"]

    @cached_property
    def smoothness(self) -> float:
        """Upper bound L on the curvature everywhere, ridge + lambda_max(X'X / N) / 4."""
        return float(self.ridge + _largest_curvature(self.features))

    @property
    def strong_convexity(self) -> float:
        """Lower bound mu on the curvature everywhere: the ridge."""
        return float(self.ridge)

    def _cluster_optima(self) -> np.ndarray:
        """Return the minimisers of the clusters' losses by Newton's method, to a gradient norm below 1e-13, (P, d)."""
        uniform = np.full(self.features.shape[1], 1 / self.features.shape[1])
        return np.stack(
            [
                _newton(rows * signs[:, None], uniform, self.ridge)
                for rows, signs in zip(self.features, self.targets, strict=True)
            ]
        )

    @cached_property
    def pooled_optimum(self) -> np.ndarray:
        """Minimiser of the mean over clients of their expected losses, (d,)."""
        rows = (self.features * self.targets[..., None]).reshape(-1, self.features.shape[-1])
        weights = np.repeat(self.proportions / self.features.shape[1], self.features.shape[1])
        return _newton(rows, weights, self.ridge)

    def point_losses(self, models: np.ndarray, cluster: int) -> np.ndarray:
        """Return the losses of models (..., d) on every sample of a cluster's law, (..., N)."""
        margins = self.targets[cluster] * (models @ self.features[cluster].T)
        penalty = 0.5 * self.ridge * (models**2).sum(axis=-1)
        return np.asarray(np.logaddexp(0.0, -margins) + penalty[..., None])

    def expected_loss(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return phi_p(chi) for models (..., d)."""
        return np.asarray(self.point_losses(model, cluster).mean(axis=-1))

    def expected_gradient(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return the gradient of phi_p for models (..., d)."""
        uniform = np.full(self.features.shape[1], 1 / self.features.shape[1])
        return self._weighted_gradient(model, cluster, uniform)

    def loss_variance(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return sigma^2(chi), the variance of the loss on one sample, for models (..., d)."""
        return np.asarray(self.point_losses(model, cluster).var(axis=-1))

    def gradient_variance(self, model: np.ndarray, cluster: int) -> float:
        """Return v^2(chi), the expected squared distance of one sample's gradient from its mean, at one model (d,)."""
        margins = self.targets[cluster] * (self.features[cluster] @ model)
        derivatives = -self.targets[cluster] * _sigmoid(-margins)
        return float((derivatives[:, None] * self.features[cluster]).var(axis=0).sum())

    def losses(self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return the losses of models (..., P, d) on the batches of clients (..., k): (..., k, P)."""
        labels = self.labels[clients]
        lead = np.broadcast_shapes(models.shape[:-2], clients.shape[:-1])
        weights = self._draw_weights((*lead, clients.shape[-1]), generator)
        result = np.zeros((*lead, clients.shape[-1], models.shape[-2]))
        for cluster in range(self.clusters):
            points = self.point_losses(models, cluster)
            averages = weights @ np.swapaxes(points, -1, -2)
            result = np.where((labels == cluster)[..., None], averages, result)
        return result

    def gradients(
        self, points: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return the gradients at one point per client, (..., k, d): (..., k, d)."""
        labels = self.labels[clients]
        weights = self._draw_weights(points.shape[:-1], generator)
        result = np.zeros(points.shape)
        for cluster in range(self.clusters):
            gradients = self._weighted_gradient(points, cluster, weights)
            result = np.where((labels == cluster)[..., None], gradients, result)
        return result

    def hessian_products(
        self, points: np.ndarray, directions: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return the products of a batch's Hessian at points (..., k, d) with directions (..., k, d): (..., k, d)."""
        labels = self.labels[clients]
        weights = self._draw_weights(points.shape[:-1], generator)
        result = np.zeros(points.shape)
        for cluster, rows in enumerate(self.features):
            probability = _sigmoid(points @ rows.T)
            curvature = weights * probability * (1 - probability)
            products = (curvature * (directions @ rows.T)) @ rows + self.ridge * directions
            result = np.where((labels == cluster)[..., None], products, result)
        return result

    def losses_and_gradients(
        self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the losses (..., k, P) and gradients (..., k, P, d) of models (..., P, d) on one batch per client."""
        labels = self.labels[clients]
        lead = np.broadcast_shapes(models.shape[:-2], clients.shape[:-1])
        shape = (*lead, clients.shape[-1], *models.shape[-2:])
        weights = np.broadcast_to(
            self._draw_weights(shape[:-2], generator), (*shape[:-2], self.features.shape[1])
        )
        losses, gradients = np.zeros(shape[:-1]), np.zeros(shape)
        for cluster in range(self.clusters):
            averages = weights @ np.swapaxes(self.point_losses(models, cluster), -1, -2)
            weighted = self._weighted_gradient(models[..., None, :, :], cluster, weights[..., None, :])
            own = (labels == cluster)[..., None]
            losses = np.where(own, averages, losses)
            gradients = np.where(own[..., None], weighted, gradients)
        return losses, gradients

    @property
    def stored_samples(self) -> int:
        """Number of samples in a cluster's law (N); every client of the cluster has all of them.

        Raises
        ------
        InvalidArgument
            If the clients draw fresh samples.
        """
        if self.data != "population":
            rule = "must be 'population' where a client's rows are reshuffled"
            raise InvalidArgument("data", self.data, rule, "give data='population'")
        return int(self.features.shape[1])

    def sample_gradients(self, points: np.ndarray, clients: np.ndarray, samples: np.ndarray) -> np.ndarray:
        """Return the gradients (..., k, d) of one sample of each client, number ``samples`` (..., k), at its point."""
        labels = self.labels[clients]
        row, target = self.features[labels, samples], self.targets[labels, samples]
        margins = target * (row * points).sum(axis=-1)
        return np.asarray((-target * _sigmoid(-margins))[..., None] * row + self.ridge * points)

    def accuracies(self, points: np.ndarray, clients: np.ndarray) -> np.ndarray:
        """Return the probability that the sign of x . chi is y, at one point per client, (..., k, d): (..., k).

        If x . chi = 0, the model predicts no sign, and the sample counts as wrong.
        """
        labels = self.labels[clients]
        result = np.zeros(np.broadcast_shapes(points.shape[:-1], labels.shape))
        for cluster in range(self.clusters):
            right = self.targets[cluster] * (points @ self.features[cluster].T) > 0
            result = np.where(labels == cluster, right.mean(axis=-1), result)
        return result

    def _draw_weights(self, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
        """Return the share of each sample in a batch drawn with replacement, (*shape, N) or (N,)."""
        size = self.features.shape[1]
        if self.data == "population":
            return np.full((*shape, size), 1 / size)
        return np.asarray(
            generator.multinomial(self.samples, np.full(size, 1 / size), size=shape) / self.samples
        )

    def _weighted_gradient(self, points: np.ndarray, cluster: int, weights: np.ndarray) -> np.ndarray:
        """Return the gradient at points (..., d) of the loss averaged with weights (..., N) or (N,)."""
        margins = self.targets[cluster] * (points @ self.features[cluster].T)
        derivatives = -self.targets[cluster] * _sigmoid(-margins)
        return np.asarray((weights * derivatives) @ self.features[cluster] + self.ridge * points)


def _sigmoid(values: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * (1 + np.tanh(values / 2)))


def _largest_curvature(features: np.ndarray) -> float:
    """Return the largest eigenvalue of X'X / 4N over the clusters."""
    grams = np.swapaxes(features, -1, -2) @ features / features.shape[1]
    return float(np.linalg.eigvalsh(grams).max() / 4)


def _newton(rows: np.ndarray, weights: np.ndarray, ridge: float) -> np.ndarray:
    """Minimise sum_n weights_n log(1 + exp(-rows_n . chi)) + ridge ||chi||^2 / 2 by damped Newton steps.

    The step is halved until the loss does not rise. The loss is strongly convex and behaves like a self-concordant
    function. The iteration therefore reaches the quadratic phase, and then rounding errors.
    """
    point = np.zeros(rows.shape[1])

    def loss(candidate: np.ndarray) -> float:
        return float(weights @ np.logaddexp(0.0, -rows @ candidate) + 0.5 * ridge * candidate @ candidate)

    for _ in range(100):
        probability = _sigmoid(-(rows @ point))
        gradient = ridge * point - (weights * probability) @ rows
        if np.linalg.norm(gradient) < 1e-14:
            break
        curvature = weights * probability * (1 - probability)
        hessian = (rows * curvature[:, None]).T @ rows + ridge * np.eye(len(point))
        direction = np.linalg.solve(hessian, gradient)
        scale = 1.0
        while scale > 1e-3 and loss(point - scale * direction) > loss(point) + 1e-15:
            scale /= 2
        point = point - scale * direction
    return point
