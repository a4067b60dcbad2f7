"""FPFC on moments, losses and runs that are computed by hand."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.special

from clusterproof.algorithms import FPFC
from clusterproof.checker.claims.judge import judge
from clusterproof.common import Randomness
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.fpfc import fusion as window
from clusterproof.theory.papers.fpfc import repaired
from clusterproof.theory.papers.fpfc.one_term import HuberSum

Plant = Callable[..., Any]


def test_a_mean_over_random_participants_is_no_exact_number() -> None:
    """A mean of 1.1 from 12 runs does not refute an expectation of at most 1; without randomness it does."""
    setting, _ = repaired.opposed(1.0)

    def broken(participation: float, means: np.ndarray) -> bool:
        algorithm = replace(setting.algorithm, participation=participation)
        conclusion = repaired.expected(replace(setting, algorithm=algorithm), means, first=0.75, second=0.25)
        return judge({"": conclusion}, 1e-9)[""].broken

    assert broken(1.0, np.full(12, 1.1))
    assert not broken(0.3, np.linspace(0.9, 1.3, 12))
    assert broken(0.3, 100 * np.linspace(0.9, 1.3, 12))


@pytest.mark.slow(reason="two long runs")
def test_the_algorithm_returns_the_oracle_inside_the_window_and_not_outside() -> None:
    task = QuadraticMixture.random(clusters=3, clients=12, dimension=3, separation=6, spread=0.05, seed=3)
    least, largest = window.window(task, 3.7)
    assert least < 0.8 * largest
    distances = {}
    for strength in (0.2 * least, 0.5 * (least + largest), 3 * largest):
        algorithm = FPFC(step_size=0.3, strength=strength, smoothing=1e-4 * strength, start="own")
        state = algorithm.initialise(task.centers, task)
        for _ in range(600):
            state = algorithm.step(state, task, Randomness.from_seed(0))
        distances[strength] = np.abs(np.asarray(state.models) - task.client_optima).max()
    below, inside, _ = distances.values()
    assert inside < 1e-3
    assert below > 0.01


@pytest.mark.parametrize("seed", range(3))
def test_the_values_of_huber_losses_are_scipys(seed: int) -> None:
    stream = np.random.default_rng(seed)
    loss = HuberSum(stream.standard_normal((6, 2)), stream.standard_normal(6), (0.3, 1.7, 0.05)[seed])
    for point in 2 * stream.standard_normal((5, 2)):
        away = loss.features @ point - loss.targets
        assert loss.value(point) == pytest.approx(scipy.special.huber(loss.width, away).sum())
