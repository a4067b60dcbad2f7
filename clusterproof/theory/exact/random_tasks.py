"""Small random tasks for claims, and tolerances for rounding errors."""

from __future__ import annotations

import numpy as np

from clusterproof.synthetic import LogisticMixture, Mixture, QuadraticMixture, RegressionMixture


def random_regression(stream: np.random.Generator) -> RegressionMixture:
    """Draw a regression mixture with a different covariance in each cluster.

    The task has dimension 1 to 6, condition number up to 50, separation 0.5 to 4, noise 0 to 2, and 1 to 1000 samples.
    """
    clusters, dimension = int(stream.integers(2, 4)), int(stream.integers(1, 7))
    base = RegressionMixture.random(
        clusters=clusters,
        clients=int(stream.integers(clusters, 20)),
        dimension=dimension,
        separation=float(stream.uniform(0.5, 4)),
        noise=float(stream.choice([0.0, stream.uniform(0, 2)])),
        samples=int(10 ** stream.uniform(0, 3)),
        seed=int(stream.integers(2**31)),
    )
    rotations = np.linalg.qr(stream.standard_normal((clusters, dimension, dimension)))[0]
    spectra = stream.uniform(0.02, 1, (clusters, dimension))
    covariance = (rotations * spectra[:, None, :]) @ np.swapaxes(rotations, -1, -2)
    return RegressionMixture(
        optima=base.optima,
        covariance=(covariance + np.swapaxes(covariance, -1, -2)) / 2,
        noise=base.noise,
        labels=base.labels,
        samples=base.samples,
    )


def random_mixture(stream: np.random.Generator) -> Mixture:
    """Draw a regression, quadratic or logistic mixture."""
    kind = stream.integers(3)
    seed = int(stream.integers(2**31))
    clusters, dimension = int(stream.integers(2, 4)), int(stream.integers(2, 6))
    condition = float(10 ** stream.uniform(0.1, 1.7))
    if kind == 0:
        return random_regression(stream)
    if kind == 1:
        return QuadraticMixture.random(
            clusters=clusters,
            clients=9,
            dimension=dimension,
            condition_number=condition,
            spread=0.3,
            seed=seed,
        )
    return LogisticMixture.random(
        clusters=clusters, clients=9, dimension=dimension, condition_number=condition, support=40, seed=seed
    )


Ends = tuple[int, int]
"""The smallest and the largest number to draw."""


def random_quadratics(
    stream: np.random.Generator,
    *,
    clusters: Ends,
    dimension: Ends,
    condition_number: float = 4.0,
    spread: float = 0.0,
    each: int = 3,
) -> QuadraticMixture:
    """Draw clusters of ``each`` clients with equal Hessians. If ``spread`` is above 0, their centres differ."""
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
    """Draw clients in dimension 1 to 4 with different Hessians and centres, and L at most 1."""
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


def share_of_largest(share: float, *values: np.ndarray) -> float:
    """Return ``share`` times the largest number in a computation, or ``share`` if all numbers are below 1.

    At any scale of a task, rounding errors are small relative to the largest numbers.

    Parameters
    ----------
    share
        Relative error, such as 1e-10.
    values
        Arrays of any shapes.
    """
    return share * max(1.0, *(float(np.abs(value).max(initial=0.0)) for value in values))
