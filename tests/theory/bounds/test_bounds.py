"""The repaired bounds: numbers of the audit, and how they must depend on their arguments."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from clusterproof.theory.bounds.audit_settings import SIZES, experiment
from clusterproof.theory.bounds.corollary_b1 import CorollaryB1
from clusterproof.theory.bounds.setting import largest_radius
from clusterproof.theory.bounds.theorem_b import TheoremB
from clusterproof.theory.papers.cfl_mgd.theorem_1.printed_floor import printed_conclusion, printed_floor


def test_misclassification_enters_as_the_exact_worst_case() -> None:
    setting = experiment("S1", None).setting
    near, far = setting.radius, setting.separation - setting.radius
    threshold = (setting.noise**2 + far**2) / (setting.noise**2 + near**2)
    assert setting.misclassification == pytest.approx(stats.f(1000, 1000).sf(threshold), rel=1e-8)


def test_theorem_b_by_an_independent_computation() -> None:
    """S1 without misclassification, every sum written out."""
    setting = dataclasses.replace(experiment("S1", None).setting, misclassification=0.0)
    parts = TheoremB().parts(setting)
    q, rounds = math.sqrt(setting.momentum), setting.rounds
    assert setting.momentum == pytest.approx((1 - math.sqrt(0.5)) ** 2)
    start = setting.start[0]
    additive = 0.5**2 * 20 * 0.5 / (100 * 1000)
    multiplicative = (20 + 1) * 0.5 / (100 * 1000)
    grid = np.linspace(0.5, 0.5, 1)  # kappa = 1: the one curvature alpha = 1/2, critically damped
    assert grid[0] == pytest.approx((1 - q) ** 2)
    times = np.arange(rounds + 1)
    mean = q**times * (1 + (1 - q) * times) * start
    impulse = (times + 1) * q**times
    variance = np.zeros(rounds + 1)
    for t in range(1, rounds + 1):
        variance[t] = sum(
            impulse[t - 1 - k] ** 2 * (additive + multiplicative * (mean[k] ** 2 + variance[k]))
            for k in range(t)
        )
    # near a = 1 - beta the envelope of case (iii) may exceed case (ii) in the first rounds
    assert (parts.mean[:, 0] >= mean * (1 - 1e-12)).all()
    assert parts.mean[-1, 0] == pytest.approx(mean[-1], rel=1e-9)
    assert parts.variance[-1, 0] == pytest.approx(variance[-1], rel=1e-6)
    assert parts.last_round[0] == pytest.approx(
        mean[-1] + math.sqrt(2 / 0.02) * math.sqrt(variance[-1]), rel=1e-6
    )


def test_corollary_b1_by_hand() -> None:
    setting = experiment("S2", None).setting
    parts = CorollaryB1().parts(setting)
    q = 1 - math.sqrt(0.1 / 10)
    spectrum = np.geomspace(0.1, 1, 20).sum()
    variance = 0.3**2 * spectrum + (spectrum + 1) * setting.radius**2
    for cluster, share in enumerate((0.4, 0.3, 0.2, 0.1)):
        floor = math.sqrt(variance * share / (200 * 2e5) * (1 + q**2) / (1 - q**2) ** 3)
        start = q**80 * (2 / math.sqrt(3) + (1 - q) * 80) * setting.start[cluster]
        assert parts.last_round[cluster] == pytest.approx(start + math.sqrt(4 / 0.02) * floor, rel=1e-9)


@given(
    factor=st.floats(1.01, 100),
    field=st.sampled_from(["clients", "samples"]),
    name=st.sampled_from(["S1", "S2", "S3"]),
)
def test_more_data_never_loosens_theorem_b(factor: float, field: str, name: str) -> None:
    setting = dataclasses.replace(experiment(name, None).setting, misclassification=0.0)
    more = dataclasses.replace(setting, **{field: math.ceil(getattr(setting, field) * factor)})
    assert (TheoremB().parts(more).last_round <= TheoremB().parts(setting).last_round).all()


def test_best_parts_only_improves() -> None:
    for bound, setting in (
        (TheoremB(), experiment("S3", None).setting),
        (CorollaryB1(), experiment("S1", None).setting),
    ):
        best = bound.best_parts(setting)
        assert best.applicable
        plain = bound.parts(setting)
        assert not plain.applicable or (best.last_round <= plain.last_round * (1 + 1e-12)).all()


def test_radius_limit() -> None:
    task = experiment("S2", None).task
    assert largest_radius(task) == pytest.approx(2 / (1 + math.sqrt(10)))


def test_printed_floor_is_useless_on_the_audits_settings() -> None:
    """Section 6.2: the literal floor is 2.6e3 to 1.4e5 on S1-S3, its constant part 4 kappa alone."""
    for name in ("S1", "S2", "S3"):
        setting = experiment(name, None).setting
        bare = printed_conclusion(
            setting, printed_floor(setting, round_number=1, gradient_deviation=0.0, loss_deviation=0.0)
        )
        assert bare == pytest.approx(4 * setting.smoothness / setting.strong_convexity)
        assert bare > max(setting.start)


@pytest.mark.parametrize(("name", "factor"), [("S1", 10**7), ("S3", 50)])
def test_a_precise_setting_differs_in_its_samples_alone(name: str, factor: int) -> None:
    *front, samples, noise, rounds = SIZES[name]
    assert SIZES[f"{name}+"] == (*front, factor * samples, noise, rounds)
