"""Quadratics for the tests of the method's equations."""

from __future__ import annotations

import numpy as np

from clusterproof.synthetic import QuadraticMixture

Ends = tuple[int, int]
"""Least and largest drawn numbers."""


def random_quadratics(
    stream: np.random.Generator,
    *,
    clusters: Ends,
    dimension: Ends,
    condition_number: float = 4.0,
    spread: float = 0.0,
    each: int = 3,
) -> QuadraticMixture:
    """Draw clusters of ``each`` clients that share a Hessian, with separate centres for a ``spread`` above 0."""
    number, size = (int(stream.integers(least, most + 1)) for least, most in (clusters, dimension))
    return QuadraticMixture.random(
        clusters=number,
        clients=each * number,
        dimension=size,
        condition_number=condition_number if size > 1 else 1.0,
        spread=spread,
        seed=int(stream.integers(2**31)),
    )


def random_clients(
    stream: np.random.Generator, *, clusters: int = 1, clients: Ends = (1, 6), condition_number: float = 20.0
) -> QuadraticMixture:
    """Draw clients in dimension 1 to 4, each with its own Hessian and centre, L at most 1."""
    number, dimension = int(stream.integers(clients[0], clients[1] + 1)), int(stream.integers(1, 5))
    rotations = np.linalg.qr(stream.standard_normal((number, dimension, dimension)))[0]
    spectra = stream.uniform(1 / condition_number, 1, (number, dimension))
    hessians = (rotations * spectra[:, None, :]) @ np.swapaxes(rotations, -1, -2)
    others = stream.integers(0, clusters, number - clusters)
    return QuadraticMixture(
        hessians=(hessians + np.swapaxes(hessians, -1, -2)) / 2,
        centers=stream.standard_normal((number, dimension)),
        labels=np.sort(np.concatenate([np.arange(clusters), others])),
    )
