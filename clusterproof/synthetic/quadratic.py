"""A mixture of quadratic losses: one Hessian and one centre per client, without randomness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from clusterproof.common import InvalidArgument, generator
from clusterproof.common.arrays import convert_array, to_numpy
from clusterproof.common.validation import brief, check_number
from clusterproof.synthetic.mixture import (
    Mixture,
    check_labels,
    check_random,
    geometric_spectrum,
    make_labels,
    place_optima,
    read_array,
)

ROUNDING = 1e-12
"""Largest asymmetry, relative to the largest entry, that rounding errors can explain.

A matrix with a smaller asymmetry is replaced by the mean of the matrix and its transpose.
"""


class ExactQuadratics(Mixture):
    """Base class for the losses (chi - c_i)' A_i (chi - c_i) / 2 without noise; subclasses declare the fields.

    The expected loss of a cluster is the mean of its clients' losses, and all variances are over its clients.
    """

    hessians: np.ndarray
    """Symmetric positive definite A_i, (m, d, d)."""

    centers: np.ndarray
    """Centres c_i, (m, d)."""

    def __post_init__(self) -> None:
        """Check the arguments, and convert them to arrays."""
        centers = read_array("centers", self.centers, "m, d", "give one centre a client")
        hessians = read_array("hessians", self.hessians, "m, d, d", "give one matrix per client")
        shape = (*centers.shape, centers.shape[1])
        if hessians.shape != shape:
            rule = f"must have the shape {shape}"
            raise InvalidArgument("hessians", hessians.shape, rule, "give one matrix per client")
        hessians = symmetrised(hessians)
        smallest = np.linalg.eigvalsh(hessians)[:, 0]
        if smallest.min() <= 0:
            client = int(smallest.argmin())
            raise InvalidArgument(
                "hessians",
                ...,
                f"must be positive definite; client {client}'s smallest eigenvalue is {smallest[client]:.3g}",
                "add a multiple of the identity",
            )
        labels = check_labels(self.labels)
        if labels.shape != centers.shape[:1]:
            raise InvalidArgument(
                "labels", labels.shape, f"must have the shape {centers.shape[:1]}", "label every client"
            )
        object.__setattr__(self, "hessians", hessians)
        object.__setattr__(self, "centers", centers)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "optima", self._cluster_optima())

    @classmethod
    def numbers_held(cls, sizes: Mapping[str, int]) -> int:
        """Return the number of entries in the Hessians of all clients."""
        return sizes["clients"] * sizes["dimension"] ** 2

    @cached_property
    def cluster_hessians(self) -> np.ndarray:
        """Mean Hessian of each cluster, (P, d, d)."""
        count = int(self.labels.max()) + 1
        return np.stack([self.hessians[self.labels == cluster].mean(axis=0) for cluster in range(count)])

    def _cluster_optima(self) -> np.ndarray:
        """Return (sum A_i)^-1 sum A_i c_i over the clients of each cluster, (P, d)."""
        weighted = np.einsum("mij,mj->mi", self.hessians, self.centers)
        right = np.stack(
            [weighted[self.labels == cluster].mean(axis=0) for cluster in range(len(self.cluster_hessians))]
        )
        return np.asarray(np.linalg.solve(self.cluster_hessians, right[..., None])[..., 0])

    @cached_property
    def smoothness(self) -> float:
        """Largest eigenvalue of a cluster's mean Hessian (L)."""
        return float(np.linalg.eigvalsh(self.cluster_hessians).max())

    @cached_property
    def strong_convexity(self) -> float:
        """Smallest eigenvalue of a cluster's mean Hessian (mu)."""
        return float(np.linalg.eigvalsh(self.cluster_hessians).min())

    @cached_property
    def client_smoothness(self) -> float:
        """Largest eigenvalue of all clients' Hessians (max L_i); local steps need a step size below 2 / L_i."""
        return float(np.linalg.eigvalsh(self.hessians).max())

    @cached_property
    def pooled_optimum(self) -> np.ndarray:
        """Pooled optimum (sum A_i)^-1 sum A_i c_i over all clients, (d,)."""
        right = np.einsum("mij,mj->i", self.hessians, self.centers)
        return np.asarray(np.linalg.solve(self.hessians.sum(axis=0), right))

    def expected_loss(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return phi_p(chi), the mean loss of the cluster's clients, for models (..., d)."""
        clients = np.flatnonzero(self.labels == cluster)
        return np.asarray(self._losses(model[..., None, :], clients)[..., 0].mean(axis=-1))

    def expected_gradient(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return the gradient of phi_p, the cluster's mean Hessian times (chi - chi*_p), for models (..., d)."""
        return np.asarray((model - self.optima[cluster]) @ self.cluster_hessians[cluster])

    def loss_variance(self, model: np.ndarray, cluster: int) -> float:
        """Return the variance of the loss over the cluster's clients at one model (d,)."""
        clients = np.flatnonzero(self.labels == cluster)
        return float(self._losses(model[None, :], clients).var())

    def gradient_variance(self, model: np.ndarray, cluster: int) -> float:
        """Return the mean squared distance of a client's gradient from the cluster's gradient, at one model (d,)."""
        clients = np.flatnonzero(self.labels == cluster)
        gradients = np.einsum("mij,mj->mi", self.hessians[clients], model - self.centers[clients])
        return float(gradients.var(axis=0).sum())

    def misclassification_probability(self, models: np.ndarray, cluster: int) -> np.ndarray:
        """Return the share of the cluster's clients for which each model's loss is at most the true model's, (P,)."""
        clients = np.flatnonzero(self.labels == cluster)
        losses = self._losses(np.asarray(models, dtype=float), clients)
        errors = (losses[:, cluster, None] >= losses).mean(axis=0)
        errors[cluster] = 0.0
        return np.asarray(errors)

    def losses(self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return the losses (..., k, P) of models (..., P, d) for clients (..., k)."""
        return self._losses(models, clients)

    def gradients(
        self, points: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return the gradients (..., k, d) at one point per client; the points have the same shape."""
        displacements = points - self.centers[clients]
        return np.asarray((self.hessians[clients] @ displacements[..., None])[..., 0])

    def hessian_products(
        self, points: np.ndarray, directions: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return the products A_i v for directions v; products and directions have the shape (..., k, d)."""
        return np.asarray((self.hessians[clients] @ directions[..., None])[..., 0])

    def losses_and_gradients(
        self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the losses (..., k, P) and gradients (..., k, P, d) of models (..., P, d)."""
        displacements = models[..., None, :, :] - self.centers[clients][..., None, :]
        return self._losses(models, clients), displacements @ self.hessians[clients]

    def _losses(self, models: np.ndarray, clients: np.ndarray) -> np.ndarray:
        displacements = models[..., None, :, :] - self.centers[clients][..., None, :]
        curved = displacements @ self.hessians[clients]
        return np.asarray(0.5 * (displacements * curved).sum(axis=-1))


@dataclass(frozen=True, eq=False, kw_only=True)
class QuadraticMixture(ExactQuadratics):
    """Clients with phi_i(chi) = (chi - c_i)' A_i (chi - c_i) / 2.

    The only randomness is the choice of a client in a cluster. The expected loss of a cluster is the mean over the
    cluster's clients, and all variances are over these clients.

    Parameters
    ----------
    hessians
        Symmetric positive definite A_i, (m, d, d).
    centers
        Centres c_i, (m, d).
    labels
        True cluster of each client, integers (m,).
    client_samples
        Numbers of samples n_i for ``weighting="samples"``, positive integers (m,). If None, all are equal. These
        numbers do not affect the expected loss of a cluster, which is an unweighted mean.

    Raises
    ------
    InvalidArgument
        If an argument has the wrong shape or is not finite. If a Hessian is not positive definite, or not symmetric up
        to rounding; the message states the client.
    """

    name: ClassVar[str] = "quadratic"

    hessians: np.ndarray
    centers: np.ndarray
    labels: np.ndarray
    client_samples: Any = None
    optima: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the arguments, and convert them to arrays."""
        super().__post_init__()
        sizes = np.ones(len(self.labels), dtype=np.int64)
        if self.client_samples is not None:
            rule, remedy = f"must be {len(self.labels)} positive integers", "give one number per client"
            given = convert_array("client_samples", self.client_samples, rule, remedy, integers=True)
            sizes = to_numpy(given)
            if sizes.shape != self.labels.shape or sizes.min() < 1:
                raise InvalidArgument("client_samples", brief(sizes.tolist()), rule, remedy)
        object.__setattr__(self, "client_samples", sizes)

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
        proportions: Any = None,
        seed: int = 0,
    ) -> QuadraticMixture:
        """Draw one randomly rotated Hessian per cluster, with L = 1 and mu = 1 / kappa.

        Parameters
        ----------
        clusters, clients, dimension
            Numbers of clusters (P), of clients (m) and of parameters (d).
        condition_number
            Condition number kappa = L / mu, at least 1.
        separation
            Smallest distance between two clusters' optima (Delta), positive.
        spread
            Standard deviation of the clients' centres around their cluster's optimum, in each coordinate, at least 0.
            The centres are then shifted so that the mean of the centres is the optimum.
        proportions
            Shares of the clients in the clusters (l_p). If None, they are equal.

        Raises
        ------
        InvalidArgument
            If an argument is out of range.
        """
        check_random(dimension, seed, separation=separation, condition_number=condition_number)
        check_number("spread", spread, at_least=0, remedy="with 0, all clients of a cluster are equal")
        stream = generator(seed, "quadratic")
        labels = make_labels(clients, clusters, proportions)
        optima = place_optima(clusters, dimension, separation, stream)
        spectrum = geometric_spectrum(dimension, condition_number)
        rotations = np.linalg.qr(stream.standard_normal((clusters, dimension, dimension)))[0]
        hessians = (rotations * spectrum) @ np.swapaxes(rotations, -1, -2)
        hessians = (hessians + np.swapaxes(hessians, -1, -2)) / 2
        offsets = spread * stream.standard_normal((clients, dimension))
        for cluster in range(clusters):
            offsets[labels == cluster] -= offsets[labels == cluster].mean(axis=0)
        return cls(hessians=hessians[labels], centers=optima[labels] + offsets, labels=labels)

    @property
    def settings(self) -> dict[str, Any]:
        """The constructor's arguments, as plain JSON values."""
        settings = super().settings
        if not np.ptp(self.client_samples):
            del settings["client_samples"]
        return settings


def symmetrised(hessians: np.ndarray, argument: str = "hessians") -> np.ndarray:
    """Return (A + A') / 2 if A = A' up to rounding.

    Raises
    ------
    InvalidArgument
        If A and A' differ in an entry by more than ``ROUNDING`` times the largest entry of A.
    """
    mirrored = np.swapaxes(hessians, -1, -2)
    gaps = np.abs(hessians - mirrored).max(axis=(-1, -2))
    beyond = gaps - ROUNDING * np.abs(hessians).max(axis=(-1, -2))
    client = int(beyond.argmax())
    if beyond[client] > 0:
        owner = f"client {client}'s " if argument == "hessians" else ""
        raise InvalidArgument(
            argument,
            ...,
            f"must be symmetric; {owner}mirrored entries differ by up to {gaps[client]:.3g}",
            "give (A + A') / 2",
        )
    return np.asarray(np.where(hessians == mirrored, hessians, (hessians + mirrored) / 2))
