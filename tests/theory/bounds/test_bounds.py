"""The repaired bounds: numbers of the audit, and how they must depend on their arguments."""

import math

import pytest
from scipy import stats

from clusterproof.theory.bounds.audit_settings import experiment
from clusterproof.theory.bounds.setting import largest_radius
from clusterproof.theory.bounds.theorem_a import TheoremA


def test_misclassification_enters_as_the_exact_worst_case() -> None:
    setting = experiment("S1", None).setting
    near, far = setting.radius, setting.separation - setting.radius
    threshold = (setting.noise**2 + far**2) / (setting.noise**2 + near**2)
    assert setting.misclassification == pytest.approx(stats.f(1000, 1000).sf(threshold), rel=1e-8)


@pytest.mark.slow(reason="several seconds")
def test_best_parts_only_improves() -> None:
    for momentum in (0.0, None):
        setting = experiment("S1", momentum).setting
        best, plain = TheoremA().best_parts(setting), TheoremA().parts(setting)
        assert best.applicable
        assert not plain.applicable or (best.last_round <= plain.last_round * (1 + 1e-12)).all()


def test_radius_limit() -> None:
    task = experiment("S2", None).task
    assert largest_radius(task) == pytest.approx(2 / (1 + math.sqrt(10)))
