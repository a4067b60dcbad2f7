"""The cut of least largest similarity, against all cuts."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterproof.algorithms.bipartition import bipartition, cosine_similarities, cross_similarity


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
