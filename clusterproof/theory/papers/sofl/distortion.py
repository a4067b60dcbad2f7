"""Section 4.1, "minimum mean square distortion": winners at the least angle, and nearest winners."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.theory.claims import Sides, at_most, choice, claim, integers
from clusterproof.theory.papers.sofl.equations_3_6 import Point, partitions, within_sum

SAMPLES, NEURONS = 6, 2
UPDATES, RATE, RADIUS = 300, 0.1, 1.5
"""Section 5.2.2."""

Length = Annotated[int, choice(10, 3, 2)]


def points_at(length: int) -> list[Point]:
    """Return two samples in one direction, of lengths 1 and ``length``, and one across, (0, 1)."""
    return [(Fraction(x), Fraction(y)) for x, y in ((1, 0), (length, 0), (0, 1))]


def least_distortion(points: list[Point], *, one_direction: bool) -> Fraction:
    """Return the least sum of squared distances from two neurons, whose first two samples share a winner if asked."""
    return min(
        within_sum(points, labels)
        for labels in partitions(len(points))
        if max(labels) < NEURONS and (labels[0] == labels[1] or not one_direction)
    )


@claim(
    "sofl/mean-square-distortion",
    label="Section 4.1, mean square distortion",
    judges="reading",
    repaired_by="sofl/mean-square-distortion-nearest",
)
def mean_square_distortion(length: Length) -> Sides:
    """Some map with winners by (9) has the least mean square distortion that its number of neurons allows.

    Hypotheses
        Samples (1, 0), (``length``, 0) and (0, 1); two neurons. The distortion is the sum of squared Euclidean
        distances of the samples from their winners, and winners have the largest cosine, (8) and (9).

    Statement
        The least distortion over all pairs of neurons, with these winners, is the least one over all pairs with
        any winners.

    Source
        Zhang and Qiao (2024), Section 4.1: "By adjusting the winning neurons and their neighborhoods according to the
        client parameters, the SOM forms a quantitative mapping with minimum mean square distortion". Which distortion,
        and the minimum over what, are the reading's. Samples in one direction have one winner, however far apart they
        are. With distances for cosines, which (7) allows: ``sofl/mean-square-distortion-nearest``.
    """
    points = points_at(length)
    shared, least = (least_distortion(points, one_direction=together) for together in (True, False))
    return at_most(
        shared,
        least=least,
        words=lambda: (
            f"samples (1, 0), ({length}, 0) and (0, 1), two neurons: by (9) the first two samples have one winner, so "
            f"that the sum of squared distances is at least {shared}; two neurons have {least}"
        ),
    )


def draw(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Six samples and two neurons in the plane, with coordinates from 1 to 9, drawn from a number."""
    stream = np.random.default_rng(number)
    return stream.integers(1, 10, (SAMPLES, 2)).astype(float), stream.integers(1, 10, (NEURONS, 2)).astype(
        float
    )


def winners(samples: np.ndarray, neurons: np.ndarray) -> np.ndarray:
    """Return the nearest neuron of each sample, the first of ties."""
    return np.asarray(((samples[:, None] - neurons) ** 2).sum(axis=-1).argmin(axis=1))


def distortion(samples: np.ndarray, neurons: np.ndarray) -> float:
    """Return the sum of squared distances of the samples from their winners."""
    return float(((samples - neurons[winners(samples, neurons)]) ** 2).sum())


def moved(samples: np.ndarray, neurons: np.ndarray, rate: float) -> np.ndarray:
    """Neurons after the mean of the update (10) over all samples, with the winner alone in the neighbourhood."""
    chosen, after = winners(samples, neurons), neurons.copy()
    for neuron in range(len(neurons)):
        if (chosen == neuron).any():
            after[neuron] += rate * (samples[chosen == neuron].mean(axis=0) - neurons[neuron])
    return after


@claim("sofl/mean-square-distortion-nearest", label="Section 4.1, nearest winner", judges="ours")
def mean_square_distortion_nearest(
    number: Annotated[int, integers(0, 300)], rate: Annotated[float, choice(1.0, 0.5)]
) -> Sides:
    """With the nearest neuron as the winner the mean update never raises the mean square distortion.

    Hypotheses
        The winner is the nearest neuron, and the update (10) goes towards the sample; in the mean over the samples,
        with the winner alone in the neighbourhood. With rate 1 the map has degenerated into k-means.

    Statement
        The sum of squared distances of the samples from their winners does not rise.

    Source
        Ours; the step of Lloyd's algorithm, shortened by the rate.
    """
    samples, neurons = draw(number)
    after = moved(samples, neurons, rate)
    return at_most(distortion(samples, after), before=distortion(samples, neurons))
