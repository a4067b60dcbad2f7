"""FPFC's pairs against the formulas of the step; memory that is reused or refused, and groups."""

import networkx
import numpy as np
import pytest

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
