"""Strategies for mixtures whose losses are means over samples: regression, logistic regression and log-cosh."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from clusterproof.common.calls import checked
from clusterproof.synthetic.log_cosh import LogCoshMixture
from clusterproof.synthetic.logistic import LogisticMixture
from clusterproof.synthetic.regression import RegressionMixture
from clusterproof.synthetic.strategies.common import (
    Bounds,
    draw_grid,
    draw_integers,
    draw_matrices,
    draw_optima,
    draw_reals,
    draw_sizes,
    draw_spectra,
    note_call,
)


@checked
def regression_mixtures(
    *,
    clusters: Bounds = (1, 3),
    clients: Bounds = (1, 8),
    dimension: Bounds = (1, 3),
    condition_number: Bounds = (1, 10),
    smoothness: Bounds = 1,
    separation: Bounds = (0.5, 4),
    noise: Bounds = (0, 1),
    samples: Bounds = (1, 20),
    rotated: bool = True,
    data: Sequence[str] = ("fresh",),
    sampling: Sequence[str] = ("exact",),
) -> SearchStrategy[RegressionMixture]:
    """Draw mixtures of Gaussian linear regressions.

    Parameters
    ----------
    clusters, clients, dimension, samples
        Bounds on P, m, d and n', integers of at least 1. There are never fewer clients than
        clusters.
    condition_number
        Bounds on kappa = L / mu, at least 1. In dimension 1, kappa is always 1.
    smoothness
        Bounds on L, positive.
    separation
        Bounds on the smallest distance between two clusters' optima (Delta), positive.
    noise
        Bounds on the noise's standard deviation s, at least 0.
    rotated
        Whether each cluster may have a different full covariance matrix; otherwise all clusters share a diagonal
        matrix.
    data, sampling
        Values to draw from; the simplest value comes first.

    Raises
    ------
    InvalidArgument
        If a bound is out of range.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(regression_mixtures(clusters=2, dimension=(1, 5)))
    ... def test_the_own_model_is_the_best_in_expectation(task):
    ...     own, other = (task.expected_loss(task.optima[p], 0) for p in (0, 1))
    ...     assert own < other
    """
    sizes = draw_sizes(clusters, clients, dimension)
    kappa = draw_reals("condition_number", condition_number, at_least=1)
    scale = draw_reals("smoothness", smoothness, above=0)
    distance = draw_reals("separation", separation, above=0)
    deviation = draw_reals("noise", noise, at_least=0)
    rows = draw_integers("samples", samples)

    @st.composite
    def tasks(draw: DrawFn) -> RegressionMixture:
        count, labels, width, _ = draw(sizes)
        optima = draw(draw_optima(count, width, distance))
        condition, largest = draw(kappa), draw(scale)
        if rotated:
            # only the last cluster must have both extreme eigenvalues
            extreme = [cluster == count - 1 for cluster in range(count)]
            covariance = np.stack([draw(draw_matrices(width, condition, largest, both)) for both in extreme])
        else:
            covariance = draw(draw_spectra(width, condition, largest))
        return RegressionMixture(
            optima=optima,
            covariance=covariance,
            noise=draw(deviation),
            labels=labels,
            samples=draw(rows),
            data=draw(st.sampled_from(list(data))),
            sampling=draw(st.sampled_from(list(sampling))),
        )

    return tasks().map(note_call)


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
    """Draw mixtures of ridge-penalised logistic regressions on few samples.

    The samples determine the clusters' optima; the strategy does not ensure a distance between clusters.

    Parameters
    ----------
    clusters, clients, dimension, samples
        Bounds on P, m, d and n', integers of at least 1. There are never fewer clients than
        clusters.
    condition_number
        Bounds on the guaranteed kappa = L / mu, greater than 1; it determines the ridge.
    support
        Bounds on the number of samples in a cluster's distribution (N), at least 1.
    data
        Values to draw from; the simplest value comes first.

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
        Bounds on the smallest distance between two optima (Delta), positive.
    width
        Bounds on the length w over which the curvature changes, positive.
    noise
        Bounds on nu, the standard deviation of the gradient on one sample.
    data
        Values to draw from; the simplest value comes first.

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
