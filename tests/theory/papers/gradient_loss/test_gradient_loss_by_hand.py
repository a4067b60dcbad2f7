"""Numbers of GL-CFL's claims worked out by hand, and what is refused of an instance."""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from catalogue import checked
from scipy.optimize import linear_sum_assignment

from clusterproof import theory
from clusterproof.algorithms import GradientLoss, purity, run
from clusterproof.algorithms.metrics import contingency
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory import Kind
from clusterproof.theory.papers.gradient_loss import equation_3, iterations, race
from clusterproof.theory.papers.gradient_loss import purity as purity_module

Plant = Callable[..., Any]


def test_counterexample_of_3_sends_both_devices_to_the_wrong_cluster() -> None:
    """By a run: right in the first round at the weight of the paper, wrong in the second; right with the descent."""
    assert checked("gradient-loss/equation-3").counterexample == {
        "start_0": "-1/4",
        "start_1": "1/4",
        "step": "1/2",
    }
    task = QuadraticMixture(
        hessians=np.ones((2, 1, 1)), centers=np.array([[-0.5], [0.5]]), labels=np.arange(2)
    )
    start = np.array([[-0.25], [0.25]])
    for sign, second in (("as-printed", [1, 0]), ("descent", [0, 1])):
        trace = run(GradientLoss(step_size=0.5, weight=0.2, sign=sign), task, rounds=2, initial=start)
        assert np.asarray(trace.assignments).tolist() == [[0, 1], second]


@pytest.mark.parametrize(
    ("starts", "first", "second"), [(("-1/4", "3/4"), False, True), (("-3/4", "1/4"), True, False)]
)
def test_either_device_may_refute_3_alone(starts: tuple[str, str], first: bool, second: bool) -> None:
    """Models at -1/4 and 3/4 move left, to -3/8 and 5/8: against no gradient of the device at -1/2."""
    one = equation_3.TwoDevices(*map(Fraction, (*starts, "1/2")))
    gains = list(equation_3.equation_3(one).measured)
    assert [gain > 0 for gain in gains] == [first, second]
    # losses 1/128 of the own model, 49/128 of the one that is 7/8 away: 1/5 (1 + 1) - 4/5 (49 - 1) / 128
    assert max(gains) == Fraction(1, 10) == pytest.approx(equation_3.ask_the_algorithm(one))


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
    """True pairs 0, 0, 1, 1, 2, 2: two found clusters are the last pair's, and the naming is right for 2 + 1."""
    assert purity(np.array([0, 0, 0, 0, 1, 2]), np.array([0, 0, 1, 1, 2, 2])) == pytest.approx(4 / 6)
    verdict = checked("gradient-loss/purity")
    assert verdict.counterexample == {"true": "001122", "found": "000012"}
    assert (verdict.measured, verdict.bound) == (4.0, 3.0)


def test_purity_of_two_equal_clusters_is_the_share_of_correct_devices() -> None:
    """Of M devices, k true ones of the first cluster are found first and l of the second: max(k + M/2 - l, ..)."""
    for half in (2, 3):
        truth = [0] * half + [1] * half
        for found in product((0, 1), repeat=2 * half):
            right = sum(one == other for one, other in zip(truth, found, strict=True))
            sides = purity_module.purity_as_accuracy("".join(map(str, truth)), "".join(map(str, found)))
            assert sides.measured == sides.allowed == max(right, 2 * half - right)


def test_the_lower_bound_of_purity_is_reached_and_is_the_share_of_correct_devices() -> None:
    """Where one true cluster in four is merged with another, three devices of four are right, and P = 3/4."""
    truth, merged = np.array([0, 0, 1, 2]), np.array([0, 0, 1, 1])
    for found, share in ((truth, 1.0), (merged, 0.75)):
        partitions = np.stack([truth, found, np.zeros(4, dtype=int)])
        sides = purity_module.purity_bound(partitions)["correct"]
        assert sides.measured == sides.allowed == share


def test_a_race_is_on_the_mixture_that_its_card_states() -> None:
    task = race.Setting(distance=1.0).task(0)
    stated = (
        f"{task.clients} devices in {task.clusters} clusters, batches of {task.samples} rows, alpha = 0.1"
    )
    assert stated in " ".join(theory.find_claim("gradient-loss/sooner").text.split())
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
    verdict = theory.check("gradient-loss/reduction-curve", evaluations=2)
    assert verdict.verdict is Kind.INCONCLUSIVE  # of so few repetitions
    assert verdict.counterexample is None
    assert (verdict.instances, verdict.trials) == (5, 10)  # those that look worst of nine
    assert not theory.find_claim("gradient-loss/reduction-curve").quick


def test_any_two_clusters_of_eight_of_ten_classes_share_six() -> None:
    keeps = [frozenset(each) for each in combinations(range(10), 8)]
    assert (
        min(len(one & other) for one in keeps for other in keeps) == purity_module.OVERLAPS["10 classes"][2]
    )
    # of EMNIST's 62 - 15 classes one is in neither cluster; eight clusters drop seven each
    sides, drops = purity_module.class_overlap("EMNIST", 1), purity_module.dropped_twice()
    assert (sides.measured, sides.allowed, drops.measured, drops.allowed) == (40 + 40 - 46, 33, 56, 47 + 1)
