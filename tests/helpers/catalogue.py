"""The table of claims, and their verdicts, each computed once in a process."""

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

from clusterproof import theory

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
def checked(claim_id: str, evaluations: int | None = None) -> theory.Verdict:
    """Check a claim at seed 0; for tests that replace nothing of ours."""
    return theory.check(claim_id, evaluations=evaluations)
