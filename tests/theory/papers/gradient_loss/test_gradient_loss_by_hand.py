"""Numbers of GL-CFL's claims worked out by hand, and what is refused of an instance."""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from catalogue import checked, decided
from scipy.optimize import linear_sum_assignment

from clusterproof import theory
from clusterproof.algorithms import purity
from clusterproof.algorithms.metrics import contingency
from clusterproof.theory.checker.verdict import Kind
from clusterproof.theory.papers.gradient_loss import equation_3, iterations, race
from clusterproof.theory.papers.gradient_loss import purity as purity_module

Plant = Callable[..., Any]


def test_counterexample_of_3_by_hand() -> None:
    """With nothing but floats: the printed cosine is -1 for the own cluster and 1 for the other."""
    found = checked("gradient-loss/equation-3").counterexample
    assert found is not None
    step = float(Fraction(found["step"]))
    models = [float(Fraction(found[f"start_{k}"])) for k in range(2)]
    moved = [w - step * (w - b) for w, b in zip(models, (-1.0, 1.0), strict=True)]
    cosines = [
        [np.sign(new - b) * np.sign(new - old) for new, old in zip(moved, models, strict=True)]
        for b in (-1.0, 1.0)
    ]
    assert cosines[0][0] == cosines[1][1] == -1
    assert max(cosines[0][1], cosines[1][0]) == 1


@pytest.mark.parametrize(("starts", "gains"), [(("-1/2", "3/2"), [0, 2]), (("-3/2", "1/2"), [2, 0])])
def test_either_device_may_refute_3_alone(starts: tuple[str, str], gains: list[int]) -> None:
    """Models at -1/2 and 3/2 move left: away from the gradients of the device at -1, and of one at 1 at its own."""
    one = equation_3.TwoDevices(*map(Fraction, (*starts, "1/4")))
    assert equation_3.equation_3(one).measured == gains
    assert equation_3.ask_the_algorithm(one) == 2


def test_the_margin_of_the_paper_s_weight_by_hand() -> None:
    """lambda = 0.2: 0.2 (S - S') can outweigh 0.8 (L - L') up to L - L' = 0.5, for S - S' = 2."""
    best, other = 0.2 * -1 - 0.8 * 1.0, 0.2 * 1 - 0.8 * 1.5
    assert best == pytest.approx(other)


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
        assert purity_module.correct_devices(found, truth) == table[linear_sum_assignment(-table)].sum()


def test_counterexample_of_purity_by_hand() -> None:
    """True clusters of 3 and 1, found 1 and 3: both have the first as majority, and 2 are right."""
    assert purity(np.array([0, 1, 1, 1]), np.array([0, 0, 0, 1])) == 0.75
    verdict = checked("gradient-loss/purity")
    assert (verdict.measured, verdict.bound) == (3.0, 2.0)


def test_the_lower_bound_of_purity_is_reached_and_is_the_share_of_correct_devices() -> None:
    """Where one true cluster in four is merged with another, three devices of four are right, and P = 3/4."""
    truth, merged = np.array([0, 0, 1, 2]), np.array([0, 0, 1, 1])
    for found, share in ((truth, 1.0), (merged, 0.75)):
        partitions = np.stack([truth, found, np.zeros(4, dtype=int)])
        sides = purity_module.purity_bound_of_the_library(partitions)["correct"]
        assert sides.measured == sides.allowed == share
        devices = purity_module.purity_bound(partitions)["correct"]
        assert devices.measured == devices.allowed == 4 * share


def test_a_race_is_on_the_mixture_that_its_card_states() -> None:
    task = race.Setting(distance=1.0).task(0)
    stated = (
        f"{task.clients} devices in {task.clusters} clusters, batches of {task.samples} rows, alpha = 0.1"
    )
    assert stated in " ".join(theory.find_claim("gradient-loss/sooner").card.split())
    assert (task.separation, task.smoothness, task.noise) == pytest.approx((1, 1, 0.5))


def test_from_one_point_little_is_saved_and_from_models_apart_much() -> None:
    goal = race.purity_goal(0.9)
    near, apart = (
        race.race(race.Setting(distance=each), seed=2, replicates=10, goal=goal) for each in (0.01, 1)
    )
    assert np.median(near[0]) - np.median(near[1]) <= iterations.FEW
    assert np.median(apart[0]) > 2 * np.median(near[0])
    assert np.median(race.reduction(*apart)) > 0.1


def test_the_large_curve_on_a_few_runs() -> None:
    verdict = decided("gradient-loss/reduction-curve", trials=2)
    assert verdict.verdict is Kind.CONSISTENT
    assert (verdict.instances, verdict.exhausted, verdict.trials) == (9, True, 18)
    assert not theory.find_claim("gradient-loss/reduction-curve").quick


def test_any_two_clusters_of_eight_of_ten_classes_share_six() -> None:
    keeps = [frozenset(each) for each in combinations(range(10), 8)]
    assert (
        min(len(one & other) for one in keeps for other in keeps) == purity_module.OVERLAPS["10 classes"][2]
    )
    # of EMNIST's 62 - 15 classes one is in neither cluster; eight clusters drop seven each
    sides, drops = purity_module.class_overlap("EMNIST", 1), purity_module.dropped_twice()
    assert (sides.measured, sides.allowed, drops.measured, drops.allowed) == (40 + 40 - 46, 33, 56, 47 + 1)
