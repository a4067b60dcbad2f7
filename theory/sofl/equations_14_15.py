"""(14) and (15): the two half-steps of k-means."""

from __future__ import annotations

from fractions import Fraction

from clusterproof.theory.sofl.elbow_below_chord import Points
from clusterproof.theory.sofl.partitions import Point, squared_distance
from clusterproof.theory.statement import Family, Sides, Stream, at_most

PAPER = Family("sofl")

LONGEST = 50
"""Rounds after which the centres must be at rest: many more than there are partitions on the way."""


def distortion(points: list[Point], centres: list[Point], labels: list[int]) -> Fraction:
    """Squared distances of the points to the centres of their clusters, summed."""
    return sum(
        (squared_distance(point, centres[own]) for point, own in zip(points, labels, strict=True)),
        Fraction(0),
    )


def nearest(points: list[Point], centres: list[Point]) -> list[int]:
    """(14): index of the nearest centre of each point, the first where they tie."""
    distances = [[squared_distance(point, centre) for centre in centres] for point in points]
    return [row.index(min(row)) for row in distances]


def means(points: list[Point], centres: list[Point], labels: list[int]) -> list[Point]:
    """(15): mean of each cluster; an empty one keeps its centre."""
    moved = []
    for cluster, centre in enumerate(centres):
        own = [point for point, label in zip(points, labels, strict=True) if label == cluster]
        mean = (
            tuple(sum(column, Fraction(0)) / len(own) for column in zip(*own, strict=True)) if own else centre
        )
        moved.append(mean)
    return moved


@PAPER.claim("equations-14-15", label="(14), (15)", kind="upper", budget=100)
def equations_14_15(points: Points, stream: Stream) -> dict[str, Sides]:
    """Neither half-step of the second clustering raises (6), and it comes to rest.

    Hypotheses
        The number of clusters is given; centres start at winners; an empty cluster keeps its centre.

    Statement
        sum_j ||xi_j - mu_(i(j))||^2 does not rise in (14) or (15), and after finitely many rounds all
        centres are unchanged.

    Symbols
        xi_j the winners, mu_i the centres.

    Source
        Zhang and Qiao (2024), (14), (15) and the stopping rule after them. Upper bound. The rest is a
        local minimum: the paper's Table 2 shows a wrong one of k-means, from one start.

    Proof
        (14) takes the least term of each sum, (15) the minimiser of each cluster; there are finitely many
        partitions and none returns while the sum falls.

    Checked
        Random points at whole numbers in rational arithmetic, all rounds until rest.
    """
    clusters = int(stream.integers(1, len(points)))
    centres = [points[i] for i in stream.choice(len(points), clusters, replace=False)]
    labels = nearest(points, centres)
    sums, moving = [distortion(points, centres, labels)], 0
    for _ in range(LONGEST):
        moved = means(points, centres, labels)
        sums.append(distortion(points, moved, labels))
        labels = nearest(points, moved)
        sums.append(distortion(points, moved, labels))
        if moved == centres:
            break
        centres, moving = moved, moving + 1
    return {"falls": at_most(sums[1:], before=sums[:-1]), "rests": at_most(moving, longest=LONGEST - 1)}
