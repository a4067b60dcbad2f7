"""Label distribution skew: what one model for all clients can reach, and what Tables 3 and 4 print."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.theory.checker import Family, Sides, Stream, at_most, choice, equal, integers
from clusterproof.theory.checker.statistics import binomial_quantile
from clusterproof.theory.papers.sofl.tables import SINGLE_MODEL, TABLE_3, TABLE_4, TEST_IMAGES

PAPER = Family("sofl")

CHANCE = 1e-4
"""Probability with which the test images alone may lift an accuracy above the limit that it is compared with."""


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


@PAPER.claim(
    "label-shift-ceiling",
    label="Section 5.1.1, label skew (ours)",
    kind="tight",
    part="all functions",
    budget=40,
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

    Checked
        Every function h on one to three inputs and two to four labels, with random shifts, weights and
        masses, in rational arithmetic: the best is the ceiling. Then the ceiling of the paper's partitions.
    """
    truth = stream.integers(0, classes, inputs).tolist()
    shifts = stream.integers(0, classes + 2, clusters).tolist()
    weights, masses = random_weights(clusters, stream), random_weights(inputs, stream)
    best = best_by_trying(truth, masses, shifts, weights, classes)
    return equal((best, ceiling(shifts, weights, classes)))


@label_shift_ceiling.step("the paper's partitions")
def equal_clusters(clusters: Annotated[int, choice(2, 4, 8)]) -> Sides:
    """K equal clusters with distinct shifts have the ceiling 1/K."""
    return equal((ceiling(range(clusters), [Fraction(1, clusters)] * clusters, 10), Fraction(1, clusters)))


def below_ceiling(percent: Fraction, clusters: int, data: str) -> Sides:
    """Conclude that one model reaches a printed accuracy, up to a chance of 1e-4 of the test images."""
    images = TEST_IMAGES[data]
    return at_most(percent / 100, by_chance=Fraction(binomial_quantile(images, 1 / clusters, CHANCE), images))


Data = Annotated[str, choice(*TEST_IMAGES)]
Method = Annotated[str, choice(*SINGLE_MODEL)]


@PAPER.claim(
    "table-3-label-skew",
    label="Table 3, label distribution skew",
    kind="upper",
    repaired_by="sofl/label-shift-ceiling",
)
def table_3_label_skew(data: Data, method: Method) -> Sides:
    """The accuracies of FedAvg and FedProx under label skew in Table 3 are those of one global model.

    Hypotheses
        K = 4, labels + {0, 2, 4, 6} mod 10, five clients each (Section 5.1.1); FedAvg and FedProx train one
        model for all (Section 5.1.3), and its accuracy on the clients' test sets is averaged.

    Statement
        A mean accuracy of one model, at most 1/4 in expectation: 71.89, 72.83, 38.3, 38.8.

    Symbols
        K ``clusters``.

    Source
        Zhang and Qiao (2024), Table 3. Contradicts ``sofl/label-shift-ceiling``. An accuracy after local
        training on each client can be as high; the paper does not state it, and Table 4 has 25.17.

    Proof
        The test images are independent and right with a mean probability of at most 1/K. By Hoeffding (1956)
        the number right exceeds what Bin(n, 1/K) does by no larger a chance, above the mean plus one.

    Checked
        The printed numbers against the ceiling, with a chance of 1e-4 for n = 2000 (MNIST) and 4000 (CIFAR-10)
        test images, a fifth of the data.
    """
    return below_ceiling(TABLE_3["label", data][method], 4, data)


@PAPER.claim(
    "table-4-single-model",
    label="Table 4, FedAvg and FedProx",
    kind="upper",
    repaired_by="sofl/label-shift-ceiling",
)
def table_4_single_model(data: Data, clusters: Annotated[int, choice(2, 4, 8)], method: Method) -> Sides:
    """The accuracies of FedAvg and FedProx in Table 4 are those of one model under K distinct shifts.

    Hypotheses
        K = 2, 4, 8 equal clusters, distinct shifts, as ``sofl/table-3-label-skew``.

    Statement
        A mean accuracy of one model, at most 1/K in expectation, for the twelve entries.

    Symbols
        K ``clusters``.

    Source
        Zhang and Qiao (2024), Table 4 and Section 5.2.6. K = 8 is the one that contradicts
        ``sofl/label-shift-ceiling``. Ways out that the paper does not name: clusters of unequal size, since
        20 is no multiple of 8 (ceiling 3/20), or shifts that repeat (1/4 with 0, 2, .. 14).

    Proof
        As ``sofl/table-3-label-skew``.

    Checked
        As ``sofl/table-3-label-skew``.
    """
    return below_ceiling(TABLE_4[data, clusters][method], clusters, data)
