"""No verdict depends on the seed: what a hundred seeds gave is stored, and ten others of what is quick are tried."""

import json
from pathlib import Path

import pytest

from clusterproof import theory

STORED = json.loads(Path(__file__).with_name("verdicts_over_seeds.json").read_text(encoding="utf-8"))
"""By claim; `python -m benchmarks.verdicts_over_seeds` adds what is missing, and anew what has changed."""
QUICK = [name for name, entry in STORED.items() if entry["seconds"] < 0.06 * entry["seeds"]]
"""What takes less than so many seconds a seed."""


def test_none_of_a_hundred_seeds_gives_another_verdict() -> None:
    assert STORED.keys() <= theory.REGISTRY.keys()
    assert len(STORED) >= 268, "claims that are tried may only become more"
    for name, entry in STORED.items():
        assert (entry["seeds"] >= 100, entry["other"]) == (True, {}), name


def test_enough_are_quick() -> None:
    assert len(QUICK) >= 100


@pytest.mark.parametrize("claim_id", QUICK)
def test_ten_other_seeds(claim_id: str) -> None:
    """At the budget that users get."""
    verdicts = {theory.check(claim_id, seed=seed).verdict.value for seed in range(1000, 1010)}
    assert verdicts == {STORED[claim_id]["verdict"]}
