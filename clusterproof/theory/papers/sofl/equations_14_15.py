"""(14) and (15): the two half-steps of k-means."""

from __future__ import annotations

from fractions import Fraction

from clusterproof.theory.claims import Sides, Stream, at_most, claim
from clusterproof.theory.papers.sofl.partitions import Point, Points, squared_distance

LONGEST = 50
"""Rounds after which the centres must be at rest, many more than the partitions of a run."""


def distortion(points: list[Point], centres: list[Point], labels: list[int]) -> Fraction:
    """Return the sum of squared distances of the points to the centres of their clusters."""
    return sum(
        (squared_distance(point, centres[label]) for point, label in zip(points, labels, strict=True)),
        Fraction(0),
    )


def nearest(points: list[Point], centres: list[Point]) -> list[int]:
    """Return (14), the index of the nearest centre of each point, the first of ties."""
    distances = [[squared_distance(point, centre) for centre in centres] for point in points]
    return [row.index(min(row)) for row in distances]


def means(points: list[Point], centres: list[Point], labels: list[int]) -> list[Point]:
    """Return (15), the mean of each cluster; an empty cluster keeps its centre."""
    new_centres = []
    for cluster, centre in enumerate(centres):
        members = [point for point, label in zip(points, labels, strict=True) if label == cluster]
        mean = (
            tuple(sum(column, Fraction(0)) / len(members) for column in zip(*members, strict=True))
            if members
            else centre
        )
        new_centres.append(mean)
    return new_centres


@claim("sofl/equations-14-15", label="(14), (15)", evaluations=100)
def equations_14_15(points: Points, stream: Stream) -> dict[str, Sides]:
    """Neither half-step of the second clustering raises (6), and it comes to rest.

    Hypotheses
        The number of clusters is given; centres start at winners; an empty cluster keeps its centre.

    Statement
        sum_j ||xi_j - mu_(i(j))||^2 does not rise in (14) or (15), and after finitely many rounds all
        centres are unchanged.

    Source
        Zhang and Qiao (2024), (14), (15) and the stopping rule after them. Upper bound. The rest is a
        local minimum: the paper's Table 2 shows a wrong one of k-means, from one start.

    Proof
        (14) takes the least term of each sum, (15) the minimiser of each cluster; there are finitely many
        partitions and none returns while the sum falls.
    """
    clusters = int(stream.integers(1, len(points)))
    centres = [points[i] for i in stream.choice(len(points), clusters, replace=False)]
    labels = nearest(points, centres)
    sums, moving = [distortion(points, centres, labels)], 0
    for _ in range(LONGEST):
        new_centres = means(points, centres, labels)
        sums.append(distortion(points, new_centres, labels))
        labels = nearest(points, new_centres)
        sums.append(distortion(points, new_centres, labels))
        if new_centres == centres:
            break
        centres, moving = new_centres, moving + 1
    return {"falls": at_most(sums[1:], before=sums[:-1]), "rests": at_most(moving, longest=LONGEST - 1)}
