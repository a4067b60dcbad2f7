"""Label distribution skew: what one model for all clients can reach, and what Tables 3 and 4 print."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from theory.claim import Context, register
from theory.counterexample import Instance, Number, replay_with
from theory.sofl.tables import SINGLE_MODEL, TABLE_3, TABLE_4, TEST_IMAGES
from theory.statistics import binomial_quantile
from theory.verdict import Finding, Kind

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
    parts = stream.integers(1, 10, count).tolist()
    return [Fraction(part, sum(parts)) for part in parts]


@register("sofl/label-shift-ceiling", label="Section 5.1.1, label skew (ours)", kind="tight")
def label_shift_ceiling(context: Context) -> Finding:
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
    stream = context.generator("partitions")
    trials = context.number_of_trials(40)
    failures = 0
    for _ in range(trials):
        classes, inputs, clusters = (
            int(stream.integers(low, high)) for low, high in ((2, 5), (1, 4), (1, 5))
        )
        truth = stream.integers(0, classes, inputs).tolist()
        shifts = stream.integers(0, classes + 2, clusters).tolist()
        weights, masses = random_weights(clusters, stream), random_weights(inputs, stream)
        failures += best_by_trying(truth, masses, shifts, weights, classes) != ceiling(
            shifts, weights, classes
        )
    equal = {k: ceiling(range(k), [Fraction(1, k)] * k, 10) for k in (2, 4, 8)}
    failures += any(limit != Fraction(1, k) for k, limit in equal.items())
    even = ceiling(range(0, 16, 2), [Fraction(1, 8)] * 8, 10)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"the ceiling is the best of all functions in {trials} random partitions; "
        + ", ".join(f"K = {k}: {float(limit):.4g}" for k, limit in equal.items())
        + f"; K = 8 with the shifts 0, 2, .. 14, of which five are distinct modulo 10: {float(even):.4g}",
        measured=float(equal[4]),
        bound=0.25,
        slack=1.0,
        trials=trials + len(equal),
        failures=failures,
    )


def evaluate(instance: Instance) -> tuple[Number, Number]:
    """A printed accuracy, and what one model reaches but for a chance of 1e-4 of the test images."""
    clusters, images = int(instance["clusters"]), int(instance["test_images"])
    accuracy = Fraction(instance["accuracy_percent"]) / 100
    return accuracy, Fraction(binomial_quantile(images, 1 / clusters, CHANCE), images)


def tail(clusters: int, images: int, percent: Fraction) -> float:
    """P(Bin(images, 1 / clusters) >= the printed accuracy)."""
    from scipy.special import bdtrc

    return float(bdtrc(math.ceil(percent * images / 100) - 1, images, 1 / clusters))


def judge(cells: list[tuple[str, int, str, Fraction]], context: Context) -> Finding:
    """Compare the printed accuracies of single models, (data, K, method, percent), with the ceiling."""
    chances = [tail(clusters, TEST_IMAGES[data], percent) for data, clusters, _, percent in cells]
    impossible = [cell for cell, chance in zip(cells, chances, strict=True) if chance < CHANCE]
    worst = min(range(len(cells)), key=lambda place: (chances[place], -cells[place][3] * cells[place][1]))
    data, clusters, _, percent = cells[worst]
    instance: Instance = {
        "clusters": clusters,
        "accuracy_percent": percent,
        "test_images": TEST_IMAGES[data],
    }
    measured, allowed = evaluate(instance)
    written = ", ".join(f"{m} {float(p):.4g} on {d}, K = {k}" for d, k, m, p in impossible)
    clients = 20
    unequal = Fraction(-(-clients // clusters), clients)
    note = (
        f"; 20 clients cannot form {clusters} equal clusters, and with sizes as equal as possible the ceiling is "
        f"{float(unequal):.3g}"
        if clients % clusters
        else ""
    )
    return Finding(
        verdict=Kind.VIOLATED if impossible else Kind.CONSISTENT,
        reason=(
            f"{len(impossible)} of {len(cells)} entries are above 1/K beyond chance: {written}; the last test accuracy "
            f"that {TEST_IMAGES[data]} images allow at K = {clusters} is {float(allowed):.4g}{note}"
            if impossible
            else f"none of {len(cells)} entries is above 1/K beyond chance; the most unlikely has probability "
            f"{chances[worst]:.2g}"
        ),
        measured=float(measured),
        bound=float(allowed),
        slack=float(allowed / measured),
        trials=None if impossible else len(cells),
        failures=len(impossible),
        counterexample=(
            {
                "clusters": clusters,
                "accuracy_percent": f"{percent.numerator}/{percent.denominator}",
                "test_images": TEST_IMAGES[data],
            }
            if impossible
            else None
        ),
    )


@register("sofl/table-3-label-skew", label="Table 3, label distribution skew", kind="upper",
          replay=replay_with(evaluate), repaired_by="sofl/label-shift-ceiling")  # fmt: skip
def table_3_label_skew(context: Context) -> Finding:
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
        training on each client can be as high; the paper does not say so, and Table 4 has 25.17.

    Proof
        The test images are independent and right with a mean probability of at most 1/K. By Hoeffding (1956)
        the number right exceeds what Bin(n, 1/K) does by no larger a chance, above the mean plus one.

    Checked
        The printed numbers against the ceiling, with a chance of 1e-4 for n = 2000 (MNIST) and 4000 (CIFAR-10)
        test images, a fifth of the data.
    """
    cells = [
        (data, 4, method, row[method])
        for (skew, data), row in TABLE_3.items()
        if skew == "label"
        for method in SINGLE_MODEL
    ]
    return judge(cells, context)


@register("sofl/table-4-single-model", label="Table 4, FedAvg and FedProx", kind="upper",
          replay=replay_with(evaluate), repaired_by="sofl/label-shift-ceiling")  # fmt: skip
def table_4_single_model(context: Context) -> Finding:
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
    cells = [
        (data, clusters, method, row[method])
        for (data, clusters), row in TABLE_4.items()
        for method in SINGLE_MODEL
    ]
    return judge(cells, context)
