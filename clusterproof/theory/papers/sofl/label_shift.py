"""A claim on label distribution skew: the best accuracy of one model for all clients."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from clusterproof.checker.claims import Sides, Stream, Z, among, claim, equal


def ceiling(shifts: Sequence[int], weights: Sequence[Fraction], classes: int) -> Fraction:
    """Return the best mean accuracy of one model, which is the largest total weight of clients with the same shift.

    Parameters
    ----------
    shifts
        Label shift of each client or cluster, taken modulo ``classes``.
    weights
        Weight of each shift in the mean accuracy. The weights sum to 1.
    classes
        Number of labels.
    """
    totals: dict[int, Fraction] = {}
    for shift, weight in zip(shifts, weights, strict=True):
        totals[shift % classes] = totals.get(shift % classes, Fraction(0)) + weight
    return max(totals.values())


def random_weights(count: int, stream: np.random.Generator) -> list[Fraction]:
    """Return positive rational weights that sum to 1."""
    numerators = stream.integers(1, 10, count).tolist()
    return [Fraction(numerator, sum(numerators)) for numerator in numerators]


@claim(
    "sofl/label-shift-ceiling",
    label="Section 5.1.1, label skew",
    source="ours",
    tight=True,
    evaluations=40,
    expected="consistent, no sharpness",
    headline=True,
)
def label_shift_ceiling(
    stream: Stream, classes: int = Z[2:4], inputs: int = Z[1:3], clusters: int = Z[1:4]
) -> Sides:
    """With K distinct label shifts, no single model has a mean accuracy above 1/K.

    Hypotheses
        There are K clusters of equal weight with the same inputs. Cluster c has the labels (y + s_c) mod 10, with
        distinct s_c mod 10. The claim is about the accuracy of the server's model, before any local training.

    Statement
        The mean over the clusters of P(h(x) = y + s_c) is at most 1/K for every function h. If the weights differ, it
        is at most the largest total weight of clients with the same shift. The function h(x) = y + s attains the
        bound.

    Source
        Ours, about the partition in Zhang and Qiao (2024), Section 5.1.1. Equality can occur.

    Proof
        For each x the K labels y + s_c differ, so sum_c 1{h(x) = y + s_c} <= 1.
    """
    truth = stream.integers(0, classes, inputs).tolist()
    shifts = stream.integers(0, classes + 2, clusters).tolist()
    weights, masses = random_weights(clusters, stream), random_weights(inputs, stream)
    pairs = list(product(zip(truth, masses, strict=True), zip(shifts, weights, strict=True)))
    accuracies = (
        sum(
            mass * weight
            for ((label, mass), (shift, weight)), answer in zip(
                pairs, np.repeat(predicted, clusters), strict=True
            )
            if answer == (label + shift) % classes
        )
        for predicted in product(range(classes), repeat=inputs)
    )
    return equal((max(accuracies), ceiling(shifts, weights, classes)))


@label_shift_ceiling.step("equal clusters")
def equal_clusters(clusters: int = among(2, 4, 8)) -> Sides:
    """For K = 2, 4 or 8 clusters of equal weight with the shifts 0 .. K - 1, the largest weight of a shift is 1/K."""
    return equal((ceiling(range(clusters), [Fraction(1, clusters)] * clusters, 10), Fraction(1, clusters)))
