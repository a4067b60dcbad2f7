"""The table of claims, and their verdicts, each computed once in a process."""

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

from clusterproof import theory
from clusterproof.theory.checker.catalogue import make_verdict
from clusterproof.theory.checker.claim import CLAIM_SIGNIFICANCE, Context
from clusterproof.theory.checker.deciding import decide

PATH = Path(__file__).parents[1] / "theory" / "catalogue.tsv"


class Row(NamedTuple):
    """What the table states of a claim; a column is empty where it has no meaning."""

    claim: str
    verdict: str
    standing: str
    tightness: str


def read_catalogue() -> dict[str, Row]:
    """Read the table, by the id of the claim."""
    with PATH.open(encoding="utf-8", newline="") as file:
        return {row["claim"]: Row(**row) for row in csv.DictReader(file, delimiter="\t")}


@cache
def checked(claim_id: str, trials: int | None = None) -> theory.Verdict:
    """Check a claim at seed 0; for tests that replace nothing of ours."""
    return theory.check(claim_id, trials=trials)


def decided(claim_id: str, *, seed: int = 0, trials: int | None = None) -> theory.Verdict:
    """Decide a claim, without the tightness that `theory.check` adds to a refuted one at several times the cost."""
    claim = theory.find_claim(claim_id)
    context = Context(seed, trials, CLAIM_SIGNIFICANCE, claim_id)
    finding = claim.check(context) if claim.parts is None else decide(claim.parts, context)
    return make_verdict(claim, finding, seed, 0.0, trials)
