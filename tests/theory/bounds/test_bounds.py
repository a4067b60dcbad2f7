"""The repaired bounds: numbers of the audit, extreme arguments, and the norm inequality by series and quadrature."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from clusterproof import theory
from clusterproof.algorithms import CFLMGD
from clusterproof.common import InvalidArgument
from clusterproof.running import Trace, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.audit_settings import experiment
from clusterproof.theory.bounds.norm_inequality import (
    norm_bound,
)
from clusterproof.theory.bounds.rows import gamma, gradient_cumulant
from clusterproof.theory.bounds.setting import largest_radius
from clusterproof.theory.bounds.theorem_a import TheoremA
from clusterproof.theory.runs.bound import LEAST_FAILURE


def test_gamma_is_its_series_increases_and_is_below_its_pole() -> None:
    np.testing.assert_allclose(
        gamma([0.1, 0.5, 0.9, 0.99]), [1.0721031, 1.5451774, 3.4631731, 7.3771455], rtol=1e-7
    )
    z = np.concatenate([np.geomspace(1e-9, 1e-2, 200), np.linspace(0.01, 0.8, 100)])
    series = sum(2 * z**i / (i + 2) for i in range(200))
    np.testing.assert_allclose(gamma(z), series, rtol=1e-12)
    fine = gamma(np.linspace(0, 0.999999, 10_000))
    assert (np.diff(fine) > 0).all()
    assert (fine[1:] <= 1 / (1 - np.linspace(0, 0.999999, 10_000)[1:])).all()
    assert np.isinf(gamma([1.0, 2.0, math.nan])).all()


def test_the_cumulant_of_one_row_by_quadrature() -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    for covariance, spread in [(0.1, 0.2), (-0.15, 0.2), (0.05, 0.05), (0.0, 0.3), (-0.1, 0.1)]:
        # a = q z, w = (c / q) z + rest: only the product matters, so q = 1
        rest = math.sqrt(spread**2 - covariance**2)
        first, second = np.meshgrid(nodes, nodes, indexing="ij")
        product = first * (covariance * first + rest * second)
        expected = math.log(np.einsum("i,j,ij->", weights, weights, np.exp(product))) - covariance
        assert gradient_cumulant(covariance, spread) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("dimension", [1, 2])
def test_a_column_does_not_depend_on_the_others(dimension: int) -> None:
    """With and without heavy tails, slack and variance."""
    profile = np.array([[0.3, 0.2], [0.5, 0.1], [0.4, 0.0], [0.0, 0.0], [1.0, 2.0]])[:, :dimension]
    slack, scale = np.array([0.1, 0.3, 0.1, 0.0, 0.2]), np.array([0.0, 0.1, 0.02, 0.0, 0.5])
    trace, largest = profile.sum(axis=1) + slack, profile.max(axis=1) + slack
    for full in (None, profile):
        together = norm_bound(trace, largest, scale, 7.0, dimension, profile=full, slack=slack)
        for k in range(5):
            arguments = (trace[k], largest[k], scale[k], 7.0, dimension)
            own = None if full is None else profile[k]
            alone = norm_bound(*arguments, profile=own, slack=slack[k]).radius
            assert together.radius[k] == pytest.approx(float(alone), rel=1e-12)


@given(
    scale=st.floats(1e-3, 1e3),
    gam=st.floats(0, 3),
    spread=st.lists(st.floats(0.01, 1), min_size=1, max_size=6),
    slack=st.floats(0, 1),
)
@example(scale=1.0, gam=5e-324, spread=[1.0], slack=0.0)
def test_norm_bound_has_units_and_is_always_finite(
    scale: float, gam: float, spread: list[float], slack: float
) -> None:
    profile = np.array(spread)
    arguments = (profile.sum() + slack, profile.max() + slack, gam, 5.0, len(spread))
    plain = norm_bound(*arguments, profile=profile, slack=slack)
    square = scale**2
    scaled = norm_bound(
        square * arguments[0],
        square * arguments[1],
        scale * gam,
        5.0,
        len(spread),
        profile=square * profile,
        slack=square * slack,
    )
    assert math.isfinite(plain.radius)
    assert scaled.radius == pytest.approx(scale * plain.radius, rel=1e-6)


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
