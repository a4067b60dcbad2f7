"""Smoothness and strong convexity of a cluster's mean loss around one model, from Hessian products."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from clusterproof.algorithms.arrays import Array, like, to_numpy
from clusterproof.algorithms.randomness import generator
from clusterproof.neural.diagnosis.lanczos import extreme_eigenvalues
from clusterproof.neural.diagnosis.measured_number import Estimate, exact, mean_over


@dataclass(frozen=True, eq=False)
class Curvature:
    """Both ends of the spectrum of a cluster's Hessian at one model; index 0 the smallest, 1 the largest.

    Attributes
    ----------
    value
        Eigenvalues of the mean Hessian of the clients that were asked, (2,); no further out than its ends.
    residual
        Their residual norms, (2,): an eigenvalue lies this near.
    outer
        Where those ends lie at the furthest, but for a probability of 1 %, (2,).
    asymmetry
        Of the products, relative to the spectrum's scale.
    clients, products
        Clients that were asked, and Hessian products of each.
    others
        Mean over all clients of the cluster of v' H_i v of the two eigenvectors, (2,), estimated from clients
        that had no part in finding them. A bound on the ends of the cluster's own spectrum, from within.
    """

    value: np.ndarray
    residual: np.ndarray
    outer: np.ndarray
    asymmetry: float
    clients: int
    products: int
    others: Estimate

    @property
    def rounding(self) -> float:
        """How far the ends may be off because products are rounded."""
        return self.asymmetry * float(np.abs(self.value).max())


def curvature(
    task: Any,
    model: Array,
    asked: np.ndarray,
    others: np.ndarray,
    members: int,
    *,
    seed: int,
    products: int,
    chunk: int,
) -> Curvature:
    """Measure both ends of the spectrum of the mean Hessian of a cluster's clients.

    Parameters
    ----------
    task
        Answers Hessian products without sampling noise.
    model
        (d,).
    asked, others
        Clients whose mean Hessian is taken, and further clients of the cluster, none only if all are asked.
    members
        Clients of the cluster.
    seed
        Of the start.
    products
        Hessian products, apart from two for the residuals.
    chunk
        Clients at a time.

    Raises
    ------
    InvalidArgument
        If the products are not finite, or not those of one symmetric matrix.
    """
    found = extreme_eigenvalues(
        mean_hessian(task, model, asked, chunk=chunk),
        int(model.shape[-1]),
        generator(seed, "diagnosis", "lanczos"),
        products=products,
    )
    ends = (found.smallest, found.largest)
    value = np.array([end.value for end in ends])
    quotients = exact(value)
    if others.size:
        measured = [quadratic_forms(task, model, end.vector, others, chunk=chunk) for end in ends]
        share = len(asked) / members
        rest = mean_over(np.stack(measured, axis=-1), members - len(asked))
        quotients = Estimate(share * value + (1 - share) * rest.value, (1 - share) * rest.error, rest.count)
    return Curvature(
        value=value,
        residual=np.array([end.residual for end in ends]),
        outer=np.array([end.outer for end in ends]),
        asymmetry=found.asymmetry,
        clients=len(asked),
        products=found.products,
        others=quotients,
    )


def mean_hessian(
    task: Any, model: Array, clients: np.ndarray, *, chunk: int
) -> Callable[[np.ndarray], np.ndarray]:
    """Give v -> mean over clients of H_i v at one model, both (d,) in double precision."""

    def product(direction: np.ndarray) -> np.ndarray:
        total = np.zeros(len(direction))
        for images in _images(task, model, direction, clients, chunk):
            xp = array_namespace(images)
            total += to_numpy(xp.sum(images, axis=0)) / len(clients)
        return total

    return product


def quadratic_forms(
    task: Any, model: Array, direction: np.ndarray, clients: np.ndarray, *, chunk: int
) -> np.ndarray:
    """v' H_i v for every client, (k,)."""
    images = _images(task, model, direction, clients, chunk)
    return np.concatenate([to_numpy(part).astype(float) @ direction for part in images])


def repeated(vector: Array, count: int) -> Array:
    """As many copies of a vector (d,) as a task asks one a client, (count, d)."""
    return array_namespace(vector).tile(vector, (count, 1))


def mean_gradient(task: Any, model: Array, clients: np.ndarray, *, chunk: int) -> np.ndarray:
    """Mean of the clients' gradients at one model, (d,) in double precision."""
    total = np.zeros(int(model.shape[-1]))
    for part in _parts(clients, chunk):
        gradients = task.gradients(repeated(model, len(part)), like(part, model), _unused())
        xp = array_namespace(gradients)
        total += to_numpy(xp.sum(gradients, axis=0)) / len(clients)
    return total


def _images(
    task: Any, model: Array, direction: np.ndarray, clients: np.ndarray, chunk: int
) -> Iterator[Array]:
    """Products of the clients' Hessians (k, d), some clients at a time."""
    xp = array_namespace(model)
    vector = xp.astype(like(direction, model), model.dtype)
    for part in _parts(clients, chunk):
        points, directions = repeated(model, len(part)), repeated(vector, len(part))
        yield task.hessian_products(points, directions, like(part, model), _unused())


def _parts(clients: np.ndarray, chunk: int) -> Iterator[np.ndarray]:
    for start in range(0, len(clients), chunk):
        yield clients[start : start + chunk]


def _unused() -> np.random.Generator:
    """Make a generator for answers without sampling noise, the same at every call."""
    return generator(0, "diagnosis", "unused")
