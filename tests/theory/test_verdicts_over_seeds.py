"""No verdict depends on the seed: the stored hundred seeds, and ten others of what is quick."""

import pytest
from stored_verdicts import STORED

from clusterproof import theory

QUICK = [name for name, entry in STORED.items() if entry["seconds"] < 0.06 * entry["seeds"]]
"""What takes less than so many seconds a seed."""


def test_every_claim_was_tried_on_a_hundred_seeds() -> None:
    """`python -m benchmarks.verdicts_over_seeds` tries what is missing."""
    assert sorted(STORED) == sorted(claim.id for claim in theory.claims())
    assert not {name: entry["seeds"] for name, entry in STORED.items() if entry["seeds"] < 100}


def test_none_was_torn() -> None:
    assert not {name: entry["other"] for name, entry in STORED.items() if entry["other"]}


def test_enough_are_quick() -> None:
    assert len(QUICK) >= 30


@pytest.mark.parametrize("claim_id", QUICK)
def test_ten_other_seeds(claim_id: str) -> None:
    """At the budget that users get."""
    verdicts = {theory.check(claim_id, seed=seed).verdict.value for seed in range(1000, 1010)}
    assert verdicts == {STORED[claim_id]["verdict"]}
