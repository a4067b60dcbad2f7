"""The repaired bounds: numbers of the audit, and extreme arguments without overflow or warning."""

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from clusterproof import theory
from clusterproof.algorithms import CFLMGD
from clusterproof.common import InvalidArgument
from clusterproof.running import Trace, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.audit_settings import experiment
from clusterproof.theory.bounds.setting import largest_radius
from clusterproof.theory.bounds.theorem_a import TheoremA
from clusterproof.theory.runs.bound import LEAST_FAILURE


def test_misclassification_enters_as_the_exact_worst_case() -> None:
    setting = experiment("S1", None).setting
    near, far = setting.radius, setting.separation - setting.radius
    threshold = (setting.noise**2 + far**2) / (setting.noise**2 + near**2)
    assert setting.misclassification == pytest.approx(stats.f(1000, 1000).sf(threshold), rel=1e-8)


@pytest.mark.slow(reason="several seconds")
def test_best_parts_only_improves() -> None:
    for momentum in (0.0, None):
        setting = experiment("S1", momentum).setting
        best, plain = TheoremA().best_parts(setting), TheoremA().parts(setting)
        assert best.applicable
        assert not plain.applicable or (best.last_round <= plain.last_round * (1 + 1e-12)).all()


def test_radius_limit() -> None:
    task = experiment("S2", None).task
    assert largest_radius(task) == pytest.approx(2 / (1 + math.sqrt(10)))


THEOREMS = ["theorem-a", "theorem-d"]


def task_and_trace(noise: float, start: float) -> tuple[RegressionMixture, Trace]:
    task = RegressionMixture.random(
        clusters=2, clients=40, dimension=3, condition_number=4.0, separation=2.0, noise=noise, samples=2000
    )
    algorithm = CFLMGD(step_size=1.0 / task.smoothness, momentum=0.3)
    return task, run(algorithm, task, rounds=4, initial=task.optima + start)


@pytest.mark.parametrize("theorem", THEOREMS)
@pytest.mark.parametrize("start", [0.0, 5e-324, 0.05])
@pytest.mark.parametrize("noise", [0.0, 5e-324, 1e-160])
def test_small_noise_and_small_errors(theorem: str, noise: float, start: float) -> None:
    task, trace = task_and_trace(noise, start)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bound = theory.bound(f"cfl-mgd/{theorem}", task, trace).bound
    assert (bound >= 0).all()
    assert np.isfinite(bound).all()
    if start == 0:  # of the size of the noise; Theorem D allows for rounding of the optima
        assert bound.max() <= 100 * noise + 1e-12


def test_the_least_failure_probability() -> None:
    task, trace = task_and_trace(1e-9, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        allowed = theory.bound("cfl-mgd/theorem-d", task, trace, failure_probability=LEAST_FAILURE)
    assert np.isfinite(allowed.bound).all()


def test_where_chebyshev_pays_more_than_the_basin_the_theorem_does_not_apply() -> None:
    task, trace = task_and_trace(1e-9, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidArgument):
            theory.bound("cfl-mgd/theorem-a", task, trace, failure_probability=LEAST_FAILURE)


@pytest.mark.parametrize("probability", [0.0, 5e-324, 1e-301, 1.0, -1.0, float("nan")])
def test_a_failure_probability_out_of_range_is_refused(probability: float) -> None:
    task, trace = task_and_trace(0.1, 0.05)
    with pytest.raises(InvalidArgument, match="at least 1e-300 and below 1"):
        theory.bound("cfl-mgd/theorem-d", task, trace, failure_probability=probability)
