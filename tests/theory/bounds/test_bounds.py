"""The repaired bounds: numbers of the audit, and how they must depend on their arguments."""

import math
from typing import Any

import pytest
from scipy import stats

from clusterproof.theory.bounds.audit_settings import SIZES, experiment
from clusterproof.theory.bounds.setting import largest_radius
from clusterproof.theory.bounds.theorem_a import TheoremA
from clusterproof.theory.papers.cfl_mgd.floor import printed_conclusion, printed_floor


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


def test_printed_floor_is_useless_on_the_audits_settings() -> None:
    """Section 6.2: the literal floor is 2.6e3 to 1.4e5 on S1-S3, its constant part 4 kappa alone."""
    for name in ("S1", "S2", "S3"):
        setting = experiment(name, None).setting
        names = "clusters", "clients", "samples", "smoothness", "strong_convexity", "separation", "momentum"
        numbers: dict[str, Any] = {name: getattr(setting, name) for name in names}
        share = min(setting.proportions)
        floor = printed_floor(**numbers, share=share, gradient_deviation=0.0, loss_deviation=0.0)
        bare = printed_conclusion(setting.smoothness / setting.strong_convexity, share, floor)
        assert bare == pytest.approx(4 * setting.smoothness / setting.strong_convexity)
        assert bare > max(setting.start)


@pytest.mark.parametrize(("name", "factor"), [("S1", 10**7), ("S3", 50)])
def test_a_precise_setting_differs_in_its_samples_alone(name: str, factor: int) -> None:
    *front, samples, noise, rounds = SIZES[name]
    assert SIZES[f"{name}+"] == (*front, factor * samples, noise, rounds)
