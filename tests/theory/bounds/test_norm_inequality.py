"""The norm inequality and the row lemma: printed numbers, exact laws, and real rows."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from clusterproof.synthetic.misclassification import worst_case_error
from clusterproof.theory.bounds.norm_inequality import (
    ball_quantile,
    first_form,
    norm_bound,
    second_form,
)
from clusterproof.theory.bounds.row_lemma import gamma, gradient_cumulant


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


@given(z=st.floats(0, 1.999))
def test_bounded_rows_have_half_the_scale(z: float) -> None:
    bennett = 1.0 if z < 1e-4 else 2 * (math.expm1(z) - z) / z**2
    assert bennett <= float(gamma(z / 2)) * (1 + 1e-6)


def test_worst_pairwise_error_as_printed() -> None:
    for arguments, expected in (
        ((1, 1, 2, 0.7, 0.3, 14), 1.0954311e-3),
        ((1, 0.25, 2, 0.5, 0.3, 50), 1.4884789e-4),
        ((1, 1, 2, 3, 0.2, 20), 0.12349773),
    ):
        assert worst_case_error(*arguments) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(
    ("arguments", "expected", "form"),
    [
        ((20, 1, 0, math.log(50), 20), 6.580, 2),
        ((20, 1, 0.02, math.log(50), 20), 7.147, 2),
        ((1, 1, 0.1, math.log(50), 1), 3.349, 3),
        ((100, 1, 2, math.log(100), 100), 89.5, 1),
    ],
)
def test_norm_bound_as_printed(arguments: tuple[float, ...], expected: float, form: int) -> None:
    bound = norm_bound(*arguments)
    assert 0.995 * expected <= bound.radius <= 1.005 * expected
    assert bound.form == form


def test_both_forms_as_printed() -> None:
    level = math.log(50)
    assert second_form(20, 1, level, 20, b=1.5, g=1.2, truncation=0.01) == pytest.approx(7.2745911, rel=1e-7)
    needed = gamma(0.02 * (7.2745911 / 1.5 + math.sqrt(ball_quantile(20, 0.01) / 1.5)))
    assert needed == pytest.approx(1.15448, rel=1e-5)
    b, c = np.meshgrid(np.geomspace(0.05, 20, 300), np.geomspace(0.5, 20, 300))
    for scale, printed in ((0.0, 7.273), (0.02, 7.646)):
        best = first_form(20, 1, scale, level, 20, b=b, c=c, truncation=0.01).min()
        assert best == pytest.approx(printed, rel=1e-3)


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


def test_what_is_found_satisfies_the_inequalities_it_claims() -> None:
    """Evaluate the reported b, c, g and eps by formulas of their own."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        d = int(rng.integers(1, 30))
        v = rng.uniform(0.01, 1, d) ** 2
        slack, gam, level = float(rng.uniform(0, 0.1)), float(rng.choice([0, 0.01, 0.3, 5])), 4.0
        bound = norm_bound(v.sum() + slack, v.max() + slack, gam, level, d, profile=v, slack=slack)
        b, c, g, eps = (
            float(x) for x in (bound.inverse_variance, bound.tilt, bound.factor, bound.truncation)
        )
        op, tr = v.max() + slack, v.sum() + slack
        if bound.form == 3:
            r = c * tr * g / 2 + (level + math.log(2)) / c
            assert gam * c < 1
        else:
            q = ball_quantile(d, eps)
            raised = level + math.log(1 / (1 - eps))
        if bound.form == 1:
            r = g * (op * c / 2 + tr / (2 * b * c)) + b * c / 2 + raised / c
            assert g >= gamma(gam * (c + math.sqrt(q / b))) * (1 - 1e-12)
        if bound.form == 2:
            volume = sum(math.log(1 + g * variance / b) for variance in v) + g * slack / (b + g * v.min())
            r = math.sqrt((b + g * op) * (2 * raised + volume))
            assert g >= gamma(gam * (r / b + math.sqrt(q / b)))
        assert bound.radius == pytest.approx(r, rel=1e-9)


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


def test_without_the_scale_one_row_in_many_dimensions_breaks_it() -> None:
    norms = sums_of_rows(100, 1, 20_000, np.random.default_rng(1))
    bound = norm_bound(100, 1, 0, math.log(100), 100, profile=np.ones(100)).radius
    assert (norms > bound).mean() == pytest.approx(0.22, abs=0.02)


@pytest.mark.parametrize("level", [3.0, 5.0, 25.0])
@pytest.mark.parametrize("scale", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("spread", [(1.0,), (0.2, 0.5, 1.0), (0.1,) * 12])
def test_the_bound_is_the_least_of_its_three_forms(
    spread: tuple[float, ...], scale: float, level: float
) -> None:
    """N1, N2 and N3 written out from the statement: none is less, and the search is within 5 % of the least."""
    d, slack = len(spread), 0.05
    v, trace, largest = np.array(spread), sum(spread) + slack, max(spread) + slack
    b, c = np.meshgrid(np.geomspace(0.02, 4000, 300), np.geomspace(2e-3, 40, 300))
    forms = []
    with np.errstate(invalid="ignore"):
        for epsilon in (0.01, 0.3):
            ball = np.sqrt(stats.chi2.ppf(1 - epsilon, d) / b)
            raised = level + math.log(1 / (1 - epsilon))
            g = gamma(scale * (c + ball))
            forms.append(g * (largest * c / 2 + trace / (2 * b * c)) + b * c / 2 + raised / c)
        # N2: the radius of a factor g is valid where g >= gamma(Gamma (r + sqrt(q b)) / b)
        g = 1 + np.geomspace(1e-9, 40, 300)[:, None]
        ball, raised = np.sqrt(stats.chi2.ppf(0.99, d) / b), level + math.log(1 / 0.99)
        volume = sum(np.log1p(g * variance / b) for variance in v) + g * slack / (b + g * min(v))
        radius = np.sqrt((b + g * largest) * (2 * raised + volume))
        forms.append(np.where(g >= gamma(scale * (radius / b + ball)), radius, np.inf))
        if d == 1:
            forms.append(c * trace * gamma(scale * c) / 2 + (level + math.log(2)) / c)
    least = np.nanmin([np.nanmin(form) for form in forms])
    radius_found = norm_bound(trace, largest, scale, level, d, profile=v, slack=slack).radius
    assert 0.996 * least <= radius_found <= 1.05 * least
