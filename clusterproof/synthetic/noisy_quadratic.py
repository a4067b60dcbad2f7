"""A mixture of quadratic losses whose gradients have additive Gaussian noise with a known covariance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from clusterproof.common import InvalidArgument
from clusterproof.common.validation import check_number
from clusterproof.synthetic.mixture import read_array
from clusterproof.synthetic.quadratic import ExactQuadratics, QuadraticMixture, symmetrised

NEGATIVE = 1e-12
"""Largest size of a negative eigenvalue, relative to the largest eigenvalue, that rounding errors can explain."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NoisyQuadraticMixture(ExactQuadratics):
    """Clients with f_i(chi; y) = (chi - c_i)' A_i (chi - c_i) / 2 + y . (chi - c_i), y ~ N(0, Sigma).

    Every gradient is A_i (chi - c_i) + y with a fresh y. When a client chooses a model, it evaluates all models with
    the same y.

    Parameters
    ----------
    hessians
        Symmetric positive definite A_i, (m, d, d).
    centers
        Centres c_i, (m, d).
    covariance
        Covariance Sigma of a gradient, a symmetric positive semidefinite matrix (d, d), in squared units of a gradient.
    labels
        True cluster of each client, integers (m,).

    Raises
    ------
    InvalidArgument
        If an argument has the wrong shape or is not finite, or if a matrix is not symmetric and definite.
    """

    name: ClassVar[str] = "noisy-quadratic"

    hessians: np.ndarray
    centers: np.ndarray
    covariance: np.ndarray
    labels: np.ndarray
    optima: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the arguments, and convert them to arrays."""
        super().__post_init__()
        covariance = read_array("covariance", self.covariance, "d, d", "give the covariance of a gradient")
        shape = (self.dimension,) * 2
        if covariance.shape != shape:
            rule = f"must have the shape {shape}"
            raise InvalidArgument("covariance", covariance.shape, rule, "give one matrix (d, d)")
        covariance = symmetrised(covariance[None], "covariance")[0]
        eigenvalues, vectors = np.linalg.eigh(covariance)
        if eigenvalues[0] < -NEGATIVE * max(eigenvalues[-1], 0.0):
            rule = f"must be positive semidefinite; its smallest eigenvalue is {eigenvalues[0]:.3g}"
            raise InvalidArgument("covariance", ..., rule, "give F F' for some matrix F")
        object.__setattr__(self, "covariance", covariance)
        object.__setattr__(self, "_root", vectors * np.sqrt(np.maximum(eigenvalues, 0.0)))

    @classmethod
    def random(
        cls,
        *,
        clusters: int,
        clients: int,
        dimension: int,
        condition_number: float = 1.0,
        separation: float = 2.0,
        spread: float = 0.0,
        noise: float = 0.1,
        proportions: Any = None,
        seed: int = 0,
    ) -> NoisyQuadraticMixture:
        """Draw quadratics as in ``QuadraticMixture.random`` (L = 1), and noise with equal variance in all directions.

        Parameters
        ----------
        clusters, clients, dimension
            Numbers of clusters (P), of clients (m) and of parameters (d).
        condition_number
            Condition number kappa = L / mu, at least 1.
        separation
            Smallest distance between two clusters' optima (Delta), positive.
        spread
            Standard deviation of the clients' centres around their cluster's optimum, in each coordinate.
        noise
            Standard deviation of a gradient, sqrt(tr Sigma), at least 0.
        proportions
            Shares of the clients in the clusters (l_p). If None, they are equal.
        seed
            Seed of optima, rotations and centres.

        Raises
        ------
        InvalidArgument
            If an argument is out of range.
        """
        check_number("noise", noise, at_least=0, remedy="give the standard deviation of a gradient")
        quadratic = QuadraticMixture.random(
            clusters=clusters,
            clients=clients,
            dimension=dimension,
            condition_number=condition_number,
            separation=separation,
            spread=spread,
            proportions=proportions,
            seed=seed,
        )
        covariance = noise**2 / dimension * np.eye(dimension)
        hessians, centers, labels = quadratic.hessians, quadratic.centers, quadratic.labels
        return cls(hessians=hessians, centers=centers, covariance=covariance, labels=labels)

    def loss_variance(self, model: np.ndarray, cluster: int) -> float:
        """Return the variance of the loss at one model (d,), over the cluster's clients and over the noise."""
        away = model - self.centers[self.labels == cluster]
        noise = np.einsum("mi,ij,mj->m", away, self.covariance, away).mean()
        return super().loss_variance(model, cluster) + float(noise)

    def gradient_variance(self, model: np.ndarray, cluster: int) -> float:
        """Return the mean squared distance of a client's gradient from the cluster's gradient, at one model (d,)."""
        return super().gradient_variance(model, cluster) + float(np.trace(self.covariance))

    def misclassification_probability(self, models: np.ndarray, cluster: int) -> np.ndarray:
        """Return the probability, over clients and noise, that each model's loss is at most the true model's, (P,)."""
        from scipy.special import ndtr  # this module is slow to import

        models = np.asarray(models, dtype=float)
        clients = np.flatnonzero(self.labels == cluster)
        losses = self._losses(models, clients)
        gaps = losses[:, cluster, None] - losses
        moves = models[cluster] - models
        deviations = np.sqrt(np.einsum("pi,ij,pj->p", moves, self.covariance, moves))
        with np.errstate(all="ignore"):
            chances = np.where(deviations > 0, ndtr(gaps / deviations), gaps >= 0).mean(axis=0)
        chances[cluster] = 0.0
        return np.asarray(chances)

    def losses(self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return the losses (..., k, P) of models (..., P, d), with one y per client (..., k)."""
        return self.losses_and_gradients(models, clients, generator)[0]

    def gradients(
        self, points: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return the gradients (..., k, d) at one point per client; the points have the same shape."""
        exact = super().gradients(points, clients, generator)
        return np.asarray(exact + self._noise(exact.shape, generator))

    def losses_and_gradients(
        self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the losses (..., k, P) and gradients (..., k, P, d) of models (..., P, d), with one y per client."""
        losses, gradients = super().losses_and_gradients(models, clients, generator)
        noise = self._noise((*gradients.shape[:-2], 1, self.dimension), generator)
        away = models[..., None, :, :] - self.centers[clients][..., None, :]
        return losses + (noise * away).sum(axis=-1), gradients + noise

    def _noise(self, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
        root: np.ndarray = vars(self)["_root"]
        return np.asarray(generator.standard_normal(shape) @ root.T)
