"""Why the printed elbow cannot answer one: within-cluster sums lie below their chord."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms.second_clustering import elbow
from clusterproof.theory.claims import Sides, at_most, claim, drawn, equal
from clusterproof.theory.papers.sofl.partitions import Point, exact_curve, squared_distance


def chord(curve: list[Fraction]) -> list[Fraction]:
    """Return the straight line from the first to the last value of a curve."""
    last = len(curve) - 1
    return [(curve[0] * (last - k) + curve[-1] * k) / last for k in range(len(curve))]


def equidistant(points: list[Point]) -> bool:
    """Return whether all pairs of points have the same distance."""
    distances = {squared_distance(points[i], points[j]) for i in range(len(points)) for j in range(i)}
    return len(distances) <= 1


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


@claim("sofl/elbow-below-chord", label="Algorithm 1, line 14", judges="ours", tight=True, evaluations=30)
def elbow_below_chord(points: Points) -> dict[str, Sides]:
    """The curve of within-cluster sums lies below its chord, and on it only for a regular simplex.

    Hypotheses
        z >= 3 distinct points, the curve WCSS_1 .. WCSS_z of the least sums.

    Statement
        WCSS_k <= WCSS_1 (z - k) / (z - 1) for k = 1 .. z, with equality for all k exactly where all pairs
        of points have the same distance. So the elbow answers 1 for a regular simplex and for no
        other set of z >= 3 winners, and never z.

    Source
        Ours on Zhang and Qiao (2024), Algorithm 1, line 14 and (6). Tight. The only sets of winners
        that are called one cluster are thus those that are most clearly z of them.

    Proof
        Make k - 1 random points clusters of their own and the rest one cluster. Its sum is that of the
        squared distances of its pairs over z - k + 1; in the mean over the choices that is WCSS_1 (z - k)
        / (z - 1), and the least sum is at most the mean. At k = z - 1 the sum is half of one pair's squared
        distance: if the least equals the mean, all pairs are equal; then every partition attains it.
    """
    curve, regular = exact_curve(points), equidistant(points)
    line, answer = chord(curve), elbow(np.array([float(value) for value in curve]))
    return {
        "below": at_most(curve, chord=line),
        "equality": equal((int(curve == line), int(regular))),
        "one": equal((int(answer == 1), int(regular))),
        "never z": at_most(answer, fewer=len(points) - 1),
    }
