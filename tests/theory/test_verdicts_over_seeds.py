"""No verdict depends on the seed: what a hundred seeds gave is stored, and ten others of what is quick are tried."""

import inspect
import json
import sys
from pathlib import Path

import pytest
from listed_once import listed_once

from benchmarks.verdicts_over_seeds import source_of
from clusterproof import theory

STORED = json.loads(Path(__file__).with_name("verdicts_over_seeds.json").read_text(encoding="utf-8"))
"""By claim; `python -m benchmarks.verdicts_over_seeds` adds what is missing, and anew what has changed."""
QUICK = [name for name, entry in STORED.items() if entry["seconds"] < 0.06 * entry["seeds"]]
"""What takes less than so many seconds a seed."""


def test_none_of_a_hundred_seeds_gives_another_verdict() -> None:
    assert STORED.keys() <= theory.REGISTRY.keys()
    assert len(STORED) >= 281, "claims that are tried may only become more"
    for name, entry in STORED.items():
        assert (entry["seeds"] >= 100, entry["other"]) == (True, {}), name


def test_enough_are_quick() -> None:
    assert len(QUICK) >= 100


@pytest.mark.parametrize("claim_id", QUICK)
def test_ten_other_seeds(claim_id: str) -> None:
    """At the budget that users get."""
    with listed_once():
        verdicts = {theory.check(claim_id, seed=seed).verdict.value for seed in range(1000, 1010)}
    assert verdicts == {STORED[claim_id]["verdict"]}


def test_seeds_are_forgotten_with_the_code_that_a_claim_has_to_itself_or_shares(monkeypatch) -> None:
    """`fewer-passes` and `sooner-by` are in one file, whose function `units` the first calls."""
    claims = [theory.REGISTRY[f"gradient-loss/{name}"] for name in ("fewer-passes", "sooner-by")]
    before = [source_of(claim) for claim in claims]
    text = Path(inspect.getfile(sys.modules[claims[0].check.__module__])).read_text(encoding="utf-8")

    def changed(old: str, new: str) -> list[bool]:
        assert old in text
        monkeypatch.setattr(inspect, "getsource", lambda _: text.replace(old, new))
        return [source_of(claim) != one for claim, one in zip(claims, before, strict=True)]

    assert changed("own * proposed > other", "own * proposed >= other") == [True, False]
    assert changed("proposed < 0.55", "proposed < 0.5") == [False, True]  # another part
    assert changed("dimension=2, seed=0", "dimension=3, seed=0") == [True, True]  # what both could call
    assert changed("Algorithm 1, lines 5 to 9, and", "Algorithm 1 and") == [False, False]  # words
