"""CFL's splits: thresholds, absent clients are asked, equal clients stay together; and cuts, against all cuts."""

import copy
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterproof.algorithms import CFL, SoFL
from clusterproof.algorithms.averaging import draw_participants
from clusterproof.algorithms.bipartition import bipartition, cosine_similarities, cross_similarity
from clusterproof.common import Randomness
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture


def test_a_replicate_is_compared_with_its_own_first_updates():
    """Thresholds that are shares of the first updates: from afar they are much longer."""
    algorithm = CFL(step_size=0.5, warm_up=2)
    task = QuadraticMixture.random(clusters=2, clients=6, dimension=3, spread=1)
    starts = task.optima.mean(axis=0) + np.array([[[0.0]], [[1000.0]]])
    together = run(algorithm, task, rounds=40, replicates=2, initial=starts)
    for replicate, start in enumerate(starts):
        alone = run(algorithm, task, rounds=40, initial=start)
        np.testing.assert_array_equal(together.assignments[:, replicate], alone.assignments)
    assert (together.assignments[:, 0] != together.assignments[:, 1]).any()


@pytest.mark.parametrize("thresholds", [{}, {"mean_threshold": 1.0, "client_threshold": 1.0}])
def test_identical_clients_are_never_split(thresholds):
    task = QuadraticMixture(hessians=np.ones((5, 1, 1)), centers=np.ones((5, 1)), labels=[0] * 5)
    algorithm = CFL(step_size=0.1, warm_up=0, **thresholds)
    trace = run(algorithm, task, rounds=30, initial=np.array([[7.0]]))
    assert (trace.assignments == 0).all()
    at_rest = run(algorithm, task, rounds=5, initial=np.array([[1.0]]))
    assert (at_rest.assignments == 0).all()
    assert (at_rest.models == 1.0).all()


def test_a_client_whose_update_is_zero_is_placed_and_nothing_is_nan():
    task = QuadraticMixture(
        hessians=np.ones((5, 1, 1)), centers=[[-2.0], [-2.0], [0.0], [2.0], [2.0]], labels=[0, 0, 0, 1, 1]
    )
    trace = run(CFL(step_size=0.5, warm_up=0), task, rounds=10, initial=np.array([[0.0]]))
    assert len(np.unique(trace.assignments[-1])) >= 2
    assert trace.assignments[-1][0] == trace.assignments[-1][1]
    assert trace.assignments[-1][3] == trace.assignments[-1][4] != trace.assignments[-1][0]
    assert np.isfinite(trace.models).all()


class Shifted(QuadraticMixture):
    """Every request of gradients has a number of its own, which is added to them."""

    def gradients(self, points, clients, generator):
        return super().gradients(points, clients, generator) + generator.standard_normal()


def test_a_participant_s_update_is_the_one_that_it_sent_before_all_were_asked():
    centers = np.array([[100.0, 7.0], [-100.0, -7.0]])[[0, 1, 1, 0, 1, 0, 0, 1]]
    task = Shifted(hessians=np.ones((8, 1, 1)) * np.eye(2), centers=centers, labels=[0, 1, 1, 0, 1, 0, 0, 1])
    algorithm = CFL(step_size=0.5, warm_up=0, participation=5 / 8, mean_threshold=40, client_threshold=40)
    start, randomness = np.zeros((1, 2)), Randomness.from_seed(3, "test")
    twin = copy.deepcopy(randomness)
    state = algorithm.step(algorithm.initialise(start, task), task, randomness)
    present = draw_participants(5 / 8, 8, start, twin.participation)
    first, second = twin.gradient.standard_normal(2)
    shifts = np.where(np.isin(np.arange(8), present), first, second)[:, None]
    updates = 0.5 * (centers - shifts)
    expected = [updates[task.labels == label].mean(axis=0) for label in task.labels]
    np.testing.assert_allclose(state.models, expected, rtol=1e-12)


@pytest.mark.parametrize(("ratio", "cut"), [(0.33, True), (0.35, False)])
def test_the_two_most_alike_across_the_cut_decide_whether_noise_explains_it(ratio, cut):
    """At 40, 20, -20 and -40 degrees the nearest across are 40 degrees apart, the farthest 80: sin 20 = 0.342."""
    angles = np.radians([40, 20, -20, -40])
    updates = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    algorithm = CFL(step_size=1.0, mean_threshold=0.9, client_threshold=0.9, noise_ratio=ratio)
    members = np.zeros(4, dtype=int)
    algorithm.split(members, np.arange(4), updates, 1.0)
    assert members.tolist() == ([0, 0, 1, 1] if cut else [0, 0, 0, 0])


@pytest.mark.parametrize(
    ("mean", "reference", "cut"), [(0.099, 3.99, True), (0.101, 3.99, False), (0.099, 4.01, False)]
)
def test_a_split_needs_a_mean_of_a_tenth_and_an_update_of_a_quarter_of_the_first(mean, reference, cut):
    """Updates 1, 1 and twice -1 + 2 x in a line, of the mean x; the same rest makes SoFL cluster."""
    updates, members = np.array([[1.0], [1.0], [2 * mean - 1], [2 * mean - 1]]), np.zeros(4, dtype=int)
    CFL(step_size=1.0).split(members, np.arange(4), updates, reference)
    assert members.tolist() == ([0, 0, 1, 1] if cut else [0, 0, 0, 0])
    assert SoFL(step_size=1.0).at_rest(updates) == (mean < 0.1)


def test_the_first_update_stays_the_reference():
    task = QuadraticMixture.random(clusters=2, clients=6, dimension=3, spread=1)
    trace = run(CFL(step_size=0.5), task, rounds=4, initial=np.ones((1, 3)), record=("reference",))
    moves = 0.5 * task.gradients(np.ones((6, 3)), np.arange(6), None)
    longest = np.linalg.norm(moves, axis=1).max()
    np.testing.assert_allclose(trace.recorded["reference"], [0, *[longest] * 4], rtol=1e-12)


def every_cut(count):
    """All bipartitions with the first client on the side that is False."""
    for bits in itertools.product([False, True], repeat=count - 1):
        if any(bits):
            yield np.array([False, *bits])


def least(similarities):
    return min(cross_similarity(similarities, side) for side in every_cut(len(similarities)))


@st.composite
def vectors(draw):
    count, width = draw(st.integers(2, 7)), draw(st.integers(1, 4))
    row = st.lists(st.integers(-3, 3), min_size=width, max_size=width)
    return np.array(draw(st.lists(row, min_size=count, max_size=count)), dtype=float)


@given(vectors())
def test_single_linkage_is_the_exact_cut(updates):
    similarities = cosine_similarities(updates)
    side = bipartition(similarities, "single")
    assert side.any()
    assert not side[0]
    # distances 1 - s are rounded to 2^-53 of at most 2
    assert cross_similarity(similarities, side) == pytest.approx(least(similarities), abs=2**-52)


@pytest.mark.parametrize("linkage", ["single", "complete"])
@pytest.mark.parametrize("updates", [np.ones((5, 2)), np.zeros((4, 3)), [[1.0, 0], [0, 0], [-1.0, 0]]])
def test_degenerate_updates_are_still_cut_in_two(updates, linkage):
    similarities = cosine_similarities(np.asarray(updates, dtype=float))
    assert np.isfinite(similarities).all()
    assert 0 < bipartition(similarities, linkage).sum() < len(updates)


@given(vectors(), st.sampled_from([1e-300, 1e-8, 1e200]))
def test_cosines_are_those_of_the_definition_at_any_scale(updates, scale):
    found = cosine_similarities(scale * updates)
    for i, j in itertools.product(range(len(updates)), repeat=2):
        lengths = np.linalg.norm(updates[i]) * np.linalg.norm(updates[j])
        expected = updates[i] @ updates[j] / lengths if lengths else 0.0
        assert found[i, j] == pytest.approx(expected, abs=1e-14)
