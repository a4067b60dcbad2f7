"""GL-CFL's similarities and margins device by device, and purity by the assignment problem."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sides_by_hand import assert_sides

from clusterproof.algorithms.metrics import contingency
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.theory.claims import Outside
from clusterproof.theory.papers.gradient_loss import equation_3, purity
from clusterproof.theory.papers.gradient_loss import equations_4_5 as equation_4

RANDOM = QuadraticMixture.random(clusters=3, clients=9, dimension=3, condition_number=4.0, seed=4)
ALIKE = replace(RANDOM, hessians=0.7 * RANDOM.hessians)
# whole numbers, so that a mean of equal models is that model
EXACT = QuadraticMixture(
    hessians=np.full((4, 1, 1), 0.5),
    centers=np.array([[0.0], [0.0], [4.0], [4.0]]),
    labels=np.array([0, 0, 1, 1]),
)


def stream() -> np.random.Generator:
    return np.random.default_rng(5)


def similarity(gradient: Any, move: Any, sign: str = "descent") -> float:
    """S of (3), with either sign."""
    cosine = float(np.dot(gradient, move) / math.sqrt(np.dot(gradient, gradient) * np.dot(move, move)))
    return cosine if sign == "as-printed" else -cosine


class Started:
    """A task whose initial models are given."""

    def __init__(self, task: QuadraticMixture, start: np.ndarray) -> None:
        self.task, self.start = task, start

    def __getattr__(self, name: str) -> Any:
        return getattr(self.task, name)

    def initial_models(self, *_: Any) -> np.ndarray:
        return self.start


def second_similarities(task: QuadraticMixture, step: float) -> list[float]:
    """S of each device with its own cluster, one round after the clusters' initial models."""
    before, found = task.initial_models(3, (), stream()), []
    for label, hessian, center in zip(task.labels, task.hessians, task.centers, strict=True):
        move = -step * hessian @ (before[label] - center)
        found.append(similarity(hessian @ (before[label] + move - center), move))
    return found


def test_equation_3_in_the_second_round() -> None:
    alpha = 0.37
    own, eigenvalues = second_similarities(ALIKE, alpha), np.linalg.eigvalsh(ALIKE.hessians)
    r, s = 1 - alpha * eigenvalues.max(), 1 - alpha * eigenvalues.min()
    kantorovich = 2 * math.sqrt(r * s) / (r + s)
    assert_sides(equation_3.equation_3_descent(ALIKE, alpha, stream()), own, kantorovich=kantorovich)
    far = Started(ALIKE, ALIKE.optima[[1, 0, 2]] + 0.1)
    outside: list[tuple[Any, float, str]] = [
        (replace(ALIKE, centers=ALIKE.centers + 0.1 * np.eye(9)[:, :3]), 0.37, "one minimiser"),
        (replace(ALIKE, hessians=ALIKE.hessians[[*range(8), 0]]), 0.37, "one minimiser"),
        (ALIKE, 1.001 / 0.7, "alpha L < 1"),
        (far, 0.37, "chose rightly"),
        (Started(EXACT, np.array([[0.0], [5.0]])), 0.37, "at rest"),
    ]
    for task, step, name in outside:
        with pytest.raises(Outside, match=name):
            equation_3.equation_3_descent(task, step, stream())


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("sign", ["descent", "as-printed"])
def test_the_margin_of_the_losses(reduction: str, sign: str) -> None:
    task = RegressionMixture.random(clusters=3, clients=20, dimension=4, samples=6, separation=0.5, seed=2)
    draws = stream()
    models, moves = draws.standard_normal((2, 3, 4))
    losses, gradients = task.losses_and_gradients(models, np.arange(20), draws)
    excess, factor = [], 6 if reduction == "sum" else 1
    for row, own in zip(losses, gradients, strict=True):
        alike = [similarity(g, d, sign=sign) for g, d in zip(own, moves, strict=True)]
        scores = [0.7 * s - 0.3 * factor * loss for s, loss in zip(alike, row, strict=True)]
        excess.append(row[scores.index(max(scores))] - min(row))
    assert max(excess) > 0
    found = equation_4.loss_margin(task, 0.7, reduction, sign, stream())
    assert_sides(found, excess, margin=2 * 0.7 / 0.3 / factor)


@pytest.mark.parametrize(("smallest", "largest"), [(0.1, 1.0), (0.5, 0.6), (1.0, 1.0)])
def test_kantorovich_is_the_least_cosine(smallest: float, largest: float) -> None:
    angles = np.linspace(0, np.pi / 2, 100001)
    vectors = np.stack([np.cos(angles), np.sin(angles)])
    images = np.array([[smallest], [largest]]) * vectors
    cosines = (vectors * images).sum(axis=0) / np.linalg.norm(images, axis=0)
    assert equation_3.kantorovich(smallest, largest) == pytest.approx(cosines.min(), abs=1e-9)


def test_share_of_correct_devices_against_the_assignment_problem() -> None:
    stream = np.random.default_rng(0)
    for _ in range(200):
        found, truth = stream.integers(0, stream.integers(1, 6), (2, stream.integers(1, 20)))
        table = contingency(found, truth)
        assert purity.correct_devices(found, truth) == table[linear_sum_assignment(-table)].sum()
