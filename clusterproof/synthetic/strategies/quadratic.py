"""Strategies for quadratic mixtures."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from clusterproof.common.calls import checked
from clusterproof.synthetic.quadratic import QuadraticMixture
from clusterproof.synthetic.strategies.common import (
    Bounds,
    draw_grid,
    draw_matrices,
    draw_optima,
    draw_reals,
    draw_sizes,
    note_call,
)


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
    """Draw mixtures of quadratics: a Hessian and a centre for each client.

    Parameters
    ----------
    clusters, clients, dimension
        Bounds on P, m and d, integers of at least 1. There are never fewer clients than clusters.
    condition_number, smoothness
        Bounds on kappa = L / mu, at least 1, and on L, positive, of each client's Hessian.
        Dimension 1 has kappa = 1, whatever is asked.
    separation
        Bounds on the smallest distance of two clusters' optima (Delta), positive.
    spread
        Bounds on the size of the clients' gradients at their cluster's optimum, at least 0;
        they add up to zero in each cluster. 0 gives all clients of a cluster one minimiser.
    shared_hessians
        Whether the clients of a cluster have one Hessian; else each has its own.

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
