"""The page of ``check`` without arguments: counts, findings, repairs, and its size."""

import re
from collections import Counter
from typing import Any

import pytest

from clusterproof import checker
from clusterproof.checker import REGISTRY, Kind, Verdict
from clusterproof.checker.report.stored_evidence import read_verdicts, stored_verdicts
from clusterproof.commands.check_page import LINES, NEXT, PAPERS, Repair, findings, page

HEADLINES = tuple(claim.id for claim in checker.catalogue() if claim.headline)
SENTENCES = {claim.id: claim for claim in checker.catalogue() if isinstance(claim.headline, str)}
FIELDS = (
    "verdict",
    "basis",
    "reason",
    "measured",
    "bound",
    "instances",
    "tightness",
    "trials",
    "counterexample",
)


def stored(names: tuple[str, ...] = HEADLINES, **changed: Any) -> list[Verdict]:
    """Make the verdicts of the stored report, or others."""
    verdicts, records = [], read_verdicts()
    for name in names:
        claim = checker.find_claim(name)
        facts = {
            field: getattr(claim, field)
            for field in ("paper", "label", "source", "error_kind", "repaired_by")
        }
        facts |= {field: records[name][field] for field in FIELDS} | changed
        verdicts.append(Verdict(name="", claim=name, **facts | {"verdict": Kind(facts["verdict"])}))
    return verdicts


@pytest.fixture(scope="module")
def headlines() -> list[Verdict]:
    return stored()


def as_one_line(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def test_headlines_are_claims_of_every_paper_and_sentences_are_of_headlines() -> None:
    assert (
        {name.partition("/")[0] for name in HEADLINES}
        == {*PAPERS}
        == {one.paper for one in REGISTRY.values()}
    )
    assert 100 <= len(HEADLINES) <= 130
    assert "cfl-mgd/theorem-d" in HEADLINES
    records = read_verdicts()
    for name, claim in SENTENCES.items():
        assert records[name]["verdict"] == claim.expected.partition(",")[0], name
        assert claim.headline.endswith("."), name
        assert len(claim.headline) <= 240, name
    for paper in {claim.paper for claim in SENTENCES.values()}:
        ranks = sorted(claim.rank for claim in SENTENCES.values() if claim.paper == paper)
        assert ranks == ([0] if len(ranks) == 1 else list(range(1, len(ranks) + 1))), paper


def test_findings_are_the_verdicts_as_values(headlines: list[Verdict]) -> None:
    found = {each.claim: each for each in findings(headlines)}
    assert {*found} == {*SENTENCES}
    records = read_verdicts()
    for name, each in found.items():
        claim = SENTENCES[name]
        assert (each.word, each.sentence) == (records[name]["verdict"], claim.headline)
        assert [repair.claim for repair in each.repairs] == [*claim.repaired_by], "every repair is a headline"
    repairs = {repair.claim: repair for each in found.values() for repair in each.repairs}
    for name, repair in repairs.items():
        assert repair.word == records[name]["verdict"], name
    assert repairs["sofl/guarded-count"].word == Kind.INCONCLUSIVE
    # of a probability there is no ratio
    assert repairs["gradient-loss/sooner"] == Repair("gradient-loss/sooner", Kind.CONSISTENT, None)


@pytest.mark.parametrize("width", [80, 120, 300, None])
def test_the_page_fits_and_has_all_that_is_false_as_printed(
    width: int | None, headlines: list[Verdict]
) -> None:
    lines = page(headlines, [], width)
    long = page([Verdict(**vars(one) | {"reason": "many words " * 300}) for one in headlines], [], width)
    for each in (lines, long):
        assert len(each) <= LINES
        assert max(map(len, each)) <= min(width or 80, 80)
    whole = as_one_line(lines)
    printed = [one.claim for one in headlines if one.word == Kind.VIOLATED and one.source == "printed"]
    assert len(printed) == 6
    for text in (*(SENTENCES[name].headline for name in printed), *NEXT):
        assert " ".join(str(text).split()) in whole


def test_the_page_counts_verdicts_and_sources(headlines: list[Verdict]) -> None:
    lines = page(headlines, [], None)
    for field in ("word", "paper"):
        for name, count in Counter(getattr(one, field) for one in headlines).items():
            row = rf" *{count} {name}  +\S.*" if field == "word" else rf"  {name} +{count}  \S.*"
            assert sum(re.fullmatch(row, line) is not None for line in lines) == 1, name


def test_stored_verdicts_on_other_claims_are_counted_but_not_named(headlines: list[Verdict]) -> None:
    """So that the page has the counts of ``check --all``, and the counts of a source are counts of its claims."""
    others = [each for each in stored_verdicts() if each.claim not in HEADLINES]
    assert len(others) + len(headlines) == len(REGISTRY)
    lines = page(headlines, others, None)
    assert len(lines) <= LINES
    for name, count in Counter(one.paper for one in REGISTRY.values()).items():
        assert sum(re.fullmatch(rf"  {name} +{count}  \S.*", line) is not None for line in lines) == 1, name
    violated = sum(one.word == Kind.VIOLATED for one in (*headlines, *others))
    assert any(re.fullmatch(rf" *{violated} violated  +\S.*", line) for line in lines)
    assert {*re.findall(r"[\w-]+/[\w-]+", "\n".join(lines))}.isdisjoint(one.claim for one in others)


def test_a_sentence_is_printed_only_with_its_verdict_and_a_repair_only_if_it_holds() -> None:
    pair = ("cfl-mgd/lemma-2", "cfl-mgd/theorem-d")
    lemma, repair = stored(pair)
    ratio = (repair.tightness or {})["all"]["ratio"]
    tight = f"{repair.word}, tight \N{MULTIPLICATION SIGN}{ratio:.3g}"
    said = f"{SENTENCES[pair[0]].headline} Repaired by {pair[1]} ({tight})."
    assert said in as_one_line(page([lemma, repair], [], None))
    assert "theorem-d" not in "\n".join(page([lemma], [], None))
    (broken,) = stored(pair[1:], verdict="violated", reason="no", basis="exact")
    assert f"Proposed repair, violated so far: {pair[1]}." in as_one_line(page([lemma, broken], [], None))
    (other,) = stored(pair[:1], verdict="consistent", basis=None, reason="holds on 7 instances")
    said = as_one_line(page([other], [], None))
    assert str(SENTENCES[pair[0]].headline) not in said
    assert f"{pair[0]} (consistent) holds on 7 instances" in said
    (in_floats,) = stored(pair[:1], basis="floats", reason="by a margin")
    said = as_one_line(page([in_floats], [], None))
    assert str(SENTENCES[pair[0]].headline) not in said
    assert f"{pair[0]} by a margin" in said
