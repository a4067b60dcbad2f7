"""GL-CFL's similarities and margins device by device, and purity by the assignment problem."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from sides_by_hand import assert_sides

from clusterproof.algorithms import GradientLoss
from clusterproof.running import purity as measured_purity
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.papers.gradient_loss import equation_3, purity
from clusterproof.theory.papers.gradient_loss import equations_4_5 as equation_4
from clusterproof.theory.papers.gradient_loss.scalar import scalar_task


def stream() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.mark.parametrize("step", [Fraction(1, 5), Fraction(19, 20)])
@pytest.mark.parametrize("condition", [Fraction(1), Fraction(9)])
def test_the_similarity_of_the_own_cluster_is_bounded_by_the_least_cosine(
    step: Fraction, condition: Fraction
) -> None:
    found = equation_3.equation_3_descent(stream(), condition, step)
    angles = np.linspace(0, np.pi / 2, 100001)
    vectors = np.stack([np.cos(angles), np.sin(angles)])
    images = np.array([[1 - float(step)], [1 - float(step / condition)]]) * vectors
    cosines = (vectors * images).sum(axis=0) / np.linalg.norm(images, axis=0)
    assert found.allowed == pytest.approx(cosines.min(), abs=1e-9)
    assert (np.asarray(found.measured) >= found.allowed - 1e-12).all()
    own, gradients, moves = equation_3.second_round(stream(), step, float(condition))
    for similarity, gradient, move in zip(own, gradients, moves, strict=True):
        length = math.sqrt(np.dot(gradient, gradient) * np.dot(move, move))
        assert similarity == pytest.approx(-float(np.dot(gradient, move)) / length, abs=1e-12)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("sign", ["descent", "as-printed"])
def test_the_margin_of_the_losses(reduction: str, sign: str) -> None:
    draws = stream()
    clusters, separation, seed = int(draws.integers(2, 5)), draws.uniform(0.1, 2), int(draws.integers(2**31))
    task = RegressionMixture.random(
        clusters=clusters, clients=20, dimension=4, samples=6, separation=separation, seed=seed
    )
    models, moves = draws.standard_normal((2, clusters, 4))
    losses, gradients = task.losses_and_gradients(models, np.arange(20), draws)
    excess, factor = [], 6 if reduction == "sum" else 1
    for row, own in zip(losses, gradients, strict=True):
        cosines = [g @ d / np.linalg.norm(g) / np.linalg.norm(d) for g, d in zip(own, moves, strict=True)]
        alike = cosines if sign == "as-printed" else [-cosine for cosine in cosines]
        scores = [0.7 * s - 0.3 * factor * loss for s, loss in zip(alike, row, strict=True)]
        excess.append(row[scores.index(max(scores))] - min(row))
    found = equation_4.loss_margin(stream(), 6, Fraction(7, 10), reduction, sign)
    assert_sides(found, excess, margin=2 * 0.7 / 0.3 / factor)


@pytest.mark.parametrize(("step", "rows"), [(Fraction(3, 10), 7), (Fraction(1, 2), 2)])
def test_a_round_at_the_rate_of_all_rows_is_a_step_on_the_sum(step: Fraction, rows: int) -> None:
    algorithm = GradientLoss(step_size=float(step * rows))
    trace = run(algorithm, scalar_task([Fraction(0)]), rounds=1, initial=np.ones((1, 1)))
    after = equation_4.equation_5_batch(step, rows)["step"].pairs[0][0]
    assert float(after) == pytest.approx(1 - rows * float(step)) == pytest.approx(trace.models[1].item())


def test_purity_on_balanced_clusters_is_that_of_the_metric() -> None:
    for true, names in (("001122", "012"), ("0011", "01")):
        for found in map("".join, product(names, repeat=len(true))):
            clusters, truth = ([int(each) for each in text] for text in (found, true))
            sides: Any = purity.purity_as_accuracy(true, found)
            assert sides.measured == round(len(true) * measured_purity(np.array(clusters), np.array(truth)))
