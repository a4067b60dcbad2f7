"""Fusion penalties against brute force and skglm, and what their formulas promise."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clusterproof.algorithms.penalties import SCAD, GroupL1, SmoothedSCAD
from clusterproof.common import InvalidArgument

STRENGTHS = st.floats(0.05, 3)
CONCAVITIES = st.floats(1.2, 6)


@st.composite
def penalties(draw):
    strength = draw(STRENGTHS)
    kind = draw(st.sampled_from(["l1", "scad", "smoothed"]))
    if kind == "l1":
        return GroupL1(strength=strength)
    concavity = draw(CONCAVITIES)
    if kind == "scad":
        return SCAD(strength=strength, concavity=concavity)
    return SmoothedSCAD(
        strength=strength, concavity=concavity, smoothing=strength * draw(st.floats(0.001, 0.99))
    )


def plain_value(penalty, t):
    """The paper's P_a and its surrogate for one length, as printed."""
    lam = penalty.strength
    if isinstance(penalty, GroupL1):
        return lam * t
    a = penalty.concavity
    if isinstance(penalty, SmoothedSCAD) and t <= penalty.smoothing:
        return lam * t**2 / (2 * penalty.smoothing) + penalty.smoothing * lam / 2
    if t <= lam:
        return lam * t
    if t <= a * lam:
        return (a * lam * t - 0.5 * (t**2 + lam**2)) / (a - 1)
    return lam**2 * (a + 1) / 2


def brute_force(penalty, augmentation, length):
    """Return the minimiser over t of g(t) + rho / 2 (t - length)^2: a fine grid, then golden section."""

    def objective(t):
        return plain_value(penalty, t) + augmentation / 2 * (t - length) ** 2

    grid = np.linspace(0, length, 2001)
    best = int(np.argmin([objective(t) for t in grid]))
    low, high = grid[max(0, best - 1)], grid[min(2000, best + 1)]
    ratio = (np.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if objective(left) <= objective(right) else (left, high)
    return (low + high) / 2


@given(penalties(), st.floats(1.02, 20), st.floats(0.001, 5), st.floats(0, 2 * np.pi))
def test_prox_is_the_minimiser_found_by_brute_force(penalty, factor, relative, angle):
    floor = penalty.weakest_augmentation or 0.05
    augmentation = factor * floor
    reach = penalty.saturation if np.isfinite(penalty.saturation) else penalty.strength / augmentation
    point = relative * reach * np.array([np.cos(angle), np.sin(angle)])
    length = np.linalg.norm(point)
    found = penalty.prox(point, augmentation)
    expected = brute_force(penalty, augmentation, length)
    # the objective's least curvature turns rounding of its values into an error of the minimiser
    curvature = augmentation - penalty.weakest_augmentation
    size = plain_value(penalty, length) + augmentation * length**2
    tolerance = 1e-9 + 4 * np.sqrt(1e-15 * size / curvature)
    np.testing.assert_allclose(found, expected * point / length, rtol=0, atol=tolerance)


@given(penalties(), st.floats(0.0005, 12))
def test_values_and_derivatives_are_those_of_the_printed_formula(penalty, relative):
    t = relative * penalty.strength
    assert np.isclose(penalty.value(np.float64(t)), plain_value(penalty, t), rtol=1e-13, atol=0)
    kinks = [penalty.strength, penalty.saturation, getattr(penalty, "smoothing", 0.0)]
    step = 1e-6 * penalty.strength
    assume(all(abs(t - kink) > 2 * step for kink in kinks))
    quotient = (plain_value(penalty, t + step) - plain_value(penalty, t - step)) / (2 * step)
    assert np.isclose(penalty.derivative(np.float64(t)), quotient, rtol=1e-4, atol=1e-5 * penalty.strength)


@pytest.mark.slow(reason="imports skglm")
def test_values_proximal_points_and_subgradients_are_those_of_skglm(monkeypatch):
    monkeypatch.setattr("numba.config.DISABLE_JIT", True)  # which takes seconds, and points are few
    from skglm.penalties import L2_1, BlockSCAD

    stream = np.random.default_rng(0)
    points = stream.standard_normal((200, 4)) * stream.uniform(0, 2, (200, 1))
    pairs = (SCAD(strength=0.6, concavity=3.7), BlockSCAD(0.6, 3.7)), (GroupL1(strength=0.6), L2_1(0.6))
    for (ours, theirs), augmentation in itertools.product(pairs, (0.5, 1.0, 3.0)):
        lengths = np.linalg.norm(points, axis=1)
        assert np.isclose(ours.value(lengths).sum(), theirs.value(points), rtol=1e-12)
        expected = np.stack([theirs.prox_1feat(point, 1 / augmentation, 0) for point in points])
        found = ours.prox(points, augmentation)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
        assert (np.linalg.norm(found, axis=1) == 0).any()
        duals = stream.standard_normal(points.shape)
        distances = theirs.subdiff_distance(found, -duals, np.arange(200))
        np.testing.assert_allclose(ours.stationarity_residual(found, duals), distances, rtol=0, atol=1e-12)


@given(CONCAVITIES, st.floats(0.01, 1))
def test_an_augmentation_of_at_most_the_negative_curvature_is_refused(concavity, share):
    penalty = SCAD(strength=1.0, concavity=concavity)
    with pytest.raises(InvalidArgument, match="two minima") as raised:
        penalty.prox(np.ones(2), share / (concavity - 1))
    assert raised.value.argument == "augmentation"


def test_the_lipschitz_constant_is_reached_and_never_passed():
    penalty = SmoothedSCAD(strength=0.6, concavity=3.7, smoothing=0.2)
    assert np.isclose(penalty.lipschitz, 3.0, rtol=1e-15)
    t = np.linspace(0, 3, 100_001)
    steepest = np.abs(np.diff(penalty.derivative(t)) / np.diff(t)).max()
    assert np.isclose(steepest, 3.0, rtol=1e-6)
    assert np.isclose(SmoothedSCAD(strength=1.0, concavity=1.2, smoothing=0.9).lipschitz, 5.0, rtol=1e-14)
