"""The page of ``check`` without arguments: headlines, counts, findings, repairs, and its size."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
from command_line import make_claim

from clusterproof import theory
from clusterproof.commands import check as command
from clusterproof.commands.application import main
from clusterproof.commands.check_page import NEXT, page
from clusterproof.theory import REGISTRY, Kind, Verdict
from clusterproof.theory.headlines import FINDINGS, HEADLINES, Finding
from clusterproof.theory.report.stored_verdicts import read_verdicts

FIELDS = ("verdict", "reason", "measured", "bound", "instances", "tightness", "trials", "counterexample")
WIDTHS = (80, 100, 120, 200, 300, None)


def verdict_of(name: str, **fields: Any) -> Verdict:
    claim = theory.find_claim(name)
    facts = {field: getattr(claim, field) for field in ("paper", "label", "judges", "failure", "repaired_by")}
    return Verdict(name="", claim=name, **facts | fields | {"verdict": Kind(fields["verdict"])})


def stored(names: tuple[str, ...] = HEADLINES, **changed: Any) -> list[Verdict]:
    """Make the verdicts of the stored report, or others."""
    records = read_verdicts()
    return [verdict_of(name, **{field: records[name][field] for field in FIELDS} | changed) for name in names]


def test_headlines_are_claims_of_every_paper() -> None:
    assert set(HEADLINES) <= set(REGISTRY)
    assert len(set(HEADLINES)) == len(HEADLINES)
    assert {name.partition("/")[0] for name in HEADLINES} == {claim.paper for claim in REGISTRY.values()}
    assert 100 <= len(HEADLINES) <= 130
    assert "cfl-mgd/theorem-d" in HEADLINES


def test_each_finding_is_a_headline_with_the_stored_verdict_and_one_sentence() -> None:
    assert set(FINDINGS) <= set(HEADLINES)
    for name, (verdict, sentence) in FINDINGS.items():
        assert read_verdicts()[name]["verdict"] == verdict, name
        assert sentence.endswith("."), name
        assert len(sentence) <= 175, name
    assert max(Counter(name.partition("/")[0] for name in FINDINGS).values()) <= 5


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits(width: int | None) -> None:
    lines = page(stored(), width)
    assert len(lines) <= 100
    assert max(map(len, lines)) <= min(width or 200, 200)
    whole = " ".join(" ".join(lines).split())
    first = next(iter(FINDINGS))
    assert f"{first}: {FINDINGS[first].sentence}" in whole
    for block in NEXT:
        assert " ".join(block.split()) in whole
    if width is None:
        places = [whole.index(f"{name}: {sentence}") for name, (_, sentence) in FINDINGS.items()]
        by_paper: dict[str, list[int]] = {}
        for name, place in zip(FINDINGS, places, strict=True):
            by_paper.setdefault(name.partition("/")[0], []).append(place)
        assert all(of == sorted(of) for of in by_paper.values()), (
            "a paper's most important findings come first"
        )


def test_long_reasons_leave_the_page_in_its_size() -> None:
    false = {name: Finding(Kind.VIOLATED, "It is false.") for name in HEADLINES}
    for width in WIDTHS:
        lines = page(stored(reason="many words " * 300), width, false)
        assert len(lines) <= 100
        assert max(map(len, lines)) <= min(width or 200, 200)


def test_the_counts_of_the_table_add_up() -> None:
    verdicts = stored()
    lines = page(verdicts, None)
    header = lines[0].split()
    assert header == ["paper", "all", *Kind]
    papers = {verdict.paper for verdict in verdicts}
    rows = [line.split() for line in lines if line.split()[:1] and line.split()[0] in papers]
    counts = {row[0]: [int(cell) for cell in row[1 : 2 + len(Kind)]] for row in rows}
    assert counts.keys() == papers
    for total, *each in counts.values():
        assert total == sum(each)
    kinds = Counter(verdict.verdict for verdict in verdicts)
    assert [sum(column) for column in zip(*counts.values(), strict=True)] == [
        len(verdicts),
        *(kinds[kind] for kind in Kind),
    ]


def test_a_sentence_is_printed_only_with_its_verdict() -> None:
    name = "cfl-mgd/lemma-2"
    (verdict,) = stored((name,))
    said = page([verdict], None)
    assert f"{name}: {FINDINGS[name].sentence}" in said
    other = verdict_of(name, verdict="consistent", reason="holds on 7 instances")
    said = page([other], None)
    assert FINDINGS[name].sentence not in " ".join(said)
    assert f"{name}: consistent: holds on 7 instances" in said


def test_repairs_are_those_that_this_run_evaluated_and_that_hold() -> None:
    pair = ("cfl-mgd/lemma-2", "cfl-mgd/theorem-d")
    lemma, repair = stored(pair)
    ratio = (repair.tightness or {})["all"]["ratio"]
    assert any(f"cfl-mgd/theorem-d ({ratio:.3g})" in line for line in page([lemma, repair], None))
    without = "\n".join(page([lemma], None))
    assert "theorem-d" not in without
    broken = verdict_of(pair[1], verdict="violated", reason="no")
    assert f"({ratio:.3g})" not in "\n".join(page([lemma, broken], None))
    assert "What repairs it" not in "\n".join(page([lemma, broken], None))


def test_a_repair_about_a_probability_has_no_ratio() -> None:
    promise, repair = stored(("gradient-loss/reduction-up-to", "gradient-loss/sooner"))
    assert repair.trials
    text = "\n".join(page([promise, repair], None))
    assert "gradient-loss/sooner" in text.partition("What repairs it")[2]
    assert "gradient-loss/sooner (" not in text


def test_check_alone_evaluates_the_headlines_on_all_cores(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without arguments, long claims among the headlines are evaluated, and other claims are not."""
    make_claim("p/theorem", quick=False)
    make_claim("p/lemma", Kind.VIOLATED)
    make_claim("p/line")
    started: list[int] = []

    def evaluate(claims: Any, files: Any, seeds: range, jobs: int) -> Any:
        started.append(jobs)
        return ((index, theory.check(claim.id, seed=seeds[0])) for index, claim in enumerate(claims))

    monkeypatch.setattr(command, "HEADLINES", ("p/theorem", "p/lemma"))
    monkeypatch.setattr(command, "evaluate_in_processes", evaluate)
    monkeypatch.setattr(command, "FEW", 2)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert main(["check"]) == 0
    output = capsys.readouterr().out
    assert ["p", "2", "1", "0", "1", "0", "0", "0"] in [line.split() for line in output.splitlines()]
    assert main(["check", "--verbose"]) == 0
    output = capsys.readouterr().out
    assert "p/theorem" in output
    assert "p/line" not in output
    assert started == [2, 2]
