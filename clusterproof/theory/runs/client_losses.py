"""What theorems about an algorithm with one model need of the clients' losses, and how much of it a task knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import generator
from clusterproof.synthetic import Mixture, NoisyQuadraticMixture, RegressionMixture
from clusterproof.synthetic.quadratic import ExactQuadratics


@dataclass(frozen=True, eq=False)
class Groups:
    """Clients with quadratic losses, by groups that have the same Hessian.

    Attributes
    ----------
    members
        Group of each client, (m,).
    hessians
        A_g, (G, d, d).
    centers
        b_i of each client, (m, d).
    """

    members: np.ndarray
    hessians: np.ndarray
    centers: np.ndarray

    def shares(self, weights: np.ndarray) -> np.ndarray:
        """Return the sums over groups of weights of clients, (G,), which have the sum 1."""
        return np.asarray(np.bincount(self.members, weights=weights) / weights.sum())

    def mean_centers(self, weights: np.ndarray) -> np.ndarray:
        """Return each group's weighted mean of the b_i, (G, d)."""
        totals = np.zeros((len(self.hessians), self.centers.shape[1]))
        np.add.at(totals, self.members, weights[:, None] * self.centers)
        return np.asarray(totals / np.bincount(self.members, weights=weights)[:, None])

    @property
    def mean_hessian(self) -> np.ndarray:
        """The Hessian of the mean loss, (d, d)."""
        share = self.shares(np.ones(len(self.members)))
        return np.asarray(np.einsum("g,gij->ij", share, self.hessians))


@dataclass(frozen=True, eq=False)
class ClientLosses:
    """The clients' losses f_i of a task, whose mean has the minimiser x*, the common optimum.

    Attributes
    ----------
    inexact
        What the clients' gradients are if they are not those of f_i; empty if they are.
    smoothness, strong_convexity
        L and mu of every single f_i.
    gradients
        g_i* = grad f_i(x*), (m, d); None where gradients are not exact.
    groups
        The quadratics, apart from the noise of their gradients; None of other losses.
    kinds
        Clients with the same number have the same loss, (m,).
    """

    inexact: str
    smoothness: float
    strong_convexity: float
    gradients: np.ndarray | None
    groups: Groups | None
    kinds: np.ndarray

    @property
    def heterogeneity(self) -> float:
        """zeta*, the root of the mean of ||g_i*||^2."""
        assert self.gradients is not None
        return float(np.sqrt(np.square(self.gradients).sum(axis=-1).mean()))


def losses_of(task: Mixture) -> ClientLosses:
    """Return the clients' losses of a task."""
    groups, kinds = None, task.labels
    smoothness, convexity = task.smoothness, task.strong_convexity
    if isinstance(task, ExactQuadratics):
        rows = task.hessians.reshape(task.clients, -1)
        _, first, members = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        groups = Groups(members.ravel(), task.hessians[first], task.centers)
        both = np.column_stack([groups.members, task.centers])
        kinds = np.unique(both, axis=0, return_inverse=True)[1].ravel()
        spectra = np.linalg.eigvalsh(groups.hessians)
        smoothness, convexity = float(spectra.max()), float(spectra.min())
    elif isinstance(task, RegressionMixture):
        groups = Groups(task.labels, np.asarray(task.covariances.matrices), task.optima[task.labels])
    inexact = _inexact(task)
    gradients = None if inexact else gradients_at(task, task.pooled_optimum)
    return ClientLosses(inexact, smoothness, convexity, gradients, groups, kinds)


def gradients_at(task: Mixture, model: np.ndarray) -> np.ndarray:
    """Return the clients' gradients at models (..., d), exact where the task's are, (..., m, d)."""
    clients = np.arange(task.clients)
    points = np.broadcast_to(model[..., None, :], (*model.shape[:-1], task.clients, task.dimension))
    return np.asarray(task.gradients(points, clients, generator(0, "gradients")))


def _inexact(task: Mixture) -> str:
    """Return what gradients are if they are not those of the expected losses."""
    data = getattr(task, "data", "")
    if data == "population":
        return ""
    if data == "fixed":
        return "those of fixed samples"
    if isinstance(task, NoisyQuadraticMixture):
        return "noisy ones" if task.covariance.any() else ""
    if isinstance(task, ExactQuadratics):
        return ""
    variance = getattr(task, "gradient_variance", None)
    if variance is not None and not any(
        np.max(variance(task.pooled_optimum, cluster)) > 0 for cluster in range(task.clusters)
    ):
        return ""
    return "those of new samples" if data else "noisy ones"
