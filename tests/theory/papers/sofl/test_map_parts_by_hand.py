"""Both sides of what is true of SoFL's map, from the statements: running means, kept variance, mean field, updates."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from catalogue import checked
from minisom import MiniSom
from scipy.optimize import root
from sides_by_hand import assert_sides, sides_at

from clusterproof import theory
from clusterproof.algorithms import self_organising_map as som
from clusterproof.theory import Kind
from clusterproof.theory.papers.sofl import distortion, equation_10, theorem_1_parts, uniform_cells


def means_won(neurons: Any, samples: Any) -> tuple[list[Fraction], list[Fraction]]:
    """Return the mean of the samples that each sample's winner has won, and the neurons at the end."""
    ends, won = [Fraction(float(x)) for x in neurons], []
    own: list[list[Fraction]] = [[] for _ in ends]
    for sample in (Fraction(float(x)) for x in samples):
        gaps = [abs(end - sample) for end in ends]
        winner = gaps.index(min(gaps))
        own[winner].append(sample)
        ends[winner] = sum(own[winner], Fraction(0)) / len(own[winner])
        won.append(ends[winner])
    return won, ends


@pytest.mark.parametrize("seed", [1, 2])
def test_the_running_mean_is_that_of_the_samples_won(seed: int) -> None:
    stream = np.random.default_rng(seed)
    samples = (stream.standard_normal(3).tolist(), stream.standard_normal(30).tolist())
    won, ends = means_won(*samples)
    assert_sides(theorem_1_parts.running_mean(samples), list(zip(won, won, strict=True)))
    assert_sides(theorem_1_parts.running_mean_of_the_map(samples), [(ends, ends)])
    one = sides_at("sofl/running-mean", {"mean": "7/3", "sample": "-5", "before": "4"}, "algebra")
    assert_sides(one, [(Fraction(13, 15),) * 2])


def variance_kept(values: list[float], law: list[float], start: float, rate: float, updates: int) -> float:
    """Return the variance of a neuron over all sequences of samples."""
    first = second = 0.0
    for sequence in itertools.product(range(len(values)), repeat=updates):
        neuron, chance = start, 1.0
        for one in sequence:
            neuron, chance = (1 - rate) * neuron + rate * values[one], chance * law[one]
        first, second = first + chance * neuron, second + chance * neuron**2
    return second - first**2


def test_the_variance_that_a_constant_rate_keeps() -> None:
    one = {"updates": 4, "rate": "3/10", "start": "-7/2", "mean": "5/3", "variance": "9/4"}
    exact = variance_kept([5 / 3 - 3 / 2, 5 / 3 + 3 / 2], [0.5, 0.5], -3.5, 0.3, 4)
    assert_sides(sides_at("sofl/frozen-cell-variance", one, "algebra"), [(exact, exact)])
    assert theorem_1_parts.kept_variance(Fraction(1, 30), None) == Fraction(1, 59)
    for seed in (1, 2):
        stream = np.random.default_rng(seed)
        values = stream.choice(np.arange(-9, 10), 3, replace=False).tolist()
        weights = stream.integers(1, 9, 3).tolist()
        law = [weight / sum(weights) for weight in weights]
        left = variance_kept(values, law, values[0], 0.3, 4)
        whole = variance_kept(values, law, 0.0, 1.0, 1)
        formula = 0.3 / 1.7 * (1 - 0.7**8)
        assert left == pytest.approx(formula * whole)
        chances = {x: Fraction(weight, sum(weights)) for x, weight in zip(values, weights, strict=True)}
        assert_sides(theorem_1_parts.frozen_cell_variance(chances, 4, Fraction(3, 10)), [(left, left)])


def test_the_mean_field_of_four_neurons_at_every_radius() -> None:
    def cells(points: np.ndarray) -> tuple[list[float], list[float]]:
        ends = [0.0, *((x + y) / 2 for x, y in itertools.pairwise(points)), 1.0]
        return [y - x for x, y in itertools.pairwise(ends)], [
            (x + y) / 2 for x, y in itertools.pairwise(ends)
        ]

    distance, allowed, errors = [], [], []
    for radius in (0.15, 0.2, 0.3, 0.5, 1.0, 1.5):
        near = [[math.exp(-((j - k) ** 2) / 2 / radius**2) for k in range(4)] for j in range(4)]

        def update(points: np.ndarray, near: Any = near) -> list[float]:
            widths, middles = cells(points)
            return [
                sum(near[j][k] * widths[k] * (middles[k] - points[j]) for k in range(4)) for j in range(4)
            ]

        points = root(update, (np.arange(4) + 0.5) / 4, tol=1e-14).x
        widths, middles = cells(points)
        weight = [[near[j][k] * widths[k] for k in range(4)] for j in range(4)]
        distance.append([abs(x - m) for x, m in zip(points, middles, strict=True)])
        reach = [max(abs(m - middle) for m in middles) for middle in middles]
        allowed.append([(sum(weight[j]) - weight[j][j]) / sum(weight[j]) * reach[j] for j in range(4)])
        errors.append(np.mean(np.square(distance[-1])) / (np.mean(np.square(widths)) / 12))
    one, middles = {"neurons": 4}, [1 / 8, 3 / 8, 5 / 8, 7 / 8]
    found = sides_at("sofl/mean-field-fixed-point", one, line="bound")
    np.testing.assert_allclose(found.measured, distance, atol=1e-11)
    np.testing.assert_allclose(found.terms["pull"], allowed, rtol=1e-9)
    found = sides_at("sofl/mean-field-fixed-point", one, line="monotone")
    np.testing.assert_allclose([*found.measured, found.terms["wider"][-1]], errors, rtol=1e-9, atol=1e-18)
    np.testing.assert_allclose(found.terms["wider"], errors[1:], rtol=1e-9, atol=1e-18)
    assert_sides(sides_at("sofl/mean-field-fixed-point", one, line="zero"), [(middles, middles)])
    with pytest.raises(ArithmeticError, match="in 3 iterations"):
        uniform_cells.mean_field_fixed_point(4, 1.5, most=3)
    # cells of 3/10, 3/10 and 2/5, whose means are 3/20, 9/20 and 4/5
    error = (0.05**2 + 0.05**2 + 0.0) / ((0.09 + 0.09 + 0.16) / 12)
    assert uniform_cells.cell_error(np.array([0.4, 0.8, 0.2])) == pytest.approx(error)


def test_an_update_of_equation_10_and_the_last_radius() -> None:
    neuron, sample = np.random.default_rng(4).standard_normal((2, 3))
    found = equation_10.equation_10(3, 0.3, np.random.default_rng(4))
    assert_sides(found["distance"], [(0.7, 0.7)])
    after = [0.7 * x + 0.3 * y for x, y in zip(neuron, sample, strict=True)]
    cosines = [np.dot(x, sample) / math.sqrt(np.dot(x, x) * np.dot(sample, sample)) for x in (after, neuron)]
    assert_sides(found["cosine"], cosines[0], before=cosines[1])
    # sigma(T) = 1/2, 2/3 and 2: of neurons at 0, 1, .. 4 those at most as far; all have a positive g
    for radius, share, within in (("3/2", -2.0, 1), ("2", -9 / 8, 1), ("6", -1 / 8, 3)):
        one = {"updates": 7, "radius": radius}
        assert_sides(sides_at("sofl/shrinking-neighbourhood-weights", one), math.exp(share), negligible=1e-3)
        assert_sides(sides_at("sofl/shrinking-neighbourhood", one), [(within, 5)])


def test_the_neighbourhood_within_sigma_is_the_winner_alone_from_a_quarter_of_the_run_on() -> None:
    """The printed sentence is true of it: 1.5 / (1 + 2 t / T) < 1 from t > T / 4 on."""
    assert theory.check("sofl/shrinking-neighbourhood").verdict is Kind.ILL_POSED
    alone = [1.5 / (1 + 2 * t / 300) < 1 for t in range(301)]
    assert alone == [t > 75 for t in range(301)]


def test_samples_in_one_direction_share_their_winner_and_have_a_large_distortion() -> None:
    """(1, 0), (10, 0), (0, 1): 2 (9/2)^2 for one winner of the first two, 4 (1/2)^2 for one of the first and last."""
    verdict = checked("sofl/mean-square-distortion")
    assert verdict.counterexample == {"length": 10}
    assert (verdict.measured, verdict.bound) == (40.5, 1.0)
    for length, shared, least in ((3, 2, 1), (2, Fraction(1, 2), Fraction(1, 2))):
        assert_sides(sides_at("sofl/mean-square-distortion", {"length": length}), shared, least=least)
    samples, stream = np.array([[1.0, 0], [10, 0], [0, 1]]), np.random.default_rng(3)
    reached = []
    for neurons in stream.standard_normal((300, 2, 2)) * 10 ** stream.uniform(-1, 1, (300, 1, 1)):
        cosines = samples @ neurons.T / np.linalg.norm(neurons, axis=1)
        chosen = neurons[cosines.argmax(axis=1)]
        assert (chosen[0] == chosen[1]).all()
        reached.append(((samples - chosen) ** 2).sum())
    assert min(reached) >= 40.5
    nearest = np.array([[0.5, 0.5], [10, 0]])
    assert ((samples[:, None] - nearest) ** 2).sum(axis=-1).min(axis=1).sum() == 1.0
    theirs = MiniSom(1, 2, 2, sigma=1.5, learning_rate=0.1, activation_distance="cosine", random_seed=5)
    theirs.random_weights_init(samples)
    theirs.train(samples, 300, random_order=True)
    ends = theirs.get_weights()[0]
    assert sum(((x - ends[theirs.winner(x)[1]]) ** 2).sum() for x in samples) > 40.5


def test_a_map_below_the_stated_distortion_is_told(plant: Any) -> None:
    plant(som, "train", lambda *_, **__: np.array([[[5.5, 0.0], [0.0, 1.0]]]))
    distortion.run_the_map(10)
    plant(som, "best_matching_units", lambda *_: np.array([1, 0, 1]))
    plant(som, "train", lambda *_, **__: np.array([[[10.0, 0.0], [0.5, 0.5]]]))
    with pytest.raises(ArithmeticError, match=r"below 40\.5"):
        distortion.run_the_map(10)


@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_the_mean_square_distortion_of_nearest_winners_in_fractions(rate: float) -> None:
    def chosen(x: list[Fraction], neurons: list[list[Fraction]]) -> int:
        """Return the first neuron at the least distance."""
        gaps: list[Any] = [sum((a - b) ** 2 for a, b in zip(x, w, strict=True)) for w in neurons]
        return gaps.index(min(gaps))

    def total(samples: list[list[Fraction]], neurons: list[list[Fraction]]) -> Fraction:
        pairs = [(x, neurons[chosen(x, neurons)]) for x in samples]
        return sum(((a - b) ** 2 for x, w in pairs for a, b in zip(x, w, strict=True)), Fraction(0))

    for number in range(12):
        stream = np.random.default_rng(number)
        samples, neurons = (
            [[Fraction(int(a)) for a in x] for x in stream.integers(1, 10, (n, 2))] for n in (6, 2)
        )
        drawn = distortion.draw(number)
        assert [each.tolist() for each in drawn] == [samples, neurons]
        own = [[x for x in samples if chosen(x, neurons) == k] for k in range(2)]
        after = [
            [w[c] + Fraction(rate) * (sum(x[c] for x in each) / Fraction(len(each)) - w[c]) for c in (0, 1)]
            if each
            else w
            for w, each in zip(neurons, own, strict=True)
        ]
        found = sides_at("sofl/mean-square-distortion-nearest", {"number": number, "rate": rate})
        assert_sides(found, total(samples, after), before=total(samples, neurons))
