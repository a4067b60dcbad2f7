"""Starting models that a search tries: a grid around the optima that the algorithm aims at."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import find, settings
from hypothesis.errors import NoSuchExample

from clusterproof.algorithms import CFLMGD, IFCA, Algorithm, FedAvg
from clusterproof.synthetic import Mixture, QuadraticMixture
from clusterproof.theory.runs.start_grid import Starts

SOME = settings(max_examples=100, database=None)
HESSIANS, CENTERS = np.eye(2) * [[[1]], [[3]], [[3]]], np.array([[0.0, 1.0], [8.0, 1.0], [8.0, 1.0]])
PAIR = QuadraticMixture(hessians=HESSIANS, centers=CENTERS, labels=np.array([0, 1, 1]))
ONE = QuadraticMixture(hessians=HESSIANS[:1], centers=CENTERS[:1], labels=np.zeros(1, dtype=int))
PLAIN = CFLMGD(step_size=0.1, momentum=0)


@pytest.mark.parametrize(
    ("task", "algorithm", "middle", "step"),
    [
        (PAIR, PLAIN, [[0, 1], [8, 1]], 2),  # a quarter of their distance
        (PAIR, FedAvg(step_size=0.1), [[48 / 7, 1]], 2),  # of x^2 + 3 (x - 8)^2 + 3 (x - 8)^2
        (PAIR, IFCA(step_size=0.1, clusters=3), np.zeros((3, 2)), 2),  # three models for two optima
        (ONE, PLAIN, [[0, 1]], 1),  # a single optimum has no distance
    ],
)
def test_starts_are_up_to_two_grid_steps_from_the_optima(
    task: Mixture, algorithm: Algorithm[Any], middle: Any, step: float
) -> None:
    starts = Starts(np.ndarray.tolist, np.array, lambda task: algorithm, None).strategy({"task": task})

    def simplest(holds: Callable[[np.ndarray], Any]) -> np.ndarray:
        """Return a start, in grid steps from the middle."""
        start = find(starts, lambda start: bool(holds((start - middle) / step)), settings=SOME)
        assert start.shape == np.shape(middle)
        return np.asarray((start - middle) / step)

    np.testing.assert_allclose(simplest(lambda steps: True), 0, atol=1e-12)
    for sign in (-1, 1):
        furthest = simplest(lambda steps, sign=sign: sign * steps[-1, -1] > 1.5)  # type: ignore[misc]
        assert furthest[-1, -1] == pytest.approx(2 * sign)
    with pytest.raises(NoSuchExample):
        simplest(lambda steps: np.abs(steps).max() > 2.1 or np.abs(steps - np.round(steps)).max() > 1e-9)
