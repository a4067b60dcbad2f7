"""Strategies for quadratic mixtures with additive gradient noise."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from clusterproof.common.calls import checked
from clusterproof.synthetic.noisy_quadratic import NoisyQuadraticMixture
from clusterproof.synthetic.strategies.common import Bounds, draw_matrices, draw_reals, note_call
from clusterproof.synthetic.strategies.quadratic import quadratic_mixtures


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
    """Draw quadratic mixtures whose gradients have Gaussian noise of a covariance Sigma.

    Parameters
    ----------
    clusters, clients, dimension, condition_number, smoothness, separation, spread, shared_hessians
        As for ``quadratic_mixtures``.
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
