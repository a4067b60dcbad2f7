"""Strategies for mixtures of quadratic losses: exact, with noisy gradients, and with two-valued noise."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from clusterproof.common.calls import checked
from clusterproof.synthetic.noisy_quadratic import NoisyQuadraticMixture
from clusterproof.synthetic.quadratic import QuadraticMixture
from clusterproof.synthetic.strategies.common import (
    Bounds,
    draw_grid,
    draw_integers,
    draw_matrices,
    draw_optima,
    draw_reals,
    draw_sizes,
    note_call,
)
from clusterproof.synthetic.two_point import TwoPointMixture


@checked
def quadratic_mixtures(
    *,
    clusters: Bounds = (1, 3),
    clients: Bounds = (1, 8),
    dimension: Bounds = (1, 3),
    condition_number: Bounds = (1, 10),
    smoothness: Bounds = 1,
    separation: Bounds = (0.5, 4),
    spread: Bounds = 0,
    shared_hessians: bool = True,
) -> SearchStrategy[QuadraticMixture]:
    """Draw mixtures of quadratics, with one Hessian and one centre per client.

    Parameters
    ----------
    clusters, clients, dimension
        Bounds on P, m and d, integers of at least 1. There are never fewer clients than clusters.
    condition_number, smoothness
        Bounds on kappa = L / mu, at least 1, and on L, positive, for each client's Hessian. In dimension 1, kappa is
        always 1.
    separation
        Bounds on the smallest distance between two clusters' optima (Delta), positive.
    spread
        Bounds on the size of the clients' gradients at their cluster's optimum, at least 0. The gradients add up to
        zero in each cluster. If the spread is 0, all clients of a cluster have the same minimiser.
    shared_hessians
        Whether the clients of a cluster share one Hessian; otherwise each client has a different Hessian.

    Raises
    ------
    InvalidArgument
        If a bound is out of range.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(quadratic_mixtures(separation=1, spread=(0, 1)))
    ... def test_the_separation_is_the_one_asked_for(task):
    ...     assert task.clusters == 1 or abs(task.separation - 1) < 1e-9
    """
    kappa = draw_reals("condition_number", condition_number, at_least=1)
    scale = draw_reals("smoothness", smoothness, above=0)
    distance = draw_reals("separation", separation, above=0)
    size = draw_reals("spread", spread, at_least=0)

    def matrices(width: int) -> SearchStrategy[np.ndarray]:
        return st.tuples(kappa, scale).flatmap(lambda law: draw_matrices(width, *law))

    def of_client(width: int) -> SearchStrategy[tuple[np.ndarray, np.ndarray | None]]:
        own = st.none() if shared_hessians else matrices(width)
        return st.tuples(draw_grid(1, width, largest=2), own)

    sizes = draw_sizes(clusters, clients, dimension, of_client)

    @st.composite
    def tasks(draw: DrawFn) -> QuadraticMixture:
        count, labels, width, drawn = draw(sizes)
        optima = draw(draw_optima(count, width, distance))
        if shared_hessians:
            hessians = np.stack([draw(matrices(width)) for _ in range(count)])[labels]
        else:
            hessians = np.stack([matrix for _, matrix in drawn])
        gradients = draw(size) * np.concatenate([row for row, _ in drawn])
        for cluster in range(count):
            gradients[labels == cluster] -= gradients[labels == cluster].mean(axis=0)
        offsets = np.linalg.solve(hessians, gradients[..., None])[..., 0]
        return QuadraticMixture(hessians=hessians, centers=optima[labels] + offsets, labels=labels)

    return tasks().map(note_call)


@checked
def noisy_quadratic_mixtures(
    *,
    clusters: Bounds = (1, 3),
    clients: Bounds = (1, 8),
    dimension: Bounds = (1, 3),
    condition_number: Bounds = (1, 10),
    smoothness: Bounds = 1,
    separation: Bounds = (0.5, 4),
    spread: Bounds = 0,
    shared_hessians: bool = True,
    noise: Bounds = (0, 1),
    noise_condition_number: Bounds = (1, 10),
) -> SearchStrategy[NoisyQuadraticMixture]:
    """Draw quadratic mixtures whose gradients have Gaussian noise with a covariance Sigma.

    Parameters
    ----------
    clusters, clients, dimension, condition_number, smoothness, separation, spread, shared_hessians
        See ``quadratic_mixtures``.
    noise
        Bounds on sqrt(tr Sigma), the standard deviation of a gradient, at least 0.
    noise_condition_number
        Bounds on the ratio of the largest to the smallest eigenvalue of Sigma, at least 1.

    Raises
    ------
    InvalidArgument
        If a bound is out of range.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(noisy_quadratic_mixtures(noise=2))
    ... def test_the_noise_is_the_one_asked_for(task):
    ...     assert abs(np.trace(task.covariance) - 4) < 1e-9
    """
    quadratics = quadratic_mixtures(
        clusters=clusters,
        clients=clients,
        dimension=dimension,
        condition_number=condition_number,
        smoothness=smoothness,
        separation=separation,
        spread=spread,
        shared_hessians=shared_hessians,
    )
    deviation = draw_reals("noise", noise, at_least=0)
    ratio = draw_reals("noise_condition_number", noise_condition_number, at_least=1)

    @st.composite
    def tasks(draw: DrawFn) -> NoisyQuadraticMixture:
        quadratic = draw(quadratics)
        shape = draw(draw_matrices(quadratic.dimension, draw(ratio), 1.0))
        return NoisyQuadraticMixture(
            hessians=quadratic.hessians,
            centers=quadratic.centers,
            covariance=draw(deviation) ** 2 / np.trace(shape) * shape,
            labels=quadratic.labels,
        )

    return tasks().map(note_call)


@checked
def two_point_mixtures(
    *,
    clusters: Bounds = (1, 3),
    clients: Bounds = (1, 8),
    dimension: Bounds = (1, 3),
    separation: Bounds = (1, 4),
    rarity: Bounds = (0.01, 0.9),
    samples: Bounds = (1, 20),
) -> SearchStrategy[TwoPointMixture]:
    """Draw mixtures whose noise takes two values, with directions and centres on a grid.

    Parameters
    ----------
    clusters, clients, dimension, samples
        Bounds on P, m, d and n', integers of at least 1.
    separation
        Bounds on the smallest distance between two optima (Delta), positive.
    rarity
        Bounds on q, the probability of the rare value, in (0, 1).

    Raises
    ------
    InvalidArgument
        If a bound is out of range.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(two_point_mixtures(clusters=2))
    ... def test_an_error_has_a_probability(task):
    ...     assert 0 <= task.misclassification_probability(task.optima, 0)[1] <= 1
    """
    sizes = draw_sizes(clusters, clients, dimension)
    distance = draw_reals("separation", separation, above=0)
    chance = draw_reals("rarity", rarity, above=0, below=1)
    rows = draw_integers("samples", samples)

    @st.composite
    def tasks(draw: DrawFn) -> TwoPointMixture:
        count, labels, size, _ = draw(sizes)
        return TwoPointMixture(
            optima=draw(draw_optima(count, size, distance)),
            noise_gradients=draw(draw_grid(count, size, largest=2)),
            centers=draw(draw_grid(count, size, largest=2)),
            rarity=draw(chance),
            labels=labels,
            samples=draw(rows),
        )

    return tasks().map(note_call)
