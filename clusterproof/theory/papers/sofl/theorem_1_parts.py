"""What is true behind Theorem 1: the running mean, the variance that a rate keeps, the mean field."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.algorithms import self_organising_map as som
from clusterproof.theory.claims import Q, Sides, Stream, Z, among, at_most, claim, equal, integers, sequences
from clusterproof.theory.exact.algebra import NotNegative, Number, Share
from clusterproof.theory.papers.sofl.cells import intervals, mean_field_fixed_point

NEURONS: Any = sequences(Q[-3:3:8], 3)
SAMPLES: Any = sequences(Q[-3:3:8], 8)


def wins(
    neurons: Sequence[Fraction], samples: Sequence[Fraction]
) -> list[tuple[int, Fraction, list[Fraction]]]:
    """Return the winner of each sample, where it is after it, and all that it has won; its n-th sample has rate 1/n."""
    places, history = list(neurons), []
    won: list[list[Fraction]] = [[] for _ in neurons]
    for sample in samples:
        distances = [abs(place - sample) for place in places]
        winner = distances.index(min(distances))
        won[winner] = [*won[winner], sample]
        places[winner] += (sample - places[winner]) / len(won[winner])
        history.append((winner, places[winner], won[winner]))
    return history


@claim("sofl/running-mean", label="Theorem 1", judges="ours", evaluations=50)
def running_mean(neurons: tuple[Fraction, ...] = NEURONS, samples: tuple[Fraction, ...] = SAMPLES) -> Sides:
    """A winner that alone moves, by one over its hits, is the mean of all samples that it has won.

    Hypotheses
        sigma -> 0: only the best matching unit moves; its n-th sample moves it with eta = 1/n. Neurons and samples on a
        line.

    Statement
        w_c(n) = (x_1 + .. + x_n) / n over the samples that c has won so far, at every update.

    Source
        MacQueen (1967), reference 18 of Zhang and Qiao (2024); the exact core of Theorem 1. Identity. The
        samples are those won along the way, not those of the final cell.

    Proof
        w + (x - w) / n = ((n - 1) w + x) / n.
    """
    return equal(*((neuron, sum(won) / len(won)) for _, neuron, won in wins(neurons, samples)))


@running_mean.step("algebra", needed=False)
def running_mean_on_symbols(mean: Number, sample: Number, before: NotNegative) -> Sides:
    """From ``before`` samples with this mean to the next: moved by 1 / n, the neuron is the mean of all n."""
    n = before + 1
    return equal((mean + (sample - mean) / n, (before * mean + sample) / n))


@running_mean.step("map", evaluations=50, needed=False)
def running_mean_of_the_map(
    neurons: tuple[Fraction, ...] = NEURONS, samples: tuple[Fraction, ...] = SAMPLES
) -> Sides:
    """The map's neurons are those in rational arithmetic."""
    row, expected = np.array(neurons, dtype=float)[None, :, None], np.array(neurons, dtype=float)
    for sample, (winner, place, won) in zip(samples, wins(neurons, samples), strict=True):
        data, expected[winner] = np.array([[float(sample)]]), float(place)
        row = som.train(
            row, data, np.array([0]), learning_rate=1 / len(won), radius=0.0, distance="euclidean"
        )
    return equal((row.ravel(), expected), rounding=1e-9)


@claim("sofl/frozen-cell-variance", label="Theorem 1", judges="ours", evaluations=50)
def frozen_cell_variance(
    stream: Stream, updates: int = Z[1:5], rate: Fraction = Q[Fraction(1, 10) : 1 : 10]
) -> Sides:
    """At a constant rate a neuron keeps the share eta / (2 - eta) of its cell's variance for ever.

    Hypotheses
        The cell does not change, its samples are independent, the radius is 0, eta in (0, 1] constant.

    Statement
        Var w(n) = (eta / (2 - eta)) (1 - (1 - eta)^(2n)) Var(x | X_c), which tends to eta / (2 - eta).

    Source
        Ours on Zhang and Qiao (2024), Theorem 1 and (10). Identity. With SoFL's eta_0 / 3 = 1/30 the share is 1/59.

    Proof
        w(n) is a weighted sum of independent samples with weights eta (1 - eta)^k: add their squares.
    """
    values, law, eta = 5 * stream.standard_normal(3), stream.dirichlet(np.ones(3)), float(rate)
    chances, ends = np.ones(1), values[:1]
    for _ in range(updates):  # every end of the runs so far, and each sample after it
        moved = [_moved(end, value, eta) for end in ends for value in values]
        chances, ends = np.outer(chances, law).ravel(), np.array(moved)
    kept = (1 - (1 - eta) ** (2 * updates)) * eta / (2 - eta)
    return equal((_variance(chances, ends), kept * _variance(law, values)), rounding=1e-9)


def _moved(neuron: float, sample: float, rate: float) -> float:
    """Return a lone neuron on a line after one sample."""
    row, data = np.array([[[neuron]]]), np.array([[sample]])
    return float(som.train(row, data, np.array([0]), learning_rate=rate, radius=0.0).item())


def _variance(law: np.ndarray, values: np.ndarray) -> float:
    return float(law @ (values - law @ values) ** 2)


@frozen_cell_variance.step("algebra", needed=False)
def frozen_cell_variance_on_symbols(
    rate: Share, start: Number, mean: Number, variance: NotNegative, updates: int = among(1, 2, 3, 4, 5)
) -> Sides:
    """The first two moments of w' = (1 - eta) w + eta x, where x is independent of w, update by update."""
    kept, first, second = 1 - rate, start, start**2
    for _ in range(updates):
        second = kept**2 * second + 2 * kept * rate * first * mean + rate**2 * (mean**2 + variance)
        first = kept * first + rate * mean
    return equal((second - first**2, rate / (2 - rate) * (1 - kept ** (2 * updates)) * variance))


RADII = (0.15, 0.2, 0.3, 0.5, 1.0, 1.5)
ROW: Any = integers(2, 12, upwards=True)


@claim("sofl/mean-field-fixed-point", label="Theorem 1", judges="ours")
def mean_field(neurons: int = ROW) -> dict[str, Sides]:
    """As the radius vanishes, the point where the mean update rests goes to the cells' means.

    Hypotheses
        The mean update of (10) with a constant radius sigma > 0, x uniform on [0, 1], sorted neurons.

    Statement
        At the fixed point w_j = sum_k g_jk P_k m_k / sum_k g_jk P_k the distance is at most
        |w_j - m_j| <= (sum_(k != j) g_jk P_k / sum_k g_jk P_k) max_k |m_k - m_j|, which is O(exp(-1 / 2 sigma^2));
        at sigma = 0 it is zero. The mean error never falls when sigma grows. g_jk is
        exp(-(j - k)^2 / 2 sigma^2), P_k and m_k are the cells' probabilities and means.

    Source
        Ours on Zhang and Qiao (2024), Theorem 1, (10) and (11). Upper bound. SoFL's schedule ends at
        sigma = 1/2, where neighbours still weigh exp(-2) = 0.135.

    Proof
        w_j - m_j is the weighted mean of m_k - m_j over all k; the own term is zero.
    """
    distances, pulls, errors = [], [], []
    for radius in RADII:
        points, weights = mean_field_fixed_point(neurons, radius)
        widths, centres = intervals(points)
        others = 1 - np.diag(weights) / weights.sum(axis=1)
        distances.append(np.abs(points - centres))
        pulls.append(others * np.abs(centres[:, None] - centres[None]).max(axis=1))
        errors.append(((points - centres) ** 2).mean() / (widths**2 / 12).mean())
    middles = (np.arange(neurons) + 0.5) / neurons
    return {
        "bound": at_most(np.stack(distances), pull=np.stack(pulls)),
        "monotone": at_most(np.array(errors[:-1]), wider=np.array(errors[1:])),
        "zero": equal((mean_field_fixed_point(neurons, 0.0)[0], middles), rounding=1e-10),
    }
