"""Parts that the strategies share: sizes, optima, spectra, and the reading of bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, TypeAlias, TypeVar

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from clusterproof.common import InvalidArgument
from clusterproof.common.arrays import Array
from clusterproof.common.validation import check_instance
from clusterproof.synthetic.mixture import Mixture, one_line, read_array

SMALL = 3
"""Largest dimension that Hypothesis may lower by itself in a failing task."""

Entry = TypeVar("Entry")
MixtureT = TypeVar("MixtureT", bound=Mixture)

Bounds: TypeAlias = float | tuple[float, float]
"""A fixed number, or a pair (smallest, largest)."""


def without_ties(task: Mixture, initial: Array | None = None) -> bool:
    """Return whether no client has two best models of equal loss at the start.

    If two models tie, correct algorithms may choose differently because of rounding or order. Their runs then differ.
    Only the start is checked.

    Parameters
    ----------
    task
        Task that a strategy draws; for a task with fresh samples, one sample per client is compared.
    initial
        Starting models (P, d). If None, they are the clusters' optima.

    Raises
    ------
    InvalidArgument
        If an argument is of another type.

    Examples
    --------
    >>> from hypothesis import given
    >>> from clusterproof.synthetic.strategies import quadratic_mixtures
    >>> @given(quadratic_mixtures(clusters=2, spread=1).filter(without_ties))
    ... def test_a_client_has_one_nearest_optimum(task):
    ...     losses = np.sort(task.losses(task.optima, np.arange(task.clients), None))
    ...     assert (losses[:, 0] < losses[:, 1]).all()
    """
    check_instance("task", task, Mixture, "write without_ties(task, initial)")
    given = task.optima if initial is None else initial
    models = read_array("initial", given, "P, d", "give a starting model a row")
    losses = np.sort(task.losses(models, np.arange(task.clients), np.random.default_rng(0)))
    gaps, sizes = np.diff(losses[:, :2]), np.abs(losses).max(axis=-1, keepdims=True)
    return bool((gaps > 1e-9 * sizes).all())  # a correct algorithm's rounding error is far smaller


def note_call(task: MixtureT, call: str | None = None) -> MixtureT:
    """Make a call the repr of a task, because Hypothesis prints the repr; by default, the constructor call."""
    object.__setattr__(task, "call", one_line(task.code) if call is None else call)
    return task


def draw_sizes(
    clusters: Bounds,
    clients: Bounds,
    dimension: Bounds,
    each: Callable[[int], SearchStrategy[Any]] = lambda _: st.none(),
) -> SearchStrategy[tuple[int, np.ndarray, int, list[Any]]]:
    """Draw P, labels in which every cluster occurs, the dimension, and each client's values in that dimension."""
    smallest, largest = read_bounds("clusters", clusters, at_least=1)
    fewest, most = read_bounds("clients", clients, at_least=1)
    if smallest > most:
        raise InvalidArgument(
            "clients",
            clients,
            f"must allow {smallest:g}, the smallest number of clusters",
            "allow more clients",
        )
    widths = draw_integers("dimension", dimension)

    @st.composite
    def sizes(draw: DrawFn) -> tuple[int, np.ndarray, int, list[Any]]:
        # P is the number of labels that occur, so that it shrinks with each label; a client is one element of a list,
        # which Hypothesis leaves out with all values of the client
        first, width = int(smallest), draw(widths)
        own = each(width)
        others = st.lists(
            st.tuples(st.integers(0, int(min(largest, most)) - 1), own),
            min_size=max(0, int(fewest) - first),
            max_size=int(most) - first,
        )
        drawn = [*((label, draw(own)) for label in range(first)), *draw(others)]
        found, labels = np.unique([label for label, _ in drawn], return_inverse=True)
        return len(found), labels, width, [having for _, having in drawn]

    return sizes()


def draw_optima(count: int, width: int, separation: SearchStrategy[float]) -> SearchStrategy[np.ndarray]:
    """Draw distinct grid points (count, width), scaled so that their smallest distance is the separation."""
    reach = max(2, count)
    point = st.tuples(*[st.integers(-reach, reach)] * width)

    def scale(points: list[tuple[int, ...]], distance: float) -> np.ndarray:
        grid = np.array(points, dtype=float)
        gaps = np.linalg.norm(grid[:, None] - grid[None], axis=-1)[~np.eye(count, dtype=bool)]
        return grid * (distance / gaps.min() if count > 1 else 1.0)

    return st.builds(scale, st.lists(point, min_size=count, max_size=count, unique=True), separation)


def draw_spectra(
    width: int, condition_number: float, largest: float, extreme: bool = True
) -> SearchStrategy[np.ndarray]:
    """Draw eigenvalues in [largest / kappa, largest], with both ends if ``extreme``; in dimension 1 only largest."""
    fractions = draw_last(st.floats(0, 1, width=16), width - 2 if extreme or width == 1 else width)
    ends = [0.0] if width == 1 else [1.0, 0.0] if extreme else []
    return fractions.map(lambda inner: largest * condition_number ** -np.array([*ends, *inner]))


def draw_matrices(
    width: int, condition_number: float, largest: float, extreme: bool = True
) -> SearchStrategy[np.ndarray]:
    """Draw symmetric matrices with eigenvalues from ``draw_spectra``, rotated in the planes of neighbouring axes."""

    def rotate(spectrum: np.ndarray, angles: list[float]) -> np.ndarray:
        matrix = np.diag(spectrum)
        for axis, angle in enumerate(angles):
            turn = np.eye(width)
            cosine, sine = math.cos(angle), math.sin(angle)
            turn[axis : axis + 2, axis : axis + 2] = [[cosine, -sine], [sine, cosine]]
            matrix = turn @ matrix @ turn.T
        return (matrix + matrix.T) / 2

    angles = draw_last(st.floats(0, 3, width=16), width - 1)
    return st.builds(rotate, draw_spectra(width, condition_number, largest, extreme), angles)


def draw_grid(count: int, width: int, *, largest: int) -> SearchStrategy[np.ndarray]:
    """Draw floating arrays (count, width) of small integers."""
    row = draw_last(st.integers(-largest, largest), width)
    return st.lists(row, min_size=count, max_size=count).map(lambda rows: np.array(rows, dtype=float))


def draw_last(entry: SearchStrategy[Entry], count: int) -> SearchStrategy[list[Entry]]:
    """Draw at least ``SMALL`` entries and keep the last ``count``, so that the draws also fit a smaller dimension."""
    drawn = max(count, SMALL)
    return st.lists(entry, min_size=drawn, max_size=drawn).map(
        lambda entries: entries[drawn - max(count, 0) :]
    )


def draw_integers(argument: str, bounds: Bounds) -> SearchStrategy[int]:
    """Draw a whole number, at least 1, within the bounds."""
    smallest, largest = read_bounds(argument, bounds, at_least=1)
    return st.integers(int(smallest), int(largest))


def draw_reals(
    argument: str,
    bounds: Bounds,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    below: float = math.inf,
) -> SearchStrategy[float]:
    """Draw a number within the bounds, or return the fixed number."""
    smallest, largest = read_bounds(argument, bounds, above=above, at_least=at_least, below=below)
    return st.just(smallest) if smallest == largest else st.floats(smallest, largest)


def read_bounds(
    argument: str,
    bounds: Bounds,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    below: float = math.inf,
) -> tuple[float, float]:
    """Read a number, or a pair of numbers in ascending order, within limits.

    Raises
    ------
    InvalidArgument
        If the bounds are not one number, or two in order, within the limits.
    """
    pair = bounds if isinstance(bounds, tuple) else (bounds, bounds)
    smallest, largest = pair if len(pair) == 2 and all(isinstance(end, Real) for end in pair) else (1, 0)
    limit = f"greater than {above:g}" if above > at_least else f"at least {at_least:g}"
    limit += f" and below {below:g}" if math.isfinite(below) else ""
    if not (above < smallest <= largest < below and at_least <= smallest):
        raise InvalidArgument(
            argument,
            bounds,
            f"must be a finite number or a pair (smallest, largest), {limit}",
            "give the bounds in order",
        )
    return float(smallest), float(largest)
