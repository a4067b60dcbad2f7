"""The list of all statements of GL-CFL, SoFL and FPFC: nothing numbered is missing, and every answer exists."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from clusterproof import theory
from clusterproof.figures import FIGURES
from clusterproof.tables.registry import TABLES

PATH = Path(__file__).parents[2] / "theory" / "every_statement.tsv"
with PATH.open(encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file, delimiter="\t"))

NUMBERED = {
    "gradient-loss": {"({})": 7, "algorithm 1, line {}": 16, "figure {}": 5},
    "sofl": {"({})": 15, "algorithm 1, line {}": 30, "figure {}": 9, "table {}": 5},
    "fpfc": {"algorithm 1, line {}": 5, "assumption {}": 3, "figure {}": 1, "table {}": 1, "theorem {}": 1},
}


@pytest.mark.parametrize("paper", NUMBERED)
def test_nothing_numbered_is_missing(paper: str) -> None:
    places = {row["place"] for row in ROWS if row["paper"] == paper}
    for form, last in NUMBERED[paper].items():
        assert {form.format(number) for number in range(1, last + 1)} <= places


def test_every_answer_exists_and_every_reason_is_stated() -> None:
    known = {"claim": {claim.id for claim in theory.claims()}, "table": set(TABLES), "figure": set(FIGURES)}
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


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_claim_of_a_paper_is_an_answer(paper: str) -> None:
    answers = {answer for row in ROWS for answer in row["answer"].split("; ")}
    own = {claim.id for claim in theory.claims(paper) if "(ours)" not in claim.label}
    assert {name for name in own if f"claim: {name}" not in answers} == set()


def test_no_statement_stands_twice() -> None:
    counts = Counter((row["paper"], row["place"], row["statement"]) for row in ROWS)
    assert max(counts.values()) == 1
