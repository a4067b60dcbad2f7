"""Lines of CFL-MGD's appendix by hand, by scipy and by simulation."""

import math
from fractions import Fraction

import numpy as np
import pytest
from catalogue import checked

from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.papers.cfl_mgd.appendix.a3_to_a14 import false_member_norms
from clusterproof.theory.papers.cfl_mgd.appendix.a4_to_a6 import (
    a4_of_regressions,
    exponential_bounds,
)
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import (
    Round,
    noisy_regression,
    two_values,
)


def test_a4_of_regressions_without_false_alarm() -> None:
    """Its other part has a finite space."""
    stream = np.random.default_rng(0)
    for _ in range(250):
        sides = a4_of_regressions(noisy_regression(stream), stream)
        assert (sides.measured <= sides.allowed).all()


@pytest.mark.parametrize("exponent", [0, 1 / 8, 0.2, 1, 5, 40])
def test_exponential_is_enclosed(exponent: float) -> None:
    low, high = exponential_bounds(Fraction(exponent))
    assert low <= high
    assert float(low) == pytest.approx(math.exp(-exponent), rel=1e-12)
    assert float(high) == pytest.approx(math.exp(-exponent), rel=1e-12)


@pytest.mark.slow(reason="evaluates claims with all their instances")
def test_sharp_bounds_are_reported_tight_and_loose_ones_loose() -> None:
    for name in (
        "appendix-a2#(A2), sharper",
        "appendix-a10#(A10), meant: geometry",
        "appendix-a12#(A11)",
        "a7-step#at least",
    ):
        assert checked(f"cfl-mgd/{name}").worst == pytest.approx(1, abs=1e-6), name
    for name in ("appendix-a2#(A7)", "appendix-a15#(A15)", "appendix-a10#(A26)"):
        assert 0 < (checked(f"cfl-mgd/{name}").worst or 0) < 1


def test_each_gradient_of_two_values_is_a_jump_away_from_its_mean() -> None:
    task = two_values(3, 2, 1.5)
    points = np.broadcast_to(task.client_optima, (50, 5, 1))
    drawn = task.gradients(points, np.arange(5), np.random.default_rng(0))
    np.testing.assert_allclose(np.abs(drawn), 1.5)
    assert (drawn < 0).any()
    assert (drawn > 0).any()


def test_false_members_by_loops() -> None:
    """Sums over the members whose cluster is not 0, client by client; v is that of the noisiest of these clusters."""
    task = RegressionMixture.random(clusters=4, clients=9, dimension=3, noise=0.5, seed=2)
    stream = np.random.default_rng(0)
    models, members = stream.standard_normal((4, 3)), stream.random((6, 9)) < 0.6
    gradients = stream.standard_normal((6, 9, 3))
    norms, counts, deviation = false_member_norms(Round(task, models, members, gradients))
    for replicate in range(6):
        false = [i for i in range(9) if members[replicate, i] and task.labels[i] != 0]
        total = [sum(float(gradients[replicate, i, k]) for i in false) for k in range(3)]
        assert counts[replicate] == len(false)
        assert norms[replicate] == pytest.approx(math.hypot(*total) / (9 * task.smoothness))
    assert deviation == pytest.approx(max(task.gradient_variance(models[0], p) ** 0.5 for p in (1, 2, 3)))
