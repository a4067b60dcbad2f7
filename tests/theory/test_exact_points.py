"""Both sides of claims at single instances, against numbers computed by hand or by a program of its own.

A row: claim, line (empty for a claim with one), instance in JSON, the measured side (of an equation the list of its
left sides), the terms of the allowed side by name in JSON (of an equation the list of its right sides), and where they
come from. Fractions are texts, "1/3", and compared exactly; decimal numbers to ten digits, and 0.0 to nine places. Of a
probability the measured side is the number of runs in which its event occurred. At an instance that a hypothesis
excludes, the measured side is the hypothesis' name and the terms are "excluded".
"""

import csv
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clusterproof import theory
from clusterproof.theory.claims import Frequency, Outside

ROWS = []
for PATH in sorted((Path(__file__).parent / "exact_points").glob("*.tsv")):
    with PATH.open(encoding="utf-8", newline="") as FILE:
        ROWS += list(csv.DictReader(FILE, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['claim']}#{row['line']} {row['instance']}"[:90])
def test_sides_are_those_computed_elsewhere(row: dict[str, str]) -> None:
    claim = theory.find_claim(row["claim"])
    further = [one for one in claim.statements[1:] if f"{row['line']}: ".startswith(f"{one.name}: ")]
    statement = further[0] if further else claim.statements[0]
    line = row["line"].removeprefix(statement.name).removeprefix(": ")
    left, right = json.loads(row["measured"]), json.loads(row["terms"])
    instance = statement.space.decode(json.loads(row["instance"]))
    if right == "excluded":
        with pytest.raises(Outside, match=re.escape(left)):
            statement.lines(instance, claim=claim.id)
        return
    sides = statement.lines(instance, claim=claim.id)[line]
    if isinstance(sides, Frequency):
        assert (sides.events.sum(), {"allowed": sides.allowed}) == (left, right)
    elif isinstance(right, list):
        assert_same([pair[0] for pair in sides.pairs], left)
        assert_same([pair[1] for pair in sides.pairs], right)
    else:
        assert_same(sides.measured, left)
        assert sides.terms.keys() == right.keys()
        for name, value in right.items():
            assert_same(sides.terms[name], value)
    assert row["source"]


def assert_same(found: Any, written: Any) -> None:
    if isinstance(written, list):
        assert len(found) == len(written)
        for one, other in zip(found, written, strict=True):
            assert_same(one, other)
    elif isinstance(written, float):
        np.testing.assert_allclose(float(found), written, rtol=1e-10, atol=0 if written else 1e-9)
    else:
        assert found == Fraction(written)
