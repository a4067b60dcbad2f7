"""Within-cluster sums of squares over all partitions, in rational arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.theory.claims import drawn

Point = tuple[Fraction, ...]


def partitions(size: int) -> Iterator[tuple[int, ...]]:
    """Yield all partitions of 0 .. size - 1 as the group of each element, numbered by first appearance."""

    def extend(labels: tuple[int, ...], groups: int) -> Iterator[tuple[int, ...]]:
        if len(labels) == size:
            yield labels
            return
        for group in range(groups + 1):
            yield from extend((*labels, group), max(groups, group + 1))

    return extend((), 0)


def groups_of(labels: Sequence[int]) -> list[list[int]]:
    """Return the members of each group."""
    return [
        [member for member, label in enumerate(labels) if label == group] for group in range(max(labels) + 1)
    ]


def squared_distance(first: Point, second: Point) -> Fraction:
    """||x - y||^2."""
    return sum(((a - b) ** 2 for a, b in zip(first, second, strict=True)), Fraction(0))


def within_sum(points: Sequence[Point], labels: Sequence[int]) -> Fraction:
    """Return SoFL's (6), the sum of squared distances of the points to the means of their groups."""
    total = Fraction(0)
    for members in groups_of(labels):
        group = [points[i] for i in members]
        mean = tuple(sum(column, Fraction(0)) / len(group) for column in zip(*group, strict=True))
        total += sum((squared_distance(point, mean) for point in group), Fraction(0))
    return total


def exact_curve(points: Sequence[Point]) -> list[Fraction]:
    """Return the least within-cluster sum of squares for 1 .. n clusters, by enumeration of all partitions."""
    best: dict[int, Fraction] = {}
    for labels in partitions(len(points)):
        groups, total = max(labels) + 1, within_sum(points, labels)
        best[groups] = min(best.get(groups, total), total)
    return [best[groups] for groups in range(1, len(points) + 1)]


def random_points(stream: np.random.Generator) -> list[Point]:
    """Three to six distinct points at small whole numbers; one time in four the corners of a simplex."""
    count = int(stream.integers(3, 7))
    if stream.random() < 0.25:
        return [tuple(Fraction(int(i == k)) for i in range(count)) for k in range(count)]
    dimension = int(stream.integers(1, 4))
    while True:
        points = {tuple(Fraction(int(x)) for x in stream.integers(0, 6, dimension)) for _ in range(count)}
        if len(points) == count:
            return sorted(points)


def write_points(points: Sequence[Point]) -> list[list[int]]:
    """Return points at whole numbers as JSON."""
    return [[int(value) for value in point] for point in points]


def read_points(written: list[list[int]]) -> list[Point]:
    """Read three to six distinct points at whole numbers."""
    points: list[Point] = [tuple(Fraction(value) for value in point) for point in written]
    whole = all(type(value) is int for point in written for value in point)
    if not (
        whole and 3 <= len(points) <= 6 and len(set(points)) == len(points) and len({*map(len, points)}) == 1
    ):
        raise ValueError("three to six distinct points at whole numbers are needed")
    return points


Points = Annotated[list[Point], drawn(random_points, write=write_points, read=read_points)]
