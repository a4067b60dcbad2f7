"""The commands about claims: which are evaluated, what is written, and what is replayed."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import ROOT, make_claim, refused

from clusterproof import theory
from clusterproof.commands.application import main
from clusterproof.theory import REGISTRY, Kind
from clusterproof.theory.checker import report
from clusterproof.theory.stored_verdicts import STORED_VERDICTS, read_verdicts

FIELDS = """claim paper label judges failure
    verdict reason measured bound slack sharpness tightness proof steps instances exhausted
    rejected needed trials failures confidence seed
    counterexample code repaired_by seconds requested_trials version"""


def test_check_reports_every_claim_even_where_one_breaks(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    make_claim("p/first")
    make_claim("p/broken", outcome=RuntimeError("no\nluck"))
    make_claim("p/last", Kind.VIOLATED, finding={"counterexample": {"x": 2}}, repaired_by="p/first")
    make_claim("p/slow", quick=False)
    report = tmp_path / "report.json"
    assert main(["check", "--paper", "p", "--json", str(report)]) == 1
    output, errors = capsys.readouterr()
    assert errors == "clusterproof: p/broken: the check failed with RuntimeError: no luck\n"
    assert output.startswith("p/last  violated  Lemma 7: ")
    assert "\np  2  0  1  1  0  0\n3 claims: 1 consistent, 1 violated, 1 failed" in output
    assert [record["claim"] for record in json.loads(report.read_text())] == ["p/first", "p/last"]


def test_the_page_lists_what_fails_and_counts_each_paper(registry: dict[str, Any]) -> None:
    made = {"p/a": "certified", "p/b": "violated", "p/c": "violated", "q/d": "ill-posed", "q/e": "consistent"}
    for name, kind in made.items():
        make_claim(name, Kind(kind))
    verdicts = [
        replace(theory.check(name), reason=f"of {name} " + "many-worded reasons " * 30) for name in made
    ]
    fails = [one for one in verdicts if one.verdict in ("violated", "vacuous", "ill-posed")]
    plain, narrow = (report.page(verdicts, fails, width).plain for width in (None, 80))
    counts = [
        f"{p} {len(found)} {' '.join(str(found.count(kind)) for kind in Kind)}"
        for p in "pq"
        if (found := [kind for name, kind in made.items() if name[0] == p])
    ]
    listed = [f"{name}  {kind}  Lemma 7: of {name} " for name, kind in made.items() if name in "p/b p/c q/d"]
    assert [line[: len(start)] for line, start in zip(plain.splitlines(), listed, strict=False)] == listed
    rows = [line for line in plain.splitlines()[-3:] if not line.startswith(" ")]
    assert [line.replace("  ", " ") for line in rows] == counts
    assert not re.search(r"   | $", plain, flags=re.MULTILINE)
    assert max(map(len, narrow.splitlines())) <= 80
    assert narrow.split() == plain.split()


def test_violated_claims_are_counted_by_what_they_judge_and_printed_ones_come_first(
    registry: dict[str, Any],
) -> None:
    made = [("ours", "false statement"), ("reading", "wording"), *[("printed", "misprint")] * 2]
    made += [("printed", "wording"), ("printed", "false statement"), ("reading", "false statement")]
    for number, (judges, failure) in enumerate(made):
        make_claim(f"p/{number}", Kind.VIOLATED, judges=judges, failure=failure)
    make_claim("p/holds", failure="misprint")
    make_claim("q/ours", Kind.VIOLATED, judges="ours")
    make_claim("r/vague", Kind.ILL_POSED)
    verdicts = [theory.check(name) for name in registry]
    lines = report.page(
        verdicts, [one for one in verdicts if one.verdict == "violated"], None
    ).plain.splitlines()
    order = [2, 3, 4, 5, 1, 6, 0, "ours"]
    assert [line.split()[0].partition("/")[2] for line in lines[: len(order)]] == list(map(str, order))
    assert lines[0].startswith("p/2  violated  Lemma 7 (misprint): ")
    p = "4 printed (1 false statement, 2 misprints, 1 of wording), 2 readings, 1 ours"
    assert [line for line in lines if line.startswith("  ")] == [f"  7 violated: {p}", "  1 violated: 1 ours"]
    whole = p.replace("1 ours", "2 ours")
    assert report.summary(verdicts, 0, 0, 1.0).splitlines()[1:] == [f"8 violated: {whole}"]


def test_any_verdict_is_a_success(registry: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    for kind in Kind:
        make_claim(f"p/{kind}", kind)
    assert main(["check", "--all"]) == 0
    assert ", ".join(f"1 {kind}" for kind in Kind) in capsys.readouterr().out


def test_check_selects(registry: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    for name, quick in (("p/quick", True), ("p/slow", False), ("q/quick", True)):
        make_claim(name, quick=quick)

    def evaluated(*arguments: str) -> list[str]:
        assert main(["check", "--verbose", *arguments]) == 0
        return re.findall(r"^([pq]/\w+)", capsys.readouterr().out, flags=re.MULTILINE)

    assert evaluated("--all") == ["p/quick", "p/slow", "q/quick"]
    assert evaluated("--paper", "p") == ["p/quick"]
    assert evaluated("p/slow", "p/slow") == ["p/slow"]


def test_json_has_the_fields_of_the_contract_and_no_infinities(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    numbers = {"bound": np.inf, "slack": np.float64("nan"), "measured": np.float64(0.25)}
    example = {"x": np.array([1, 2]), "y": (np.int64(3), np.bool_(True))}
    made = {"judges": "reading", "failure": "wording"}
    make_claim("p/one", Kind.VIOLATED, finding={**numbers, "counterexample": example}, **made)
    assert main(["check", "--all", "--json", str(tmp_path / "r"), "--seed", "5", "--trials", "9"]) == 0
    (record,) = json.loads((tmp_path / "r").read_text(), parse_constant=pytest.fail)
    assert record.keys() == set(FIELDS.split())
    assert list(record)[:3] == ["claim", "paper", "label"]
    assert record.items() >= made.items()
    assert (record["measured"], record["bound"], record["slack"], record["seed"]) == (0.25, None, None, 5)
    assert record["counterexample"] == {"x": [1, 2], "y": [3, True]}
    assert record["reason"] == f"x is {theory.Context(5, 9, 0.1, 'p/one').generator().random()}"


def test_markdown_is_one_row_a_claim(registry: dict[str, Any], tmp_path: Path) -> None:
    make_claim("p/one")
    make_claim("p/|two|")
    assert main(["check", "--all", "--markdown", str(tmp_path / "r.md")]) == 0
    lines = (tmp_path / "r.md").read_text().splitlines()
    assert len(lines) == 4
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {7}


def test_a_pipe_gets_whole_ids_and_one_line_a_claim(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    name = "p/" + "-".join(["long"] * 30)
    make_claim(name, finding={"counterexample": None})
    assert main(["check", "--all", "--verbose"]) == 0
    assert main(["claims"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith(name + " ")]
    assert len(rows) == 2
    assert "x is 0." in rows[0]
    assert "\x1b" not in rows[0]


def test_a_defect_shows_its_place_only_on_request(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str], plant: Callable[..., Any]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by nought")

    make_claim("p/one")
    plant(report, "page", broken)
    assert main(["check", "--all"]) == 1
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert "ZeroDivisionError: by nought; `python -X dev -m clusterproof` shows where" in errors


def test_replay_tells_true_counterexamples_from_false_ones(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    make_claim(
        "p/one",
        Kind.VIOLATED,
        finding={"counterexample": {"x": 3}, "measured": 3.0, "bound": 1.0},
        replay=lambda example: (float(example["x"]), 1.0),
    )
    make_claim("p/two")
    report = tmp_path / "report.json"
    assert main(["check", "--all", "--json", str(report)]) == 0
    capsys.readouterr()
    assert main(["check", "--replay", str(report)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "p/one  violated  as recorded; replayed: 3 exceeds 1"
    assert lines[2] == "2 of 2 entries confirmed"
    report.write_text(report.read_text().replace('"x": 3', '"x": 1'))
    assert "measured = 3.0" in refused(capsys, "check", "--replay", str(report), "p/one")
    report.write_text(report.read_text().replace('"measured": 3.0', '"measured": 1.0'))
    assert main(["check", "--replay", str(report), "p/one"]) == 1
    assert "p/one  consistent  recorded as violated; replayed: 1 is within 1" in capsys.readouterr().out
    assert main(["check", "--replay", str(report), "p/two"]) == 0
    assert "1 of 1 entries confirmed" in capsys.readouterr().out
    report.write_text(report.read_text().replace('"x": 1', '"x": [1]'))
    assert "must hold the numbers" in refused(capsys, "check", "--replay", str(report))


def test_a_changed_report_is_not_confirmed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    assert main(["check", "cfl-mgd/lemma-2", "--json", str(path)]) == 0
    (record,) = json.loads(path.read_text())
    path.write_text(json.dumps([record | {"verdict": "certified"}]))
    capsys.readouterr()
    assert main(["check", "--replay", str(path)]) == 1
    assert "recorded as certified" in capsys.readouterr().out


@pytest.mark.parametrize(
    "names",
    [
        ["cfl-mgd/lemma-2"],
        pytest.param([], marks=pytest.mark.slow(reason="checks a tenth of the claims with a counterexample")),
    ],
)
def test_counterexamples_of_a_report_are_confirmed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, names: list[str]
) -> None:
    stored = read_verdicts(STORED_VERDICTS)
    sound = {name for name, one in stored.items() if one["counterexample"] is None}
    names = names or [name for name, claim in REGISTRY.items() if name not in sound and claim.quick][::10]
    assert main(["check", *names, "--json", str(tmp_path / "r.json")]) == 0
    found = [r for r in json.loads((tmp_path / "r.json").read_text()) if r["counterexample"] is not None]
    assert found
    capsys.readouterr()
    assert main(["check", "--replay", str(tmp_path / "r.json")]) == 0
    assert f"{len(names)} of {len(names)} entries confirmed" in capsys.readouterr().out


@pytest.mark.slow(reason="checks claims twice, once in another process")
def test_a_report_of_another_processor_is_confirmed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Their searches and draws end elsewhere with other kernels of linear algebra."""
    names = ["a2", "a3", "a10", "a12", "a26", "equation-26", "lemma-1-exact", "model-averaging-drift"]
    claims = [f"cfl-mgd/{name}" for name in names]
    arguments = ["check", *claims, "--quiet", "--json", str(tmp_path / "r.json")]
    command = [sys.executable, "-m", "clusterproof", *arguments]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "OPENBLAS_CORETYPE": "Prescott"}, check=True)
    assert main(["check", "--replay", str(tmp_path / "r.json")]) == 0
    assert "8 of 8 entries confirmed" in capsys.readouterr().out


def test_claims_lists_all_of_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["claims", "--json", str(tmp_path / "c.json")]) == 0
    output = capsys.readouterr().out
    records = json.loads((tmp_path / "c.json").read_text())
    assert {record["id"] for record in records} == set(REGISTRY)
    for record in records:
        assert re.search(
            rf"^{re.escape(record['id'])} .*{re.escape(record['title'])}", output, flags=re.MULTILINE
        )


def test_show_gives_the_card_the_verdict_and_the_repair(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    make_claim("p/bad", Kind.VIOLATED, finding={"counterexample": {"x": 3}}, repaired_by="p/good")
    make_claim("p/good", outcome=RuntimeError("no"))
    assert main(["show", "p/bad"]) == 0
    output = capsys.readouterr().out
    for part in ("p/bad: Lemma 7 (upper)", "Claim of a test.", "x is below one", "violated", '"x": 3'):
        assert part in output
    assert "repaired by p/good: Claim of a test." in output
    assert "clusterproof check p/bad --seed 0 --json report.json" in output
    assert main(["show", "p/good", "--no-check"]) == 0
    assert main(["show", "p/good"]) == 1
    assert capsys.readouterr().err == "clusterproof: p/good: the check failed with RuntimeError: no\n"


@pytest.mark.slow(reason="starts worker processes")
def test_jobs_give_the_same_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reports = []
    for number, jobs in enumerate(([], ["--jobs", "2"])):
        file = tmp_path / f"{number}.json"
        assert main(["check", "cfl-mgd/lemma-2", "cfl-mgd/equation-6", "--json", str(file), *jobs]) == 0
        report = json.loads(file.read_bytes())
        reports.append([{**entry, "seconds": 0} for entry in report])
    assert reports[0] == reports[1]
