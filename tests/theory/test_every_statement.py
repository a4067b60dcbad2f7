"""The list of all statements of CFL-MGD, GL-CFL, SoFL and FPFC: every answer exists, and every claim is one."""

import csv
from pathlib import Path

import pytest
from catalogue import read_catalogue

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


PRINTED = {
    "gradient-loss/algorithm-line-12",
    "gradient-loss/equation-2",
    "gradient-loss/only-losses",
    "sofl/gains-over-cfl",
    "sofl/table-4-best",
}
"""Claims that refute a sentence of these papers as it is printed."""


@pytest.mark.parametrize("paper", ["gradient-loss", "sofl"])
def test_a_claim_that_refutes_a_reading_says_so_and_quotes_what_is_printed(paper: str) -> None:
    verdicts = read_catalogue()
    violated = {one.id: one for one in theory.catalogue(paper) if verdicts[one.id].verdict == "violated"}
    assert {name for name, one in violated.items() if not one.label.endswith(", reading")} == {
        name for name in PRINTED if name.startswith(paper)
    }
    for name in violated.keys() - PRINTED:
        source = violated[name].card.partition("Source\n")[2].partition("Checked\n")[0]
        assert source.count('"') >= 2, name
        assert "reading" in source, name
    readings = {one.id for one in theory.catalogue(paper) if one.label.endswith(", reading")}
    assert readings == violated.keys() - PRINTED
