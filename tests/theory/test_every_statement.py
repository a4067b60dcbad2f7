"""The list of all statements of GL-CFL, SoFL and FPFC: every answer exists, and every claim is one."""

import csv
from pathlib import Path

import pytest

from clusterproof import theory
from clusterproof.experiments.tables.registry import TABLES
from clusterproof.figures import FIGURES

PATH = Path(__file__).parents[2] / "clusterproof/theory" / "every_statement.tsv"
with PATH.open(encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file, delimiter="\t"))


def test_every_answer_exists_and_every_reason_is_stated() -> None:
    known = {
        "claim": {claim.id for claim in theory.catalogue()},
        "table": set(TABLES),
        "figure": set(FIGURES),
    }
    for row in ROWS:
        for answer in row["answer"].split("; "):
            kind, _, name = answer.partition(": ")
            if kind in known:
                assert name in known[kind], row
            elif kind == "reason":
                assert len(row["answer"]) > 30
                break
            else:
                pytest.fail(f"{row}: {answer}")


@pytest.mark.parametrize("paper", ["gradient-loss", "sofl", "fpfc"])
def test_every_claim_of_a_paper_is_an_answer(paper: str) -> None:
    answers = {answer for row in ROWS for answer in row["answer"].split("; ")}
    own = {claim.id for claim in theory.catalogue(paper) if "(ours)" not in claim.label}
    assert {name for name in own if f"claim: {name}" not in answers} == set()
