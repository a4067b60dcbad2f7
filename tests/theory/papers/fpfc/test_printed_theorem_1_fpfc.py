"""FPFC's Theorem 1 as printed: its conditions, constants and inequalities by hand."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from catalogue import checked, decided

from clusterproof.algorithms import FPFC
from clusterproof.algorithms.penalties import SCAD, SmoothedSCAD
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.checker.proof import certify
from clusterproof.theory.checker.sides import Outside
from clusterproof.theory.checker.verdict import Kind
from clusterproof.theory.papers.fpfc import (
    conditions,
    conditions_literal,
    differences,
    partial_participation,
    repaired,
    repaired_moments,
)
from clusterproof.theory.papers.fpfc.constants import Constants
from clusterproof.theory.papers.fpfc.measured import unit_prox_lengths
from clusterproof.theory.papers.fpfc.theorem_1_models import setting_of

Plant = Callable[..., Any]


def test_the_audits_literal_instance_meets_the_conditions_with_a_negative_bound() -> None:
    """L_f = 13.57, rho = 5, T = 10: c = .666, L_f / (1 - 2c) = -40.9, bound on T -3.4."""
    setting = conditions_literal.setting_of(2, 13.57, 10)
    assert conditions_literal.literally_admissible(setting)
    assert setting.contraction == pytest.approx(0.666, abs=1e-3)
    assert 13.57 / (1 - 2 * setting.contraction) == pytest.approx(-40.9, abs=0.1)
    assert 2 * np.log(2) / np.log(setting.contraction) == pytest.approx(-3.4, abs=0.05)
    assert conditions_literal.literal_first(setting) == pytest.approx(-2.6e5, rel=0.05)


def test_the_printed_conditions_cannot_be_met() -> None:
    verdict = checked("fpfc/conditions")
    assert verdict.verdict is Kind.VACUOUS
    (step,) = conditions.conditions.parts[1:]
    certify(step.space, step.conclude)
    stream = np.random.default_rng(0)
    for _ in range(2000):
        smooth, convex = np.sort(10 ** stream.uniform(-3, 3, 2))[::-1]
        step = stream.uniform(0, 1) / (smooth + convex)
        assert 1 - 2 * step * convex * smooth / (smooth + convex) >= 0.5 - 1e-12


def test_the_first_inequality_fails_at_the_audits_instance() -> None:
    """m = 24, lambda = 0.6, xi = 0.3, T = 3, rho = 13.94: q = .3560, denominator -5.70, C_1 = -81.3."""
    algorithm = FPFC(
        step_size=0.03346, local_steps=3, strength=0.6, smoothing=0.3, augmentation=13.94, threshold=0.4
    )
    smoothness = 1 / 0.03346 - 2 * 13.94 + 2e-3
    setting = Constants(algorithm, 24, smoothness, 1e-3 * smoothness)
    assert setting.admissible
    assert setting.power == pytest.approx(0.3560, abs=2e-4)
    assert setting.first_denominator == pytest.approx(-5.70, abs=0.03)
    assert setting.first == pytest.approx(-81.3, abs=0.8)


def test_the_constants_are_those_of_the_statement() -> None:
    setting = setting_of(clients=3, rho=5, share=0.5, local_steps=4)
    c = 1 - 2 / (1 + 10 - 1e-3) * (5 - 1e-3) * 6 / (6 + 5 - 1e-3)
    r = 1 / (c**-2 - 1)
    assert setting.contraction == pytest.approx(c, rel=1e-12)
    assert setting.inexactness == pytest.approx(r, rel=1e-12)
    denominators = 5 - 1 - 2 * r * 6, 25 - 2 * 5 - 2 * 4
    assert setting.first == pytest.approx(
        6 * (r**2 * 36 + 25) / denominators[0] + 12 * 125 / denominators[1], rel=1e-12
    )
    assert setting.second == pytest.approx(4 / (3 * 5 * denominators[1]), rel=1e-12)
    assert setting.mapping_bound == pytest.approx(9 * 0.36 * 0.09 / 0.81, rel=1e-12)
    assert setting.start == pytest.approx(3 * 0.3 * 0.6 / 4, rel=1e-12)


def test_a_clients_gradient_has_the_multipliers_of_its_pairs() -> None:
    """Clients 1, 2, 3 and pairs 12, 13, 23: L_f (w_i - c) and a third of the sum of v_ij, where v_ji = -v_ij."""
    forms = repaired_moments.gradient_rows(repaired_moments.weakly_coupled(3, 0.5))
    expected = 10_000 * np.array([2, 3, 5]) + np.array([7 + 11, -7 + 13, -11 - 13]) / 3
    assert forms @ [2, 3, 5, 7, 11, 13] == pytest.approx(expected, rel=1e-12)


def test_pairs_take_part_as_often_as_counted() -> None:
    algorithm = FPFC(
        step_size=0.1, strength=0.6, smoothing=0.3, augmentation=5.0, threshold=0.4, participation=0.3
    )
    setting = Constants(algorithm, 10, 1.0, 0.0)
    stream = np.random.default_rng(0)
    drawn = np.array([stream.permutation(10)[:3] for _ in range(20_000)])
    assert setting.pair_participation == pytest.approx((drawn < 2).any(axis=1).mean(), abs=0.01)


@pytest.mark.parametrize("concavity", [1.2, 1.8, 2.0, 2.5, 3.7])
def test_the_unit_proximal_map_is_a_global_minimiser(concavity: float) -> None:
    penalty = SCAD(strength=1.0, concavity=concavity)
    grid = np.linspace(0, 6, 6001)
    for length in np.linspace(0, 6, 101):
        found = unit_prox_lengths(penalty, np.array([length]))[0]
        value = penalty.value(found) + 0.5 * (found - length) ** 2
        assert value <= (penalty.value(grid) + 0.5 * (grid - length) ** 2).min() + 1e-12


def test_the_second_inequality_says_nothing_about_the_method() -> None:
    verdict = checked("fpfc/theorem-1-mapping")
    assert verdict.verdict is Kind.VACUOUS
    assert "proved symbolically" in verdict.reason


def test_the_mapping_of_a_pair_is_largest_where_the_proof_says() -> None:
    """At t = lambda xi / (lambda + xi) theta + v has length lambda, and the proximal map gives 0."""
    lam, xi = 1.5, 0.5
    worst = lam * xi / (lam + xi)
    for length in (worst, *np.linspace(0, 8, 400)):
        setting = differences.Setting(lam, 3.0, xi, 2, np.array([length]))
        target = length + (
            lam / xi * length if length <= xi else SCAD(strength=lam, concavity=3.0).derivative(length)
        )
        grid = np.linspace(0, 12, 24_001)
        values = SCAD(strength=lam, concavity=3.0).value(grid) + (grid - target) ** 2 / 2
        assert np.sqrt(setting.squared_mapping / 2) == pytest.approx(
            abs(length - grid[values.argmin()]), abs=6e-4
        )
        assert setting.squared_mapping <= 2 * worst**2 * (1 + 1e-12)
    alone = differences.Setting(lam, 3.0, xi, 2, np.array([worst]))
    assert alone.squared_mapping == pytest.approx(2 * worst**2)
    assert alone.bound == pytest.approx(4 * worst**2)


@pytest.mark.parametrize("concavity", [1.2, 1.5, 2.0])
def test_the_second_inequality_is_false_for_a_concavity_of_at_most_2_and_not_claimed_there(
    concavity: float,
) -> None:
    lam, xi, lengths = 1.0, 0.5, np.linspace(0, 5, 501)
    derivatives = SmoothedSCAD(strength=lam, concavity=concavity, smoothing=xi).derivative(lengths)
    grid = np.linspace(0, 6, 6001)
    plain = SCAD(strength=lam, concavity=concavity)
    ends = [grid[(plain.value(grid) + (grid - z) ** 2 / 2).argmin()] for z in lengths + derivatives]
    worst = float(lengths[np.abs(ends - lengths).argmax()])
    outside = differences.Setting(lam, concavity, xi, 2, np.array([worst]))
    assert 2 * np.abs(ends - lengths).max() ** 2 > 4 * (lam * xi / (lam + xi)) ** 2
    with pytest.raises(Outside, match="a > 2"):
        repaired.repaired_mapping(outside)


def test_the_third_inequality_fails_by_more_than_a_hundred_times() -> None:
    verdict = decided("fpfc/theorem-1-duals")
    assert verdict.measured is not None
    assert verdict.bound is not None
    assert verdict.measured > 100 * verdict.bound
    # two clients at 1 and -1 without multipliers: zeta is their mean, and they rest where the gradient of
    # f_i + rho / 2 (w - zeta)^2 is 0, w_i = +-1 / (1 + rho); the mean square is 2 (2 w)^2 / 16
    assert verdict.measured == pytest.approx(2 * (2 / 6) ** 2 / 16, rel=0.01)


def test_what_the_third_inequality_lacks_grows_with_the_clients_and_is_the_pairs_participation() -> None:
    ratios = {}
    for clients in (4, 6, 8):
        sides = partial_participation.theorem_1_participation(clients, 400)
        ratios[clients] = float(sides.measured / sides.allowed)
    assert ratios[4] < 1 < ratios[6] < ratios[8]
    for clients, ratio in ratios.items():
        assert 0.35 < ratio * 2 / clients < 0.42


def test_the_third_inequality_stands_once_the_factor_is_there(plant: Plant) -> None:
    true = Constants.second
    plant(Constants, "second", property(lambda self: true.__get__(self) / self.pair_participation))
    assert decided("fpfc/theorem-1-participation").verdict is Kind.CONSISTENT


def test_maps_that_are_not_those_of_the_algorithm_are_found_out(plant: Plant) -> None:
    true = partial_participation.round_maps
    plant(partial_participation, "round_maps", lambda setting: 1.01 * true(setting))
    with pytest.raises(ArithmeticError, match="one path"):
        decided("fpfc/theorem-1-participation")


def test_the_step_is_the_longest_for_the_curvature_of_the_clients(plant: Plant) -> None:
    seen = []

    def recorded(algorithm: FPFC, task: QuadraticMixture, *arguments: Any, **numbers: Any) -> Any:
        seen.append((1 / algorithm.step_size, algorithm.local_steps, task.clients, numbers["rounds"]))
        return averages(algorithm, task, *arguments, **numbers)

    averages = plant(conditions_literal, "run_averages", recorded)
    for clients, curvature, steps, rounds in ((2, 13.57, 3, 1), (4, 30.0, 1, 2)):
        conditions_literal.conditions_literal(clients, curvature, steps, rounds)
        longest = curvature + 2 * 5 - conditions_literal.WEAK_CONVEXITY
        assert seen[-1] == (pytest.approx(longest), steps, clients, rounds)
