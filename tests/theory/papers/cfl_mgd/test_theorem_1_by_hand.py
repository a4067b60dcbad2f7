"""Both sides of the claims on Theorem 1: its floor, its probability, its rounds and what they give."""

import math
from dataclasses import replace
from fractions import Fraction as F  # noqa: N817 - a table of fractions
from typing import Any

import pytest
from sides_by_hand import assert_sides, sides_at

from clusterproof.theory.bounds.audit_settings import experiment
from clusterproof.theory.bounds.setting import Setting
from clusterproof.theory.papers.cfl_mgd.appendix.a35_to_a38 import floor_of_a_round
from clusterproof.theory.papers.cfl_mgd.theorem_1.printed_floor import (
    FloorConstants,
    printed_conclusion,
    printed_floor,
)

PRINTED = [384, math.sqrt(128), 1 / 2, 1 / 4, 384, math.sqrt(128)]


def rho_0(one: Setting, t: int, v: float, sigma: float, level: float, c: list[float]) -> float:
    """(A36), term by term, with lambda_0 = ... = lambda_4 = ``level``."""
    m, n, beta, share = one.clients, one.samples, one.momentum, min(one.proportions)
    mu, smooth, gap, count = one.strong_convexity, one.smoothness, one.separation, len(one.proportions)
    wrong = sigma**2 / (mu**2 * level * gap**4 * n)
    cross = v * sigma / (level * mu * smooth * gap**2 * n * math.sqrt(m * level))
    total = 2 * v / (level * smooth * math.sqrt(share * m * n)) + c[3] * share
    total += c[2] * beta * v * math.sqrt(share * t) / (level * (1 - beta) * smooth * math.sqrt(m * n))
    total += (c[0] + c[4] * beta) * wrong + c[1] * math.sqrt(count) * cross
    return total + c[5] * beta * math.sqrt(count * t) * cross / (1 - beta)


def test_the_floor_is_the_sum_of_the_seven_terms_of_a36() -> None:
    other: Any = {"clients": 37, "samples": 11, "momentum": 0.3, "smoothness": 1.7, "strong_convexity": 0.6}
    one = replace(experiment("S2", 0.5).setting, **other, separation=1.3)
    at: Any = {"round_number": 5, "gradient_deviation": 0.7, "loss_deviation": 1.9, "failure": 0.4}
    for c in (PRINTED, [2.0, 30.0, 5.0, 7.0, 11.0, 13.0]):
        found = printed_floor(one, **at, constants=FloorConstants(*c))
        assert found == pytest.approx(rho_0(one, 5, 0.7, 1.9, 0.4, c))
    assert printed_floor(one, **at) == pytest.approx(rho_0(one, 5, 0.7, 1.9, 0.4, PRINTED))
    assert_sides(floor_of_a_round(one, 0.7, 1.9, 0.4, 5), [(1, 1)])
    assert printed_conclusion(one, 0.3) == pytest.approx(16 * 1.7 / (0.6 * min(one.proportions)) * 0.3)


@pytest.mark.parametrize("exponent", [2, 9])
def test_remark_1_compares_rho_with_the_order_in_m_and_n(exponent: int) -> None:
    size, one = 10**exponent, experiment("S1", None).setting
    one = replace(one, clients=size, samples=size)
    floor = rho_0(one, 1, 0, 0, 0.01, PRINTED)
    assert floor == min(one.proportions) / 4
    rho = 16 * one.smoothness / one.strong_convexity / min(one.proportions) * floor
    found = sides_at("remark-1", {"exponent": exponent, "constant": F(3)})
    assert_sides(found, rho, own=3 / size, false_members=3 / size, cross=3 / (size * math.sqrt(size)))


def test_the_printed_probability_and_what_is_meant() -> None:
    """1 - lambda = lambda_0 + P lambda_1 + 2 lambda_2 + lambda_3 + P lambda_4 + 4 exp(-clm), lm = 100."""
    tail = 4 * math.exp(-100 / 8)
    printed, half = (x + 3 * x + 2 * x + x + 3 * x + tail for x in (0.01, 0.005))
    found = sides_at("theorem-1-probability", {"clusters": 3, "rounds": 50, "failure": 0.01})
    assert_sides(found, printed, meant=1 - 50 * 3 * printed)
    assert f"guarantee is {printed:.3f}, and falls to {half:.3f}" in found.words()


def test_the_steps_by_which_theorem_1_is_vacuous() -> None:
    """l = 2/7, kappa = 9/4, Delta = 5/3: rho = 16 kappa rho_0 / l with rho_0 = l / 4."""
    one = {"share": "2/7", "root_of_kappa": "3/2", "separation": "5/3"}
    rho, start = 16 * F(9, 4) / F(2, 7) * F(2, 7) / 4, F(5, 3) / 4 / F(3, 2)
    assert_sides(sides_at("theorem-1", one, "conclusion"), rho, start=8 * F(27, 8) * start)
    allowed = 4 * F(2, 7) / 32 * F(8, 27) * F(5, 3)
    assert_sides(sides_at("theorem-1", one, "(A38)"), F(2, 7) / 4, allowed=allowed)
    assert_sides(sides_at("theorem-1", one, "rounds"), F(5, 3) / 2 / rho, quarter=F(1, 4))


def test_assumption_5_on_generic_numbers() -> None:
    assert_sides(sides_at("assumption-5", {"first": -1, "second": 1}), [(F(5, 4), F(-3, 4))])
