"""Purity and the adjusted Rand index against scikit-learn, and on partitions known by heart."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix

from clusterproof.running import adjusted_rand_index, cluster_count, purity

PAIRS = st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 3)), min_size=1, max_size=30)


@given(PAIRS)
def test_both_agree_with_scikit_learn_on_those_present(pairs):
    assignments, labels = np.array(pairs).T
    present = assignments >= 0
    assume(present.any())
    table = contingency_matrix(labels[present], assignments[present])
    assert purity(assignments, labels) == pytest.approx(table.max(axis=0).sum() / table.sum(), abs=1e-15)
    expected = adjusted_rand_score(labels[present], assignments[present])
    assert adjusted_rand_index(assignments, labels) == pytest.approx(expected, abs=1e-12)


@given(PAIRS, st.permutations(range(5)))
def test_names_of_clusters_do_not_matter(pairs, names):
    assignments, labels = np.array(pairs).T
    assume((assignments >= 0).any())
    renamed = np.where(assignments >= 0, np.array(names)[assignments], -1)
    assert purity(renamed, labels) == purity(assignments, labels)
    assert adjusted_rand_index(renamed, labels) == adjusted_rand_index(assignments, labels)


def test_known_partitions():
    labels = np.array([0, 0, 1, 1])
    assert purity(np.array([1, 1, 0, 0]), labels) == adjusted_rand_index(np.array([1, 1, 0, 0]), labels) == 1
    assert purity(np.zeros(4, int), labels) == 0.5
    assert adjusted_rand_index(np.zeros(4, int), labels) == 0
    assert adjusted_rand_index(np.array([0, 1, 0, 1]), labels) == pytest.approx(-0.5)


@given(PAIRS)
def test_clusters_are_counted_over_those_present_and_splitting_never_lowers_the_purity(pairs):
    assignments, labels = np.array(pairs).T
    assert cluster_count(assignments) == len(set(assignments.tolist()) - {-1})
    assume((assignments >= 0).any())
    finer = np.where(assignments >= 0, 5 * np.arange(len(assignments)) % 11 * 5 + assignments, -1)
    assert purity(finer, labels) >= purity(assignments, labels)
    assert cluster_count(finer) >= cluster_count(assignments)


def test_nobody_present_is_not_a_number():
    absent = np.full(3, -1)
    assert cluster_count(absent) == 0
    assert np.isnan(purity(absent, np.arange(3)))
    assert np.isnan(adjusted_rand_index(absent, np.arange(3)))
