"""What the strategies have in common: sizes, optima, spectra, and how bounds are read."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from clusterproof.algorithms import InvalidArgument

Bounds: TypeAlias = float | tuple[float, float]
"""A fixed number, or the smallest and the largest one."""


def draw_sizes(
    clusters: Bounds, clients: Bounds, dimension: Bounds
) -> SearchStrategy[tuple[int, np.ndarray, int]]:
    """Draw P, labels in which every cluster occurs, and the dimension."""
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
    def sizes(draw: DrawFn) -> tuple[int, np.ndarray, int]:
        count = draw(st.integers(int(smallest), int(min(largest, most))))
        others = st.lists(
            st.integers(0, count - 1), min_size=max(0, int(fewest) - count), max_size=int(most) - count
        )
        return count, np.array([*range(count), *draw(others)]), draw(widths)

    return sizes()


def draw_optima(count: int, width: int, separation: SearchStrategy[float]) -> SearchStrategy[np.ndarray]:
    """Distinct grid points, scaled to a smallest distance, (count, width)."""
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
    """Return the eigenvalues from largest / kappa to largest, where extreme both of them; one dimension has largest."""
    if width == 1:
        return st.just(np.array([largest]))
    free = width - 2 if extreme else width
    fractions = st.lists(st.floats(0, 1, width=16), min_size=free, max_size=free)
    ends = [1.0, 0.0] if extreme else []
    return fractions.map(lambda inner: largest * condition_number ** -np.array([*ends, *inner]))


def draw_matrices(
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
    return st.builds(rotate, draw_spectra(width, condition_number, largest, extreme), angles)


def draw_grid(count: int, width: int, *, largest: int) -> SearchStrategy[np.ndarray]:
    """Floating arrays (count, width) of small integers."""
    row = st.lists(st.integers(-largest, largest), min_size=width, max_size=width)
    return st.lists(row, min_size=count, max_size=count).map(lambda rows: np.array(rows, dtype=float))


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
    """Draw a number within the bounds, or give the fixed one."""
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
    """Read a number or a pair of numbers, in order and within limits.

    Raises
    ------
    InvalidArgument
        If they are not.
    """
    smallest, largest = bounds if isinstance(bounds, tuple) else (bounds, bounds)
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
