"""The norm inequality and the row lemma: printed numbers, exact laws, and real rows."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clusterproof.theory.bounds.norm_inequality import (
    norm_bound,
)
from clusterproof.theory.bounds.rows import gamma, gradient_cumulant


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


def test_the_row_lemma_holds_up_to_its_pole_and_is_sharp_at_zero() -> None:
    def lemma(covariance: float, spread: float) -> float:
        return float((covariance**2 + spread**2) * gamma(2 * spread) / 2)

    for spread in [*np.linspace(1e-4, 0.49, 60), 0.499, 0.49999]:
        for ratio in np.linspace(-1, 1, 81):
            exact = gradient_cumulant(ratio * spread, spread)
            bound = lemma(ratio * spread, spread)
            assert exact <= bound * (1 + 1e-9) + 1e-15
    assert gradient_cumulant(0.0, 1e-3) == pytest.approx(lemma(0.0, 1e-3), rel=2e-3)
    # the 2 in the argument of gamma cannot be a 1
    assert gradient_cumulant(0.3, 0.3) > (0.3**2 + 0.3**2) * gamma(0.3) / 2


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


def sums_of_rows(d: int, count: int, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Norms of (1 / sqrt N) sum of N centred gradients at e = 0, s = 1, Sigma = I."""
    squares = rng.chisquare(count, trials)  # sum of the squared residuals
    return np.sqrt(squares / count) * np.sqrt(rng.chisquare(d, trials))


@pytest.mark.parametrize("d", [1, 2, 10, 100])
@pytest.mark.parametrize("count", [1, 5, 1000])
def test_sums_of_real_rows_stay_below(d: int, count: int) -> None:
    trials = 40_000
    norms = sums_of_rows(d, count, trials, np.random.default_rng(d * 10_000 + count))
    for failure in (0.5, 0.1, 0.01):
        bound = norm_bound(d, 1, 2 / math.sqrt(count), math.log(1 / failure), d, profile=np.ones(d)).radius
        assert (norms > bound).mean() <= failure / 2  # the inequality is not sharp: half is what is seen
