"""The list of all statements of CFL-MGD, GL-CFL, SoFL and FPFC: every answer exists, and every claim is one."""

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


@pytest.mark.parametrize("paper", ["cfl-mgd", "gradient-loss", "sofl", "fpfc"])
def test_every_claim_of_a_paper_is_an_answer(paper: str) -> None:
    answers = {answer for row in ROWS for answer in row["answer"].split("; ")}
    own = {claim.id for claim in theory.catalogue(paper) if "(ours)" not in claim.label}
    assert {name for name in own if f"claim: {name}" not in answers} == set()


def test_every_equation_of_cfl_mgd_has_a_row() -> None:
    """The paper numbers its equations (1) to (38) and, in the appendices, (A1) to (A42)."""
    numbers = {*map(str, range(1, 39)), *(f"A{number}" for number in range(1, 43))}
    places = {row["place"] for row in ROWS if row["paper"] == "cfl-mgd"}
    assert {f"({number})" for number in numbers} - places == set()
