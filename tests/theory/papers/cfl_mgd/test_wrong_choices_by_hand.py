"""Both sides of the claims on wrong choices, where a client's losses take two values."""

import math
from fractions import Fraction as F  # noqa: N817 - a table of fractions
from typing import Any

import pytest
from scipy import stats
from sides_by_hand import assert_sides, sides_at

from clusterproof.theory.checker.sides import Outside
from clusterproof.theory.exact.two_point_losses import TwoPointLosses

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
    delta = sum(((chi + 1) ** 2 for chi in law.models), F(0)) / 4
    wrong, above, below = law.error_probability, law.own_exceeds(delta), law.other_at_most(delta)
    unit = law.loss_variance / (16 * law.samples)  # sigma^2 / (mu^2 Delta^4 n')
    part, cantelli = "two values", 64 * unit / (64 * unit + 1)
    assert_sides(sides_at("lemma-1", one, part), wrong, chebyshev=128 * unit)
    assert_sides(sides_at("lemma-1-cantelli", one, part), wrong, cantelli=cantelli)
    assert_sides(sides_at("equation-24", one, part), wrong, own_above=above, other_below=below)
    assert_sides(sides_at("equation-29", one, part), above, chebyshev=64 * unit)
    assert_sides(sides_at("equation-30", one, part), below, chebyshev=64 * unit)
    if 256 * unit <= 1:
        assert_sides(sides_at("a4", one, part), wrong, half=F(1, 2))
    else:
        with pytest.raises(Outside, match="256"):
            sides_at("a4", one, part)
    both = one | {"own": 2, "foreign": 5}
    assert_sides(sides_at("a15", both, part), 5 * wrong, chebyshev=128 * 7 * unit)
    many = stats.binom.sf(math.floor(128 * 7 * unit / F(3, 4)), 5, float(wrong))
    assert_sides(sides_at("a16-meant", both | {"level": F(3, 4)}), many, markov=F(3, 4))


def test_the_constant_1_of_a4_asks_for_two_sigma_squared() -> None:
    """With one row and rarity 2/5, 2 sigma^2 / 16 is 0.67 for a jump of 2 and 1.17 for one of 3."""
    one = {"samples": 1, "rarity": F(2, 5), "first": F(-1, 4), "second": F(1, 3)}
    assert_sides(sides_at("a4-constant", one | {"jump": F(2)}), F(2, 5), half=F(1, 2))
    with pytest.raises(Outside):
        sides_at("a4-constant", one | {"jump": F(3)})
