"""Strategies for mixtures whose losses have two values."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from clusterproof.common.calls import checked
from clusterproof.synthetic.strategies.common import (
    Bounds,
    draw_grid,
    draw_integers,
    draw_optima,
    draw_reals,
    draw_sizes,
    note_call,
)
from clusterproof.synthetic.two_point import TwoPointMixture


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
    """Draw mixtures whose noise takes two values, on a grid of directions and centers.

    Parameters
    ----------
    clusters, clients, dimension, samples
        Bounds on P, m, d and n', integers of at least 1.
    separation
        Bounds on the smallest distance of two optima (Delta), positive.
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
