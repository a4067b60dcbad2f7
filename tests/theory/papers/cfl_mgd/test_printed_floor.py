"""The floor of Theorem 1 term by term, and the exponential in its probability."""

import math
from fractions import Fraction as F  # noqa: N817 - a table of fractions
from typing import Any

import pytest
from sides_by_hand import assert_sides

from clusterproof.theory.exact.exponentials import exponential_bounds
from clusterproof.theory.papers.cfl_mgd.appendix.a35_to_a42 import floor_of_a_round
from clusterproof.theory.papers.cfl_mgd.floor import FloorConstants, printed_conclusion, printed_floor

PRINTED = [384, math.sqrt(128), 1 / 2, 1 / 4, 384, math.sqrt(128)]


ONE: dict[str, Any] = {"share": 0.1, "clusters": 4, "clients": 37, "samples": 11}
ONE |= {"momentum": 0.3, "smoothness": 1.7, "strong_convexity": 0.6, "separation": 1.3}


def rho_0(t: int, v: float, sigma: float, level: float, c: list[float]) -> float:
    """(A36) of ``ONE``, term by term, with lambda_0 = ... = lambda_4 = ``level``."""
    m, n, beta, share, count = 37, 11, 0.3, 0.1, 4
    mu, smooth, gap = 0.6, 1.7, 1.3
    wrong = sigma**2 / (mu**2 * level * gap**4 * n)
    cross = v * sigma / (level * mu * smooth * gap**2 * n * math.sqrt(m * level))
    total = 2 * v / (level * smooth * math.sqrt(share * m * n)) + c[3] * share
    total += c[2] * beta * v * math.sqrt(share * t) / (level * (1 - beta) * smooth * math.sqrt(m * n))
    total += (c[0] + c[4] * beta) * wrong + c[1] * math.sqrt(count) * cross
    return total + c[5] * beta * math.sqrt(count * t) * cross / (1 - beta)


def test_the_floor_is_the_sum_of_the_seven_terms_of_a36() -> None:
    at: Any = {"round_number": 5, "gradient_deviation": 0.7, "loss_deviation": 1.9, "failure": 0.4}
    for c in (PRINTED, [2.0, 30.0, 5.0, 7.0, 11.0, 13.0]):
        found = printed_floor(**ONE, **at, constants=FloorConstants(*c))
        assert found == pytest.approx(rho_0(5, 0.7, 1.9, 0.4, c))
    assert printed_floor(**ONE, **at) == pytest.approx(rho_0(5, 0.7, 1.9, 0.4, PRINTED))
    exact: dict[str, Any] = {name: F(str(value)) if value % 1 else value for name, value in ONE.items()}
    one = floor_of_a_round(
        **exact, gradient_deviation=F(7, 10), loss_deviation=F(19, 10), level=F(2, 5), round_=5
    )
    assert_sides(one, [(1, 1)])
    assert printed_conclusion(1.7 / 0.6, 0.1, 0.3) == pytest.approx(16 * 1.7 / (0.6 * 0.1) * 0.3)


@pytest.mark.parametrize("exponent", [0, 1 / 8, 0.2, 1, 5, 40])
def test_exponential_is_enclosed(exponent: float) -> None:
    low, high = exponential_bounds(F(exponent))
    assert low <= high
    assert (float(low), float(high)) == pytest.approx((math.exp(-exponent),) * 2, rel=1e-12)
