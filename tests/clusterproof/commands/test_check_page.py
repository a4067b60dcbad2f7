"""The page of ``check`` without arguments: headlines, counts, findings, repairs, and its size."""

from collections import Counter
from typing import Any

import pytest

from clusterproof import checker
from clusterproof.checker import REGISTRY, Kind, Verdict
from clusterproof.checker.report.stored_verdicts import read_verdicts
from clusterproof.commands.check_page import NEXT, Finding, page, stated_findings

HEADLINES = tuple(claim.id for claim in checker.catalogue() if claim.headline)
FINDINGS = stated_findings()
FIELDS = ("verdict", "reason", "measured", "bound", "instances", "tightness", "trials", "counterexample")


def stored(names: tuple[str, ...] = HEADLINES, **changed: Any) -> list[Verdict]:
    """Make the verdicts of the stored report, or others."""
    verdicts, records = [], read_verdicts()
    for name in names:
        claim = checker.find_claim(name)
        facts = {
            field: getattr(claim, field) for field in ("paper", "label", "judges", "failure", "repaired_by")
        }
        facts |= {field: records[name][field] for field in FIELDS} | changed
        verdicts.append(Verdict(name="", claim=name, **facts | {"verdict": Kind(facts["verdict"])}))
    return verdicts


@pytest.fixture(scope="module")
def headlines() -> list[Verdict]:
    return stored()


def test_headlines_are_claims_of_every_paper_and_findings_are_headlines_in_a_sentence() -> None:
    assert set(FINDINGS) <= set(HEADLINES)
    assert {name.partition("/")[0] for name in HEADLINES} == {claim.paper for claim in REGISTRY.values()}
    assert 100 <= len(HEADLINES) <= 130
    assert "cfl-mgd/theorem-d" in HEADLINES
    records = read_verdicts()
    for name, (verdict, sentence) in FINDINGS.items():
        assert records[name]["verdict"] == verdict, name
        assert sentence.endswith("."), name
        assert len(sentence) <= 175, name
    for paper, count in Counter(name.partition("/")[0] for name in FINDINGS).items():
        ranks = [checker.find_claim(name).rank for name in FINDINGS if name.startswith(f"{paper}/")]
        assert count <= 5
        assert ranks == ([0] if count == 1 else list(range(1, count + 1))), paper


@pytest.mark.parametrize("width", [80, 120, 200, 300, None])
def test_the_page_fits_and_has_the_findings(width: int | None, headlines: list[Verdict]) -> None:
    lines = page(headlines, width)
    false = {name: Finding("violated", "It is false.") for name in HEADLINES}
    long = page([Verdict(**vars(one) | {"reason": "many words " * 300}) for one in headlines], width, false)
    for each in (lines, long):
        assert len(each) <= 100
        assert max(map(len, each)) <= min(width or 200, 200)
    whole = " ".join(" ".join(lines).split())
    first = next(iter(FINDINGS))
    for block in (f"{first}: {FINDINGS[first].sentence}", *NEXT):
        assert " ".join(block.split()) in whole
    if width is None:  # a paper's most important findings come first
        places: dict[str, list[int]] = {}
        for name, (_, sentence) in FINDINGS.items():
            places.setdefault(name.partition("/")[0], []).append(whole.index(f"{name}: {sentence}"))
        assert all(of == sorted(of) for of in places.values())
        assert lines[0].split() == ["paper", "all", *Kind]
        papers = {verdict.paper for verdict in headlines}
        rows = [line.split() for line in lines if {*line.split()[:1]} & papers and line.split()[1:2] != []]
        counts = {row[0]: [int(cell) for cell in row[1 : 2 + len(Kind)]] for row in rows if row[1].isdigit()}
        kinds = Counter((verdict.paper, verdict.verdict) for verdict in headlines)
        assert counts == {
            paper: [sum(kinds[paper, kind] for kind in Kind), *(kinds[paper, kind] for kind in Kind)]
            for paper in papers
        }


def test_a_sentence_is_printed_only_with_its_verdict_and_a_repair_if_it_holds() -> None:
    pair = ("cfl-mgd/lemma-2", "cfl-mgd/theorem-d")
    lemma, repair = stored(pair)
    ratio = (repair.tightness or {})["all"]["ratio"]
    said = page([lemma, repair], None)
    assert f"{pair[0]}: {FINDINGS[pair[0]].sentence}" in said
    assert any(f"{pair[1]} ({ratio:.3g})" in line for line in said)
    assert "theorem-d" not in "\n".join(page([lemma], None))
    (broken,) = stored(pair[1:], verdict="violated", reason="no")
    assert "What repairs it" not in "\n".join(page([lemma, broken], None))
    (other,) = stored(pair[:1], verdict="consistent", reason="holds on 7 instances")
    said = page([other], None)
    assert FINDINGS[pair[0]].sentence not in " ".join(said)
    assert f"{pair[0]}: consistent: holds on 7 instances" in said
    # of a probability there is no ratio
    promise, repair = stored(("gradient-loss/reduction-up-to", "gradient-loss/sooner"))
    assert repair.trials
    text = "\n".join(page([promise, repair], None)).partition("What repairs it")[2]
    assert "gradient-loss/sooner" in text
    assert "gradient-loss/sooner (" not in text
