"""FPFC's Theorem 1 as it is read: its conditions, constants and inequalities by hand."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from catalogue import checked
from counterexample_runs import RUNS

from clusterproof import theory
from clusterproof.algorithms import FPFC, InvalidArgument
from clusterproof.algorithms.penalties import SCAD, SmoothedSCAD
from clusterproof.theory import Kind
from clusterproof.theory.papers.fpfc import partial_participation, repaired
from clusterproof.theory.papers.fpfc.measured import unit_prox_lengths
from clusterproof.theory.papers.fpfc.theorem_1 import Constants, setting_of, theorem_1_models

Plant = Callable[..., Any]


READINGS = {
    "fpfc/conditions": ["rho > max{L_f / (1 - 2c), 2 lambda / xi, 2 / (a - 1), L_-}", "is not printed"],
    "fpfc/theorem-1-models": ["T_i > 2 log 2 / log c", "(c - T/2)^-2 L_h^2", "those C_1 are not refuted"],
    "fpfc/theorem-1-duals": ["For i not in A_k and j not in A_k", "are left open"],
    "fpfc/theorem-1-participation": ["Line 5 leaves pairs of one participant"],
    "fpfc/convex": ["can not correctly recover clusters as shown in our experiments", "is not printed"],
}


@pytest.mark.parametrize("claim_id", READINGS)
def test_a_reading_says_so_and_quotes_what_is_printed(claim_id: str) -> None:
    claim = theory.find_claim(claim_id)
    assert claim.judges == "reading"
    card = " ".join(claim.text.split())
    for words in (", a reading", *READINGS[claim_id]):
        assert words in card


@pytest.mark.parametrize("name", ["bipartition-cost", "conditions-literal", "table-1-cfl"])
def test_what_the_paper_does_not_state_is_not_judged(name: str) -> None:
    with pytest.raises(InvalidArgument, match="claim"):
        theory.find_claim(f"fpfc/{name}")


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_the_first_inequality_is_refuted_with_both_readings_of_the_exponent(seed: int) -> None:
    """m = 2, rho = 5.75, lambda = .6, xi = .5, T = 3, one round from 2: by the recursion in single numbers."""
    found = theory.check("fpfc/theorem-1-models", seed=seed)
    assert found.counterexample is not None
    assert found.counterexample.items() >= {"augmentation": "23/4", "smoothing": 0.5, "rounds": 1}.items()
    rho, lam, xi, least = 5.75, 0.6, 0.5, 1e-3
    alpha = 1 / (1 + 2 * rho - least)
    models = [2.0, 2.0]
    for i, center in enumerate((1.0, -1.0)):
        for _ in range(3):
            models[i] -= alpha * (models[i] - center + rho * (models[i] - 2))  # zeta = 2 at the start
    apart = models[0] - models[1]
    v = rho * lam / (lam + rho * xi) * apart  # theta = rho xi / (lam + rho xi) (w_1 - w_2), at most xi long
    assert apart - v / rho <= xi
    assert found.measured == pytest.approx((models[0] - 1 + v / 2) ** 2 + (models[1] + 1 - v / 2) ** 2)
    c = 1 - alpha * 2 * (rho - least) * (1 + rho) / (1 + rho + rho - least)
    q = c**1.5
    # the hypotheses, and those that are printed, to the letter
    assert q < 1 / 2
    assert rho > max(1 / (1 - 2 * q), 2 * lam / xi, 2 / 2.7)
    assert 1 / (1 - 2 * c) < 0
    assert 2 * np.log(2) / np.log(c) < 0
    den = rho**2 - lam / xi * rho - 2 * (lam / xi) ** 2
    bounds = [
        (6 * (r**2 * (1 + rho) ** 2 + rho**2) / (rho - 1 - 2 * r * (1 + rho)) + 12 * rho**3 / den)
        * 2
        * xi
        * lam
        / 4
        for r in (q / (1 - q), q)
    ]
    assert max(bounds) < 0
    assert found.bound == pytest.approx(max(bounds))
    # the readings that are not refuted
    for r in (1 / (c**-3 - 1), 1 / (c - 1.5)):
        assert rho - 1 - 2 * r * (1 + rho) > 0


def test_an_instance_that_one_reading_of_the_exponent_alone_breaks_is_none() -> None:
    """rho = 4, T = 4, xi = .48: C_1 = -158 with r = q / (1 - q), and 339 with r = q."""
    setting = setting_of(2, 4.0, 0.48, 4)
    assert setting.first == pytest.approx(-158, abs=0.5)
    assert setting.first_of(setting.power) == pytest.approx(339, abs=0.5)
    sides: Any = theorem_1_models(2, Fraction(4), 0.48, 4, 1)
    assert 0 < sides.measured < sides.allowed


def test_with_the_exponent_t_the_first_denominator_is_positive() -> None:
    """(1 + q^2) / (1 - 3q^2) <= 1 / (1 - 2q) for q < 1/2, by 4q^2 - 2q - 2q^3 = -2q (1 - q)^2."""
    for q in np.linspace(0.001, 0.499, 500):
        rho, r = 1.0001 / (1 - 2 * q), q**2 / (1 - q**2)
        assert rho - 1 - 2 * r * (1 + rho) > 0


@pytest.mark.slow(reason="several seconds")
def test_the_conditions_with_a_positive_bound_cannot_be_met() -> None:
    verdict = checked("fpfc/conditions")
    assert verdict.verdict is Kind.VACUOUS
    (step,) = verdict.lines[1:]
    assert step.verdict is Kind.CERTIFIED
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
    assert setting.first_denominator_of(setting.inexactness) == pytest.approx(-5.70, abs=0.03)
    assert setting.first == pytest.approx(-81.3, abs=0.8)


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


@pytest.mark.slow(reason="several seconds")
def test_the_second_inequality_says_nothing_about_the_method() -> None:
    verdict = checked("fpfc/theorem-1-mapping")
    assert verdict.verdict is Kind.VACUOUS
    assert "proved symbolically" in verdict.reason


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


@pytest.mark.parametrize("concavity", [1.2, 1.5, 2.0])
def test_the_second_inequality_is_false_for_a_concavity_of_at_most_2(
    concavity: float,
) -> None:
    lam, xi, lengths = 1.0, 0.5, np.linspace(0, 5, 501)
    derivatives = SmoothedSCAD(strength=lam, concavity=concavity, smoothing=xi).derivative(lengths)
    grid = np.linspace(0, 6, 6001)
    plain = SCAD(strength=lam, concavity=concavity)
    ends = [grid[(plain.value(grid) + (grid - z) ** 2 / 2).argmin()] for z in lengths + derivatives]
    assert 2 * np.abs(ends - lengths).max() ** 2 > 4 * (lam * xi / (lam + xi)) ** 2


@pytest.mark.slow(reason="checks a claim")
def test_the_third_inequality_fails_by_more_than_a_hundred_times() -> None:
    verdict = theory.check("fpfc/theorem-1-duals")
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
    assert theory.check("fpfc/theorem-1-participation").verdict is Kind.CONSISTENT


def test_maps_that_are_not_those_of_the_algorithm_are_found_out(plant: Plant) -> None:
    true = partial_participation.round_maps
    plant(partial_participation, "round_maps", lambda setting: 1.01 * true(setting))
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        RUNS["fpfc/theorem-1-participation"](6, 400)
