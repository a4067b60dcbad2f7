"""Common parts of the strategies: sizes, optima, spectra, and the checks of bounds."""

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
"""Largest dimension that Hypothesis can lower independently of other draws when it simplifies a failing task."""

Entry = TypeVar("Entry")
MixtureT = TypeVar("MixtureT", bound=Mixture)

Bounds: TypeAlias = float | tuple[float, float]
"""Bounds on a quantity: a fixed number, or a pair (smallest, largest)."""


def without_ties(task: Mixture, initial: Array | None = None) -> bool:
    """Return whether each client has a unique model of smallest loss at the start.

    If two models tie, correct algorithms may choose differently because of rounding or order. Runs of correct
    algorithms then differ. This function checks only the start.

    Parameters
    ----------
    task
        Task from a strategy. If the task draws fresh samples, the losses on one sample per client are compared.
    initial
        Starting models (P, d). If None, the clusters' optima are used.

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
    return bool((gaps > 1e-9 * sizes).all())  # rounding errors of a correct algorithm are far smaller


def note_call(task: MixtureT, call: str | None = None) -> MixtureT:
    """Set the repr of a task, which Hypothesis prints, to a call that recreates the task."""
    object.__setattr__(task, "call", one_line(task.code) if call is None else call)
    return task


def draw_sizes(
    clusters: Bounds,
    clients: Bounds,
    dimension: Bounds,
    each: Callable[[int], SearchStrategy[Any]] = lambda _: st.none(),
) -> SearchStrategy[tuple[int, np.ndarray, int, list[Any]]]:
    """Draw P, labels in which every cluster occurs, the dimension, and values for each client in this dimension."""
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
        # P is the number of labels that occur, so Hypothesis lowers P when it removes labels; each client is one list
        # element, so Hypothesis removes a client with all values
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
    """Draw distinct grid points (count, width), scaled so that the smallest distance is the separation."""
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
    """Draw eigenvalues in [largest / kappa, largest], including both ends if ``extreme``.

    In dimension 1, return only the largest eigenvalue.
    """
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
    """Draw floating-point arrays (count, width) with small integers as entries."""
    row = draw_last(st.integers(-largest, largest), width)
    return st.lists(row, min_size=count, max_size=count).map(lambda rows: np.array(rows, dtype=float))


def draw_last(entry: SearchStrategy[Entry], count: int) -> SearchStrategy[list[Entry]]:
    """Draw at least ``SMALL`` entries and keep the last ``count``; the same draws then also fit a smaller dimension."""
    drawn = max(count, SMALL)
    return st.lists(entry, min_size=drawn, max_size=drawn).map(
        lambda entries: entries[drawn - max(count, 0) :]
    )


def draw_integers(argument: str, bounds: Bounds) -> SearchStrategy[int]:
    """Draw an integer within the bounds; it is at least 1."""
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
    """Check bounds within limits: a number, or a pair of numbers in ascending order.

    Raises
    ------
    InvalidArgument
        If the bounds are neither a number nor an ascending pair of numbers within the limits.
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
            "give the smaller bound first",
        )
    return float(smallest), float(largest)
