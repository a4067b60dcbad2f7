"""Theorems A, B, B1, C and C' against their printed statements, evaluated a second time in ``helpers/statements.py``."""

import math
from fractions import Fraction

import numpy as np
import pytest
import statements
from statements import CONTEXT, real

from clusterproof import theory
from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.bound import BoundParts
from clusterproof.theory.bounds.corollary_b1 import CorollaryB1
from clusterproof.theory.bounds.setting import Setting
from clusterproof.theory.bounds.theorem_a import TheoremA, contractions
from clusterproof.theory.bounds.theorem_b import TheoremB
from clusterproof.theory.bounds.theorem_c import theorem_c_parts
from clusterproof.theory.bounds.theorem_c_prime import theorem_c_prime_parts

# Double precision against 40 digits, over at most 40 rounds of a stable recursion.
RELATIVE = 1e-9

# own clients, kappa, momentum, T, noise, pi, n', step, start. L = 2, Delta = 2, D = 3.
NUMBERS = [
    ((20,), 1.0, 0.0, 1, 0.5, 0.0, 500, 0.5, 0.1),
    ((20,), 4.0, 0.5, 12, 0.5, 0.0, 10**6, 0.5, 0.1),
    ((10, 30), 1.0, 0.0, 12, 0.0, 0.0, 10**6, 0.5, 0.1),
    ((10, 30), 4.0, 0.3, 40, 0.5, 0.0, 10**7, 0.5, 0.05),
    ((10, 30), 4.0, 0.9, 20, 0.5, 0.0, 10**7, 0.5, 0.05),
    ((5, 10, 15), 1.0, 0.9, 30, 0.2, 0.0, 10**7, 0.4, 0.2),
    ((5, 10, 15), 50.0, 0.5, 6, 0.5, 0.0, 10**8, 0.5, 0.02),
    ((400, 600), 1.0, 0.2, 5, 0.5, 1e-3, 10**6, 0.5, 0.1),
    ((100, 200, 300, 400), 1.0, 0.0, 8, 0.3, 1e-5, 10**6, 0.25, 0.1),
    ((500, 300, 200), 4.0, 0.5, 10, 0.2, 1e-7, 10**7, 0.5, 0.02),
]


def setting_of_numbers(
    own: tuple[int, ...], kappa: float, momentum: float, rounds: int, noise: float, pi: float, samples: int,
    step: float, start: float, radius: float = 0.9,
) -> Setting:  # fmt: skip
    """A setting with d = 5, at a basin radius of ``radius`` times the largest one."""
    return Setting(
        proportions=tuple(count / sum(own) for count in own), clients=sum(own), samples=samples, rounds=rounds,
        smoothness=2.0, strong_convexity=2.0 / kappa, separation=2.0, diameter=3.0, noise=noise,
        trace=float(np.geomspace(2.0 / kappa, 2.0, 5).sum()), step_size=step, momentum=momentum,
        radius=radius * 2.0 / (1 + math.sqrt(kappa)), start=tuple(start * (1 + p / 7) for p in range(len(own))),
        misclassification=pi, failure=(0.02, 0.1, 0.07),
    )  # fmt: skip


def common_arguments(setting: Setting, own: tuple[int, ...], p: int) -> dict[str, object]:
    """What Theorems A and B share: counts, noise and sizes of cluster p."""
    m, P, T = setting.clients, len(own), setting.rounds
    delta_1, delta_2, delta_3 = setting.failure
    n_in, n_out = statements.counts(own[p], m, P, T, setting.misclassification, delta_1)
    s2, tau2 = statements.gradient_noise(
        own[p], m, setting.samples, setting.smoothness, setting.trace, setting.noise,
        real(setting.diameter) + setting.radius, n_in,
    )  # fmt: skip
    return {
        "eta": setting.step_size, "L": setting.smoothness, "m": m, "n_in": n_in, "n_out": n_out,
        "D": setting.diameter, "B": setting.radius, "P": P, "T": T, "start": setting.start[p], "s2": s2, "tau2": tau2,
        "delta_2": delta_2, "delta_3": delta_3,
    }  # fmt: skip


def assert_parts(parts: BoundParts, p: int, all_rounds: list[object], last: object) -> None:
    """The parts' column p is the statement's, at every round and after the last."""
    np.testing.assert_allclose(parts.all_rounds[:, p], np.array(all_rounds, dtype=float), rtol=RELATIVE)
    np.testing.assert_allclose(parts.last_round[p], float(last), rtol=RELATIVE)


@pytest.mark.parametrize("numbers", NUMBERS)
def test_theorem_b(numbers: tuple) -> None:
    own = numbers[0]
    setting = setting_of_numbers(*numbers)
    parts = TheoremB().parts(setting)
    inside = True
    for p in range(len(own)):
        bound, last = statements.theorem_b(
            own=own[p], beta=setting.momentum, mu=setting.strong_convexity, **common_arguments(setting, own, p)
        )
        assert_parts(parts, p, bound, last)
        inside &= max(bound) <= setting.radius
    delta_1, delta_2, delta_3 = setting.failure
    assert parts.applicable == inside
    assert delta_2 <= parts.all_rounds_failure <= (delta_1 + delta_2) * (1 + 1e-12)
    np.testing.assert_allclose(parts.last_round_failure - parts.all_rounds_failure, delta_3, rtol=1e-9)


@pytest.mark.parametrize("numbers", NUMBERS)
def test_theorem_a(numbers: tuple) -> None:
    """Each cluster's bound is the statement's at one certificate, and that one is the best after T of those that fit."""
    own = numbers[0]
    setting = setting_of_numbers(*numbers)
    parts = TheoremA().parts(setting)
    for p in range(len(own)):
        candidates = []
        share = Fraction(own[p], sum(own))
        for certificate in contractions(setting.momentum, numbers[1], share, setting.step_size * setting.smoothness):
            result = statements.theorem_a(
                r=certificate.rate, C0=certificate.start, C1=certificate.disturbance, is_norm=certificate.is_norm,
                **common_arguments(setting, own, p),
            )  # fmt: skip
            if result is not None:
                candidates.append(result)
        if not candidates:
            assert not parts.applicable
            continue
        # At T the bound on all rounds holds, too, and with less failure probability: the smaller of both is the last.
        bound, last = min(candidates, key=lambda pair: min(pair[0][-1], pair[1]))
        assert_parts(parts, p, bound, min(bound[-1], last))
