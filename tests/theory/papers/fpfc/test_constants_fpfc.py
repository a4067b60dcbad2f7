"""FPFC's constants: which settings are admissible, and what local steps lower a function by."""

from typing import Any

import numpy as np
import pytest

from clusterproof.algorithms import FPFC
from clusterproof.checker.claims import Outside
from clusterproof.theory.papers.fpfc import repaired
from clusterproof.theory.papers.fpfc.theorem_1 import Constants

LEAST = 1e-3  # L_- of convex losses


def fpfc(rho: float, xi: float, steps: int, *, curvature: float = 1.0, **options: Any) -> FPFC:
    """The printed theorem's longest step."""
    given: dict[str, Any] = {
        "strength": 0.6,
        "threshold": 0.5,
        "step_size": 1 / (curvature + 2 * rho - LEAST),
    }
    return FPFC(**given | {"augmentation": rho, "smoothing": xi, "local_steps": steps} | options)


def setting(algorithm: FPFC, smoothness: float = 1.0, least: float = LEAST) -> Constants:
    return Constants(algorithm, 3, smoothness, least)


def test_each_hypothesis_of_the_printed_theorem_binds() -> None:
    """q < 1/2, the step, rho > L_f / (1 - 2q), 2 lambda / xi and 2 / (a - 1)."""
    longest = 1 / (11 - LEAST)
    c = 0.4 ** (2 / 3)  # where q = 2/5 and L_f / (1 - 2q) = 5
    slow = (1 - c) * (11 - LEAST) / (2 * (5 - LEAST) * 6)
    common: list[tuple[FPFC, FPFC]] = [
        (fpfc(5, 0.3, 8), fpfc(5, 0.3, 8, step_size=longest * (1 + 1e-9))),
        (fpfc(4.001, 0.3, 8), fpfc(3.999, 0.3, 8)),
        (fpfc(5, 0.3, 8, concavity=1.401), fpfc(5, 0.3, 8, concavity=1.399)),
    ]
    for inside, outside in common:
        assert setting(inside).admissible
        assert not setting(outside).admissible
    assert setting(fpfc(5, 0.3, 3)).admissible
    assert not setting(fpfc(5, 0.3, 2)).admissible
    assert setting(fpfc(5, 0.3, 3, step_size=slow * 1.001)).admissible
    assert not setting(fpfc(5, 0.3, 3, step_size=slow * 0.999)).admissible


def test_the_hypotheses_under_which_the_first_constant_is_positive_bind() -> None:
    suppose = repaired.suppose_positive
    mu, smooth = 5 - LEAST, 6
    c = 1 - 2 / (11 - LEAST) * mu * smooth / (smooth + mu)
    assert c**2 < 1 / 3 < c**1.5  # q of T = 4 and T = 3
    least = [(1 + q) / (1 - 3 * q) for q in (c**2.5, c**2)]
    assert least[0] < 5 < least[1]
    suppose(setting(fpfc(5, 0.3, 5)))
    for steps, name in ((4, "rho > L_f"), (3, "q = c")):
        with pytest.raises(Outside, match=name):
            suppose(setting(fpfc(5, 0.3, steps)))
    signs = set()
    for smoothness in np.linspace(0.05, 4.95, 50):  # C_1's first denominator changes its sign there
        one = setting(fpfc(5, 0.3, 8, curvature=smoothness), smoothness)
        signs.add(positive := one.least_augmentation < 5)
        assert (one.first_denominator_of(one.inexactness) > 0) is positive
    assert signs == {True, False}


def a_setting(share: float, steps: int, participation: float = 1.0) -> Constants:
    """Clients of curvature 3, rho = 5, so that L_h = 8, with steps of a share of 1 / L_h."""
    algorithm = FPFC(
        step_size=share / 8,
        local_steps=steps,
        strength=1.0,
        smoothing=0.5,
        augmentation=5.0,
        threshold=0.5,
        participation=participation,
    )
    return Constants(algorithm, 4, 3.0, 0.0)


@pytest.mark.parametrize("share", [1e-3, 0.3, 1.0])
@pytest.mark.parametrize("steps", [1, 2, 7, 20_000])
def test_the_factor_of_the_local_steps_is_attained_by_a_parabola_of_the_largest_curvature(
    share: float, steps: int
) -> None:
    """T steps of gradient descent on 4 w^2 from 1, where the gradient is 8: 64 / A is what they lower it by."""
    one, point = a_setting(share, steps), 1.0
    for _ in range(steps):
        point -= share / 8 * 8 * point
    assert 64 / one.local_steps_factor == pytest.approx(4 - 4 * point**2, rel=1e-9)
    assert a_setting(share, steps, 0.5).local_steps_factor == pytest.approx(2 * one.local_steps_factor)
    if steps == 1:
        assert one.local_steps_factor == pytest.approx(2 / (share / 8 * (2 - share)))
        assert one.local_steps_factor == pytest.approx(one.first_step_factor)
    if steps == 20_000:
        assert one.local_steps_factor == pytest.approx(2 * 8)
