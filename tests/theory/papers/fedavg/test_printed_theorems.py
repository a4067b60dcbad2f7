"""Counterexamples to statements of the literature, from closed forms instead of a search."""

import pytest

from clusterproof.theory import replay


def test_counterexamples_of_the_literature_are_confirmed() -> None:
    fixed = {"first": 7, "second": -8, "local_steps": 3}
    assert replay("fedavg/fixed-steps-fail", fixed | {"step": "1/4"}).verdict == "violated"
    assert replay("fedavg/fixed-steps-fail", fixed | {"step": "1/8"}).verdict == "consistent"
    for step in ("1/8", "1/4"):  # sum a_k^2 (b_k - w*) = 1 - 4 + 3
        assert (
            replay(
                "fedavg/fixed-steps-fail", {"first": 1, "second": -1, "local_steps": 2, "step": step}
            ).verdict
            == "violated"
        )
    edge = replay("fedprox/corollary-7", {"dissimilarity": 2, "drawn": 16})
    assert edge.measured is not None
    assert edge.measured * 24 * 4 == pytest.approx(-0.050, abs=5e-4)
    edge = replay("fedprox/corollary-7", {"dissimilarity": 10, "drawn": 400})
    assert edge.measured is not None
    assert edge.measured * 24 * 100 == pytest.approx(0.674, abs=5e-4)
