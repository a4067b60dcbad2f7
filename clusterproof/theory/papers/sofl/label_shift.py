"""Label distribution skew: what one model for all clients can reach, and what Table 3 prints."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.theory.claims import Sides, Stream, at_most, choice, claim, equal, integers
from clusterproof.theory.papers.sofl.tables import SINGLE_MODEL, TABLE_3

CHANCE = 1e-4
"""Probability with which the test images alone may lift an accuracy above the limit that it is compared with."""
CLIENTS, LEAST_IMAGES = 20, 2
"""Clients of Section 5.1.1, and the least number of test images that each is assumed to have."""


def ceiling(shifts: Sequence[int], weights: Sequence[Fraction], classes: int) -> Fraction:
    """Best mean accuracy of one model: the largest weight of the clients that share a shift.

    Parameters
    ----------
    shifts
        Label shift of each client or cluster, taken modulo ``classes``.
    weights
        Of each in the mean accuracy; they sum to 1.
    classes
        Number of labels.
    """
    totals: dict[int, Fraction] = {}
    for shift, weight in zip(shifts, weights, strict=True):
        totals[shift % classes] = totals.get(shift % classes, Fraction(0)) + weight
    return max(totals.values())


def best_by_trying(
    truth: Sequence[int],
    masses: Sequence[Fraction],
    shifts: Sequence[int],
    weights: Sequence[Fraction],
    classes: int,
) -> Fraction:
    """The largest mean accuracy over all functions from the inputs to the labels."""
    best = Fraction(0)
    for predicted in itertools.product(range(classes), repeat=len(truth)):
        mean = Fraction(0)
        for shift, weight in zip(shifts, weights, strict=True):
            right = (
                mass
                for label, answer, mass in zip(truth, predicted, masses, strict=True)
                if answer == (label + shift) % classes
            )
            mean += weight * sum(right, Fraction(0))
        best = max(best, mean)
    return best


def random_weights(count: int, stream: np.random.Generator) -> list[Fraction]:
    """Positive rational weights that sum to 1."""
    numerators = stream.integers(1, 10, count).tolist()
    return [Fraction(numerator, sum(numerators)) for numerator in numerators]


@claim(
    "sofl/label-shift-ceiling", label="Section 5.1.1, label skew", judges="ours", tight=True, evaluations=40
)
def label_shift_ceiling(
    classes: Annotated[int, integers(2, 4)],
    inputs: Annotated[int, integers(1, 3)],
    clusters: Annotated[int, integers(1, 4)],
    stream: Stream,
) -> Sides:
    """Under K distinct label shifts no single model has a mean accuracy above 1/K.

    Hypotheses
        K clusters of equal weight with the same inputs; cluster c has the labels (y + s_c) mod 10, with
        distinct s_c mod 10.

    Statement
        mean over the clusters of P(h(x) = y + s_c) <= 1/K for every function h; more generally, at most
        the largest weight of clients that share a shift. Attained by h(x) = y + s.

    Symbols
        s_c ``shifts``; the accuracy is that of the server's model, before any local training.

    Source
        Ours on the partition of Zhang and Qiao (2024), Section 5.1.1. Tight; an impossibility.

    Proof
        For each x the K labels y + s_c differ, so sum_c 1{h(x) = y + s_c} <= 1.
    """
    truth = stream.integers(0, classes, inputs).tolist()
    shifts = stream.integers(0, classes + 2, clusters).tolist()
    weights, masses = random_weights(clusters, stream), random_weights(inputs, stream)
    best = best_by_trying(truth, masses, shifts, weights, classes)
    return equal((best, ceiling(shifts, weights, classes)))


@label_shift_ceiling.step("equal clusters")
def equal_clusters(clusters: Annotated[int, choice(2, 4, 8)]) -> Sides:
    """K equal clusters with distinct shifts have the ceiling 1/K."""
    return equal((ceiling(range(clusters), [Fraction(1, clusters)] * clusters, 10), Fraction(1, clusters)))


@claim(
    "sofl/table-3-label-skew",
    label="Table 3, label distribution skew, server's model",
    judges="reading",
    failure="wording",
    repaired_by="sofl/label-shift-ceiling",
)
def table_3_label_skew(method: Annotated[str, choice(*SINGLE_MODEL)]) -> Sides:
    """On MNIST the accuracies of FedAvg and FedProx under label skew in Table 3 are those of the server's one model.

    Hypotheses
        K = 4, labels + {0, 2, 4, 6} mod 10, five clients each, which have the same distribution of images and at
        least two test images. The accuracy is that of the model that the server sends, averaged over the clients.

    Statement
        A mean accuracy of one model, at most 1/4 in expectation: 71.89, 72.83.

    Symbols
        K ``clusters``.

    Source
        Zhang and Qiao (2024), Table 3 and Section 5.1.3: "we will evaluate the model accuracy on the clients and
        obtain the overall accuracy by averaging the test accuracy across all clients". That the model is the
        server's, before any local training, and that all clients have the same distribution of images, are the
        reading's: an accuracy after local training can be as high. So can CIFAR-10's 38.3 and 38.8, which are left
        out, where clients differ in their classes. Table 4 has 25.17 and 26.74: ``sofl/tables-3-and-4``.

    Proof
        By ``sofl/label-shift-ceiling`` the mean of the clients' expected accuracies is at most 1/4. By Hoeffding (1963)
        a mean over m clients with at least n independent images each exceeds its expectation by t with a probability
        of at most exp(-2 t^2 m n), however the images are divided.
    """
    chance = math.sqrt(-math.log(CHANCE) / (2 * CLIENTS * LEAST_IMAGES))
    return at_most(float(TABLE_3["label", "MNIST"][method] / 100), ceiling=0.25, by_chance=chance)
