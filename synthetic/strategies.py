"""Hypothesis strategies for tasks, small and simple ones first, for users' own tests too.

A test that must hold on every task of a class says so::

    from hypothesis import given
    from clusterproof.algorithms import IFCA, run
    from clusterproof.synthetic import strategies

    @given(strategies.quadratic_mixtures(clusters=1, condition_number=(1, 100)))
    def test_descent_never_increases_the_distance(task):
        trace = run(IFCA(step_size=1 / task.smoothness), task, rounds=10)
        assert (trace.errors[1:] <= trace.errors[:-1] + 1e-12).all()

Every bound is a number, which fixes the quantity, or a pair (smallest, largest). Optima lie on a
grid, rescaled so that the smallest distance is exactly the separation drawn; matrices have
exactly the condition number drawn and are diagonal before they are rotated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from clusterproof.algorithms import InvalidArgument
from clusterproof.synthetic.log_cosh import LogCoshMixture
from clusterproof.synthetic.logistic import LogisticMixture
from clusterproof.synthetic.quadratic import QuadraticMixture
from clusterproof.synthetic.regression import RegressionMixture
from clusterproof.synthetic.two_point import TwoPointMixture

Bounds: TypeAlias = float | tuple[float, float]
"""A fixed number, or the smallest and the largest one."""


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
        Bounds on kappa = L / mu, at least 1. Dimension 1 has kappa = 1, whatever is asked.
    smoothness
        Bounds on L, positive.
    separation
        Bounds on Delta, positive.
    noise
        Bounds on the noise's standard deviation s, at least 0.
    rotated
        Whether covariances may be full matrices, another one in each cluster; else they are
        diagonal and shared.
    data, sampling
        Modes to choose from, the simplest first.

    Returns
    -------
    hypothesis.strategies.SearchStrategy
        Of ``RegressionMixture``.

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
    sizes = _sizes(clusters, clients, dimension)
    kappa = _reals("condition_number", condition_number, at_least=1)
    scale = _reals("smoothness", smoothness, above=0)
    distance = _reals("separation", separation, above=0)
    deviation = _reals("noise", noise, at_least=0)
    rows = _integers("samples", samples)

    @st.composite
    def tasks(draw: DrawFn) -> RegressionMixture:
        count, labels, width = draw(sizes)
        optima = draw(_optima(count, width, distance))
        condition, largest = draw(kappa), draw(scale)
        if rotated:
            # the last cluster has both extreme eigenvalues, the others any in between
            extreme = [cluster == count - 1 for cluster in range(count)]
            covariance = np.stack([draw(_matrices(width, condition, largest, both)) for both in extreme])
        else:
            covariance = draw(_spectra(width, condition, largest))
        return RegressionMixture(
            optima=optima,
            covariance=covariance,
            noise=draw(deviation),
            labels=labels,
            samples=draw(rows),
            data=draw(st.sampled_from(list(data))),
            sampling=draw(st.sampled_from(list(sampling))),
        )

    return tasks()


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

    Returns
    -------
    hypothesis.strategies.SearchStrategy
        Of ``QuadraticMixture``.

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
    sizes = _sizes(clusters, clients, dimension)
    kappa = _reals("condition_number", condition_number, at_least=1)
    scale = _reals("smoothness", smoothness, above=0)
    distance = _reals("separation", separation, above=0)
    size = _reals("spread", spread, at_least=0)

    @st.composite
    def tasks(draw: DrawFn) -> QuadraticMixture:
        count, labels, width = draw(sizes)
        optima = draw(_optima(count, width, distance))
        owners = count if shared_hessians else len(labels)
        hessians = np.stack([draw(_matrices(width, draw(kappa), draw(scale))) for _ in range(owners)])
        if shared_hessians:
            hessians = hessians[labels]
        slopes = draw(size) * draw(_grid(len(labels), width, largest=2))
        for cluster in range(count):
            slopes[labels == cluster] -= slopes[labels == cluster].mean(axis=0)
        offsets = np.linalg.solve(hessians, slopes[..., None])[..., 0]
        return QuadraticMixture(hessians=hessians, centers=optima[labels] + offsets, labels=labels)

    return tasks()


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

    Returns
    -------
    hypothesis.strategies.SearchStrategy
        Of ``LogisticMixture``.

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
    sizes = _sizes(clusters, clients, dimension)
    kappa = _reals("condition_number", condition_number, above=1)
    lengths, rows = _integers("support", support), _integers("samples", samples)

    @st.composite
    def tasks(draw: DrawFn) -> LogisticMixture:
        count, labels, width = draw(sizes)
        length = draw(lengths)
        features = draw(_grid(count * length, width, largest=4)).reshape(count, length, width) / 2
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

    return tasks()


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

    Returns
    -------
    hypothesis.strategies.SearchStrategy
        Of ``LogCoshMixture``.

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
    sizes = _sizes(clusters, clients, dimension)
    kappa = _reals("condition_number", condition_number, at_least=1)
    distance = _reals("separation", separation, above=0)
    widths, deviation = _reals("width", width, above=0), _reals("noise", noise, at_least=0)
    rows = _integers("samples", samples)

    @st.composite
    def tasks(draw: DrawFn) -> LogCoshMixture:
        count, labels, size = draw(sizes)
        return LogCoshMixture(
            optima=draw(_optima(count, size, distance)),
            valley_curvature=1 / draw(kappa),
            width=draw(widths),
            noise=draw(deviation),
            labels=labels,
            samples=draw(rows),
            data=draw(st.sampled_from(list(data))),
        )

    return tasks()


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

    Returns
    -------
    hypothesis.strategies.SearchStrategy
        Of ``TwoPointMixture``.

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
    sizes = _sizes(clusters, clients, dimension)
    distance, chance = _reals("separation", separation, above=0), _reals("rarity", rarity, above=0)
    rows = _integers("samples", samples)

    @st.composite
    def tasks(draw: DrawFn) -> TwoPointMixture:
        count, labels, size = draw(sizes)
        return TwoPointMixture(
            optima=draw(_optima(count, size, distance)),
            slopes=draw(_grid(count, size, largest=2)),
            centers=draw(_grid(count, size, largest=2)),
            rarity=draw(chance),
            labels=labels,
            samples=draw(rows),
        )

    return tasks()


def _sizes(
    clusters: Bounds, clients: Bounds, dimension: Bounds
) -> SearchStrategy[tuple[int, np.ndarray, int]]:
    """Draw P, labels in which every cluster occurs, and the dimension."""
    smallest, largest = _pair("clusters", clusters, at_least=1)
    fewest, most = _pair("clients", clients, at_least=1)
    if smallest > most:
        raise InvalidArgument(
            "clients",
            clients,
            f"must allow {smallest:g}, the smallest number of clusters",
            "allow more clients",
        )
    widths = _integers("dimension", dimension)

    @st.composite
    def sizes(draw: DrawFn) -> tuple[int, np.ndarray, int]:
        count = draw(st.integers(int(smallest), int(min(largest, most))))
        others = st.lists(
            st.integers(0, count - 1), min_size=max(0, int(fewest) - count), max_size=int(most) - count
        )
        return count, np.array([*range(count), *draw(others)]), draw(widths)

    return sizes()


def _optima(count: int, width: int, separation: SearchStrategy[float]) -> SearchStrategy[np.ndarray]:
    """Distinct grid points, scaled to a smallest distance, (count, width)."""
    reach = max(2, count)
    point = st.tuples(*[st.integers(-reach, reach)] * width)

    def scale(points: list[tuple[int, ...]], distance: float) -> np.ndarray:
        grid = np.array(points, dtype=float)
        gaps = np.linalg.norm(grid[:, None] - grid[None], axis=-1)[~np.eye(count, dtype=bool)]
        return grid * (distance / gaps.min() if count > 1 else 1.0)

    return st.builds(scale, st.lists(point, min_size=count, max_size=count, unique=True), separation)


def _spectra(
    width: int, condition_number: float, largest: float, extreme: bool = True
) -> SearchStrategy[np.ndarray]:
    """Eigenvalues from largest / kappa to largest, where extreme both of them; one dimension has largest."""
    if width == 1:
        return st.just(np.array([largest]))
    free = width - 2 if extreme else width
    fractions = st.lists(st.floats(0, 1, width=16), min_size=free, max_size=free)
    ends = [1.0, 0.0] if extreme else []
    return fractions.map(lambda inner: largest * condition_number ** -np.array([*ends, *inner]))


def _matrices(
    width: int, condition_number: float, largest: float, extreme: bool = True
) -> SearchStrategy[np.ndarray]:
    """Symmetric matrices of such a spectrum, rotated in the planes of neighbouring axes."""

    def rotate(spectrum: np.ndarray, angles: list[float]) -> np.ndarray:
        matrix = np.diag(spectrum)
        for axis, angle in enumerate(angles):
            turn = np.eye(width)
            cosine, sine = math.cos(angle), math.sin(angle)
            turn[axis : axis + 2, axis : axis + 2] = [[cosine, -sine], [sine, cosine]]
            matrix = turn @ matrix @ turn.T
        return (matrix + matrix.T) / 2

    angles = st.lists(st.floats(0, 3, width=16), min_size=width - 1, max_size=width - 1)
    return st.builds(rotate, _spectra(width, condition_number, largest, extreme), angles)


def _grid(count: int, width: int, *, largest: int) -> SearchStrategy[np.ndarray]:
    """Floating arrays (count, width) of small integers."""
    row = st.lists(st.integers(-largest, largest), min_size=width, max_size=width)
    return st.lists(row, min_size=count, max_size=count).map(lambda rows: np.array(rows, dtype=float))


def _integers(argument: str, bounds: Bounds) -> SearchStrategy[int]:
    smallest, largest = _pair(argument, bounds, at_least=1)
    return st.integers(int(smallest), int(largest))


def _reals(
    argument: str, bounds: Bounds, *, above: float = -math.inf, at_least: float = -math.inf
) -> SearchStrategy[float]:
    smallest, largest = _pair(argument, bounds, above=above, at_least=at_least)
    return st.just(smallest) if smallest == largest else st.floats(smallest, largest)


def _pair(
    argument: str, bounds: Bounds, *, above: float = -math.inf, at_least: float = -math.inf
) -> tuple[float, float]:
    """Read a number or a pair of numbers, in order and within limits.

    Raises
    ------
    InvalidArgument
        If they are not.
    """
    smallest, largest = bounds if isinstance(bounds, tuple) else (bounds, bounds)
    limit = f"greater than {above:g}" if above > at_least else f"at least {at_least:g}"
    if not (math.isfinite(largest) and above < smallest <= largest and at_least <= smallest):
        raise InvalidArgument(
            argument,
            bounds,
            f"must be a finite number or a pair (smallest, largest), {limit}",
            "give the bounds in order",
        )
    return float(smallest), float(largest)
