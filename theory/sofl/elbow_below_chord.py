"""Why the printed elbow cannot answer one: within-cluster sums lie below their chord."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from algorithms.second_clustering import elbow
from theory.claim import Context, register
from theory.sofl.partitions import Point, exact_curve, squared_distance
from theory.verdict import Finding, Kind


def chord(curve: list[Fraction]) -> list[Fraction]:
    """Straight line from the first to the last value of a curve."""
    last = len(curve) - 1
    return [(curve[0] * (last - k) + curve[-1] * k) / last for k in range(len(curve))]


def equidistant(points: list[Point]) -> bool:
    """Whether all pairs have one distance."""
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


@register("sofl/elbow-below-chord", label="Algorithm 1, line 14 (ours)", kind="tight")
def elbow_below_chord(context: Context) -> Finding:
    """The curve of within-cluster sums lies below its chord, and on it only for a regular simplex.

    Hypotheses
        z >= 3 distinct points, the curve WCSS_1 .. WCSS_z of the least sums.

    Statement
        WCSS_k <= WCSS_1 (z - k) / (z - 1) for k = 1 .. z, with equality for all k exactly where all pairs
        of points have the same distance. So the elbow answers 1 for a regular simplex and for no
        other set of z >= 3 winners, and never z.

    Symbols
        z the number of winners.

    Source
        Ours on Zhang and Qiao (2024), Algorithm 1, line 14 and (6). Tight. The only sets of winners
        that are called one cluster are thus those that are most clearly z of them.

    Proof
        Make k - 1 random points clusters of their own and the rest one cluster. Its sum is that of the
        squared distances of its pairs over z - k + 1; in the mean over the choices that is WCSS_1 (z - k)
        / (z - 1), and the least sum is at most the mean. At k = z - 1 the sum is half of one pair's squared
        distance: if the least equals the mean, all pairs are equal; then every partition attains it.

    Checked
        Random points at whole numbers and regular simplices, all partitions in rational arithmetic; and
        the elbow of ours on these curves.
    """
    stream = context.generator("points")
    trials = context.number_of_trials(25)
    failures, simplices, ratio = 0, 0, Fraction(0)
    for _ in range(trials):
        points = random_points(stream)
        curve = exact_curve(points)
        line = chord(curve)
        regular = equidistant(points)
        simplices += regular
        below = all(value <= on_chord for value, on_chord in zip(curve, line, strict=True))
        answer = elbow(np.array([float(value) for value in curve]))
        right = below and (curve == line) == regular and (answer == 1) == regular and answer < len(points)
        failures += not right
        ratio = max(
            ratio, *(value / on_chord for value, on_chord in zip(curve[1:-1], line[1:-1], strict=True))
        )
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest WCSS_k over the chord in {trials} sets of 3 to 6 points, {simplices} of them regular "
        "simplices, where every ratio is 1 and the elbow answers 1; elsewhere it answers 2 .. z - 1",
        measured=float(ratio),
        bound=1.0,
        slack=float(1 / ratio),
        trials=trials,
        failures=failures,
    )
