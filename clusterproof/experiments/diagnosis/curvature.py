"""Smoothness and strong convexity of a cluster's mean loss at one model, from Hessian-vector products.

``scipy.sparse.linalg.eigsh`` returns nothing for a pair that has not converged, and a negative curvature at the edge
of a network's bulk need not converge in hundreds of products. The Ritz values of a Krylov space lie inside the
spectrum after any number of products, and a random start bounds how far inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from clusterproof.algorithms.arrays import Array, like, to_numpy
from clusterproof.algorithms.randomness import generator
from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.experiments.diagnosis.estimates import Estimate, exact, mean_over

SYMMETRY = 0.05
"""Largest asymmetry, relative to the spectrum's scale, that is attributed to rounding."""

FAILURE = 0.01
"""Probability with which an end of a spectrum may lie beyond its ``outer``."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Curvature:
    """Ends of the spectrum of the mean Hessian of some of a cluster's clients; index 0 the smallest, 1 the largest.

    Attributes
    ----------
    value
        Rayleigh quotients of ``vectors``, (2,); inside the spectrum.
    outer
        Outer bounds on the ends, (2,), each valid with probability at least 99 %; infinite after too few
        products.
    vectors
        Unit vectors, (2, d).
    asymmetry
        Largest |u'Hv - v'Hu| over the basis of the Krylov space, relative to the spectrum's scale.
    others
        Mean of v' H_i v over all clients i of the cluster for both vectors v, (2,), estimated from clients
        that were not used to find them. An inner bound on the ends of the cluster's spectrum.
    """

    value: np.ndarray
    outer: np.ndarray
    vectors: np.ndarray
    asymmetry: float
    others: Estimate

    @property
    def rounding(self) -> float:
        """Uncertainty of the ends due to rounded products."""
        return self.asymmetry * float(np.abs(self.value).max())


def extreme_eigenvalues(
    product: Callable[[np.ndarray], np.ndarray],
    dimension: int,
    generator: np.random.Generator,
    *,
    products: int = 32,
) -> Curvature:
    """Find the smallest and the largest eigenvalue by Lanczos with full reorthogonalisation; no further clients.

    Parameters
    ----------
    product
        H v for a vector v (d,), always of the same symmetric H.
    dimension
        d.
    generator
        Source of the starting vector, which is uniform on the sphere.
    products
        Number of products; fewer are used if the Krylov space is exhausted.

    Raises
    ------
    InvalidArgument
        If the products are not finite, or not those of one symmetric matrix.

    Notes
    -----
    With k products from a random start, lambda_max - theta_max <= eps (lambda_max - lambda_min) but for a
    probability of 1.648 sqrt(d) exp(-sqrt(eps) (2 k - 1)): Kuczynski and Wozniakowski (1992), Theorem 4.2,
    applied to H - lambda_min I, whose Krylov spaces are those of H; the same at the other end.
    """
    basis, images = np.empty((2, min(products, dimension), dimension))
    remainder = generator.standard_normal(dimension)
    scale, size, exhausted = 0.0, 0, False
    while size < len(basis) and not exhausted:
        basis[size] = remainder / np.linalg.norm(remainder)
        remainder = images[size] = product(basis[size])
        if not np.isfinite(remainder).all():
            rule = f"must be {dimension} finite numbers"
            raise InvalidArgument("product", remainder.shape, rule, "check that the model is finite")
        scale = max(scale, float(np.linalg.norm(remainder)))
        size += 1
        for _ in range(2):  # the second pass removes the rounding errors of the first
            remainder = remainder - basis[:size].T @ (basis[:size] @ remainder)
        exhausted = size == dimension or bool(np.linalg.norm(remainder) <= 1e-12 * scale)
    projected = basis[:size] @ images[:size].T
    values, coordinates = np.linalg.eigh((projected + projected.T) / 2)
    asymmetry = float(np.abs(projected - projected.T).max()) / (scale or 1.0)
    if asymmetry > SYMMETRY:
        rule, remedy = (
            "must be that of one symmetric matrix at every call",
            "take the whole data at each call",
        )
        raise InvalidArgument("product", f"asymmetry {asymmetry:.2g}", rule, remedy)
    ends = coordinates[:, [0, -1]].T
    value, vectors = values[[0, -1]], ends @ basis[:size]
    # the theorem in the notes, solved for eps; each end fails with half of the probability
    root = math.log(1.648 * math.sqrt(dimension) / (FAILURE / 2)) / (2 * size - 1)
    inside = 0.0 if exhausted else root**2
    beyond = inside * (value[1] - value[0]) / (1 - 2 * inside) if inside < 0.5 else math.inf
    return Curvature(
        value=value,
        outer=value + np.array([-beyond, beyond]),
        vectors=vectors,
        asymmetry=asymmetry,
        others=exact(value),
    )


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
    """Measure both ends of the spectrum of the mean Hessian of a cluster's clients at a model (d,).

    Parameters
    ----------
    task
        Answers Hessian products without sampling noise.
    asked, others
        Clients whose mean Hessian is taken, and further clients of the cluster; none only if all are in ``asked``.
    members
        Number of clients of the cluster.
    seed, products, chunk
        Of the start, number of Hessian products, and clients at a time.
    """
    xp = array_namespace(model)

    def products_of(direction: np.ndarray, clients: np.ndarray) -> Iterator[Array]:
        vector = xp.astype(like(direction, model), model.dtype)
        return client_vectors(task.hessian_products, (model, vector), clients, chunk=chunk)

    found = extreme_eigenvalues(
        lambda direction: mean_vector(products_of(direction, asked), len(asked)),
        int(model.shape[-1]),
        generator(seed, "diagnosis", "lanczos"),
        products=products,
    )
    if not others.size:
        return found
    forms = [
        np.concatenate([to_numpy(part).astype(float) @ vector for part in products_of(vector, others)])
        for vector in found.vectors
    ]
    share = len(asked) / members
    rest = mean_over(np.stack(forms, axis=-1), members - len(asked))
    value = share * found.value + (1 - share) * rest.value
    return replace(found, others=Estimate(value, (1 - share) * rest.error, rest.count))


def client_vectors(
    answer: Callable[..., Array], vectors: tuple[Array, ...], clients: np.ndarray, *, chunk: int
) -> Iterator[Array]:
    """Yield the clients' gradients or Hessian products (k, d), ``chunk`` clients at a time.

    ``answer`` is a method of a task without sampling noise, and ``vectors`` what every client is asked with, each
    (d,), the model first.
    """
    xp = array_namespace(vectors[0])
    unused = generator(0, "diagnosis", "unused")
    for start in range(0, len(clients), chunk):
        part = like(clients[start : start + chunk], vectors[0])
        yield answer(*(xp.tile(vector, (len(part), 1)) for vector in vectors), part, unused)


def mean_vector(parts: Iterator[Array], count: int) -> np.ndarray:
    """Return the mean of ``count`` vectors that come in parts (k, d), in double precision."""
    sums = [to_numpy(array_namespace(part).sum(part, axis=0)).astype(float) for part in parts]
    return np.asarray(sum(sums) / count)
