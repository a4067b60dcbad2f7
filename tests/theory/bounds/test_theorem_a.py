"""Theorem A by hand at one certificate, and the certificate that goes before another one."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clusterproof.theory.bounds import theorem_a
from clusterproof.theory.bounds.audit_settings import (
    log_cosh_experiment,
)
from clusterproof.theory.bounds.theorem_a import Contraction, TheoremA


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
