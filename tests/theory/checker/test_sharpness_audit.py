"""The audit's faults, one by one: an altered constant or term flips the verdict, or is named as not needed."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from best_constants import BEST
from catalogue import checked
from planted_sides import changed

from clusterproof import theory
from clusterproof.theory import Kind
from clusterproof.theory.checker import Sides
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.conclusions import judge
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.trial import attempt
from clusterproof.theory.papers.cfl_mgd.appendix import a4_to_a6
from clusterproof.theory.papers.cfl_mgd.appendix.a15_to_a17 import a17
from clusterproof.theory.papers.cfl_mgd.lemma_1.lemma_1 import lemma_1
from clusterproof.theory.papers.ifca.basin import ROUND, basin

pytestmark = pytest.mark.slow(reason="evaluates claims at their own budget")

Plant = Callable[..., Any]


def exhaust(part: Statement, **constants: float) -> Kind:
    """Decide a part on all that it lists, with other constants than the printed ones."""
    for one in part.space.instances(part.exhaustible) or []:
        sides = part.function(**part.space.arguments(one), **constants)
        assert isinstance(sides, Sides)
        if judge({"": sides}, 1e-9)[""].broken:
            return Kind.VIOLATED
    return Kind.CONSISTENT


@pytest.mark.parametrize(
    ("constants", "verdict"),
    [
        ({}, Kind.CONSISTENT),
        ({"c_1": 4.0}, Kind.VIOLATED),
        ({"c_1": 63.0}, Kind.VIOLATED),
        ({"c_1": 64.0}, Kind.CONSISTENT),
        ({"power_of_samples": 2.0}, Kind.VIOLATED),
    ],
)
def test_lemma_1_needs_64_and_one_power_of_n(constants: dict[str, float], verdict: Kind) -> None:
    assert exhaust(lemma_1.parts[1], **constants) is verdict


def test_lemma_1_with_128_is_loose_by_cantellis_constant() -> None:
    claim = theory.find_claim("cfl-mgd/lemma-1")
    part = lemma_1.parts[1]
    found = attempt(part, Context(0, None, 1e-9, claim.id)).factors["", "all"].factor
    assert BEST[claim.id]() == pytest.approx(float(found), rel=0.01)


@pytest.mark.parametrize(
    ("constant", "verdict"), [(20, Kind.VIOLATED), (61, Kind.VIOLATED), (64, Kind.CONSISTENT)]
)
def test_a4_needs_64(plant: Plant, constant: int, verdict: Kind) -> None:
    plant(a4_to_a6, "CONSTANT", constant)
    assert theory.check("cfl-mgd/a4").verdict is verdict


def test_a17_without_a_term_is_false() -> None:
    """And both together are within a tenth of what one use of Markov's inequality leaves."""
    sharpness = checked(a17.id).sharpness or {}
    for term in ("count", "cross"):

        def without(_: str, sides: Sides, term: str = term) -> Sides:
            return dataclasses.replace(
                sides, terms={key: 0 * value if key == term else value for key, value in sides.terms.items()}
            )

        named, part = sharpness[term], a17.parts[1 if term == "count" else 2]
        assert named is not None
        found = attempt(
            dataclasses.replace(part, function=changed(part.function, without)), Context(0, 20, 1e-9, a17.id)
        ).found
        assert found is not None
        assert named > 0.05
    best = BEST[a17.id]()
    assert sharpness["all"] is not None
    assert best / 1.1 <= sharpness["all"] <= best


def test_half_the_rate_of_the_basin_is_seen() -> None:
    """With one curvature every round contracts by 1 - eta l mu exactly; half of that is loose at once."""

    def share(rate: float) -> float:
        errors = basin(**ROUND, stream=np.random.default_rng(0), rate=rate)["errors"]
        return float((errors.measured / errors.allowed).max())

    assert share(1.0) == pytest.approx(1)
    assert share(1.01) > 1.001
    assert share(0.5) < 0.9
