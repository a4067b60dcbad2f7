"""Both sides of the appendix's claims that are summed over all outcomes, from the printed statements."""

import math
from fractions import Fraction as F  # noqa: N817 - a table of fractions
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sides_by_hand import assert_pairs, assert_sides, sides_at


def binomial(count: int, p: F) -> list[F]:
    return [math.comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(count + 1)]


def test_equation_25() -> None:
    one: dict[str, Any] = {"own": "3/2", "other": "5/2", "mean_own": "1/2", "mean_other": "7/3"}
    assert_pairs(sides_at("equation-24", one, "(25)"), 3 / 2 - 17 / 12, 5 / 2 - 17 / 12)


LAW = {"samples": 3, "rarity": F(1, 3), "jump": F(3), "first": F(-1, 4), "second": F(1, 4)}


def losses(y: F, models: tuple[F, F]) -> list[F]:
    return [(chi - y) ** 2 / 2 for chi in models]


def wrong_choice(one: dict[str, Any]) -> tuple[F, F]:
    """Chance that the mean of n' samples is at least as near to chi_1 as to chi_2, and the losses' larger variance."""
    values = {
        -1 + one["jump"]: one["rarity"],
        -1 - one["jump"] * one["rarity"] / (1 - one["rarity"]): 1 - one["rarity"],
    }
    models, wrong = (1 + one["first"], -1 + one["second"]), F(0)
    for batch in product(values, repeat=one["samples"]):
        own, other = (sum(losses(y, models)[k] for y in batch) for k in (1, 0))
        wrong += math.prod((values[y] for y in batch), start=F(1)) * (own >= other)
    variances = []
    for k in (0, 1):
        mean = sum(p * losses(y, models)[k] for y, p in values.items())
        variances.append(sum(p * (losses(y, models)[k] - mean) ** 2 for y, p in values.items()))
    return wrong, max(variances)


@pytest.mark.parametrize(("jump", "level"), [(F(3), F(9, 10)), (F(4), F(1, 2)), (F(1, 2), F(1, 10))])
def test_a16_as_printed(jump: F, level: F) -> None:
    one = LAW | {"jump": jump}
    wrong, variance = wrong_choice(one)
    threshold = 128 * (2 + 6) * variance / (16 * level * 3)
    many = sum(chance for k, chance in enumerate(binomial(6, wrong)) if k > threshold)
    assert_sides(sides_at("a16", one | {"own": 2, "foreign": 6, "level": level}), 1 - many, printed=1 - level)


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
