"""The range of symmetric positive semidefinite matrices."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker.claims.array_ranges import (
    Several,
    array_of,
    check_length,
    decode_fraction,
    is_fraction,
)
from clusterproof.checker.claims.ranges import End, Instance, encode_number, value_of
from clusterproof.checker.claims.simplifying import bits_of_number


@dataclass(frozen=True, eq=False)
class Psd(Several):
    """Symmetric positive semidefinite matrices of fractions."""

    order: End

    def __post_init__(self) -> None:
        check_length(self.order, at_least=1)

    def holds(self, value: Any, so_far: Instance) -> bool:
        """Return whether it is symmetric and positive semidefinite, by an exact factorisation."""
        order = int(value_of(self.order, so_far))
        return (
            isinstance(value, np.ndarray)
            and value.shape == (order, order) != (0, 0)
            and value.dtype == object
            and all(is_fraction(entry) for entry in value.ravel())
            and bool((value == value.T).all())
            and factorised(value.tolist()) is not None
        )

    def describe(self, so_far: Instance) -> str:
        """Write what it must be."""
        order = value_of(self.order, so_far)
        return f"a symmetric positive semidefinite {order} x {order} matrix of fractions"

    def draw(self, so_far: Instance, stream: np.random.Generator) -> np.ndarray | None:
        """Draw B B' of random rank, a diagonal matrix, or one of entries of very different size."""
        order, kind = int(value_of(self.order, so_far)), stream.random()
        if order < 1:
            return None
        if kind < 0.2:
            return _matrix(np.diag(self._numbers(stream, (order,), 0, 9)))
        rank = int(stream.integers(1, order, endpoint=True))
        factor = self._numbers(stream, (order, rank), -4, 5)
        if kind < 0.4:
            factor = factor * np.array(
                [[Fraction(10) ** int(stream.integers(-2, 3))] for _ in range(order)], object
            )
        return _matrix(factor @ factor.T)

    @staticmethod
    def _numbers(stream: np.random.Generator, shape: tuple[int, ...], low: int, high: int) -> np.ndarray:
        denominator = int(stream.choice([1, 1, 2, 3]))
        whole = stream.integers(low, high, size=shape)
        return np.array([Fraction(int(each), denominator) for each in whole.ravel()], dtype=object).reshape(
            shape
        )

    def fit(self, value: np.ndarray, so_far: Instance) -> np.ndarray:
        """Leave the last rows and columns out, or add zeros."""
        order, known = int(value_of(self.order, so_far)), len(value)
        if order == known:
            return value
        matrix = np.full((order, order), Fraction(0), dtype=object)
        least = min(order, known)
        matrix[:least, :least] = value[:least, :least]
        return _matrix(matrix)

    def extremes(self, so_far: Instance) -> list[np.ndarray]:
        """Return the identity, a matrix of ones, and a projection on the first coordinate."""
        order = int(value_of(self.order, so_far))
        if order < 1:
            return []
        first = np.zeros((order, order), dtype=int)
        first[0, 0] = 1
        return [_matrix(each) for each in (np.eye(order, dtype=int), np.ones((order, order), int), first)]

    def near(self, value: np.ndarray, so_far: Instance, stream: np.random.Generator) -> np.ndarray:
        """Scale a coordinate, or add a matrix of rank one."""
        order = len(value)
        if stream.random() < 0.5:
            scale = np.array([Fraction(1)] * order, object)
            scale[int(stream.integers(order))] = Fraction(int(stream.integers(0, 9)), 4)
            return _matrix(scale[:, None] * value * scale)
        vector = self._numbers(stream, (order,), -2, 3)
        return _matrix(value + np.outer(vector, vector) / int(stream.integers(1, 9)))

    def changes(self, value: np.ndarray, so_far: Instance) -> Iterator[np.ndarray]:
        """Scale each coordinate, also by a negative number, and add each e_i, e_i + e_j and e_i - e_j."""
        order = len(value)
        for index, factor in itertools.product(range(order), map(Fraction, ("0", "1/2", "2", "-1"))):
            scale = np.array([Fraction(1)] * order, object)
            scale[index] = factor
            yield _matrix(scale[:, None] * value * scale)
        unit = np.eye(order, dtype=int)
        pairs = itertools.combinations(range(order), 2)
        vectors = [*unit, *(unit[i] + sign * unit[j] for i, j in pairs for sign in (1, -1))]
        for vector in vectors:
            yield _matrix(value + np.outer(vector, vector))

    def simpler(self, value: np.ndarray, so_far: Instance) -> list[np.ndarray]:
        """Return simple matrices, ones without a coordinate, and ones with rounded entries."""
        order = len(value)
        moves = [*self.extremes(so_far), _matrix(np.zeros((order, order), int))]
        for index in range(order):
            for factor in (0, Fraction(1, 2)):
                scale = np.array([Fraction(1)] * order, object)
                scale[index] = Fraction(factor)
                moves.append(_matrix(scale[:, None] * value * scale))
        largest = max(map(abs, value.ravel()), default=0)
        for unit in (largest, 1) if largest else ():
            moves += [_matrix(_rounded(value / unit, k)) for k in (1, 2, 4)]
        for i, j in itertools.combinations_with_replacement(range(order), 2):
            near = (Fraction(round(value[i, j] / share)) for share in (1, 2, 10))
            for each in dict.fromkeys([Fraction(0), Fraction(1), Fraction(-1), *near]):
                moved = value.copy()
                moved[i, j] = moved[j, i] = each
                moves.append(_matrix(moved))
        return moves

    def bits(self, value: np.ndarray, so_far: Instance) -> float:
        """Return the bits of all entries, and one for each."""
        return sum(1 + bits_of_number(each) for each in value.ravel())

    def encode(self, value: Any) -> list[Any]:
        """Write the rows."""
        return [[encode_number(each) for each in row] for row in list(value)]

    def decode(self, code: Any) -> np.ndarray:
        """Read the rows."""
        if not isinstance(code, list) or not all(isinstance(row, list) for row in code):
            raise TypeError(f"{code!r} has no rows")
        return array_of([decode_fraction(each) for row in code for each in row], (len(code), -1))


def factorised(matrix: list[list[Fraction]]) -> tuple[list[Fraction], list[list[Fraction]]] | None:
    """Return D and L of a symmetric A = L D L' with D >= 0; None if it is not positive semidefinite."""
    order = len(matrix)
    rest = [list(row) for row in matrix]
    lower = [[Fraction(int(i == j)) for j in range(order)] for i in range(order)]
    for k in range(order):
        pivot = rest[k][k]
        if pivot < 0 or (pivot == 0 and any(rest[i][k] for i in range(k + 1, order))):
            return None
        for i in range(k + 1, order):
            lower[i][k] = rest[i][k] / pivot if pivot else Fraction(0)
        for i, j in itertools.product(range(k + 1, order), repeat=2):
            rest[i][j] -= lower[i][k] * rest[k][j]
    return [rest[k][k] for k in range(order)], lower


def _matrix(entries: Any) -> np.ndarray:
    """Return a read-only matrix of fractions."""
    array = np.asarray(entries)
    return array_of(
        [each if is_fraction(each) else Fraction(int(each)) for each in array.ravel()], array.shape
    )


def _rounded(matrix: np.ndarray, denominator: int) -> np.ndarray:
    """Round the entries to multiples of a unit fraction."""
    entries = [Fraction(round(each * denominator), denominator) for each in matrix.ravel()]
    return np.array(entries, dtype=object).reshape(matrix.shape)


def psd(order: End) -> Psd:
    """Symmetric positive semidefinite matrices: read-only arrays of dtype object with fractions."""
    return Psd(order)
