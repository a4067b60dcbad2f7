"""(8)-(15): the effect of an update, the final radius, and the two half-steps of k-means."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import self_organising_map as som
from clusterproof.theory.claims import Sides, Stream, at_least, at_most, choice, claim, equal, integers, reals
from clusterproof.theory.papers.sofl.equations_3_6 import Point, Points, squared_distance


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    """(9)."""
    return float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))


@claim("sofl/equation-10", label="(8)-(10), (14), (15)", evaluations=300)
def equation_10(
    dimension: Annotated[int, integers(2, 8)],
    rate: Annotated[float, reals(Fraction(1, 100), 1)],
    stream: Stream,
) -> dict[str, Sides]:
    """An update brings the winner nearer to the sample, and k-means never raises (6) and comes to rest.

    Hypotheses
        eta g in (0, 1]; neither the neuron nor the sample is zero, nor are they opposite. In (14) and (15) the number
        of clusters is given and an empty cluster keeps its centre.

    Statement
        With nu' = nu + eta g (gamma - nu):

    Lines
        (10), distance
            ||nu' - gamma|| = (1 - eta g) ||nu - gamma||.
        (10), cosine
            cos(nu', gamma) >= cos(nu, gamma): the winner by (8), (9) moves in the sense of (9), too.
        (14), (15): falls
            sum_j ||xi_j - mu_(i(j))||^2 does not rise in (14) or (15).
        (14), (15): rests
            After finitely many rounds all centres are unchanged, by the stopping rule. The rest is a local minimum: the
            paper's Table 2 shows a wrong one of k-means, from one start.

    Source
        Zhang and Qiao (2024), (8)-(10), (14), (15) and the stopping rule after them.

    Proof
        nu' lies on the segment from nu to gamma, hence in the cone of the two. (14) takes the least term of each sum,
        (15) the minimiser of each cluster; there are finitely many partitions and none returns while the sum falls.
    """
    neuron, sample = stream.standard_normal((2, dimension))
    after = som.train(neuron[None, None], sample[None], np.array([0]), learning_rate=rate, radius=1.0).ravel()
    before = float(np.linalg.norm(neuron - sample))
    return {
        "(10), distance": equal((float(np.linalg.norm(after - sample)) / before, 1 - rate), rounding=1e-9),
        "(10), cosine": at_least(cosine(after, sample), before=cosine(neuron, sample)),
    }


NEURONS = 5
"""Neurons in a row, the first of which wins."""

Updates = Annotated[int, integers(1, 1000, upwards=True)]
Radius = Annotated[Fraction, choice(Fraction(3, 2))]
"""sigma_0 of Section 5.2.2."""


@claim(
    "sofl/shrinking-neighbourhood",
    label="Section 3.3, (10)-(13)",
    ill_posed=True,
    repaired_by="sofl/theorem-1-robbins-monro",
)
def shrinking_neighbourhood(updates: Updates, radius: Radius) -> Sides:
    """The neighbourhood shrinks until it contains the best matching unit alone.

    Hypotheses
        The schedule (13) with sigma_0 = 1.5 and any T_max.

    Statement
        N has one unit at the end of a run.

    Source
        Zhang and Qiao (2024), Section 3.3: "The range of N shrinks with time and only includes BMU after a certain
        time", and Section 4.2: sigma(t) "determines the update range of the BMU neighborhood". (10) leaves the units
        outside N as they are, and no line defines N. With N the units within sigma(t) of the winner the sentence is
        true, from t > T_max / 4 on; with N all units, whose g by (11) is positive, it is not: at the end the next one
        still makes exp(-9 / 2 sigma_0^2) = 0.135 of the winner's move. A radius that vanishes, as in
        ``sofl/theorem-1-robbins-monro``, makes the two alike in the limit.
    """
    width = som.decayed(float(radius), updates, updates, "as-printed")
    within = sum(distance <= width for distance in range(NEURONS))
    positive = sum(math.exp(-(distance**2) / (2 * width**2)) > 0 for distance in range(NEURONS))
    return equal(
        (within, positive),
        words=lambda: (
            f"N is not defined: of five units in a row, sigma_0 = {radius}, T_max = {updates}, {within} is within "
            f"sigma(T_max) = {width:g} of the winner and {positive} have a positive g; read: no unit is left out"
        ),
    )


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


@equation_10.line("(14), (15)", evaluations=100)
def equations_14_15(points: Points, stream: Stream) -> dict[str, Sides]:
    """The sum before and after each half-step, with centres that start at winners, and how long they move."""
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
