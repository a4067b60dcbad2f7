"""The commands about claims: which are evaluated, and what is written."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import pytest
from command_line import Digit, make_claim, refused

from clusterproof import theory
from clusterproof.commands.application import main
from clusterproof.commands.check_unit import evaluate
from clusterproof.theory import REGISTRY, Kind, Verdict
from clusterproof.theory.claims import Sides, at_least, at_most, claim, drawn, rationals, suppose
from clusterproof.theory.report import tables as report

FIELDS = """claim paper label judges failure verdict reason measured bound instances exhausted largest
    trials failures confidence proof basis tightness worst worst_exact seed evaluations
    counterexample repaired_by only_where code"""
OF_THE_CATALOGUE = {
    name: REGISTRY[name] for name in ("cfl-mgd/lemma-2", "cfl-mgd/theorem-d", "cfl-mgd/theorem-a")
}
KINDS = (Kind.CERTIFIED, Kind.VIOLATED, Kind.VACUOUS, Kind.ILL_POSED)
"""Verdicts that ``make_claim`` can give."""


def test_check_reports_every_claim_even_where_one_breaks(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    make_claim("p/first")
    make_claim("p/broken", outcome=RuntimeError("no\nluck"))
    make_claim("p/last", Kind.VIOLATED, repaired_by="p/first")
    make_claim("p/slow", quick=False)
    path = tmp_path / "report.json"
    assert main(["check", "--paper", "p", "--json", str(path)]) == 1
    output, errors = capsys.readouterr()
    assert "clusterproof: p/broken: the check failed with RuntimeError: no luck" in errors
    assert errors.count("\n") == 1
    assert output.startswith("p/last  violated  Lemma 7: ")
    assert "\np  2  1  0  1  0  0  0\n2 claims: 1 certified, 1 violated; 1 other failed" in output
    assert [record["claim"] for record in json.loads(path.read_text())["claims"]] == ["p/first", "p/last"]


def test_the_page_lists_what_fails_and_counts_each_paper(registry: dict[str, Any]) -> None:
    made = {"p/a": "certified", "p/b": "violated", "p/c": "violated", "q/d": "ill-posed", "q/e": "vacuous"}
    for name, kind in made.items():
        make_claim(name, Kind(kind))
    verdicts = [
        replace(theory.check(name), reason=f"of {name} " + "many-worded reasons " * 30) for name in made
    ]
    fails = [one for one in verdicts if one.verdict in ("violated", "ill-posed")]
    plain, narrow = (
        "\n".join(
            [*(report.sentence(one, width).plain for one in fails), "", *report.count_table(verdicts, width)]
        )
        for width in (None, 80)
    )
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


def test_violated_claims_are_counted_by_what_they_judge(
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
    assert report.sentence(verdicts[2], None).plain.startswith("p/2  violated  Lemma 7 (misprint): ")
    lines = report.count_table(verdicts, None)
    p = "4 printed (1 false statement, 2 misprints, 1 of wording), 2 readings, 1 ours"
    assert [line for line in lines if line.startswith("  ")] == [f"  7 violated: {p}", "  1 violated: 1 ours"]
    whole = p.replace("1 ours", "2 ours")
    assert report.summary(verdicts, 0, 0, 1.0).splitlines()[1:] == [f"8 violated: {whole}"]


def test_any_verdict_is_a_success(registry: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    for kind in KINDS:
        make_claim(f"p/{kind}", kind)
    assert main(["check", "--all"]) == 0
    assert ", ".join(f"1 {kind}" for kind in Kind if kind in KINDS) in capsys.readouterr().out


def test_check_selects(registry: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    for name, quick in (("p/quick", True), ("p/slow", False), ("q/quick", True)):
        make_claim(name, quick=quick)

    def evaluated(*arguments: str) -> list[str]:
        assert main(["check", "--verbose", *arguments]) == 0
        return re.findall(r"^([pq]/\w+)", capsys.readouterr().out, flags=re.MULTILINE)

    assert evaluated("--all") == ["p/quick", "p/slow", "q/quick"]
    assert evaluated("--paper", "p") == ["p/quick"]
    assert evaluated("p/slow", "p/slow") == ["p/slow"]


def test_json_has_all_fields_and_no_infinities(registry: dict[str, Any], tmp_path: Path) -> None:
    @claim("p/one", label="Lemma 7", judges="reading", failure="wording")
    def one(digit: Digit) -> Sides:
        """A digit is at least infinite."""
        return at_least(float(digit), most=float("inf"))

    path = tmp_path / "r.json"
    assert main(["check", "--all", "--json", str(path), "--seed", "5"]) == 0
    found = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert set(found) == {"claims", "times", "sources", "versions", "seed"}
    (record,) = found["claims"]
    assert record.keys() == set(FIELDS.split())
    assert list(record)[:3] == ["claim", "paper", "label"]
    assert (record["judges"], record["failure"]) == ("reading", "wording")
    assert (record["measured"], record["bound"], record["seed"]) == (0, None, 5)
    assert record["counterexample"] == {"digit": 0}
    assert found["seed"] == 5
    assert found["times"].keys() == {"p/one"}


def two_lines(name: str, quick: bool = True) -> None:
    """State a claim whose second line alone is false, from 5 on."""

    @claim(name, label="(1)-(2)", quick=quick)
    def stated(digit: Digit) -> dict[str, Sides]:
        """A digit is at most nine, and at most four."""
        return {"first": at_most(digit, most=9), "second": at_most(digit, most=4)}


def test_one_line_of_a_chain_is_checked_by_its_id(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    two_lines("p/chain")
    assert main(["check", "p/chain#first", "--fail-on", "violated", "--verbose"]) == 0
    assert re.search(r"^p/chain#first +certified", capsys.readouterr().out, flags=re.MULTILINE)
    assert main(["check", "p/chain", "--fail-on", "violated"]) == 1
    capsys.readouterr()
    assert "must be one of its lines: first, second" in refused(capsys, "check", "p/chain#third")
    two_lines("p/long", quick=False)
    assert main(["check", "p/long#first", "--verbose"]) == 0
    assert re.search(r"^p/long#first +certified", capsys.readouterr().out, flags=re.MULTILINE)
    path = tmp_path / "r.json"
    assert main(["check", "p/chain", "--json", str(path)]) == 0
    records = {record["claim"]: record for record in json.loads(path.read_text())["claims"]}
    assert list(records) == ["p/chain", "p/chain#first", "p/chain#second"]
    assert records["p/chain"]["counterexample"] == {"digit": 5, "line": "second"}
    assert records["p/chain#first"]["verdict"] == "certified"


DRAWN = drawn(lambda stream: float(stream.random()), write=float, read=float)


def test_one_seed_that_refutes_a_claim_decides(
    registry: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of values that are drawn the largest one of three seeds, and only that, breaks a bound just below it."""

    def state(limit: float) -> None:
        registry.clear()

        @claim("p/drawn", evaluations=40)
        def drawn_value(value: Annotated[float, DRAWN]) -> Sides:
            """A drawn value is at most a limit."""
            return at_most(value, limit=limit)

    state(1.0)
    largest = [theory.check("p/drawn", seed=seed).measured or 0.0 for seed in range(3)]
    state(max(largest) * (1 - 1e-6))
    worst = largest.index(max(largest))
    found = {}
    for first, count in ((0, 1), (1, 1), (2, 1), (0, 3)):
        path = tmp_path / f"{first}-{count}.json"
        options = {"--seed": first, "--seeds": count, "--json": path}
        assert main(["check", "p/drawn", *(str(word) for pair in options.items() for word in pair)]) == 0
        (found[first, count],) = json.loads(path.read_text())["claims"]
    assert [found[seed, 1]["verdict"] == "violated" for seed in range(3)] == [
        seed == worst for seed in range(3)
    ]
    assert found[0, 3]["counterexample"] == {"value": max(largest)}
    index, united = evaluate(7, "p/drawn", (), range(3) if worst else range(2, -1, -1))
    assert isinstance(united, Verdict)
    assert (index, united.counterexample) == (7, {"value": max(largest)})
    capsys.readouterr()
    for seed in range(3):
        assert main(["show", "p/drawn", "--seed", str(seed)]) == 0
        assert ("Counterexample" in capsys.readouterr().out) == (seed == worst)
    state(1.0)
    path = tmp_path / "r.json"
    assert main(["check", "p/drawn", "--seeds", "3", "--json", str(path)]) == 0
    (record,) = json.loads(path.read_text())["claims"]
    assert (record["verdict"], record["measured"], record["instances"]) == ("consistent", max(largest), 120)


def test_the_number_of_seeds_is_positive(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--seeds = 0: must be an integer, at least 1" in refused(capsys, "check", "--seeds", "0")


def test_a_pipe_gets_whole_ids_and_one_line_a_claim(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    name = "p/" + "-".join(["long"] * 30)
    make_claim(name)
    assert main(["check", "--all", "--verbose"]) == 0
    assert main(["claims"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith(name + " ")]
    assert len(rows) == 2
    assert "holds on" in rows[0]
    assert "\x1b" not in rows[0]


def test_a_defect_shows_its_place_only_on_request(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str], plant: Callable[..., Any]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by nought")

    make_claim("p/one")
    plant(report, "count_table", broken)
    assert main(["check", "--all"]) == 1
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert "ZeroDivisionError: by nought; `python -X dev -m clusterproof` shows where" in errors


def test_claims_lists_all_of_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["claims", "--json", str(tmp_path / "c.json")]) == 0
    output = capsys.readouterr().out
    records = json.loads((tmp_path / "c.json").read_text())
    assert {record["id"] for record in records} == set(REGISTRY)
    for record in records:
        assert re.search(
            rf"^{re.escape(record['id'])} .*{re.escape(record['title'])}", output, flags=re.MULTILINE
        )


def test_show_gives_the_statement_the_verdict_and_the_repair(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    make_claim("p/bad", Kind.VIOLATED, repaired_by="p/good")
    make_claim("p/good", outcome=RuntimeError("no"))
    assert main(["show", "p/bad"]) == 0
    output = capsys.readouterr().out
    for words in ("p/bad: Lemma 7", "A digit is at most nine", "violated", "    digit = 7\n"):
        assert words in output
    assert "Repaired by p/good: A digit is at most nine" in output
    assert "replay('p/bad', {'digit': 7})" in output
    assert main(["show", "p/good", "--no-check"]) == 0
    assert main(["show", "p/good"]) == 1
    assert "clusterproof: p/good: the check failed with RuntimeError: no" in capsys.readouterr().err


Number = Annotated[Fraction, rationals(-2, 2, 4, upwards=True, downwards=True)]


def test_show_says_why_a_line_is_not_proved(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    @claim("p/unequal")
    def unequal(first: Number, second: Number) -> Sides:
        """Twice the product of different numbers is at most the sum of their squares."""
        suppose("they differ", first != second)
        return at_most(2 * first * second, squares=first**2 + second**2)

    assert main(["show", "p/unequal"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "!= of symbols is no hypothesis" in printed


def test_show_says_whose_the_lines_are(registry: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    @claim("p/mixed", label="(1)-(2)", judges={"first": "printed", "second": "reading"})
    def mixed(digit: Digit) -> dict[str, Sides]:
        """A digit is at most nine, twice."""
        return {"first": at_most(digit, most=9), "second": at_most(digit, nine=9)}

    make_claim("p/printed")
    for name, words in (
        ("p/mixed", "Its lines are of several kinds"),
        ("cfl-mgd/theorem-d", "Ours: no source prints it."),
        ("p/printed", "A digit is at most nine"),
    ):
        registry.update(OF_THE_CATALOGUE)
        assert main(["show", name, "--no-check"]) == 0
        assert words in (printed := " ".join(capsys.readouterr().out.split()))
    assert "The paper" not in printed  # nothing is known of the paper of a reader's claim


def test_the_first_sentence_of_a_page_is_the_verdict_and_counts_inconclusive_lines(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    two_lines("p/chain")
    verdict = theory.check("p/chain")
    lines = [
        replace(line, verdict=Kind.INCONCLUSIVE) if line.name == "first" else line for line in verdict.lines
    ]
    monkeypatch.setattr(theory, "check", lambda *_, **__: replace(verdict, lines=tuple(lines)))
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["show", "p/chain"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("p/chain  violated")
    assert "1 of its 2 lines is inconclusive" in first


def test_a_repair_is_a_line(registry: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    registry.update(OF_THE_CATALOGUE)
    assert main(["show", "cfl-mgd/lemma-2", "--no-check"]) == 0
    repairs = capsys.readouterr().out.partition("Repaired by ")[2]
    assert "With probability" not in repairs


def test_show_joins_a_line_that_is_too_long_with_the_next_one_alone(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @claim("p/wide", label="Lemma 7")
    def wide(digit: Digit) -> Sides:
        """A digit is at most nine.

        It is one of the numbers that are written by a single character, in the system that most people use
        today. It goes on here:
        and here is another line.
        """
        return at_most(digit, most=9)

    monkeypatch.setenv("COLUMNS", "80")
    assert main(["show", "p/wide", "--no-check"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "that most people use today. It goes on here:" in lines
    assert "and here is another line." in lines


def test_show_lists_the_lines_of_a_chain(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    two_lines("p/chain")
    assert main(["show", "p/chain"]) == 0
    output = capsys.readouterr().out
    assert "  first  certified: " in output
    assert "  second  violated: " in output
    assert "    digit = 5, line = second\n    5 > 4 (most)\n" in output


@pytest.mark.slow(reason="starts worker processes")
def test_processes_give_the_same_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claims = []
    for cores in (1, 2):
        monkeypatch.setattr(os, "cpu_count", lambda: cores)  # noqa: B023 - called in this iteration
        path = tmp_path / f"{cores}.json"
        assert main(["check", "cfl-mgd/lemma-2", "cfl-mgd/equation-5", "--json", str(path)]) == 0
        claims.append(json.loads(path.read_bytes())["claims"])
    assert claims[0] == claims[1]
