"""The list of all statements of CFL-MGD, GL-CFL, SoFL and FPFC: every answer exists, and every claim is one."""

import csv
import re
from pathlib import Path

import pytest
from catalogue import read_catalogue

from clusterproof import checker
from clusterproof.checker.report.stored_verdicts import read_verdicts
from clusterproof.experiments.tables import TABLES
from clusterproof.figures import FIGURES

PATH = Path(__file__).parents[2] / "clusterproof/theory" / "every_statement.tsv"
with PATH.open(encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file, delimiter="\t"))


def test_every_answer_exists_and_every_reason_is_stated() -> None:
    known = {
        "claim": {claim.id for claim in checker.catalogue()},
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
    own = {claim.id for claim in checker.catalogue(paper) if claim.judges != "ours"}
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
}
"""Claims that refute a sentence of these papers as it is printed."""


@pytest.mark.parametrize("paper", ["gradient-loss", "sofl"])
def test_a_claim_that_refutes_a_reading_says_so_and_quotes_what_is_printed(paper: str) -> None:
    verdicts = read_catalogue()
    violated = {one.id: one for one in checker.catalogue(paper) if verdicts[one.id].verdict == "violated"}
    assert {name for name, one in violated.items() if one.judges == "printed"} == {
        name for name in PRINTED if name.startswith(paper)
    }
    for name in violated.keys() - PRINTED:
        source = violated[name].text.partition("Source\n")[2]
        assert source.count('"') >= 2, name
        assert "reading" in source, name
    readings = {name for name, one in violated.items() if one.judges == "reading"}
    assert readings == violated.keys() - PRINTED


PLACE = re.compile(r"\(A?\d+\)|\b(Lemma|Theorem|Algorithm|Section|Remark) \d")
"""An equation, or another place that a paper numbers."""


def test_a_printed_statement_that_is_called_false_is_one_that_can_be_found() -> None:
    verdicts = read_catalogue()
    accused = [
        one
        for one in checker.catalogue()
        if (one.judges, one.failure) == ("printed", "false statement")
        and verdicts[one.id].verdict == "violated"
    ]
    assert len(accused) > 5
    assert [one.id for one in accused if not PLACE.search(one.label)] == []


def test_no_label_says_what_judges_says() -> None:
    for one in checker.catalogue():
        assert not re.search(r"\bours\b|\breading\b", one.label), one.id
        assert one.label == one.source or one.judges in one.source


def test_the_stored_verdicts_judge_what_the_claims_do() -> None:
    stored = read_verdicts()
    for one in checker.catalogue():
        record = stored[one.id]
        own = [one.of_line(line) for line in ("", *one.of_lines["judges"], *one.of_lines["failure"])]
        assert record["label"] == one.label
        assert (record["judges"], record["failure"]) in [(each["judges"], each["failure"]) for each in own]
