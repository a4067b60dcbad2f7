"""A mixture of Gaussian linear regressions with optima and constants in closed form."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

import clusterproof.synthetic.direct_simulation as direct_simulation
import clusterproof.synthetic.exact_law as exact_law
from clusterproof.common import InvalidArgument, generator
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import check_choice, check_number
from clusterproof.synthetic.exact_law import Covariances
from clusterproof.synthetic.misclassification import pairwise_error
from clusterproof.synthetic.mixture import (
    Mixture,
    check_labels,
    check_random,
    check_samples,
    geometric_spectrum,
    make_labels,
    place_optima,
    read_array,
    read_doubles,
)
from clusterproof.synthetic.stored_rows import StoredRows


@dataclass(frozen=True, eq=False, kw_only=True)
class RegressionMixture(Mixture):
    """Clients with y = x . theta_p + s eps, x ~ N(0, Sigma_p), and loss (y - x . chi)^2 / 2.

    Parameters
    ----------
    optima
        True parameters theta_p = chi*_p, (P, d).
    covariance
        Covariance of the features: variances (d,), one matrix (d, d), or one per cluster (P, d, d).
    noise
        Standard deviation s of the noise, at least 0.
    labels
        True cluster of each client, integers (m,).
    samples
        Number of samples in a batch (n'); a client draws separate batches for losses and for gradients.
    data
        ``"fresh"`` draws a new batch for every use, as the papers assume. With ``"fixed"``, each client has one fixed
        data set. ``"population"`` uses the exact expected loss.
    sampling
        How to simulate fresh batches. ``"exact"`` draws losses and gradients directly from their distribution.
        ``"direct"`` draws every sample, as a reference.
    seed
        Seed of the fixed data sets.

    Raises
    ------
    InvalidArgument
        If an argument has the wrong shape, is not finite or is out of range.
    """

    name: ClassVar[str] = "regression"

    optima: np.ndarray
    covariance: np.ndarray
    noise: float
    labels: np.ndarray
    samples: int
    data: str = "fresh"
    sampling: str = "exact"
    seed: int = 0
    covariances: Covariances = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the arguments, and convert them to arrays."""
        optima = read_array("optima", self.optima, "P, d", "give one true parameter per cluster")
        check_number(
            "noise", self.noise, at_least=0, at_most=1e150, remedy="give the standard deviation of the noise"
        )
        check_samples(self.samples)
        check_choice("data", self.data, ("fresh", "fixed", "population"), remedy="'fresh' resamples")
        check_choice("sampling", self.sampling, ("exact", "direct"), remedy="'exact' is faster")
        object.__setattr__(self, "optima", optima)
        object.__setattr__(self, "labels", check_labels(self.labels, len(optima)))
        rule, remedy = (
            "must be an array of real numbers",
            "give variances, one matrix, or one matrix per cluster",
        )
        covariance = read_doubles("covariance", self.covariance, rule, remedy)
        object.__setattr__(self, "covariance", covariance)
        object.__setattr__(self, "covariances", Covariances.from_argument(covariance, *optima.shape))
        if self.clusters > 1 and self.separation == 0:
            raise InvalidArgument(
                "optima", ..., "must be different for each cluster", "merge the clusters with equal optima"
            )

    @classmethod
    def random(
        cls,
        *,
        clusters: int,
        clients: int,
        dimension: int,
        condition_number: float = 1.0,
        separation: float = 2.0,
        noise: float = 0.5,
        samples: int = 100,
        proportions: Any = None,
        data: str = "fresh",
        sampling: str = "exact",
        seed: int = 0,
    ) -> RegressionMixture:
        """Draw random optima with smallest distance ``separation``; L = 1 and mu = 1 / kappa.

        The features' variances run from 1 / condition_number to 1 in geometric progression.

        Parameters
        ----------
        clusters, clients, dimension
            Numbers of clusters (P), of clients (m) and of parameters (d).
        condition_number
            Condition number kappa = L / mu, at least 1.
        separation
            Smallest distance between two clusters' optima (Delta), positive.
        noise
            Standard deviation s of the noise, at least 0.
        samples
            Number of samples in a batch (n'); a client draws separate batches for losses and for gradients.
        data
            "fresh" draws a new batch for every use, "fixed" uses one data set per client, "population" uses the
            expected loss.
        sampling
            "exact" draws losses and gradients directly from their distribution; "direct" draws every sample.
        proportions
            Shares of the clients in the clusters (l_p). If None, they are equal.
        seed
            Seed of the optima and the fixed data sets.

        Raises
        ------
        InvalidArgument
            If an argument is out of range.
        """
        check_random(dimension, seed, separation=separation, condition_number=condition_number)
        labels = make_labels(clients, clusters, proportions)
        return cls(
            optima=place_optima(clusters, dimension, separation, generator(seed, "regression", "optima")),
            covariance=geometric_spectrum(dimension, condition_number),
            noise=noise,
            labels=labels,
            samples=samples,
            data=data,
            sampling=sampling,
            seed=seed,
        )

    @classmethod
    def numbers_held(cls, sizes: Mapping[str, int]) -> int:
        """Return the number of entries in the covariances of all clusters."""
        return sizes["clusters"] * sizes["dimension"] ** 2

    @property
    def settings(self) -> dict[str, Any]:
        """The constructor's arguments, as plain JSON values."""
        diagonals = self.covariances.diagonals
        shared = diagonals is not None and (diagonals == diagonals[0]).all()
        covariance = diagonals[0] if shared and diagonals is not None else self.covariances.matrices
        return {**super().settings, "covariance": covariance.tolist()}

    @property
    def smoothness(self) -> float:
        """Largest eigenvalue of a cluster's covariance (L)."""
        return float(self.covariances.eigenvalues.max())

    @property
    def strong_convexity(self) -> float:
        """Smallest eigenvalue of a cluster's covariance (mu)."""
        return float(self.covariances.eigenvalues.min())

    @cached_property
    def pooled_optimum(self) -> np.ndarray:
        """Pooled optimum (sum l_p Sigma_p)^-1 sum l_p Sigma_p theta_p, (d,)."""
        weighted = self.proportions[:, None, None] * self.covariances.matrices
        right = np.einsum("pij,pj->i", weighted, self.optima)
        return np.asarray(np.linalg.solve(weighted.sum(axis=0), right))

    def residual_variance(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return tau^2(chi) = s^2 + ||chi - theta_p||^2_Sigma for models (..., d), in squared units of y."""
        rooted = self.covariances.root_times(model - self.optima[cluster], cluster)
        return np.asarray(self.noise**2 + (rooted**2).sum(axis=-1))

    def expected_loss(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return phi_p(chi) = tau^2 / 2 for models (..., d)."""
        return self.residual_variance(model, cluster) / 2

    def expected_gradient(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return the gradient of phi_p: Sigma (chi - theta_p), for models (..., d)."""
        return self.covariances.times(model - self.optima[cluster], cluster)

    def loss_variance(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return sigma^2(chi) = tau^4 / 2, the variance of the loss on one sample, for models (..., d)."""
        return self.residual_variance(model, cluster) ** 2 / 2

    def gradient_variance(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return v^2(chi) = tr(Sigma) tau^2 + ||Sigma delta||^2, the variance of one gradient, for models (..., d)."""
        trace = self.covariances.eigenvalues[cluster].sum()
        mean = self.expected_gradient(model, cluster)
        return np.asarray(trace * self.residual_variance(model, cluster) + (mean**2).sum(axis=-1))

    def misclassification_probability(self, models: np.ndarray, cluster: int) -> np.ndarray:
        """Return for each wrong model the exact probability that its loss is at most the true model's, (..., P).

        The client belongs to cluster p = ``cluster``, has ``samples`` fresh samples, and should choose model p among
        models (..., P, d). Entry p is 0. The probability of a wrong choice is the sum of all entries if there are two
        models; otherwise the sum is an upper bound.
        """
        one = self.covariances
        rooted = one.root_times(np.asarray(models, dtype=float) - self.optima[cluster], cluster)
        variances = self.noise**2 + (rooted**2).sum(axis=-1)
        own = rooted[..., cluster, :]
        cross = self.noise**2 + np.einsum("...pd,...d->...p", rooted, own)
        errors = pairwise_error(variances[..., cluster, None], variances, cross, self.samples)
        errors[..., cluster] = 0.0
        return errors

    def losses(self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return the losses (..., k, P) of models (..., P, d) on the batches of clients (..., k)."""
        labels = self.labels[clients]
        if self.data == "fresh" and self.sampling == "exact":
            covariance = exact_law.residual_covariance(models, self.optima, self.covariances, self.noise)
            return exact_law.draw_losses(covariance, labels, self.samples, generator)
        if self.data == "fresh":
            lead = np.broadcast_shapes(models.shape[:-2], clients.shape[:-1])
            labels = np.broadcast_to(labels, (*lead, clients.shape[-1]))
            drawn = direct_simulation.draw_data(labels, self.covariances, self.noise, self.samples, generator)
            return direct_simulation.losses(models, self.optima[labels], *drawn)
        if self.data == "fixed":
            return self._stored_rows.losses(models, clients)
        expected = np.stack(
            [self.expected_loss(models, cluster) for cluster in range(self.clusters)], axis=-2
        )
        wide = np.broadcast_to(labels[..., None], (*expected.shape[:-2], labels.shape[-1], models.shape[-2]))
        return np.take_along_axis(expected, wide, axis=-2)

    def gradients(
        self, points: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return the gradients (..., k, d) at one point per client; the points have the same shape."""
        if self.data == "fixed":
            return self._stored_rows.gradients(points, clients)
        labels = self.labels[clients]
        displacements = points - self.optima[labels]
        if self.data == "fresh" and self.sampling == "exact":
            rooted = self.covariances.root_times_by_label(displacements, labels)
            drawn = exact_law.draw_gradients(rooted, self.noise, self.samples, 1, generator)
            return self.covariances.root_times_by_label(drawn, labels)
        if self.data == "fresh":
            labels = np.broadcast_to(labels, points.shape[:-1])
            data = direct_simulation.draw_data(labels, self.covariances, self.noise, self.samples, generator)
            return direct_simulation.gradients(points, self.optima[labels], *data)
        rooted = self.covariances.root_times_by_label(displacements, labels)
        return self.covariances.root_times_by_label(rooted, labels)

    def gradient_sums(
        self, models: np.ndarray, clients: np.ndarray, assignments: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return for each cluster the sum of the participants' gradients at the cluster's model, (..., P, d).

        With fresh batches and exact sampling, the task draws one vector for each pair of true cluster and chosen model,
        regardless of the number of clients.
        """
        if self.data != "fresh" or self.sampling != "exact":
            return np.asarray(super().gradient_sums(models, clients, assignments, generator))
        pairs = _count_pairs(self.labels[clients], assignments, self.clusters, models.shape[-2])
        sums = np.zeros(models.shape)
        for cluster, optimum in enumerate(self.optima):
            counts = pairs[..., cluster, :]
            occupied = counts > 0
            rooted = self.covariances.root_times(models[occupied] - optimum, cluster)
            drawn = exact_law.draw_gradients(rooted, self.noise, self.samples, counts[occupied], generator)
            sums[occupied] += self.covariances.root_times(drawn, cluster)
        return sums

    def choose_and_sum(
        self, models: np.ndarray, clients: np.ndarray, randomness: Randomness
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return choices and sums of gradients, in a single pass over fixed data; see ``Task.choose_and_sum``."""
        if self.data == "fixed" and clients.ndim == 1:
            return self._stored_rows.choose_and_sum(models, clients)
        chosen, sums = super().choose_and_sum(models, clients, randomness)
        return chosen, sums

    def hessian_products(
        self, points: np.ndarray, directions: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return the products of each batch's Hessian X'X/n with a direction v; both have the shape (..., k, d).

        The product is drawn like a gradient, because X'X/n v is the gradient without noise at the optimum plus v.
        """
        labels = self.labels[clients]
        if self.data == "fresh" and self.sampling == "exact":
            rooted = self.covariances.root_times_by_label(directions, labels)
            drawn = exact_law.draw_gradients(rooted, 0.0, self.samples, 1, generator)
            return self.covariances.root_times_by_label(drawn, labels)
        if self.data == "fixed":
            return self._stored_rows.hessian_products(directions, clients)
        lead = np.broadcast_shapes(directions.shape[:-1], labels.shape)
        gram, _, _ = self._batch_moments(np.broadcast_to(clients, lead), generator)
        return np.asarray((gram @ directions[..., None])[..., 0])

    def losses_and_gradients(
        self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the losses (..., k, P) and gradients (..., k, P, d) of models (..., P, d) on one batch per client."""
        if self.data == "fixed":
            return self._stored_rows.losses_and_gradients(models, clients)
        lead = np.broadcast_shapes(models.shape[:-2], clients.shape[:-1])
        gram, cross, constant = self._batch_moments(
            np.broadcast_to(clients, (*lead, clients.shape[-1])), generator
        )
        displacements = models[..., None, :, :] - self.optima[self.labels[clients]][..., None, :]
        curved = displacements @ gram
        quadratic = (displacements * (curved - 2 * cross[..., None, :])).sum(axis=-1)
        return 0.5 * (quadratic + constant[..., None]), curved - cross[..., None, :]

    @property
    def stored_samples(self) -> int:
        """Number of samples of every client.

        Raises
        ------
        InvalidArgument
            If the clients' data are not fixed.
        """
        if self.data != "fixed":
            rule = "must be 'fixed' if clients reshuffle their samples"
            raise InvalidArgument("data", self.data, rule, "give data='fixed'")
        return self.samples

    def sample_gradients(self, points: np.ndarray, clients: np.ndarray, samples: np.ndarray) -> np.ndarray:
        """Return the gradients (..., k, d) of one sample per client, with index ``samples`` (..., k), at its point."""
        features, errors = (rows[clients, samples] for rows in self._fixed_rows)
        optima = self.client_optima[clients]
        return direct_simulation.gradients(points, optima, features[..., None, :], errors[..., None])

    def _batch_moments(
        self, clients: np.ndarray, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return X'X/n (..., k, d, d), X'e/n (..., k, d) and e'e/n (..., k) for one new batch per client."""
        labels = self.labels[clients]
        if self.data == "population":
            return (
                self.covariances.matrices[labels],
                np.zeros((*labels.shape, self.dimension)),
                np.full(labels.shape, self.noise**2),
            )
        if self.sampling == "exact":
            gram, cross, constant = exact_law.draw_moments(
                labels.shape, self.dimension, self.samples, generator
            )
            for _ in range(2):  # compute root W root, one side at a time
                gram = np.swapaxes(self.covariances.root_times_by_label(gram, labels[..., None]), -1, -2)
            return (
                gram,
                self.noise * self.covariances.root_times_by_label(cross, labels),
                self.noise**2 * constant,
            )
        features, errors = direct_simulation.draw_data(
            labels, self.covariances, self.noise, self.samples, generator
        )
        return direct_simulation.moments(features, errors)

    @cached_property
    def _stored_rows(self) -> StoredRows:
        """The fixed samples of every client, reduced to fewer rows with the same losses and gradients if possible."""
        data = zip(self.labels, self._draw_fixed_rows(), strict=True)
        return StoredRows.of((X, X @ self.optima[label] + errors) for label, (X, errors) in data)

    @cached_property
    def _fixed_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Features (m, n, d) and noise terms (m, n) of all clients' fixed data."""
        features, errors = (np.asarray(part) for part in zip(*self._draw_fixed_rows(), strict=True))
        return features, errors

    def _draw_fixed_rows(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield each client's fixed data, drawn one client at a time."""
        stream = generator(self.seed, "regression", "fixed-data")
        for label in self.labels:
            yield direct_simulation.draw_data(
                np.asarray(label), self.covariances, self.noise, self.samples, stream
            )


def _count_pairs(labels: np.ndarray, assignments: np.ndarray, clusters: int, models: int) -> np.ndarray:
    """Count the participants for each pair of true cluster and chosen model, integers (..., Q, P)."""
    lead = assignments.shape[:-1]
    replicate = np.arange(math.prod(lead)).reshape((*lead, 1))
    keys = (replicate * clusters + labels) * models + assignments
    counts = np.bincount(keys.ravel(), minlength=math.prod(lead) * clusters * models)
    return counts.reshape((*lead, clusters, models))
