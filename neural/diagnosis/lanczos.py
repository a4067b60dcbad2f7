"""Both ends of a symmetric operator's spectrum from a bounded number of products.

ARPACK (``scipy.sparse.linalg.eigsh``) gives nothing of a pair that has not converged within its budget, and
a negative curvature at the edge of a network's bulk need not converge in hundreds of products. A Lanczos
process has after every product a bracket for both ends: its Ritz values lie inside the spectrum, whatever
the accuracy, and a random start bounds how far inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms.validation import InvalidArgument, check_count, check_number

SYMMETRY = 0.05
"""Largest asymmetry, relative to the spectrum's scale, that rounding is believed to explain."""


@dataclass(frozen=True, eq=False)
class SpectrumEnd:
    """One end of a spectrum.

    Attributes
    ----------
    value
        Rayleigh quotient of ``vector``: the end is at least as far out, up to rounding.
    residual
        ||H vector - value vector||: some eigenvalue lies this near to ``value``.
    outer
        The end is not further out than this, but for the probability asked for; infinite after too few
        products.
    vector
        Unit vector (d,).
    """

    value: float
    residual: float
    outer: float
    vector: np.ndarray


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Both ends of a spectrum, and what they cost.

    Attributes
    ----------
    smallest, largest
        The ends.
    asymmetry
        Largest deviation of the operator from symmetry on the Krylov space, relative to its scale: rounding,
        or a product that is not of one and the same matrix.
    products
        Products with the operator.
    """

    smallest: SpectrumEnd
    largest: SpectrumEnd
    asymmetry: float
    products: int


def extreme_eigenvalues(
    product: Callable[[np.ndarray], np.ndarray],
    dimension: int,
    generator: np.random.Generator,
    *,
    products: int = 32,
    failure: float = 0.01,
) -> Spectrum:
    """Find the smallest and largest eigenvalue by Lanczos with full reorthogonalisation.

    Parameters
    ----------
    product
        H v for a vector v (d,), always of the same symmetric H.
    dimension
        d.
    generator
        Source of the start, uniform on the sphere.
    products
        So many products, or fewer where the Krylov space is exhausted, besides two for the residuals.
    failure
        Probability with which an end may lie beyond its ``outer``.

    Raises
    ------
    InvalidArgument
        If an argument is out of range, or the products are not finite or not those of one symmetric matrix.

    Notes
    -----
    With k products from a random start, lambda_max - theta_max <= eps (lambda_max - lambda_min) but for a
    probability of 1.648 sqrt(d) exp(-sqrt(eps) (2 k - 1)): Kuczynski and Wozniakowski (1992), Theorem 4.2,
    applied to H - lambda_min I, whose Krylov spaces are those of H; the same at the other end.
    """
    check_count("dimension", dimension, at_least=1, remedy="give the number of parameters")
    check_count("products", products, at_least=1, remedy="give the number of Hessian products")
    check_number("failure", failure, above=0, below=1, remedy="0.01 is usual")
    start = generator.standard_normal(dimension)
    basis = np.empty((min(products, dimension), dimension))
    basis[0] = start / np.linalg.norm(start)
    diagonal: list[float] = []
    beside: list[float] = []
    asymmetry = 0.0
    while True:
        size = len(diagonal) + 1
        image = _checked(product(basis[size - 1]), dimension)
        known = basis[:size]
        overlaps = known @ image
        expected = np.zeros(size)
        expected[-1:], expected[-2:-1] = overlaps[-1], beside[-1:]
        asymmetry = max(asymmetry, float(np.abs(overlaps - expected).max()))
        diagonal.append(float(overlaps[-1]))
        remainder = image - known.T @ overlaps
        remainder -= known.T @ (known @ remainder)  # once more: what rounding left of the first
        length = float(np.linalg.norm(remainder))
        # solved in every round: it costs nothing beside a product, and gives the scale
        values, coordinates = _tridiagonal(diagonal, beside)
        scale = max(float(np.abs(values).max()), length)
        exhausted = size == dimension or length <= 1e-12 * scale
        if exhausted or size == len(basis):
            break
        beside.append(length)
        basis[size] = remainder / length
    # a map of zeros has no scale, and is symmetric
    asymmetry = asymmetry / scale if scale > 0 else 0.0
    if asymmetry > SYMMETRY:
        raise InvalidArgument(
            "product",
            f"asymmetry {asymmetry:.2g}",
            "must be that of one symmetric matrix at every call",
            "take the whole data instead of a new batch each time",
        )
    inside = 0.0 if exhausted else _shortfall(dimension, size, failure / 2)
    spread = float(values[-1] - values[0])
    beyond = inside * spread / (1 - 2 * inside) if inside < 0.5 else math.inf
    ends = []
    for index, direction in ((0, -1), (-1, 1)):
        vector = known.T @ coordinates[:, index]
        vector /= np.linalg.norm(vector)
        image = _checked(product(vector), dimension)
        value = float(vector @ image)
        residual = float(np.linalg.norm(image - value * vector))
        ends.append(SpectrumEnd(value, residual, value + direction * beyond, vector))
    return Spectrum(ends[0], ends[1], asymmetry, size + 2)


def _shortfall(dimension: int, products: int, failure: float) -> float:
    """Share eps of the spread that a Ritz value may lie inside the end, but for a probability."""
    root = math.log(1.648 * math.sqrt(dimension) / failure) / (2 * products - 1)
    return root**2


def _tridiagonal(diagonal: list[float], beside: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, ascending, and eigenvectors of the symmetric tridiagonal matrix."""
    from scipy.linalg import eigh_tridiagonal

    values, vectors = eigh_tridiagonal(np.array(diagonal), np.array(beside))
    return values, vectors


def _checked(image: np.ndarray, dimension: int) -> np.ndarray:
    """Require a product of the right shape that is finite."""
    found = np.asarray(image, dtype=float)
    if found.shape != (dimension,) or not np.isfinite(found).all():
        raise InvalidArgument(
            "product", found.shape, f"must be {dimension} finite numbers", "check that the model is finite"
        )
    return found
