"""Both sides of the appendix's claims that are summed over all outcomes, from the printed statements."""

import math
from fractions import Fraction as F  # noqa: N817 - a table of fractions
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sides_by_hand import assert_pairs, assert_sides, sides_at


def test_equation_25() -> None:
    one: dict[str, Any] = {"own": "3/2", "other": "5/2", "mean_own": "1/2", "mean_other": "7/3"}
    assert_pairs(sides_at("equation-24", one, "(25)"), 3 / 2 - 17 / 12, 5 / 2 - 17 / 12)


PAIR: dict[str, Any] = {
    "condition_number": 3,
    "separation": F(2),
    "noise": F(7, 8),
    "samples": 5,
    "steep_axis": 0,
}
PAIR |= {"own_length": F(3, 4), "own_angle": F(1, 5), "other_length": F(1, 2), "other_angle": F(4, 5)}


@pytest.mark.parametrize("steep_axis", [0, 1])
def test_a_pair_of_models_under_gaussian_rows(steep_axis: int) -> None:
    """Sigma = diag(1, 1/3) or diag(1/3, 1), optima at 0 and (2, 0), models at 3/4 and 1/2 of the basin's radius."""
    spectrum = np.array([1, 1 / 3])[:: 1 - 2 * steep_axis]
    radius, n = math.sqrt(1 / 3) * 2 / 4, 5
    own = 3 / 4 * radius * np.array([math.cos(math.pi / 5), math.sin(math.pi / 5)])
    other = np.array([2, 0]) + radius / 2 * np.array([math.cos(4 * math.pi / 5), math.sin(4 * math.pi / 5)])
    a, b, c = (49 / 64 + x @ (spectrum * y) for x, y in ((own, own), (other, other), (own, other)))
    variance = max(a, b) ** 2 / 2
    q = math.sqrt((a + b) ** 2 - 4 * c**2)
    wrong = stats.f.sf((q + b - a) / (q - b + a), n, n)
    one, unit = PAIR | {"steep_axis": steep_axis}, variance / (2**4 / 9 * n)
    assert_sides(sides_at("lemma-1", one), wrong, chebyshev=128 * unit)
    assert_sides(sides_at("lemma-1-cantelli", one), wrong, cantelli=64 * unit / (64 * unit + 1))
