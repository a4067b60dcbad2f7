"""What is true behind Theorem 1: the running mean, the variance that a rate keeps, the mean field."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.algorithms import self_organising_map as som
from clusterproof.theory.claims import Sides, at_most, choice, claim, drawn, equal, integers, rationals
from clusterproof.theory.exact.algebra import NotNegative, Number, Share
from clusterproof.theory.papers.sofl.cells import cell_bounds, cell_error, mean_field_fixed_point


def hit_rate(hits: int) -> Fraction:
    """Rate of a neuron's n-th sample under which it is the mean of its samples."""
    return Fraction(1, hits)


def nearest(neurons: list[Fraction], sample: Fraction) -> int:
    """Index of the neuron at the least distance from a sample."""
    distances = [abs(neuron - sample) for neuron in neurons]
    return distances.index(min(distances))


def draw_samples(stream: np.random.Generator) -> tuple[list[float], list[float]]:
    """Draw two to five neurons, and 5 to 39 samples."""
    neurons = stream.standard_normal(int(stream.integers(2, 6))).tolist()
    return neurons, stream.standard_normal(int(stream.integers(5, 40))).tolist()


def read_samples(code: Any) -> tuple[list[float], list[float]]:
    """Read neurons and samples."""
    neurons, samples = ([float(Fraction(each)) for each in values] for values in code)
    if not (neurons and samples):
        raise ValueError("at least one neuron and one sample are needed")
    return neurons, samples


Samples = Annotated[tuple[list[float], list[float]], drawn(draw_samples, write=list, read=read_samples)]
"""Neurons in a row before the first sample, and the samples in their order."""


@claim("sofl/running-mean", label="Theorem 1", judges="ours", evaluations=50)
def running_mean(samples: Samples) -> Sides:
    """A winner that alone moves, by one over its hits, is the mean of all samples that it has won.

    Hypotheses
        sigma -> 0: only the best matching unit moves; its n-th sample moves it with eta = 1/n.

    Statement
        w_c(n) = (x_1 + .. + x_n) / n over the samples that c has won so far, at every update.

    Source
        MacQueen (1967), reference 18 of Zhang and Qiao (2024); the exact core of Theorem 1. Identity. The
        samples are those won along the way, not those of the final cell.

    Proof
        w + (x - w) / n = ((n - 1) w + x) / n.
    """
    return equal(*((neuron, sum(won) / len(won)) for _, neuron, won in wins(samples)))


def wins(samples: tuple[list[float], list[float]]) -> Iterator[tuple[Fraction, Fraction, list[Fraction]]]:
    """Yield the winner of each sample before and after it, and what the winner has won, in rational arithmetic."""
    neurons = [Fraction(value) for value in samples[0]]
    won: list[list[Fraction]] = [[] for _ in neurons]
    for sample in map(Fraction, samples[1]):
        winner = nearest(neurons, sample)
        won[winner].append(sample)
        before = neurons[winner]
        neurons[winner] += hit_rate(len(won[winner])) * (sample - before)
        yield before, neurons[winner], won[winner]


@running_mean.step("algebra", needed=False)
def running_mean_on_symbols(mean: Number, sample: Number, before: NotNegative) -> Sides:
    """From ``before`` samples with this mean to the next: moved by 1 / n, the neuron is the mean of all n."""
    n = before + 1
    return equal((mean + (sample - mean) / n, (before * mean + sample) / n))


@running_mean.step("map", evaluations=50, needed=False)
def running_mean_of_the_map(samples: Samples) -> Sides:
    """The map's neurons are those in rational arithmetic."""
    exact, hits = [Fraction(value) for value in samples[0]], [0] * len(samples[0])
    neurons = np.array(samples[0])[None, :, None]
    for value in samples[1]:
        winner = nearest(exact, Fraction(value))
        hits[winner] += 1
        rate = hit_rate(hits[winner])
        exact[winner] += rate * (Fraction(value) - exact[winner])
        neurons = som.train(
            neurons,
            np.array([[value]]),
            np.array([0]),
            learning_rate=float(rate),
            radius=0.0,
            distance="euclidean",
        )
    return equal((neurons.ravel(), np.array([float(each) for each in exact])), rounding=1e-9)


def kept_variance(rate: Fraction, updates: int | None) -> Fraction:
    """Variance of a neuron, in units of its cell's: eta / (2 - eta) (1 - (1 - eta)^(2n))."""
    limit = rate / (2 - rate)
    return limit if updates is None else limit * (1 - (1 - rate) ** (2 * updates))


Updates = Annotated[int, integers(1, 5)]
Rate = Annotated[Fraction, rationals(Fraction(1, 10), 1, 10)]
Probabilities = dict[int, Fraction]


def draw_law(stream: np.random.Generator) -> Probabilities:
    """Draw two or three integers and their probabilities."""
    values = stream.choice(np.arange(-9, 10), int(stream.integers(2, 4)), replace=False).tolist()
    weights = stream.integers(1, 100, len(values)).tolist()
    return {value: Fraction(weight, sum(weights)) for value, weight in zip(values, weights, strict=True)}


def write_law(law: Probabilities) -> list[list[Any]]:
    """Write values and probabilities."""
    return [[value, str(chance)] for value, chance in law.items()]


def read_law(code: Any) -> Probabilities:
    """Read what ``write_law`` wrote."""
    law = {int(value): Fraction(chance) for value, chance in code}
    if sum(law.values()) != 1 or min(law.values()) < 0:
        raise ValueError("probabilities are needed")
    return law


Law = Annotated[Probabilities, drawn(draw_law, write=write_law, read=read_law)]


def variance_of(law: Probabilities) -> Fraction:
    """Return the variance of a sample."""
    mean = sum(chance * value for value, chance in law.items())
    return sum((chance * (value - mean) ** 2 for value, chance in law.items()), Fraction(0))


@claim("sofl/frozen-cell-variance", label="Theorem 1", judges="ours", evaluations=50)
def frozen_cell_variance(law: Law, updates: Updates, rate: Rate) -> Sides:
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
    values, mean, square = list(law), 0.0, 0.0
    for sequence in itertools.product(range(len(values)), repeat=updates):
        neuron = np.array([[[float(values[0])]]])
        for sample in sequence:
            neuron = som.train(
                neuron,
                np.array(values, dtype=float)[:, None],
                np.array([sample]),
                learning_rate=float(rate),
                radius=0.0,
            )
        chance = math.prod(float(law[values[sample]]) for sample in sequence)
        mean += chance * float(neuron[0, 0, 0])
        square += chance * float(neuron[0, 0, 0]) ** 2
    formula = float(kept_variance(rate, updates) * variance_of(law))
    return equal((square - mean**2, formula), rounding=1e-9)


@frozen_cell_variance.step("algebra", needed=False)
def frozen_cell_variance_on_symbols(
    updates: Annotated[int, choice(1, 2, 3, 4, 5)],
    rate: Share,
    start: Number,
    mean: Number,
    variance: NotNegative,
) -> Sides:
    """The first two moments of w' = (1 - eta) w + eta x, where x is independent of w, update by update."""
    kept, first, second = 1 - rate, start, start**2
    for _ in range(updates):
        second = kept**2 * second + 2 * kept * rate * first * mean + rate**2 * (mean**2 + variance)
        first = kept * first + rate * mean
    formula = rate / (2 - rate) * (1 - kept ** (2 * updates)) * variance
    return equal((second - first**2, formula))


def pull(points: np.ndarray, radius: float) -> np.ndarray:
    """Bound on |w_j - m_j|: the neighbours' weight, over all weight, times the distance of the means."""
    bounds = cell_bounds(points)
    widths, centres = np.diff(bounds), (bounds[1:] + bounds[:-1]) / 2
    grid = np.arange(len(points))
    weights = np.exp(-((grid[:, None] - grid[None]) ** 2) / (2 * radius**2)) * widths
    others = weights.sum(axis=1) - np.diag(weights)
    reach = np.abs(centres[:, None] - centres[None]).max(axis=1)
    return np.asarray(others / weights.sum(axis=1) * reach)


RADII = (0.15, 0.2, 0.3, 0.5, 1.0, 1.5)


@claim("sofl/mean-field-fixed-point", label="Theorem 1", judges="ours")
def mean_field(neurons: Annotated[int, integers(2, 12, upwards=True)]) -> dict[str, Sides]:
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
    rows = [mean_field_fixed_point(neurons, radius) for radius in RADII]
    ends = [cell_bounds(points) for points in rows]
    distance = np.stack(
        [np.abs(points - (each[1:] + each[:-1]) / 2) for points, each in zip(rows, ends, strict=True)]
    )
    allowed = np.stack([pull(points, radius) for points, radius in zip(rows, RADII, strict=True)])
    errors = np.array([cell_error(points) for points in rows])
    middles = (np.arange(neurons) + 0.5) / neurons
    return {
        "bound": at_most(distance, pull=allowed),
        "monotone": at_most(errors[:-1], wider=errors[1:]),
        "zero": equal((mean_field_fixed_point(neurons, 0.0), middles), rounding=1e-10),
    }
