"""Theorem A: by hand at zero momentum, the audit's tightness, planted faults."""

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from planted_sides import refuted_lines
from sides_by_hand import statement_of
from tiers import slow_after

from clusterproof import theory
from clusterproof.algorithms import run
from clusterproof.theory.bounds import theorem_a
from clusterproof.theory.bounds.audit_settings import (
    Experiment,
    experiment,
    log_cosh_experiment,
    run_errors,
    starting_models,
)
from clusterproof.theory.bounds.setting import Setting
from clusterproof.theory.bounds.theorem_a import BoundParts, Contraction, TheoremA, contractions
from clusterproof.theory.papers.cfl_mgd.repaired import theorem_a as claim

Plant = Callable[..., Any]


def test_plain_descent_contracts_by_its_known_rate() -> None:
    """V = ||e||^2 with r = 1 - alpha mu, C_0 = C_1 = 1, is the textbook certificate."""
    certificates = contractions(0.0, 10.0, Fraction(1, 2), 1.0)
    norms = [certificate for certificate in certificates if certificate.is_norm]
    assert min(certificate.rate for certificate in certificates) == pytest.approx(0.95, abs=1e-6)
    best = min(norms, key=lambda certificate: certificate.rate)
    assert (best.rate, best.start, best.disturbance) == pytest.approx((0.95, 1.0, 1.0), abs=2e-3)


def test_bound_by_hand(plant: Callable[..., Any]) -> None:
    """One certificate r = 1/2, C_0 = 2, C_1 = 3, a norm; no misclassification, no multiplicative noise."""
    certificate = Contraction(rate=0.5, start=2.0, disturbance=3.0, is_norm=True)
    plant(theorem_a, "contractions", lambda *_: (certificate,))
    setting = dataclasses.replace(log_cosh_experiment(0.0, 10**6).setting, misclassification=0.0, rounds=3)
    parts = TheoremA().parts(setting)
    start, additive = setting.start[0], 0.5 / (50 * 1e6)
    assert parts.mean[:, 0] == pytest.approx([2 * start / 2**t for t in range(4)])
    excess = math.sqrt(2 * 9 / 0.02 * 3 * additive)
    assert parts.all_rounds[:, 0] == pytest.approx(parts.mean[:, 0] + excess)
    second = (2 * start) ** 2
    for _ in range(3):
        second = second / 4 + 9 * additive
    assert parts.variance[-1, 0] == pytest.approx(second)
    expected = min(parts.mean[-1, 0] + excess, math.sqrt(2 / 0.02 * second))
    assert parts.last_round[0] == pytest.approx(expected)
    # the first bound, 2 ||e_0||, is the largest: it has to be in the basin as well as the last
    wide, narrow = (dataclasses.replace(setting, radius=factor * start) for factor in (3, 1.5))
    assert TheoremA().parts(wide).applicable
    assert not TheoremA().parts(narrow).applicable
    # a certificate that stays in the basin goes before one that is better after T
    slow = Contraction(rate=0.9, start=1.0, disturbance=3.0, is_norm=True)
    plant(theorem_a, "contractions", lambda *_: (certificate, slow))
    for one, mean in ((wide, parts.mean[:, 0]), (narrow, start * 0.9 ** np.arange(4))):
        chosen = TheoremA().parts(one)
        assert chosen.mean[:, 0] == pytest.approx(mean)
    assert chosen.applicable


@pytest.mark.parametrize(
    ("one", "least", "largest"),
    slow_after(
        1,
        "150 runs of further settings",
        [
            (experiment("S1", 0.0), 8.2, 8.3),
            (experiment("S1", None), 9.0, 9.0),
            (log_cosh_experiment(0.0, 20_000), 12.6, 12.7),
            (log_cosh_experiment(0.4, 20_000), 11.5, 12.1),
            (experiment("S3", 0.0), 19.2, 19.7),
        ],
    ),
    ids=lambda value: getattr(value, "name", ""),
)
def test_tightness_of_the_audit(one: Experiment, least: float, largest: float) -> None:
    errors = run_errors(one, 0, starting_models(one, 0, 150, "test"))
    parts = TheoremA().best_parts(one.setting)
    assert parts.applicable
    assert (errors <= (1 + 1e-9) * parts.all_rounds[:, None]).all()
    ratio = np.quantile(parts.last_round / errors[-1], 0.05, axis=0).min()
    assert 0.9 * least < ratio < 1.1 * largest


@pytest.mark.slow(reason="several seconds")
def test_it_holds_on_runs_that_are_not_quadratic_and_notices_slow_ones() -> None:
    setting = log_cosh_experiment(0.4, 20_000)
    trace = run(setting.algorithm, setting.task, rounds=60, seed=1, replicates=30)
    theory.assert_holds("cfl-mgd/theorem-a", setting.task, trace)
    errors = np.asarray(trace.errors).copy()
    errors[1:] *= 30
    slow = dataclasses.replace(trace, errors=errors)
    with pytest.raises(AssertionError, match="30 of 30 replicates"):
        theory.assert_holds("cfl-mgd/theorem-a", setting.task, slow)


class WithoutProportion(TheoremA):
    """Certificates of the map with step eta instead of eta l_p."""

    def parts(self, setting: Setting) -> BoundParts:
        whole = dataclasses.replace(setting, proportions=(1.0,) * setting.clusters)
        return dataclasses.replace(super().parts(setting), mean=super().parts(whole).mean)


class WithoutDisturbance(TheoremA):
    """Noise that does not accumulate: the second moment of one round alone."""

    def parts(self, setting: Setting) -> BoundParts:
        parts = super().parts(setting)
        additive, _ = self.gradient_noise(setting, min(setting.proportions), 0)
        return dataclasses.replace(
            parts, variance=np.full_like(parts.variance, setting.step_size**2 * additive)
        )


@pytest.mark.slow(reason="plants faults in each part of the bound")
@pytest.mark.parametrize(
    ("bound", "conclusion"), [(WithoutProportion(), "envelope"), (WithoutDisturbance(), "variance")]
)
def test_planted_faults(bound: TheoremA, conclusion: str, plant: Plant) -> None:
    plant(claim, "BOUND", bound)
    assert conclusion in refuted_lines(statement_of("cfl-mgd/theorem-a", "moments"), 4)
