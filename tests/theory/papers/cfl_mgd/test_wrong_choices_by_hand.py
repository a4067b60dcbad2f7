"""Both sides of the claims on wrong choices, where a client's losses take two values."""

import itertools
import math
from fractions import Fraction as F  # noqa: N817 - a table of fractions
from typing import Any

import pytest
from scipy import stats
from sides_by_hand import assert_sides, sides_at

from clusterproof.theory.claims import Outside
from clusterproof.theory.exact.two_point_losses import TwoPointLosses

TWO_VALUES = "(A17), two values"
HEAVY = {
    "samples": 3,
    "rarity": F(2, 5),
    "reach": F(10),
    "lever": F(1, 4),
    "first": F(1, 3),
    "second": F(-2, 7),
}
RARE = {
    "samples": 2,
    "rarity": F(1, 40),
    "reach": F(1),
    "lever": F(1, 3),
    "first": F(-1, 3),
    "second": F(2, 5),
}


@pytest.mark.parametrize("one", [HEAVY, RARE])
def test_lemma_1_its_proof_and_what_the_appendix_makes_of_it(one: dict[str, Any]) -> None:
    """mu = 1 and Delta = 2; the own model of the client at -1 is the second."""
    law = TwoPointLosses(**one)
    wrong = law.error_probability
    unit = law.loss_variance / (16 * law.samples)  # sigma^2 / (mu^2 Delta^4 n')
    if 256 * unit <= 1:
        assert_sides(sides_at("appendix-a4", one, "(A4)"), wrong, half=F(1, 2))
    else:
        with pytest.raises(Outside, match="256"):
            sides_at("appendix-a4", one, "(A4)")
    both = one | {"own": 2, "foreign": 5, "level": F(3, 4)}
    assert_sides(sides_at("appendix-a15", both, line="(A15)"), 5 * wrong, chebyshev=128 * 7 * unit)
    many = stats.binom.sf(math.floor(128 * 7 * unit / F(3, 4)), 5, float(wrong))
    assert_sides(sides_at("appendix-a15", both, line="(A16), meant"), many, markov=F(3, 4))


@pytest.mark.parametrize(
    ("first", "second"), [(F(1, 10), F(1, 4)), (F(1, 100), F(97, 100)), (F(1, 5000), F(1, 5000))]
)
def test_a17_over_all_outcomes_of_five_clients(first: F, second: F) -> None:
    """The largest |T_2| that is reached with a probability above 2 lambda_1 + lambda_2, for m = 7."""
    one: dict[str, Any] = HEAVY | {"samples": 1}
    law = TwoPointLosses(**one)
    (rare, common), wrong, slope = law.noise, law.error_probability, law.models[0] + 1
    client = {F(0): 1 - wrong, slope + rare: wrong * F(2, 5), slope + common: wrong * F(3, 5)}
    assert 0 < wrong < 1
    sums = {F(0): F(1)}
    for _ in range(5):
        before, sums = sums, {}
        for (total, p), (moved, q) in itertools.product(before.items(), client.items()):
            sums[total + moved] = sums.get(total + moved, F(0)) + p * q
    sizes = {abs(total) / 7: F(0) for total in sums}
    for total, p in sums.items():
        sizes[abs(total) / 7] += p
    reached, beyond = F(0), F(0)
    for size in sorted(sizes, reverse=True):
        beyond += sizes[size]
        if beyond > 2 * first + second:
            reached = size
            break
    lever = max(abs(chi - law.center) for chi in law.models)
    spread = F(2, 5) * F(3, 5) * (rare - common) ** 2 * lever**2
    count = 3 * 128 * spread / (16 * second)
    v = math.sqrt(F(2, 5) * F(3, 5)) * abs(rare - common)
    cross = v * math.sqrt(128 * spread * 2 / (7 * second)) / (4 * first)
    both = one | {"own": 2, "foreign": 5, "level_1": first, "level_2": second}
    assert_sides(sides_at("appendix-a15", both, TWO_VALUES), reached, count=count, cross=cross)
    with pytest.raises(Outside, match="lambda"):
        sides_at("appendix-a15", both | {"level_1": F(1, 3), "level_2": F(1, 3)}, TWO_VALUES)
    with pytest.raises(Outside, match="n' = 1"):
        sides_at("appendix-a15", both | {"samples": 3}, TWO_VALUES)
