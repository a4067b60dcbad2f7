"""Penalties of FPFC, and its pair variables on every path of the code."""

import itertools

import networkx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clusterproof.algorithms import FPFC, pairs
from clusterproof.algorithms.pairs import connected_groups, start_pairs, update_pairs
from clusterproof.algorithms.penalties import SCAD, GroupL1, SmoothedSCAD
from clusterproof.common import InvalidArgument, Randomness
from clusterproof.synthetic import QuadraticMixture

AUGMENTATION, THRESHOLD = 1.3, 0.8
PENALTIES = [
    GroupL1(strength=0.7),
    SCAD(strength=0.5, concavity=3.0),
    SmoothedSCAD(strength=0.5, smoothing=0.2),
]


def components(near: np.ndarray) -> list[int]:
    """Connected components by networkx, numbered by first appearance."""
    found = networkx.connected_components(networkx.Graph(near))
    ordered = sorted(found, key=min)
    return [next(k for k, group in enumerate(ordered) if i in group) for i in range(len(near))]


@pytest.mark.parametrize("small", [0, 648])
def test_sums_of_participants_are_free_of_the_rounding_errors_of_earlier_rounds(plant, small):
    """Differences of 1e10 leave errors of 1e-6 in the sums, unless these are added up again."""
    plant(pairs, "SMALL", small)
    stream = np.random.default_rng(2)
    models, everyone = 1e10 * stream.standard_normal((8, 2)), np.ones(8, dtype=bool)
    state = start_pairs(models, THRESHOLD, reuse_memory=True)
    for _ in range(5):
        models = stream.standard_normal((8, 2))
        state = update_pairs(
            state, models, everyone, 1, PENALTIES[0].pieces(AUGMENTATION), THRESHOLD, reuse_memory=True
        )
    vectors = np.zeros((8, 8, 2))
    vectors[np.triu_indices(8, 1)] = (2 * state.factor[:, None] - 1) * state.delta
    expected = (vectors - vectors.swapaxes(0, 1)).sum(axis=1)
    np.testing.assert_allclose(state.sums, expected, rtol=0, atol=1e-12)


def test_a_given_state_is_unchanged_unless_its_memory_is_reused():
    stream = np.random.default_rng(0)
    pieces, moving = PENALTIES[2].pieces(AUGMENTATION), np.arange(6) < 3
    before = start_pairs(stream.standard_normal((6, 4)), THRESHOLD, reuse_memory=False)
    copies = [array.copy() for array in vars(before).values()]
    models = stream.standard_normal((6, 4))
    once = update_pairs(before, models, moving, 1, pieces, THRESHOLD, reuse_memory=False)
    again = update_pairs(before, models, moving, 1, pieces, THRESHOLD, reuse_memory=False)
    for array, copy in zip(vars(before).values(), copies, strict=True):
        np.testing.assert_array_equal(array, copy)
    reusing = update_pairs(before, models, moving, 1, pieces, THRESHOLD, reuse_memory=True)
    assert np.shares_memory(reusing.delta, before.delta)
    for result in (again, reusing):
        for array, expected in zip(vars(result).values(), vars(once).values(), strict=True):
            np.testing.assert_array_equal(array, expected)
    for reuse_memory in (False, True):
        with pytest.raises(RuntimeError, match="reuse_memory"):
            update_pairs(before, models, moving, 1, pieces, THRESHOLD, reuse_memory=reuse_memory)


@pytest.mark.parametrize(("reuse_memory", "clients"), [(False, 40), (True, 56)])
def test_pairs_that_do_not_fit_into_memory_are_refused_with_their_size(plant, reuse_memory, clients):
    """Of 780 and of 1540 pairs of 3 numbers one takes half of 37 440 bytes, the other nearly all of them."""
    plant(pairs, "free_memory", lambda: 2 * 780 * 3 * 8)
    start_pairs(np.zeros((clients, 3)), THRESHOLD, reuse_memory=reuse_memory)
    more = clients + 1
    with pytest.raises(InvalidArgument) as refusal:
        start_pairs(np.zeros((more, 3)), THRESHOLD, reuse_memory=reuse_memory)
    assert refusal.value.argument == "clients"
    assert refusal.value.value == more
    assert f"{more * (more - 1) // 2} pairs" in refusal.value.rule
    assert f"{more * (more - 1) // 2 * 24 / 2**30:.3g} GiB" in refusal.value.rule
    assert ("reuse_memory" in str(refusal.value)) == (not reuse_memory)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.05, 0.5])
def test_groups_are_numbered_by_first_appearance_and_found_from_half_of_a_graph(share):
    near = np.triu(np.random.default_rng(1).random((3, 40, 40)) < share, 1)
    expected = [components(graph) for graph in near]
    for graphs in (near, near | near.swapaxes(1, 2), np.swapaxes(near, 1, 2)):
        assert connected_groups(graphs).tolist() == expected
    assert connected_groups(near[0]).tolist() == expected[0]


def mixture() -> QuadraticMixture:
    return QuadraticMixture.random(
        clusters=3, clients=12, dimension=4, condition_number=3, separation=2, spread=0.4, seed=3
    )


def test_models_lie_client_by_client_in_memory():
    for start in (np.ones((1, 4)), np.ones((2, 1, 4)), np.ones((12, 4))):
        algorithm = FPFC(step_size=0.3, start="own" if start.shape[-2] == 12 else "common")
        state = algorithm.initialise(start, mixture())
        assert state.models.flags.c_contiguous
        state = algorithm.step(state, mixture(), Randomness.from_seed(0))
        assert state.models.flags.c_contiguous


def test_pairs_that_leap_beyond_the_penaltys_reach_are_close_no_more():
    algorithm = FPFC(step_size=0.3, strength=0.5)
    state = algorithm.initialise(np.zeros((1, 4)), mixture())
    assert set(state.assignments.tolist()) == {0}
    leap = 100.0 * np.arange(1, 13)[:, None] * np.ones(4)
    after = algorithm.update(state, np.arange(12), leap)
    assert after.assignments.tolist() == list(range(12))
    assert (after.pairs.factor == 1).all()


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
