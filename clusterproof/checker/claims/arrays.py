"""Ranges of vectors and matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.checker.claims.array_ranges import Entrywise, array_of
from clusterproof.checker.claims.ranges import EndLike, Interval, Range, end_of, rationals
from clusterproof.checker.kernel.ranges import Instance

REAL = rationals(-2, 2, 4, upwards=True, downwards=True)
"""Range of all fractions. The search mostly tries values in [-2, 2]."""


@dataclass(frozen=True, eq=False)
class Arrays(Entrywise):
    """Arrays whose entries share one range, with a given number of entries along each axis."""

    axes: tuple[Any, ...]
    entries: Range

    @property
    def parts(self) -> tuple[Any, ...]:
        """The number of entries along each axis, followed by the ends of the entries' range."""
        return *self.axes, *self.entries.parts

    def lengths(self) -> tuple[Any, ...]:
        """Return the number of entries along each axis."""
        return self.axes

    def describe(self, so_far: Instance) -> str:
        """Describe the shape of the arrays and the range of the entries."""
        shape = " x ".join(map(str, self.shape_of(so_far)))
        return f"an array of {shape} entries, each {self.entries.describe(so_far)}"

    def made(self, entries: Sequence[Any], so_far: Instance) -> np.ndarray:
        """Return an array with the given entries."""
        return array_of(entries, self.shape_of(so_far))

    def flat(self, value: np.ndarray) -> list[Any]:
        """Return the entries, row by row."""
        return list(value.ravel().tolist())

    def decode(self, code: Any) -> np.ndarray:
        """Read a list of entries, or a list of rows. The caller checks the shape."""

        def read(part: Any, axes: int) -> Any:
            if axes == 0:
                return self.entries.decode(part)
            if not isinstance(part, list):
                raise TypeError(f"{part!r} is no list")
            return [read(each, axes - 1) for each in part]

        lists = read(code, len(self.axes))
        shape: list[int] = []
        entries = lists
        for _ in self.axes:
            shape.append(len(entries))
            entries = entries[0] if entries else []
        flat = lists if len(self.axes) == 1 else [each for row in lists for each in row]
        return array_of(flat, tuple(shape))

    def holds(self, value: Any, so_far: Instance) -> bool:
        """Return whether the array has the right shape and every entry lies in its range."""
        return (
            isinstance(value, np.ndarray)
            and value.shape == self.shape_of(so_far)
            and (value.size == 0 or value.dtype == (float if self.is_float else object))
            and all(self.entries.holds(entry, so_far) for entry in value.ravel().tolist())
        )


def vectors(length: EndLike, entries: Interval = REAL) -> Arrays:
    """Return a range of vectors.

    The vectors are read-only arrays. Exact entries are stored with dtype object, so ``x @ y`` is exact.
    """
    return Arrays((end_of(length),), entries)


def matrices(rows: EndLike, columns: EndLike, entries: Interval = REAL) -> Arrays:
    """Return a range of matrices.

    The matrices are read-only arrays. Exact entries are stored with dtype object, so ``A @ x`` is exact.
    """
    return Arrays((end_of(rows), end_of(columns)), entries)
