"""Strategies for ridge-logistic mixtures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from clusterproof.common.calls import checked
from clusterproof.synthetic.logistic import LogisticMixture
from clusterproof.synthetic.strategies.common import (
    Bounds,
    draw_grid,
    draw_integers,
    draw_reals,
    draw_sizes,
    note_call,
)


@checked
def logistic_mixtures(
    *,
    clusters: Bounds = (1, 3),
    clients: Bounds = (1, 8),
    dimension: Bounds = (1, 3),
    condition_number: Bounds = (2, 10),
    support: Bounds = (1, 6),
    samples: Bounds = (1, 20),
    data: Sequence[str] = ("fresh",),
) -> SearchStrategy[LogisticMixture]:
    """Draw mixtures of ridge-penalised logistic regressions on few rows.

    The clusters' optima follow from the rows; nothing keeps two clusters apart.

    Parameters
    ----------
    clusters, clients, dimension, samples
        Bounds on P, m, d and n', integers of at least 1. There are never fewer clients than
        clusters.
    condition_number
        Bounds on the guaranteed kappa = L / mu, greater than 1: sets the ridge.
    support
        Bounds on the number of rows of a cluster's law (N), at least 1.
    data
        Modes to choose from, the simplest first.

    Raises
    ------
    InvalidArgument
        If a bound is out of range.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(logistic_mixtures(clusters=1))
    ... def test_the_optimum_is_a_zero_of_the_gradient(task):
    ...     assert np.linalg.norm(task.expected_gradient(task.optima[0], 0)) < 1e-12
    """
    sizes = draw_sizes(clusters, clients, dimension)
    kappa = draw_reals("condition_number", condition_number, above=1)
    lengths, rows = draw_integers("support", support), draw_integers("samples", samples)

    @st.composite
    def tasks(draw: DrawFn) -> LogisticMixture:
        count, labels, width, _ = draw(sizes)
        length = draw(lengths)
        features = draw(draw_grid(count * length, width, largest=4)).reshape(count, length, width) / 2
        signs = draw(st.lists(st.booleans(), min_size=count * length, max_size=count * length))
        grams = np.swapaxes(features, -1, -2) @ features / length
        curvature = float(np.linalg.eigvalsh(grams).max()) / 4
        return LogisticMixture(
            features=features,
            targets=np.where(np.reshape(signs, (count, length)), 1.0, -1.0),
            ridge=(curvature if curvature > 0 else 1.0) / (draw(kappa) - 1),
            labels=labels,
            samples=draw(rows),
            data=draw(st.sampled_from(list(data))),
        )

    return tasks().map(note_call)
