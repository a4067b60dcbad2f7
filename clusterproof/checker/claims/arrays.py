"""Ranges of vectors and matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.checker.claims.array_ranges import Entrywise, array_of
from clusterproof.checker.claims.ranges import End, Instance, Interval, Rationals

REAL = Rationals(-2, 2, True, True, 4)
"""All fractions; of those that are tried most lie in [-2, 2]."""


@dataclass(frozen=True, eq=False)
class Arrays(Entrywise):
    """Arrays with entries of one range."""

    noun = "an array"

    def made(self, entries: Sequence[Any], so_far: Instance) -> np.ndarray:
        """Return an array with these entries."""
        return array_of(entries, self.shape_of(so_far))

    def flat(self, value: np.ndarray) -> list[Any]:
        """Return the entries, row by row."""
        return list(value.ravel().tolist())

    def from_lists(self, lists: list[Any]) -> np.ndarray:
        """Return an array."""
        shape: list[int] = []
        entries = lists
        for _ in self.shape:
            shape.append(len(entries))
            entries = entries[0] if entries else []
        flat = lists if len(self.shape) == 1 else [each for row in lists for each in row]
        return array_of(flat, tuple(shape))

    def holds(self, value: Any, so_far: Instance) -> bool:
        """Return whether it has the shape, and each entry lies in its range."""
        return (
            isinstance(value, np.ndarray)
            and value.shape == self.shape_of(so_far)
            and (value.size == 0 or value.dtype == (float if self.is_float else object))
            and all(self.entries.holds(entry, so_far) for entry in value.ravel().tolist())
        )


def vectors(length: End, entries: Interval = REAL) -> Arrays:
    """Vectors: read-only arrays, of dtype object with fractions or integers, so that ``x @ y`` is exact.

    Parameters
    ----------
    length
        Number of entries: an integer, or a function of earlier quantities, such as ``lambda rows: rows``.
    entries
        Range of each entry: all fractions, unless it is given; of ``reals`` the array is one of floats.
    """
    return Arrays((length,), entries)


def matrices(rows: End, columns: End, entries: Interval = REAL) -> Arrays:
    """Matrices: read-only arrays as of ``vectors``, so that ``A @ x`` is exact."""
    return Arrays((rows, columns), entries)
