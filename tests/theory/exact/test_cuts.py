"""Cuts in exact numbers against SciPy's linkages on the cosines, and the devices of CFL against the algorithm."""

from fractions import Fraction

import numpy as np
import pytest

from clusterproof.algorithms.bipartition import bipartition, cosine_similarities, cross_similarity
from clusterproof.theory.exact.cuts import across, cut_by_linkage, least_across, similarities_of
from clusterproof.theory.papers.gradient_loss.only_losses import clusters_of, labels_of, pulled


@pytest.mark.parametrize(("linkage", "closest"), [("single", max), ("complete", min)])
def test_linkages_in_exact_numbers_cut_as_those_of_floats_do(linkage: str, closest: object) -> None:
    stream = np.random.default_rng(0)
    for _ in range(60):
        updates = stream.integers(-50, 51, (int(stream.integers(2, 7)), 3))
        floats, exact = cosine_similarities(updates.astype(float)), similarities_of(updates.tolist())
        side = bipartition(floats, linkage)
        stays, leaves = cut_by_linkage(exact, closest)  # type: ignore[arg-type]
        assert sorted(leaves) == np.flatnonzero(side).tolist()
        assert max(across(exact, stays, leaves)) >= least_across(exact)
        squared = cross_similarity(floats, side) * abs(cross_similarity(floats, side))
        np.testing.assert_allclose(float(max(across(exact, stays, leaves))), squared, atol=1e-12)
        if linkage == "single":
            assert max(across(exact, stays, leaves)) == least_across(exact)


@pytest.mark.parametrize("pull", [Fraction(1, 100), Fraction(1, 2), Fraction(4)])
def test_devices_at_rest_have_the_clusters_of_the_algorithm(pull: Fraction) -> None:
    for signs in ([1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1, 1, -1]):
        found = labels_of([sign * pull for sign in signs])
        assert found == clusters_of(pulled(np.array(signs), pull)).tolist()
