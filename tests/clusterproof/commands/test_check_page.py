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
from clusterproof.theory import REGISTRY, Finding, Kind, Verdict
from clusterproof.theory.checker.catalogue import make_verdict
from clusterproof.theory.headlines import FINDINGS, HEADLINES
from clusterproof.theory.headlines import Finding as Sentence
from clusterproof.theory.stored_verdicts import read_verdicts

FIELDS = ("reason", "measured", "bound", "instances", "sharpness", "counterexample")
WIDTHS = (80, 100, 120, 200, 300, None)


def stored(names: tuple[str, ...] = HEADLINES, **changed: Any) -> list[Verdict]:
    """Make the verdicts of the stored report, or others."""
    records = read_verdicts()
    verdicts = []
    for name in names:
        fields = {field: records[name][field] for field in FIELDS}
        finding = Finding(verdict=Kind(records[name]["verdict"]), **fields | changed)
        verdicts.append(make_verdict(theory.find_claim(name), finding, 0, 1.0))
    return verdicts


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
        assert all(f"{name}: {sentence}" in whole for name, (_, sentence) in FINDINGS.items())


def test_long_reasons_leave_the_page_in_its_size() -> None:
    false = {name: Sentence(Kind.VIOLATED, "It is false.") for name in HEADLINES}
    for width in WIDTHS:
        lines = page(stored(reason="many words " * 300), width, false)
        assert len(lines) <= 100
        assert max(map(len, lines)) <= min(width or 200, 200)


def test_the_counts_of_the_table_add_up() -> None:
    verdicts = stored()
    lines = page(verdicts, None)
    header = lines[0].split()
    assert header == ["paper", "claims", *Kind]
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
    other = make_verdict(
        theory.find_claim(name), Finding(verdict=Kind.CONSISTENT, reason="holds on 7 instances"), 0, 1.0
    )
    said = page([other], None)
    assert FINDINGS[name].sentence not in " ".join(said)
    assert f"{name}: consistent: holds on 7 instances" in said


def test_repairs_are_those_that_this_run_evaluated_and_that_hold() -> None:
    pair = ("cfl-mgd/lemma-2", "cfl-mgd/theorem-d")
    lemma, repair = stored(pair)
    factor = (repair.sharpness or {})["all"]
    assert factor is not None
    assert any(f"cfl-mgd/theorem-d ({1 / factor:.3g})" in line for line in page([lemma, repair], None))
    without = "\n".join(page([lemma], None))
    assert "theorem-d" not in without
    broken = make_verdict(theory.find_claim(pair[1]), Finding(verdict=Kind.VIOLATED, reason="no"), 0, 1.0)
    assert "(" + f"{1 / factor:.3g})" not in "\n".join(page([lemma, broken], None))
    assert "What repairs it" not in "\n".join(page([lemma, broken], None))


def test_check_alone_evaluates_the_headlines_on_all_cores(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without arguments, long claims among the headlines are evaluated, and other claims are not."""
    make_claim("p/theorem", quick=False)
    make_claim("p/lemma", Kind.VIOLATED)
    make_claim("p/line")
    started: list[Any] = []

    def evaluate(claims: Any, files: Any, seed: int, trials: Any, jobs: int, *, tightness: bool) -> Any:
        started.append((jobs, tightness))
        return command._one_by_one(claims, seed, trials)

    monkeypatch.setattr(command, "HEADLINES", ("p/theorem", "p/lemma"))
    monkeypatch.setattr(command, "evaluate_in_processes", evaluate)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert main(["check"]) == 0
    output = capsys.readouterr().out
    assert ["p", "2", "0", "1", "1", "0", "0"] in [line.split() for line in output.splitlines()]
    assert started == [(3, False)]
    assert main(["check", "--verbose"]) == 0
    output = capsys.readouterr().out
    assert "p/theorem" in output
    assert "p/line" not in output
    assert started[1:] == [(3, True)]
