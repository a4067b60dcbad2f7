"""Claims on (8)-(15): one update of the map, the final radius, and the two half-steps of k-means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from clusterproof.algorithms import self_organising_map as som
from clusterproof.checker.claims import Q, Sides, Stream, Z, at_least, at_most, claim, equal
from clusterproof.theory.papers.sofl.equations_3_6 import Point, mean_of, squared_distance


@claim(
    "sofl/equation-10",
    label="(8)-(10), (14), (15)",
    evaluations=300,
    expected="consistent, tight within 2",
    places="(7); (9); (10); (14); (15); algorithm 1, line 12; algorithm 1, line 15; algorithm 1, line 16",
)
def equation_10(
    stream: Stream, dimension: int = Z[2:8], rate: Fraction = Q[Fraction(1, 100) : 1 : 100]
) -> dict[str, Sides]:
    """An update moves the winner nearer to the sample. K-means never increases (6), and terminates.

    Hypotheses
        eta g is in (0, 1]. The neuron and the sample are not zero, and do not have opposite directions. In (14) and
        (15), the number of clusters is given, and the centre of an empty cluster does not change.

    Statement
        The updated neuron is nu' = nu + eta g (gamma - nu).

    Lines
        (10), distance
            ||nu' - gamma|| = (1 - eta g) ||nu - gamma||.
        (10), cosine
            cos(nu', gamma) >= cos(nu, gamma). So the update also increases the cosine, by which (8) and (9) choose
            the winner.
        (14), (15): falls
            sum_j ||xi_j - mu_(i(j))||^2 does not increase in (14) or (15).
        (14), (15): rests
            After finitely many rounds, the centres no longer change, as the stopping rule requires. The result is a
            local minimum. In the paper's Table 2, k-means with one initialisation ends in a wrong local minimum.

    Source
        Zhang and Qiao (2024), (8)-(10), (14), (15) and the stopping rule after them.

    Proof
        nu' lies on the segment from nu to gamma, hence in the cone that they span. (14) chooses the smallest term for
        each sample, and (15) chooses the minimiser for each cluster. There are finitely many partitions, and as long
        as the sum decreases, no partition occurs twice.
    """
    neuron, sample = stream.standard_normal((2, dimension))
    after = som.train(
        neuron[None, None], sample[None], np.array([0]), learning_rate=float(rate), radius=1.0
    ).ravel()
    before, end = (np.linalg.norm(each - sample) for each in (neuron, after))
    cosines = [each @ sample / np.linalg.norm(each) / np.linalg.norm(sample) for each in (neuron, after)]
    return {
        "(10), distance": equal((end / before, 1 - float(rate)), rounding=1e-9),
        "(10), cosine": at_least(cosines[1], before=cosines[0]),
    }


NEURONS = 5
"""Number of neurons in a row. The first neuron wins."""


@claim(
    "sofl/shrinking-neighbourhood",
    label="Section 3.3, (10)-(13)",
    ill_posed=True,
    repaired_by="sofl/theorem-1-robbins-monro",
    expected="ill-posed",
    places="(11); (12); (13)",
)
def shrinking_neighbourhood(updates: int = Z[1:]) -> Sides:
    """The neighbourhood shrinks until it contains only the best matching unit.

    Hypotheses
        The schedule is (13) with sigma_0 = 1.5 and an arbitrary T_max.

    Statement
        At the end of a run, the neighbourhood N contains one unit.

    Source
        Zhang and Qiao (2024), Section 3.3: "The range of N shrinks with time and only includes BMU after a certain
        time", and Section 4.2: sigma(t) "determines the update range of the BMU neighborhood". (10) changes only the
        units in N, but the paper does not define N. If N contains the units within sigma(t) of the winner, the
        sentence is true for t > T_max / 4. If N contains all units, the sentence is false, because g is positive by
        (11). At the end of the run, the rate of the winner's neighbour is still exp(-9 / 2 sigma_0^2) = 0.135 times
        the rate of the winner. If the radius tends to 0, as in ``sofl/theorem-1-robbins-monro``, both meanings agree
        in the limit.
    """
    width = Fraction(3, 2) / (1 + updates / Fraction(updates, 2))
    within = sum(distance <= width for distance in range(NEURONS))
    positive = sum(math.exp(-(distance**2) / (2 * width**2)) > 0 for distance in range(NEURONS))
    words = (
        f"N is not defined: of five units in a row {within} is within sigma(T_max) = {width} of the winner and "
        f"{positive} have a positive g; read: no unit is left out"
    )
    return equal((within, positive), words=words)


LONGEST = 50
"""Number of rounds after which the centres must no longer change.

It is much larger than the number of partitions in a run.
"""


def half_steps(points: Sequence[Point], centres: list[Point]) -> tuple[list[Fraction], int]:
    """Return the sum of squares before and after each half-step, and the number of rounds in which centres change.

    The half-steps are (14) and (15). Ties go to the first centre, and the centre of an empty cluster does not change.
    """
    sums: list[Fraction] = []
    for moving in range(LONGEST):
        distances = [[squared_distance(point, centre) for centre in centres] for point in points]
        labels = [row.index(min(row)) for row in distances]
        sums.append(sum(map(min, distances), Fraction(0)))
        groups = [
            [p for p, label in zip(points, labels, strict=True) if label == k] for k in range(len(centres))
        ]
        means = [mean_of(group) if group else centre for group, centre in zip(groups, centres, strict=True)]
        moved = [squared_distance(p, means[label]) for p, label in zip(points, labels, strict=True)]
        sums.append(sum(moved, Fraction(0)))
        if means == centres:
            return sums, moving
        centres = means
    return sums, LONGEST


@equation_10.line("(14), (15)", evaluations=100)
def equations_14_15(stream: Stream, count: int = Z[3:6], dimension: int = Z[1:3]) -> dict[str, Sides]:
    """Check the sum of squares before and after each half-step, and the number of rounds in which centres change.

    The initial centres are winners.
    """
    rows = np.unique(stream.integers(0, 6, (count, dimension)), axis=0).tolist()
    points: list[Point] = [tuple(map(Fraction, row)) for row in rows]
    clusters = int(stream.integers(1, max(2, len(points))))
    starts = [points[i] for i in stream.choice(len(points), clusters, replace=False)]
    sums, moving = half_steps(points, starts)
    return {"falls": at_most(sums[1:], before=sums[:-1]), "rests": at_most(moving, longest=LONGEST - 1)}
