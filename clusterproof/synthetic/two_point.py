"""Losses with two-valued noise, for which the inequalities of Chebyshev, Cantelli and Markov are equalities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clusterproof.common import InvalidArgument, generator
from clusterproof.common.validation import check_number
from clusterproof.synthetic.mixture import (
    Mixture,
    check_labels,
    check_random,
    check_samples,
    make_labels,
    place_optima,
    read_array,
    read_doubles,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoPointMixture(Mixture):
    """Clients with f(chi; z) = ||chi - chi*_p||^2 / 2 + z u_p . (chi - c_p), where z has mean 0 and variance 1.

    z is sqrt((1 - q) / q) with probability q and -sqrt(q / (1 - q)) otherwise, where q is the ``rarity``. Up to a term
    that does not depend on chi, this is the squared loss of y = chi*_p - z u_p. Both L and mu are 1. The noise of the
    gradient does not depend on the model; the noise of the loss grows with the distance from c_p along u_p.

    Suppose that there is one sample, that two models lie on opposite sides of c_p, and that the rare value of z exactly
    compensates the difference between the expected losses. A client then chooses the wrong model with probability q,
    the upper bound in Cantelli's inequality. If the rarity is 1/2, the norm of the gradient's noise equals its standard
    deviation on every sample, so Markov's inequality for this norm is an equality.

    Parameters
    ----------
    optima
        Optima chi*_p, (P, d).
    noise_gradients
        Directions u_p of the noise, (P, d), or one for all clusters (d,).
    centers
        Centres c_p, (P, d), or one for all clusters (d,).
    rarity
        Probability q of the rare value, in (0, 1).
    labels
        True cluster of each client, integers (m,).
    samples
        Number of samples in a batch (n'); every use draws a new batch.

    Raises
    ------
    InvalidArgument
        If an argument has the wrong shape, is not finite or is out of range.
    """

    name: ClassVar[str] = "two-point"

    optima: np.ndarray
    noise_gradients: np.ndarray
    centers: np.ndarray
    rarity: float
    labels: np.ndarray
    samples: int

    def __post_init__(self) -> None:
        """Check the arguments, and convert them to arrays."""
        optima = read_array("optima", self.optima, "P, d", "give one optimum per cluster")
        object.__setattr__(self, "optima", optima)
        for name in ("noise_gradients", "centers"):
            rule = f"must be finite numbers {optima.shape} or {optima.shape[1:]}"
            remedy = "give one vector per cluster, or one vector for all clusters"
            given = read_doubles(name, getattr(self, name), rule, remedy)
            if given.shape not in (optima.shape, optima.shape[1:]) or not np.isfinite(given).all():
                raise InvalidArgument(name, given.shape, rule, remedy)
            object.__setattr__(self, name, np.broadcast_to(given, optima.shape).copy())
        check_number("rarity", self.rarity, above=0, below=1, remedy="give the probability of the rare value")
        check_samples(self.samples)
        object.__setattr__(self, "labels", check_labels(self.labels, len(optima)))

    @classmethod
    def random(
        cls,
        *,
        clusters: int,
        clients: int,
        dimension: int,
        separation: float = 2.0,
        noise: float = 1.0,
        rarity: float = 0.1,
        samples: int = 1,
        proportions: Any = None,
        seed: int = 0,
    ) -> TwoPointMixture:
        """Draw random directions of the noise, and optima with smallest distance ``separation``.

        Parameters
        ----------
        clusters, clients, dimension
            Numbers of clusters (P), of clients (m) and of parameters (d).
        separation
            Smallest distance between two clusters' optima (Delta), positive.
        noise
            Standard deviation ||u_p|| of a sample's gradient, at least 0.
        rarity
            Probability q that z is sqrt((1 - q) / q), in (0, 1).
        samples
            Number of samples in a batch (n'); a client draws separate batches for losses and for gradients.
        proportions
            Shares of the clients in the clusters (l_p). If None, they are equal.
        seed
            Seed of the optima and directions; c_p is the clusters' mean.

        Raises
        ------
        InvalidArgument
            If an argument is out of range.
        """
        check_random(dimension, seed, separation=separation)
        check_number("noise", noise, at_least=0, remedy="give the gradient's standard deviation")
        labels = make_labels(clients, clusters, proportions)
        optima = place_optima(clusters, dimension, separation, generator(seed, cls.name, "optima"))
        directions = generator(seed, cls.name, "slopes").standard_normal(optima.shape)
        return cls(
            optima=optima,
            noise_gradients=noise * directions / np.linalg.norm(directions, axis=-1, keepdims=True),
            centers=optima.mean(axis=0),
            rarity=rarity,
            labels=labels,
            samples=samples,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """The constructor's arguments, as plain JSON values."""
        arrays = {
            name: getattr(self, name).tolist() for name in ("optima", "noise_gradients", "centers", "labels")
        }
        return {"task": self.name, **arrays, "rarity": float(self.rarity), "samples": int(self.samples)}

    @property
    def smoothness(self) -> float:
        """Smoothness L = 1."""
        return 1.0

    @property
    def strong_convexity(self) -> float:
        """Strong convexity mu = 1."""
        return 1.0

    @property
    def pooled_optimum(self) -> np.ndarray:
        """Mean of the clients' optima, (d,)."""
        return np.asarray(self.proportions @ self.optima)

    @property
    def noise_values(self) -> tuple[float, float]:
        """The rare value and the common value of z."""
        odds = (1 - self.rarity) / self.rarity
        return math.sqrt(odds), -math.sqrt(1 / odds)

    def expected_loss(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return ||chi - chi*_p||^2 / 2 for models (..., d)."""
        return np.asarray(((model - self.optima[cluster]) ** 2).sum(axis=-1) / 2)

    def expected_gradient(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return the gradient chi - chi*_p for models (..., d)."""
        return np.asarray(model - self.optima[cluster])

    def loss_variance(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return sigma^2(chi) = (u_p . (chi - c_p))^2, the variance of the loss on one sample, for models (..., d)."""
        return np.asarray(((model - self.centers[cluster]) @ self.noise_gradients[cluster]) ** 2)

    def gradient_variance(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return the variance of the gradient on one sample, v^2 = ||u_p||^2, for models (..., d)."""
        return np.full(np.shape(model)[:-1], (self.noise_gradients[cluster] ** 2).sum())

    def misclassification_probability(self, models: np.ndarray, cluster: int) -> np.ndarray:
        """Return the exact probability that another model's loss is at most the true model's loss, (..., P).

        See ``RegressionMixture``. The number of rare values among n' samples is binomial. The entry of the true cluster
        is 0. If two losses can be exactly equal, rounding errors decide whether this case counts.
        """
        from scipy.special import bdtr

        models = np.asarray(models, dtype=float)
        losses = self.expected_loss(models, cluster)
        gap = losses - losses[..., cluster, None]
        # the mean noise z makes the client choose the other model if z * lever >= gap
        lever = (models[..., cluster, None, :] - models) @ self.noise_gradients[cluster]
        rare, common = self.noise_values
        safe = np.where(lever == 0, 1.0, lever)
        count = self.samples * (gap / safe - common) / (rare - common)
        count = np.clip(count, -1.0, self.samples + 1.0)
        above = 1 - _at_most(np.ceil(count) - 1, self.samples, self.rarity, bdtr)
        below = _at_most(np.floor(count), self.samples, self.rarity, bdtr)
        errors = np.where(lever > 0, above, np.where(lever < 0, below, (gap <= 0).astype(float)))
        errors[..., cluster] = 0.0
        return np.asarray(errors)

    def losses(self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return the losses (..., k, P) of models (..., P, d) on the batches of clients (..., k)."""
        labels = self.labels[clients]
        lead = np.broadcast_shapes(models.shape[:-2], clients.shape[:-1])
        noise = self._mean_noise((*lead, clients.shape[-1]), generator)
        return self._tilted(models, labels, noise)

    def gradients(
        self, points: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return the gradients (..., k, d) at one point per client; the points have the same shape."""
        labels = self.labels[clients]
        noise = self._mean_noise(points.shape[:-1], generator)
        return np.asarray(points - self.optima[labels] + noise[..., None] * self.noise_gradients[labels])

    def hessian_products(
        self, points: np.ndarray, directions: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return the directions (..., k, d), because the Hessian is the identity."""
        return np.array(directions, dtype=float)

    def losses_and_gradients(
        self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the losses (..., k, P) and gradients (..., k, P, d) of models (..., P, d) on one batch per client."""
        labels = self.labels[clients]
        lead = np.broadcast_shapes(models.shape[:-2], clients.shape[:-1])
        noise = self._mean_noise((*lead, clients.shape[-1]), generator)
        gradients = models[..., None, :, :] - self.optima[labels][..., None, :]
        tilt = noise[..., None] * self.noise_gradients[labels]
        return self._tilted(models, labels, noise), gradients + tilt[..., None, :]

    def _mean_noise(self, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
        """Draw the mean of z over n' samples."""
        rare, common = self.noise_values
        counts = generator.binomial(self.samples, self.rarity, shape)
        return np.asarray(common + (rare - common) * (counts / self.samples))

    def _tilted(self, models: np.ndarray, labels: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return the losses (..., k, P) of clients with given labels (..., k) and given means of z."""
        offsets = models[..., None, :, :] - self.optima[labels][..., None, :]
        levers = models[..., None, :, :] - self.centers[labels][..., None, :]
        tilt = np.einsum("...kpd,...kd->...kp", levers, self.noise_gradients[labels])
        return np.asarray((offsets**2).sum(axis=-1) / 2 + noise[..., None] * tilt)


def _at_most(count: np.ndarray, total: int, probability: float, tail: Any) -> np.ndarray:
    """Return P(Bin(total, probability) <= count), also for counts below 0 or above ``total``."""
    inside = tail(np.clip(count, 0, total), total, probability)
    return np.asarray(np.where(count < 0, 0.0, np.where(count >= total, 1.0, inside)))
