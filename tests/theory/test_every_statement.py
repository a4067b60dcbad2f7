"""The printed statements of CFL-MGD, GL-CFL, SoFL and FPFC: claims judge their places, and the rest has an answer."""

import re

import pytest
from catalogue import read_catalogue, recorded

from clusterproof import checker
from clusterproof.experiments.tables import TABLES
from clusterproof.figures import FIGURES
from clusterproof.theory.papers.other_statements import OTHER_STATEMENTS


def test_every_table_and_figure_that_answers_exists_and_every_reason_is_stated() -> None:
    known = {"table": set(TABLES), "figure": set(FIGURES)}
    for others in OTHER_STATEMENTS.values():
        for answer, statements in others.items():
            named = re.findall(r"\b(table|figure): ([\w/-]+)", answer)
            assert named or len(answer) > 30, answer
            assert [name for kind, name in named if name not in known[kind]] == []
            assert statements
            assert all(": " in each for each in statements), answer


@pytest.mark.parametrize("paper", OTHER_STATEMENTS)
def test_every_claim_of_a_paper_judges_places_of_it(paper: str) -> None:
    """Those of its label, or others, of which none is named twice."""
    for claim in checker.catalogue(paper):
        assert len(set(claim.places)) == len(claim.places), claim.id
        assert not [each for each in claim.places if claim.label.lower().startswith(each.lower())], claim.id
        assert claim.places or claim.label != claim.id.partition("/")[2], claim.id


def test_every_equation_of_cfl_mgd_is_judged_or_answered() -> None:
    """The paper numbers its equations (1) to (38) and, in the appendices, (A1) to (A42)."""
    numbers = {*map(str, range(1, 39)), *(f"A{number}" for number in range(1, 43))}
    places = {place for claim in checker.catalogue("cfl-mgd") for place in (claim.label, *claim.places)}
    places |= {place for statements in OTHER_STATEMENTS["cfl-mgd"].values() for place in statements}
    named = {number for place in places for number in re.findall(r"^\((A?\d+)\)", place)}
    assert numbers - named == set()


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
    assert {name for name, one in violated.items() if one.source == "printed"} == {
        name for name in PRINTED if name.startswith(paper)
    }
    for name in violated.keys() - PRINTED:
        source = violated[name].text.partition("Source\n")[2]
        assert source.count('"') >= 2, name
        assert "reading" in source, name
    readings = {name for name, one in violated.items() if one.source == "reading"}
    assert readings == violated.keys() - PRINTED


PLACE = re.compile(r"\(A?\d+\)|\b(Lemma|Theorem|Algorithm|Section|Remark) \d")
"""An equation, or another place that a paper numbers."""


def test_a_printed_statement_that_is_called_false_is_one_that_can_be_found() -> None:
    verdicts = read_catalogue()
    accused = [
        one
        for one in checker.catalogue()
        if (one.source, one.error_kind) == ("printed", "false statement")
        and verdicts[one.id].verdict == "violated"
    ]
    assert len(accused) > 5
    assert [one.id for one in accused if not PLACE.search(one.label)] == []


def test_no_label_says_what_judges_says() -> None:
    for one in checker.catalogue():
        assert not re.search(r"\bours\b|\breading\b", one.label), one.id
        assert one.label == one.heading or one.source in one.heading


def test_the_stored_verdicts_judge_what_the_claims_do() -> None:
    for one in checker.catalogue():
        record = recorded()[one.id]
        own = [one.of_line(line) for line in ("", *one.of_lines["source"], *one.of_lines["error_kind"])]
        assert record["label"] == one.label
        assert (record["source"], record["error_kind"]) in [
            (each["source"], each["error_kind"]) for each in own
        ]
