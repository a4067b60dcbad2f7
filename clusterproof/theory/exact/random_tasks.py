"""Small random tasks for claims about every task."""

from __future__ import annotations

import numpy as np

from clusterproof.synthetic import LogisticMixture, Mixture, QuadraticMixture, RegressionMixture


def random_regression(stream: np.random.Generator) -> RegressionMixture:
    """Draw a regression mixture with a different covariance in each cluster.

    Dimension 1 to 6, condition number up to 50, separation 0.5 to 4, noise 0 to 2, 1 to 1000 rows.
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
