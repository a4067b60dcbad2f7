"""FPFC's Theorem 1 as it is read: its conditions, constants and inequalities by hand."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from clusterproof.algorithms import FPFC
from clusterproof.algorithms.penalties import SCAD
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.fpfc import partial_participation, repaired
from clusterproof.theory.papers.fpfc.measured import Averages, run_averages, unit_prox_lengths
from clusterproof.theory.papers.fpfc.scalar_rounds import ScalarSetting
from clusterproof.theory.papers.fpfc.theorem_1 import WEAK_CONVEXITY, Constants

Plant = Callable[..., Any]
F = Fraction


def setting_of(clients: int, rho: float, smoothing: float, local_steps: int, **options: Any) -> Constants:
    """Clients of curvature 1, strength 0.6, the largest step size that is allowed."""
    algorithm = FPFC(
        step_size=1 / (1 + 2 * rho - WEAK_CONVEXITY),
        local_steps=local_steps,
        strength=0.6,
        smoothing=smoothing,
        augmentation=rho,
        threshold=0.5,
        **options,
    )
    return Constants(algorithm, clients, 1.0, WEAK_CONVEXITY)


def run_of(setting: Constants, minimisers: list[float], start: float, **how: int) -> Averages:
    count = len(minimisers)
    task = QuadraticMixture(
        hessians=np.ones((count, 1, 1)),
        centers=np.array(minimisers)[:, None],
        labels=np.zeros(count, dtype=int),
    )
    return run_averages(setting.algorithm, task, np.full((1, 1), start), seed=0, **how)


@pytest.mark.parametrize("minimisers", [(1, -1), (1, -1, 1), (4, -1, 0, 9)])
def test_rounds_in_exact_numbers_are_those_of_the_algorithm(minimisers: tuple[int, ...]) -> None:
    """On the parabola, the line, the concave part and the constant part of SCAD."""
    for rho, smoothing, steps in ((F(23, 4), F(1, 2), 3), (F(5), F(3, 10), 1), (F(12), F(12, 25), 7)):
        exact = ScalarSetting(rho, smoothing, steps)
        setting = setting_of(len(minimisers), float(rho), float(smoothing), steps)
        run = run_of(setting, [*map(float, minimisers)], 2.0, rounds=4, replicates=1)
        found = exact.mean_squared_gradient([*map(F, minimisers)], F(2), 4)
        assert run.models.item() == pytest.approx(float(found), rel=1e-9)
        low, high = exact.power
        assert float(low) == pytest.approx(setting.power, rel=1e-12)
        assert low**2 <= exact.squared_power < high**2
        assert float(exact.most_of_first(low, high)) == pytest.approx(
            setting.first_of(setting.power), rel=1e-9
        )
        assert float(exact.second_denominator) == pytest.approx(setting.second_denominator, rel=1e-12)


def test_where_no_pair_moves_the_difference_of_two_clients_is_at_least_that_of_their_means() -> None:
    setting = setting_of(2, 5.0, 0.3, 10, pair_rule="both", participation=0.5)
    run = run_of(setting, [1.0, -1.0], 0.0, rounds=40, replicates=400)
    least = float(ScalarSetting(F(5), F(3, 10), 10).least_squared_difference(2, 40)) / 8
    assert least <= run.duals.mean() <= 1.05 * least


def test_the_constants_are_those_of_the_statement() -> None:
    setting = setting_of(clients=3, rho=5, smoothing=0.3, local_steps=4)
    c = 1 - 2 / (1 + 10 - 1e-3) * (5 - 1e-3) * 6 / (6 + 5 - 1e-3)
    r = 1 / (c**-2 - 1)
    assert setting.contraction == pytest.approx(c, rel=1e-12)
    assert setting.inexactness == pytest.approx(r, rel=1e-12)
    denominators = 5 - 1 - 2 * r * 6, 25 - 2 * 5 - 2 * 4
    assert setting.first == pytest.approx(
        6 * (r**2 * 36 + 25) / denominators[0] + 12 * 125 / denominators[1], rel=1e-12
    )
    other = 5 - 1 - 2 * c**2 * 6
    assert setting.first_of(setting.power) == pytest.approx(
        6 * (c**4 * 36 + 25) / other + 12 * 125 / denominators[1], rel=1e-12
    )
    assert setting.second == pytest.approx(4 / (3 * 5 * denominators[1]), rel=1e-12)
    assert setting.mapping_bound == pytest.approx(9 * 0.36 * 0.09 / 0.81, rel=1e-12)
    assert setting.start == pytest.approx(3 * 0.3 * 0.6 / 4, rel=1e-12)


def test_a_clients_gradient_has_the_multipliers_of_its_pairs() -> None:
    """Clients 1, 2, 3 and pairs 12, 13, 23: L_f (w_i - c) and a third of the sum of v_ij, where v_ji = -v_ij."""
    forms = partial_participation.gradient_rows(repaired.weakly_coupled(3, 0.5))
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


def test_the_mapping_of_a_pair_is_largest_where_the_proof_says() -> None:
    """At t = lambda xi / (lambda + xi) theta + v has length lambda, and the proximal map gives 0."""
    lam, xi, worst = 1.5, 0.5, Fraction(3, 8)
    for length in (worst, *(Fraction(k, 50) for k in range(400))):
        t = float(length)
        target = t + (lam / xi * t if t <= xi else SCAD(strength=lam, concavity=3.0).derivative(t))
        grid = np.linspace(0, 12, 24_001)
        values = SCAD(strength=lam, concavity=3.0).value(grid) + (grid - target) ** 2 / 2
        sides: Any = repaired.repaired_mapping(Fraction(3, 2), Fraction(1, 3), Fraction(3), length)
        assert np.sqrt(sides.measured) == pytest.approx(abs(t - grid[values.argmin()]), abs=6e-4)
        assert sides.allowed == pytest.approx(float(worst) ** 2)
        assert sides.measured <= sides.allowed * (1 + 1e-12)
        assert length != worst or sides.measured == pytest.approx(sides.allowed)
