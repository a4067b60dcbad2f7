"""Strategies for log-cosh mixtures."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from clusterproof.common.calls import checked
from clusterproof.synthetic.log_cosh import LogCoshMixture
from clusterproof.synthetic.strategies.common import (
    Bounds,
    draw_integers,
    draw_optima,
    draw_reals,
    draw_sizes,
    note_call,
)


@checked
def log_cosh_mixtures(
    *,
    clusters: Bounds = (1, 3),
    clients: Bounds = (1, 8),
    dimension: Bounds = (1, 3),
    condition_number: Bounds = (1, 10),
    separation: Bounds = (1, 4),
    width: Bounds = (0.1, 2),
    noise: Bounds = (0, 1),
    samples: Bounds = (1, 20),
    data: Sequence[str] = ("fresh",),
) -> SearchStrategy[LogCoshMixture]:
    """Draw log-cosh mixtures: smooth, strongly convex, and not quadratic.

    Parameters
    ----------
    clusters, clients, dimension, samples
        Bounds on P, m, d and n', integers of at least 1. There are never fewer clients than
        clusters.
    condition_number
        Bounds on kappa = L / mu, at least 1; L is 1.
    separation
        Bounds on the smallest distance of two optima (Delta), positive.
    width
        Bounds on w, over which the curvature changes, positive.
    noise
        Bounds on nu, the root of the gradient's total variance on one row.
    data
        Modes to choose from, the simplest first.

    Raises
    ------
    InvalidArgument
        If a bound is out of range.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(log_cosh_mixtures(noise=0))
    ... def test_the_optimum_is_the_best_model(task):
    ...     assert task.expected_loss(task.optima[0], 0) <= task.expected_loss(task.optima[0] + 1, 0)
    """
    sizes = draw_sizes(clusters, clients, dimension)
    kappa = draw_reals("condition_number", condition_number, at_least=1)
    distance = draw_reals("separation", separation, above=0)
    widths, deviation = draw_reals("width", width, above=0), draw_reals("noise", noise, at_least=0)
    rows = draw_integers("samples", samples)

    @st.composite
    def tasks(draw: DrawFn) -> LogCoshMixture:
        count, labels, size, _ = draw(sizes)
        return LogCoshMixture(
            optima=draw(draw_optima(count, size, distance)),
            valley_curvature=1 / draw(kappa),
            width=draw(widths),
            noise=draw(deviation),
            labels=labels,
            samples=draw(rows),
            data=draw(st.sampled_from(list(data))),
        )

    return tasks().map(note_call)
