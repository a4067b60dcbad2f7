"""Theorem A: by hand at zero momentum, the audit's tightness, planted faults."""

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tiers import slow_after

from clusterproof.theory.bounds import theorem_a
from clusterproof.theory.bounds.audit_settings import (
    Experiment,
    experiment,
    log_cosh_experiment,
    run_errors,
    starting_models,
)
from clusterproof.theory.bounds.theorem_a import Contraction, TheoremA, contractions

Plant = Callable[..., Any]


@pytest.mark.slow(reason="a second or more")
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
