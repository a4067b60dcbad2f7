"""What is true behind Theorem 1: the running mean, the variance that a rate keeps, the mean field."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import self_organising_map as som
from clusterproof.theory.checker import Family, Sides, Stream, at_most, choice, equal, integers, rationals
from clusterproof.theory.exact.algebra import NotNegative, Number, Share
from clusterproof.theory.papers.sofl.uniform_cells import cell_bounds, cell_error, mean_field_fixed_point

PAPER = Family("sofl")


def hit_rate(hits: int) -> Fraction:
    """Rate of a neuron's n-th sample under which it is the mean of its samples."""
    return Fraction(1, hits)


def nearest(neurons: list[Fraction], sample: Fraction) -> int:
    """Index of the neuron at the least distance from a sample."""
    distances = [abs(neuron - sample) for neuron in neurons]
    return distances.index(min(distances))


Count = Annotated[int, integers(2, 5)]
Length = Annotated[int, integers(5, 39)]


@PAPER.claim("running-mean", label="Theorem 1", judges="ours", kind="identity", budget=30)
def running_mean(count: Count, length: Length, stream: Stream) -> Sides:
    """A winner that alone moves, by one over its hits, is the mean of all samples that it has won.

    Hypotheses
        sigma -> 0: only the best matching unit moves; its n-th sample moves it with eta = 1/n.

    Statement
        w_c(n) = (x_1 + .. + x_n) / n over the samples that c has won so far, at every update.

    Symbols
        n the hits of neuron c; radius 0.

    Source
        MacQueen (1967), reference 18 of Zhang and Qiao (2024); the exact core of Theorem 1. Identity. The
        samples are those won along the way, not those of the final cell.

    Proof
        w + (x - w) / n = ((n - 1) w + x) / n.

    Checked
        Proved symbolically, from sample to sample. Gaussian samples on a row of two to five neurons in rational
        arithmetic, each winner from the mean of what it has won before, and next to it our map, one
        update at a time with radius 0: equal to 1e-9.
    """
    neurons = [Fraction(float(value)) for value in stream.standard_normal(count)]
    hits, rows = [0] * count, []
    for value in stream.standard_normal(length):
        sample = Fraction(float(value))
        winner = nearest(neurons, sample)
        rows.append((neurons[winner], sample, Fraction(hits[winner])))
        hits[winner] += 1
        neurons[winner] += hit_rate(hits[winner]) * (sample - neurons[winner])
    return running_mean_on_symbols(*np.array(rows, dtype=object).T)


@running_mean.proof("algebra")
def running_mean_on_symbols(mean: Number, sample: Number, before: NotNegative) -> Sides:
    """From ``before`` samples with this mean to the next: moved by 1 / n, the neuron is the mean of all n."""
    n = before + 1
    return equal((mean + (sample - mean) / n, (before * mean + sample) / n))


@running_mean.step("map", budget=30)
def running_mean_of_the_map(count: Count, length: Length, stream: Stream) -> dict[str, Sides]:
    """The map's neurons, and those in rational arithmetic, are the sums of what they have won over its number."""
    samples = stream.standard_normal(length)
    exact = [Fraction(float(value)) for value in stream.standard_normal(count)]
    neurons = np.array([[float(value)] for value in exact])[None]
    won: list[list[Fraction]] = [[] for _ in range(count)]
    means = []
    for value in samples:
        sample = Fraction(float(value))
        winner = nearest(exact, sample)
        won[winner].append(sample)
        rate = hit_rate(len(won[winner]))
        exact[winner] += rate * (sample - exact[winner])
        neurons = som.train(
            neurons,
            np.array([[value]]),
            np.array([0]),
            learning_rate=float(rate),
            radius=0.0,
            distance="euclidean",
        )
        means.append((exact[winner], sum(won[winner], Fraction(0)) / len(won[winner])))
    return {
        "mean": equal(*means),
        "map": equal((neurons.ravel(), np.array([float(each) for each in exact])), rounding=1e-9),
    }


def kept_variance(rate: Fraction, updates: int | None) -> Fraction:
    """Variance of a neuron, in units of its cell's: eta / (2 - eta) (1 - (1 - eta)^(2n))."""
    limit = rate / (2 - rate)
    return limit if updates is None else limit * (1 - (1 - rate) ** (2 * updates))


Size = Annotated[int, integers(2, 3)]
Updates = Annotated[int, integers(1, 5)]
Rate = Annotated[Fraction, rationals(Fraction(1, 10), 1, 10)]


def random_law(size: int, stream: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw integers and their probabilities."""
    values = stream.choice(np.arange(-9, 10), size, replace=False).astype(float)
    return values, stream.dirichlet(np.ones(size))


@PAPER.claim("frozen-cell-variance", label="Theorem 1", judges="ours", kind="identity", budget=12)
def frozen_cell_variance(size: Size, updates: Updates, rate: Rate, stream: Stream) -> Sides:
    """At a constant rate a neuron keeps the share eta / (2 - eta) of its cell's variance for ever.

    Hypotheses
        The cell does not change, its samples are independent, the radius is 0, eta in (0, 1] constant.

    Statement
        Var w(n) = (eta / (2 - eta)) (1 - (1 - eta)^(2n)) Var(x | X_c), which tends to eta / (2 - eta).

    Symbols
        eta ``learning_rate``, n the updates of the neuron.

    Source
        Ours on Zhang and Qiao (2024), Theorem 1 and (10). Identity. With SoFL's eta_0 / 3 = 1/30 the share
        is 1/59.

    Proof
        w(n) is a weighted sum of independent samples with weights eta (1 - eta)^k: add their squares.

    Checked
        Proved symbolically for up to five updates, and evaluated for random laws on two or three integers. The map
        of ours on every sequence of n samples from such a law: the variance over the sequences, weighted by their
        probabilities, against the formula.
    """
    values, law = random_law(size, stream)
    mean, square = law @ values, law @ values**2
    return frozen_cell_variance_on_symbols(
        updates, float(rate), start=values[0], mean=mean, variance=square - mean**2, rounding=1e-9
    )


@frozen_cell_variance.proof("algebra")
def frozen_cell_variance_on_symbols(
    updates: Annotated[int, choice(1, 2, 3, 4, 5)],
    rate: Share,
    start: Number,
    mean: Number,
    variance: NotNegative,
    *,
    rounding: float = 0.0,
) -> Sides:
    """The first two moments of w' = (1 - eta) w + eta x, where x is independent of w, update by update."""
    kept, first, second = 1 - rate, start, start**2
    for _ in range(updates):
        second = kept**2 * second + 2 * kept * rate * first * mean + rate**2 * (mean**2 + variance)
        first = kept * first + rate * mean
    formula = rate / (2 - rate) * (1 - kept ** (2 * updates)) * variance
    return equal((second - first**2, formula), rounding=rounding)


@frozen_cell_variance.step("map", budget=12)
def frozen_cell_variance_of_the_map(size: Size, updates: Updates, rate: Rate, stream: Stream) -> Sides:
    """The map's own variance, over all sequences of samples."""
    values, law = random_law(size, stream)
    mean = square = 0.0
    for sequence in itertools.product(range(size), repeat=updates):
        neuron = np.array([[[values[0]]]])
        for sample in sequence:
            neuron = som.train(
                neuron, values[:, None], np.array([sample]), learning_rate=float(rate), radius=0.0
            )
        chance = float(np.prod(law[list(sequence)]))
        mean += chance * float(neuron[0, 0, 0])
        square += chance * float(neuron[0, 0, 0]) ** 2
    variance = float(law @ values**2 - (law @ values) ** 2)
    return equal(((square - mean**2) / variance, float(kept_variance(rate, updates))), rounding=1e-9)


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


@PAPER.claim("mean-field-fixed-point", label="Theorem 1", judges="ours", kind="upper")
def mean_field(neurons: Annotated[int, integers(2, 12, upwards=True)]) -> dict[str, Sides]:
    """As the radius vanishes, the point where the mean update rests goes to the cells' means.

    Hypotheses
        The mean update of (10) with a constant radius sigma > 0, x uniform on [0, 1], sorted neurons.

    Statement
        At the fixed point w_j = sum_k g_jk P_k m_k / sum_k g_jk P_k the distance is at most
        |w_j - m_j| <= (sum_(k != j) g_jk P_k / sum_k g_jk P_k) max_k |m_k - m_j|, which is O(exp(-1 / 2 sigma^2));
        at sigma = 0 it is zero. The mean error never falls when sigma grows.

    Symbols
        g_jk = exp(-(j - k)^2 / 2 sigma^2), sigma ``radius``, P_k and m_k the cells' probabilities and means.

    Source
        Ours on Zhang and Qiao (2024), Theorem 1, (10) and (11). Upper bound. SoFL's schedule ends at
        sigma = 1/2, where neighbours still weigh exp(-2) = 0.135.

    Proof
        w_j - m_j is the weighted mean of m_k - m_j over all k; the own term is zero.

    Checked
        The fixed point, found by iteration with exact cells, for rows of 2 to 12 neurons and radii from
        0.15 to 1.5, against the bound; and at radius 0 against the equal cells.
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
