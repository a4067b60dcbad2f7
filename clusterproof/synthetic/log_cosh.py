"""A mixture of log-cosh losses: smooth, strongly convex, not quadratic, with additive noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clusterproof.common import generator
from clusterproof.common.validation import check_choice, check_number
from clusterproof.synthetic.mixture import (
    Mixture,
    check_labels,
    check_random,
    check_samples,
    make_labels,
    place_optima,
    read_array,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class LogCoshMixture(Mixture):
    """Clients with f(chi; y) = psi(chi - theta_p) + y . (chi - theta_p), y ~ N(0, nu^2 I / d).

    The curvature of psi(u) = sum_j L u_j^2 / 2 - (L - mu) w^2 log cosh(u_j / w) is mu at the optimum and L far away.
    Therefore no single quadratic function approximates the loss along a run that starts far from the optimum. L is 1.

    Parameters
    ----------
    optima
        Optima theta_p = chi*_p, (P, d).
    valley_curvature
        Curvature at the optimum (mu), in (0, 1].
    width
        Length (w) over which the curvature changes, positive.
    noise
        Standard deviation of the gradient on one sample (nu), the same at every model, at least 0.
    labels
        True cluster of each client, integers (m,).
    samples
        Number of samples in a batch (n'); a client draws separate batches for losses and for gradients.
    data
        ``"fresh"`` draws a new batch for every use, ``"population"`` uses the expected loss.

    Raises
    ------
    InvalidArgument
        If an argument has the wrong shape, is not finite or is out of range.
    """

    name: ClassVar[str] = "log-cosh"

    optima: np.ndarray
    valley_curvature: float
    width: float
    noise: float
    labels: np.ndarray
    samples: int
    data: str = "fresh"

    def __post_init__(self) -> None:
        """Check the arguments, and convert them to arrays."""
        optima = read_array("optima", self.optima, "P, d", "give one optimum per cluster")
        check_number(
            "valley_curvature",
            self.valley_curvature,
            above=0,
            at_most=1,
            remedy="it is the curvature mu",
        )
        check_number("width", self.width, above=0, remedy="give the length over which the curvature changes")
        check_number("noise", self.noise, at_least=0, remedy="give the gradient's standard deviation")
        check_samples(self.samples)
        check_choice("data", self.data, ("fresh", "population"), remedy="'fresh' resamples")
        object.__setattr__(self, "optima", optima)
        object.__setattr__(self, "labels", check_labels(self.labels, len(optima)))

    @classmethod
    def random(
        cls,
        *,
        clusters: int,
        clients: int,
        dimension: int,
        condition_number: float = 10.0,
        separation: float = 2.0,
        width: float = 0.02,
        noise: float = 1.0,
        samples: int = 100,
        proportions: Any = None,
        data: str = "fresh",
        seed: int = 0,
    ) -> LogCoshMixture:
        """Draw random optima; the smallest distance between two of them is ``separation``.

        Parameters
        ----------
        clusters, clients, dimension
            Numbers of clusters (P), of clients (m) and of parameters (d).
        condition_number
            Condition number kappa = L / mu, at least 1.
        width
            Length (w) over which the curvature changes, positive.
        noise
            Standard deviation of the gradient on one sample (nu), at least 0.
        samples
            Number of samples in a batch (n'); a client draws separate batches for losses and for gradients.
        data
            "fresh" draws a new batch for every use, "population" uses the expected loss.
        separation
            Smallest distance between two clusters' optima (Delta), positive.
        proportions
            Shares of the clients in the clusters (l_p). If None, they are equal.
        seed
            Seed of the optima.

        Raises
        ------
        InvalidArgument
            If an argument is out of range.
        """
        check_random(dimension, seed, separation=separation, condition_number=condition_number)
        labels = make_labels(clients, clusters, proportions)
        return cls(
            optima=place_optima(clusters, dimension, separation, generator(seed, "log-cosh", "optima")),
            valley_curvature=1 / condition_number,
            width=width,
            noise=noise,
            labels=labels,
            samples=samples,
            data=data,
        )

    @property
    def smoothness(self) -> float:
        """Smoothness L = 1."""
        return 1.0

    @property
    def strong_convexity(self) -> float:
        """Constant of strong convexity mu, which is the curvature at the optimum."""
        return float(self.valley_curvature)

    @property
    def pooled_optimum(self) -> np.ndarray:
        """Minimiser of the clients' mean expected loss, computed with bisection in each coordinate, (d,)."""
        low, high = self.optima.min(axis=0), self.optima.max(axis=0)
        for _ in range(200):
            middle = (low + high) / 2
            gradient = self.proportions @ self._gradient(middle - self.optima)
            low, high = np.where(gradient < 0, middle, low), np.where(gradient < 0, high, middle)
        return np.asarray((low + high) / 2)

    def expected_loss(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return psi(chi - theta_p) for models (..., d)."""
        offset = model - self.optima[cluster]
        scaled = np.abs(offset) / self.width
        # log cosh x = x + log(1 + exp(-2x)) - log 2 does not overflow
        concave_part = scaled + np.log1p(np.exp(-2 * scaled)) - math.log(2)
        valley = 0.5 * offset**2 - (1 - self.strong_convexity) * self.width**2 * concave_part
        return np.asarray(valley.sum(axis=-1))

    def expected_gradient(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return the gradient of psi at chi - theta_p, for models (..., d)."""
        return self._gradient(model - self.optima[cluster])

    def loss_variance(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return the variance of the loss on one sample, nu^2 ||chi - theta_p||^2 / d, for models chi (..., d)."""
        offset = model - self.optima[cluster]
        return np.asarray(self.noise**2 * (offset**2).sum(axis=-1) / self.dimension)

    def gradient_variance(self, model: np.ndarray, cluster: int) -> float:
        """Return the variance of the gradient on one sample, v^2(chi) = nu^2, which does not depend on the model."""
        return float(self.noise) ** 2

    def misclassification_probability(self, models: np.ndarray, cluster: int) -> np.ndarray:
        """Return the exact probability that a wrong model's loss is at most the true model's, (..., P).

        The difference between the two losses is Gaussian. Its mean is the difference between the expected losses, and
        its standard deviation is nu ||chi_p - chi_q|| / sqrt(d n'). Entry p of the result is 0.
        """
        from scipy.special import ndtr

        losses = self.expected_loss(models, cluster)
        gap = losses - losses[..., cluster, None]
        distance = np.linalg.norm(models - models[..., cluster, None, :], axis=-1)
        deviation = self.noise * distance / math.sqrt(self.dimension * self.samples)
        certain = np.where(gap > 0, 0.0, 1.0)
        errors = np.where(deviation > 0, ndtr(-gap / np.where(deviation > 0, deviation, 1.0)), certain)
        errors[..., cluster] = 0.0
        return np.asarray(errors)

    def losses(self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return the losses (..., k, P) of models (..., P, d) on the batches of clients (..., k)."""
        labels = self.labels[clients]
        lead = np.broadcast_shapes(models.shape[:-2], clients.shape[:-1])
        rows = self._mean_rows((*lead, clients.shape[-1], self.dimension), 1, generator)
        result = np.zeros((*lead, clients.shape[-1], models.shape[-2]))
        for cluster, optimum in enumerate(self.optima):
            tilt = rows @ np.swapaxes(models - optimum, -1, -2)
            expected = self.expected_loss(models, cluster)[..., None, :]
            result = np.where((labels == cluster)[..., None], expected + tilt, result)
        return result

    def gradients(
        self, points: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return the gradients (..., k, d) at one point per client; the points have the same shape."""
        gradient = self._gradient(points - self.optima[self.labels[clients]])
        return np.asarray(gradient + self._mean_rows(points.shape, 1, generator))

    def gradient_sums(
        self, models: np.ndarray, clients: np.ndarray, assignments: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return for each cluster the sum of the participants' gradients at the cluster's model, (..., P, d)."""
        labels = self.labels[clients]
        sums = np.zeros(models.shape)
        sizes = np.zeros(models.shape[:-1])
        for cluster, optimum in enumerate(self.optima):
            for model in range(models.shape[-2]):
                count = ((assignments == model) & (labels == cluster)).sum(axis=-1)
                sums[..., model, :] += count[..., None] * self._gradient(models[..., model, :] - optimum)
                sizes[..., model] += count
        noise = sizes[..., None] * self._mean_rows(models.shape, sizes[..., None], generator)
        return np.asarray(sums + noise)

    def hessian_products(
        self, points: np.ndarray, directions: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return the products of the Hessians at points with directions; all three have the shape (..., k, d)."""
        offset = points - self.optima[self.labels[clients]]
        concave_part = 1 - np.tanh(offset / self.width) ** 2
        return np.asarray((1 - (1 - self.strong_convexity) * concave_part) * directions)

    def losses_and_gradients(
        self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the losses (..., k, P) and gradients (..., k, P, d) of models (..., P, d) on one batch per client."""
        labels = self.labels[clients]
        lead = np.broadcast_shapes(models.shape[:-2], clients.shape[:-1])
        rows = self._mean_rows((*lead, clients.shape[-1], self.dimension), 1, generator)
        offsets = models[..., None, :, :] - self.optima[labels][..., None, :]
        expected = np.stack([self.expected_loss(models, p) for p in range(self.clusters)], axis=-2)
        wide = np.broadcast_to(labels[..., None], (*lead, labels.shape[-1], models.shape[-2]))
        at_models = np.take_along_axis(expected, wide, axis=-2)
        losses = at_models + np.einsum("...kpd,...kd->...kp", offsets, rows)
        return losses, self._gradient(offsets) + rows[..., None, :]

    def _gradient(self, offset: np.ndarray) -> np.ndarray:
        """Return the gradient of psi at ``offset``."""
        concave_part = (1 - self.strong_convexity) * self.width * np.tanh(offset / self.width)
        return np.asarray(offset - concave_part)

    def _mean_rows(
        self, shape: tuple[int, ...], batches: np.ndarray | int, generator: np.random.Generator
    ) -> np.ndarray:
        """Draw the mean of y over batches * n' samples; it is zero if there are no samples."""
        if self.data == "population":
            return np.zeros(shape)
        count = np.asarray(batches) * float(self.samples) * self.dimension
        scale = np.where(count > 0, self.noise / np.sqrt(np.where(count > 0, count, 1.0)), 0.0)
        return np.asarray(scale * generator.standard_normal(shape))
