"""What claims say of fixed instances is what they said when they were audited: numbers, and what hypotheses refuse.

A search shows a loosened bound only by its ratio, and a weakened hypothesis only where it draws what that should
refuse. Here both show at once: each side is compared in its digits, and next to typical instances lie others, as near
as half the way back and forth found them, that one named hypothesis refuses.
``python -m benchmarks.claims_at_points CLAIM`` writes them anew, after a claim has been changed on purpose.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.claims_at_points.choosing import first_draw
from benchmarks.claims_at_points.points import agree, digest, in_short, said_of
from clusterproof import theory
from clusterproof.theory.statement import at_most, equal

STORED = json.loads(Path(__file__).with_name("claims_at_points.json").read_text(encoding="utf-8"))


def test_every_claim_made_of_statements_is_there() -> None:
    assert {claim.id for claim in theory.claims() if claim.parts is not None} == STORED.keys()
    parts = [part for stored in STORED.values() for part in stored]
    admitted = [sum("said" in point for point in part["points"]) for part in parts]
    assert sum(count == 0 for count in admitted) <= 6, "parts of which no admitted instance is stored"
    refused = [{point["refused"] for point in part["points"] if "refused" in point} for part in parts]
    assert sum(map(len, refused)) >= 190, "hypotheses with an instance that they refuse"


@pytest.mark.parametrize("claim_id", sorted(STORED))
def test_a_claim_says_of_its_points_what_it_said(claim_id: str) -> None:
    claim = theory.find_claim(claim_id)
    assert claim.parts is not None
    assert [part.name for part in claim.parts.parts] == [stored["part"] for stored in STORED[claim_id]]
    for part, stored in zip(claim.parts.parts, STORED[claim_id], strict=True):
        assert {name: allowed.describe() for name, allowed in part.space.ranges.items()} == stored["space"]
        assert {name: float(value) for name, value in part.space.constants.items()} == stored["constants"]
        if stored["first draw"] is not None:
            assert agree(first_draw(claim_id, part), stored["first draw"]), "the law of the instances"
        for point in stored["points"]:
            said = said_of(claim_id, part, point["instance"], frozenset(point.get("without", ())))
            expected = {key: point[key] for key in ("said", "refused") if key in point}
            assert agree(said, expected), (part.name, point["instance"], said, expected)


def sides(bound: float, rounding: float = 0.0) -> dict[str, Any]:
    """Write x <= bound for two x."""
    return in_short(at_most([0.25, 0.5], rounding=rounding, limit=bound))


def test_digits_count_and_rounding_does_not() -> None:
    assert agree(sides(1.0), sides(1 + 1e-9))
    assert not agree(sides(1.0), sides(1 + 1e-5))
    assert not agree(sides(1.0), in_short(at_most([0.5, 0.25], limit=1.0))), "the order of the entries"
    assert agree(sides(1.0, 1e-12), sides(1.0, 5e-12))
    assert not agree(sides(1.0, 1e-12), sides(1.0, 1e-6))
    assert agree(
        in_short(equal((0.3, 0.1 + 0.2), rounding=1e-12)), in_short(equal((0.3, 0.3), rounding=1e-12))
    )
    assert not agree(in_short(equal((0.3, 0.3))), in_short(equal((0.3, 0.3), rounding=1.0)))
    assert digest([1.0, float("inf"), 3.0]) == pytest.approx([3.0, 2.0, 1.0, 3.0, 2.0, (1 + 2 * 3) / 3])
