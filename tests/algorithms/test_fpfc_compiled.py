"""Compiled loops of FPFC: the rounds of the dense double loop, and of the same loops in numpy."""

import dataclasses

import numpy as np
import pytest
from fusion_loops import DenseFPFC, dense_pairs

from clusterproof.algorithms import FPFC, Randomness
from clusterproof.algorithms.grouping import Groups
from clusterproof.algorithms.pairs import pair_storage, pair_updates
from clusterproof.algorithms.participation import draw_participants
from clusterproof.algorithms.penalties import SCAD, GroupL1, SmoothedSCAD
from clusterproof.synthetic import QuadraticMixture

SMOOTHED = {"strength": 0.5, "smoothing": 0.05, "augmentation": 1.3, "threshold": 0.2}
L1 = {"penalty": "l1", "strength": 0.4, "augmentation": 0.7}


def mixture(clients=12):
    return QuadraticMixture.random(
        clusters=3, clients=clients, dimension=4, condition_number=3, separation=2, spread=0.4, seed=3
    )


def follow(algorithm, task, start, rounds):
    state, randomness = algorithm.initialise(start, task), Randomness.from_seed(2)
    for _ in range(rounds):
        state = algorithm.step(state, task, randomness)
        yield state


@pytest.mark.parametrize(
    ("parameters", "rule", "start"),
    [(SMOOTHED, "either", "own"), (SMOOTHED, "all", "common"), (L1, "all", "own")],
    ids=str,
)
def test_every_compiled_round_is_that_of_the_dense_double_loop(plant, parameters, rule, start):
    plant(pair_updates, "LEAST_ENTRIES", 0)
    plant(pair_storage, "PAGE_ENTRIES", 4 * 7)
    task = mixture()
    first = np.ones((1, 4)) if start == "common" else 2.5 * np.random.default_rng(5).standard_normal((12, 4))
    algorithm = FPFC(
        step_size=0.3,
        local_steps=2,
        participation=0.3,
        pair_rule=rule,
        start=start,
        reuse_memory=rule == "all",
        **parameters,
    )
    dense, lots = DenseFPFC(algorithm, task, first), Randomness.from_seed(2).participation
    for state in follow(algorithm, task, first, 40):
        dense.round(draw_participants(0.3, 12, first, lots).tolist())
        assert state.pairs.sums is not None
        np.testing.assert_allclose(state.models, dense.w, rtol=0, atol=1e-11)
        theta, v = dense_pairs(algorithm, state)
        np.testing.assert_allclose(theta, dense.theta, rtol=0, atol=1e-11)
        np.testing.assert_allclose(v, dense.v, rtol=0, atol=1e-11)
        assert state.assignments.tolist() == dense.groups()


def test_compiled_rounds_are_those_of_numpy_with_replicates_too(plant):
    task, start = mixture(), np.random.default_rng(0).standard_normal((3, 1, 4))
    algorithm = FPFC(step_size=0.3, participation=0.3, **SMOOTHED)
    in_numpy = list(follow(algorithm, task, start, 80))
    plant(pair_updates, "LEAST_ENTRIES", 0)
    for ours, theirs in zip(follow(algorithm, task, start, 80), in_numpy, strict=True):
        np.testing.assert_allclose(ours.models, theirs.models, rtol=0, atol=1e-13)
        np.testing.assert_array_equal(ours.assignments, theirs.assignments)
        np.testing.assert_array_equal(ours.pairs.stored, theirs.pairs.stored)
        np.testing.assert_array_equal(ours.pairs.near, theirs.pairs.near)
        kept = dataclasses.replace(ours.pairs, sums=None).partner_sums(ours.models)
        np.testing.assert_allclose(ours.pairs.sums, kept, rtol=0, atol=1e-13)


def test_a_state_may_be_used_again_after_a_compiled_round(plant):
    """Updates are pure: a second round from one state gives what the first gave."""
    plant(pair_updates, "LEAST_ENTRIES", 0)
    task = mixture()
    algorithm = FPFC(step_size=0.3, local_steps=2, participation=0.5, **SMOOTHED)
    state = list(follow(algorithm, task, np.ones((1, 4)), 5))[-1]
    first, again = (algorithm.step(state, task, Randomness.from_seed(7)) for _ in range(2))
    assert first.pairs.sums is not None
    np.testing.assert_array_equal(first.models, again.models)
    np.testing.assert_array_equal(first.pairs.sums, again.pairs.sums)
    after = [algorithm.step(each, task, Randomness.from_seed(8)).models for each in (first, again)]
    np.testing.assert_array_equal(*after)


@pytest.mark.slow(reason="compiles every loop a second time")
def test_single_precision_stays_single_when_compiled(plant):
    task, start = mixture(), np.ones((1, 4), dtype=np.float32)
    plant(pair_updates, "LEAST_ENTRIES", 0)
    algorithm = FPFC(step_size=0.3, **SMOOTHED)
    state, all_clients = algorithm.initialise(start, task), np.arange(12)
    for _ in range(5):
        points = algorithm.anchors(state, all_clients)
        points = points - np.float32(0.3) * (points - task.centers.astype(np.float32))
        state = algorithm.update(state, all_clients, points)
    assert {state.models.dtype, state.pairs.sums.dtype, *(page.dtype for page in state.pairs.pages)} == {
        np.dtype(np.float32)
    }


def test_models_lie_client_by_client_in_memory():
    for start in (np.ones((1, 4)), np.ones((2, 1, 4)), np.ones((12, 4))):
        own = "own" if start.shape[-2] == 12 else "common"
        algorithm = FPFC(step_size=0.3, start=own, **SMOOTHED)
        state = algorithm.initialise(start, mixture())
        assert state.models.flags.c_contiguous
        state = algorithm.step(state, mixture(), Randomness.from_seed(0))
        assert state.models.flags.c_contiguous


@pytest.mark.parametrize("augmentation", [0.6, 1.0, 7.0])
@pytest.mark.parametrize(
    "penalty",
    [GroupL1(strength=0.7), SCAD(strength=0.7), SmoothedSCAD(strength=0.7, smoothing=0.2, concavity=3.0)],
)
def test_the_pieces_of_a_penalty_are_its_shrinkage(penalty, augmentation):
    pieces = penalty.pieces(augmentation)
    edges = pieces[:-1, 0]
    for length in (*np.linspace(0.01, 4, 500), *edges, *(edges + 1e-9)):
        _, p, q = pieces[np.searchsorted(pieces[:, 0], length)]
        expected = float(penalty.shrinkage(np.array([length]), augmentation)[0])
        assert max(0.0, p - q / length) == pytest.approx(expected, abs=1e-14)


def test_groups_are_searched_again_only_if_a_tree_breaks_or_two_groups_join():
    near = np.zeros((1, 6, 6), dtype=bool)
    near[0, :3, :3] = near[0, 3:, 3:] = True
    groups = Groups.of(near)
    assert groups.labels.tolist() == [[0, 0, 0, 1, 1, 1]]
    near[0, 1, 2] = near[0, 2, 1] = False  # still connected by way of 0
    assert groups.after(near, joined=False) is groups
    near[0, 0, 1] = near[0, 1, 0] = False
    assert groups.after(near, joined=False).labels.tolist() == [[0, 1, 0, 2, 2, 2]]
    whole = Groups.of(near)
    near[0, 2, 3] = near[0, 3, 2] = True
    assert whole.after(near, joined=True).labels.tolist() == [[0, 1, 0, 0, 0, 0]]


def test_pairs_that_leap_beyond_the_penaltys_reach_are_close_no_more(plant):
    plant(pair_updates, "LEAST_ENTRIES", 0)
    task, algorithm = mixture(), FPFC(step_size=0.3, **SMOOTHED)
    state = algorithm.initialise(np.zeros((1, 4)), task)
    assert set(state.assignments.tolist()) == {0}
    leap = 100.0 * np.arange(1, 13)[:, None] * np.ones(4)
    after = algorithm.update(state, np.arange(12), leap)
    assert after.assignments.tolist() == list(range(12))
    assert not after.pairs.stored.any()


@pytest.mark.parametrize("share", [0.0, 0.02, 0.05, 0.5])
def test_the_search_for_groups_finds_those_of_scipy_and_trees_of_close_clients(share):
    from scipy.sparse.csgraph import connected_components

    near = np.random.default_rng(1).random((3, 40, 40)) < share
    near |= near.transpose(0, 2, 1) | np.eye(40, dtype=bool)
    groups = Groups.of(near)
    labels, parents = groups.labels, groups.parents
    for run, relation in enumerate(near):
        expected = connected_components(relation, directed=False)[1]
        # both number groups by first appearance
        np.testing.assert_array_equal(labels[run], expected)
        assert relation[np.arange(40), parents[run]].all()
        at = np.arange(40)
        for _ in range(40):
            at = parents[run, at]
        first = np.array([np.flatnonzero(expected == label)[0] for label in expected])
        np.testing.assert_array_equal(at, first)
