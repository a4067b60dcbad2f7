"""A mixture of logistic regressions with a ridge penalty: strongly convex, smooth, not quadratic."""

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

    The distribution D_p of a cluster is uniform on finitely many samples. The expected loss is therefore a finite sum,
    and the optimum is known up to rounding errors.

    Parameters
    ----------
    features
        Samples x of each cluster's distribution D_p, (P, N, d).
    targets
        Targets y in {-1, 1}, (P, N).
    ridge
        Coefficient of the penalty, positive.
    labels
        True cluster of each client, integers (m,).
    samples
        Number of samples in a batch (n'), drawn with replacement; losses and gradients use separate batches.
    data
        ``"fresh"`` draws a new batch for every use, ``"population"`` uses all samples of D_p.

    Raises
    ------
    InvalidArgument
        If an argument has the wrong shape, is not finite or is out of range.
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
        """Check the arguments, and convert them to arrays."""
        features = read_array("features", self.features, "P, N, d", "give each cluster its rows")
        targets = read_array("targets", self.targets, "P, N", "give each row its class, -1 or 1")
        if targets.shape != features.shape[:2] or not np.isin(targets, (-1.0, 1.0)).all():
            rule = f"must be -1 or 1, in an array {features.shape[:2]}"
            raise InvalidArgument("targets", targets.shape, rule, "encode the classes as -1 and 1")
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
        """Draw clusters in which a random direction separates the two classes, up to noise.

        Parameters
        ----------
        clusters, clients, dimension
            Numbers of clusters (P), of clients (m) and of parameters (d).
        condition_number
            Upper bound kappa = L / mu on the condition number, greater than 1; it determines the ridge coefficient.
        signal
            Norm of the parameter that generates the targets; a larger norm increases the distance between clusters.
        support
            Number of samples of each cluster's distribution (N).
        samples
            Number of samples in a batch (n'); a client draws separate batches for losses and for gradients.
        data
            "fresh" draws a new batch for every use, "population" uses all samples of the cluster's distribution.
        proportions
            Shares of the clients in the clusters (l_p). If None, they are equal.

        Raises
        ------
        InvalidArgument
            If an argument is out of range.
        """
        check_random(dimension, seed, condition_number=condition_number, above_one=True)
        check_count(
            "support", support, at_least=1, remedy="give the number of samples of each cluster's distribution"
        )
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
        """Return the number of values in the samples of all clusters' distributions."""
        return sizes["clusters"] * sizes["support"] * sizes["dimension"]

    @cached_property
    def smoothness(self) -> float:
        """Upper bound L on the curvature at every model, ridge + lambda_max(X'X / N) / 4."""
        return float(self.ridge + _largest_curvature(self.features))

    @property
    def strong_convexity(self) -> float:
        """Lower bound mu on the curvature at every model: the ridge coefficient."""
        return float(self.ridge)

    def _cluster_optima(self) -> np.ndarray:
        """Compute the minimisers of the clusters' losses, (P, d), by Newton's method, down to gradients of 1e-13."""
        uniform = np.full(self.features.shape[1], 1 / self.features.shape[1])
        return np.stack(
            [
                _newton(rows * signs[:, None], uniform, self.ridge)
                for rows, signs in zip(self.features, self.targets, strict=True)
            ]
        )

    @cached_property
    def pooled_optimum(self) -> np.ndarray:
        """Minimiser of the clients' mean expected loss, (d,)."""
        rows = (self.features * self.targets[..., None]).reshape(-1, self.features.shape[-1])
        weights = np.repeat(self.proportions / self.features.shape[1], self.features.shape[1])
        return _newton(rows, weights, self.ridge)

    def point_losses(self, models: np.ndarray, cluster: int) -> np.ndarray:
        """Return the losses of models (..., d) on every sample of a cluster's distribution, (..., N)."""
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
        """Return v^2(chi), the mean squared distance of a sample's gradient from its mean, at one model (d,)."""
        margins = self.targets[cluster] * (self.features[cluster] @ model)
        derivatives = -self.targets[cluster] * _sigmoid(-margins)
        return float((derivatives[:, None] * self.features[cluster]).var(axis=0).sum())

    def losses(self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return the losses (..., k, P) of models (..., P, d) on the batches of clients (..., k)."""
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
        """Return the gradients (..., k, d) at one point per client; the points have the same shape."""
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
        """Return the products of each batch's Hessian at a point with a direction.

        All three have the shape (..., k, d).
        """
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
        """Number of samples in a cluster's distribution (N). Every client of the cluster has all of them.

        Raises
        ------
        InvalidArgument
            If the clients draw fresh samples.
        """
        if self.data != "population":
            rule = "must be 'population' if clients reshuffle their samples"
            raise InvalidArgument("data", self.data, rule, "give data='population'")
        return int(self.features.shape[1])

    def sample_gradients(self, points: np.ndarray, clients: np.ndarray, samples: np.ndarray) -> np.ndarray:
        """Return the gradients (..., k, d) of one sample per client, with index ``samples`` (..., k), at its point."""
        labels = self.labels[clients]
        row, target = self.features[labels, samples], self.targets[labels, samples]
        margins = target * (row * points).sum(axis=-1)
        return np.asarray((-target * _sigmoid(-margins))[..., None] * row + self.ridge * points)

    def accuracies(self, points: np.ndarray, clients: np.ndarray) -> np.ndarray:
        """Return the probability (..., k) that the sign of x . chi is y, at one point chi per client, (..., k, d).

        If x . chi = 0, the model predicts neither class, and the prediction counts as wrong.
        """
        labels = self.labels[clients]
        result = np.zeros(np.broadcast_shapes(points.shape[:-1], labels.shape))
        for cluster in range(self.clusters):
            right = self.targets[cluster] * (points @ self.features[cluster].T) > 0
            result = np.where(labels == cluster, right.mean(axis=-1), result)
        return result

    def _draw_weights(self, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
        """Draw a batch with replacement, and return the share of each sample in the batch, (*shape, N) or (N,)."""
        size = self.features.shape[1]
        if self.data == "population":
            return np.full((*shape, size), 1 / size)
        return np.asarray(
            generator.multinomial(self.samples, np.full(size, 1 / size), size=shape) / self.samples
        )

    def _weighted_gradient(self, points: np.ndarray, cluster: int, weights: np.ndarray) -> np.ndarray:
        """Return the gradient of the weighted mean loss at points (..., d), with weights (..., N) or (N,)."""
        margins = self.targets[cluster] * (points @ self.features[cluster].T)
        derivatives = -self.targets[cluster] * _sigmoid(-margins)
        return np.asarray((weights * derivatives) @ self.features[cluster] + self.ridge * points)


def _sigmoid(values: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * (1 + np.tanh(values / 2)))


def _largest_curvature(features: np.ndarray) -> float:
    """Return the largest eigenvalue of X'X / (4N) among all clusters."""
    grams = np.swapaxes(features, -1, -2) @ features / features.shape[1]
    return float(np.linalg.eigvalsh(grams).max() / 4)


def _newton(rows: np.ndarray, weights: np.ndarray, ridge: float) -> np.ndarray:
    """Minimise sum_n weights_n log(1 + exp(-rows_n . chi)) + ridge ||chi||^2 / 2 with damped Newton steps.

    Each step is halved until the loss does not increase. The loss is strongly convex and behaves like a self-concordant
    function. The iteration therefore eventually converges quadratically, until it reaches the level of rounding errors.
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
