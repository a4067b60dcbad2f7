"""Ranges of vectors, matrices and points of a simplex."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker.claims.array_ranges import Entrywise, Several, array_of, check_length
from clusterproof.checker.claims.ranges import EndLike, Interval, Range, end_of, rationals
from clusterproof.checker.claims.values import bits_of_number
from clusterproof.checker.kernel.numbers import read, write
from clusterproof.checker.kernel.ranges import Instance, value_of

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


@dataclass(frozen=True, eq=False)
class Simplex(Several):
    """Range of weights: tuples of fractions that are at least 0 and sum to 1."""

    length: Any

    @property
    def parts(self) -> tuple[Any, ...]:
        """The number of weights, which may depend on earlier quantities."""
        return (self.length,)

    def __post_init__(self) -> None:
        check_length(self.length, at_least=1)

    def holds(self, value: Any, so_far: Instance) -> bool:
        """Return whether the value has the right number of weights, all at least 0, with sum 1."""
        return (
            isinstance(value, tuple)
            and len(value) == value_of(self.length, so_far)
            and all(type(each) is Fraction and each >= 0 for each in value)
            and sum(value) == 1
        )

    def describe(self, so_far: Instance) -> str:
        """Describe which weights the range contains."""
        return f"{value_of(self.length, so_far)} fractions, at least 0, with sum 1"

    def draw(self, so_far: Instance, stream: np.random.Generator) -> tuple[Fraction, ...] | None:
        """Draw a corner, equal weights on a random subset, one dominating weight, or multiples of random integers."""
        length = int(value_of(self.length, so_far))
        if length < 1:
            return None
        kind = stream.random()
        if kind < 0.2:
            whole = [0] * length
            whole[int(stream.integers(length))] = 1
        elif kind < 0.4:
            whole = [int(each) for each in stream.integers(2, size=length)]
        elif kind < 0.6:  # one weight is much larger than the others
            whole = [1] * length
            whole[int(stream.integers(length))] = int(10 ** stream.uniform(0, 4))
        else:
            whole = [int(each) for each in stream.integers(0, 10, size=length)]
        return _normalised(whole if any(whole) else [1] * length)

    def fit(self, value: tuple[Fraction, ...], so_far: Instance) -> tuple[Fraction, ...]:
        """Fit the number of weights: drop the last weights, or append zeros. Then normalise the weights."""
        length = int(value_of(self.length, so_far))
        if len(value) == length or length < 1:
            return value
        shorter = (*value[:length], *[Fraction(0)] * (length - len(value)))
        return _normalised(shorter) if any(shorter) else _normalised([1] * length)

    def extremes(self, so_far: Instance) -> list[tuple[Fraction, ...]]:
        """Return two extreme choices: equal weights, and a weight of 1 at the first entry."""
        length = int(value_of(self.length, so_far))
        return [_normalised([1] * length), _normalised([1, *[0] * (length - 1)])] if length > 0 else []

    def near(self, value: Any, so_far: Instance, stream: np.random.Generator) -> tuple[Fraction, ...]:
        """Move a random part of one weight to another weight."""
        source, target = (int(index) for index in stream.integers(len(value), size=2))
        moved = list(value)
        amount = moved[source] * Fraction(int(stream.integers(1, 9)), 8)
        moved[source] -= amount
        moved[target] += amount
        return tuple(moved)

    def changes(self, value: tuple[Fraction, ...], so_far: Instance) -> Iterator[tuple[Fraction, ...]]:
        """Move the whole, a half or a tenth of each weight to each other weight."""
        for share in (Fraction(1), Fraction(1, 2), Fraction(1, 10)):
            for source, target in itertools.permutations(range(len(value)), 2):
                if value[source]:
                    moved = list(value)
                    moved[source] -= share * value[source]
                    moved[target] += share * value[source]
                    yield tuple(moved)

    def simpler(self, value: tuple[Fraction, ...], so_far: Instance) -> list[tuple[Fraction, ...]]:
        """Return simpler weights: equal weights, a corner, weights with one entry set to 0, or smaller denominators."""
        moves = self.extremes(so_far)
        moves += [
            _normalised([0 if i == index else each for i, each in enumerate(value)])
            for index in range(len(value))
            if value[index] not in (0, 1)
        ]
        for denominator in (2, 3, 4, 6, 8, 10, 16, 20, 50, 100):
            whole = [round(each * denominator) for each in value]
            if any(whole):
                moves.append(_normalised(whole))
        return [move for move in moves if move != value]

    def bits(self, value: tuple[Fraction, ...], so_far: Instance) -> float:
        """Return the number of bits of all weights, plus one bit for each weight."""
        return sum(1 + bits_of_number(each) for each in value)

    def encode(self, value: Any) -> list[Any]:
        """Write the weights as a list."""
        return [write(each) for each in value]

    def decode(self, code: Any) -> tuple[Fraction, ...]:
        """Read the weights from a list."""
        if not isinstance(code, list):
            raise TypeError(f"{code!r} is no list")
        return tuple(Fraction(read(each)) for each in code)


def _normalised(weights: Sequence[Any]) -> tuple[Fraction, ...]:
    return tuple(Fraction(each) / sum(weights) for each in weights)


def simplex(length: EndLike) -> Simplex:
    """Return the range of weights: tuples of fractions that are at least 0 and sum to 1."""
    return Simplex(end_of(length))
