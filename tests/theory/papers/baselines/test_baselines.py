"""The baselines' fixed points and CFL: by hand, with planted faults, and its cuts against SciPy's linkages."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from catalogue import checked

from clusterproof import checker
from clusterproof.algorithms import bipartition as parts
from clusterproof.algorithms.bipartition import bipartition, cosine_similarities, cross_similarity
from clusterproof.common import InvalidArgument
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.exact.cuts import across, cut_by_linkage, least_across, similarities_of
from clusterproof.theory.papers.gradient_loss.only_losses import clusters_of, labels_of, pulled

Plant = Callable[..., Any]


def test_minimal_counterexample_of_complete_linkage_has_four_clients() -> None:
    """With three clients both linkages merge the closest pair, and agree."""
    found = checked("cfl/complete-linkage").counterexample
    assert found is not None
    assert found["clients"] == 4
    stream = np.random.default_rng(0)
    for _ in range(200):
        cosines = parts.cosine_similarities(stream.standard_normal((3, 2)))
        single, complete = (parts.bipartition(cosines, linkage) for linkage in ("single", "complete"))
        assert parts.cross_similarity(cosines, single) == parts.cross_similarity(cosines, complete)


def test_a_forged_task_is_refused() -> None:
    flat = QuadraticMixture(
        hessians=np.full((2, 1, 1), 1e-6), centers=np.array([[0.0], [1.0]]), labels=np.zeros(2, int)
    )
    with pytest.raises(InvalidArgument, match=r"eigenvalues in \[1/4, 1\]"):
        checker.replay("baselines/local", {"task": flat.settings, "local_steps": 1})


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
