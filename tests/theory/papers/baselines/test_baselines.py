"""The baselines' fixed points and CFL: by hand, and with planted faults."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from catalogue import checked

from clusterproof import checker
from clusterproof.algorithms import bipartition as parts
from clusterproof.common import InvalidArgument
from clusterproof.synthetic import QuadraticMixture

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
