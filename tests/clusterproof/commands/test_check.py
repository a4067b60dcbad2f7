"""The commands ``check``, ``show`` and ``claims``: which claims are evaluated, what is printed and what is written."""

import hashlib
import json
import os
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import pytest
from command_line import Digit, make_claim, refused

from clusterproof import checker
from clusterproof.checker import REGISTRY, Kind
from clusterproof.checker.claims import Sides, at_least, at_most, claim, drawn, rationals, suppose
from clusterproof.checker.report import tables as report
from clusterproof.checker.report.stored_evidence import read_verdicts
from clusterproof.commands import check_unit
from clusterproof.commands.application import main

Capture = pytest.CaptureFixture[str]
FIELDS = """claim paper label source error_kind verdict reason measured bound instances exhausted largest
    trials failures confidence proof basis tightness worst worst_exact seed evaluations
    counterexample repaired_by only_where code"""
OF_THE_CATALOGUE = {
    name: REGISTRY[name] for name in ("cfl-mgd/lemma-2", "cfl-mgd/theorem-d", "cfl-mgd/theorem-a")
}


def two_lines(name: str, quick: bool = True, **source: Any) -> None:
    """State a claim whose second line alone is false, from 5 on."""

    @claim(name, label="(1)-(2)", quick=quick, **source)
    def stated(digit: Digit) -> dict[str, Sides]:
        """A digit is at most nine, and at most four."""
        return {"first": at_most(digit, most=9), "second": at_most(digit, most=4)}


def test_check_reports_every_claim_even_where_one_breaks(
    registry: dict[str, Any], capsys: Capture, tmp_path: Path
) -> None:
    make_claim("p/first")
    make_claim("p/broken", outcome=RuntimeError("no\nluck"))
    make_claim("p/last", Kind.VIOLATED, repaired_by="p/first")
    make_claim("p/slow", quick=False)
    path = tmp_path / "report.json"
    assert main(["check", "--paper", "p", "--json", str(path)]) == 1
    output, errors = capsys.readouterr()
    assert "error: p/broken: the check failed: RuntimeError: no luck" in errors
    assert errors.count("\n") == 1
    assert output.startswith("p/last  violated  Lemma 7: ")
    assert "\np 2 1 0 1 0 0 0\n2 claims: 1 certified, 1 violated; 1 other failed" in re.sub(" +", " ", output)
    assert [record["claim"] for record in json.loads(path.read_text())["claims"]] == ["p/first", "p/last"]


def test_check_selects_and_names_verdicts_that_fail_a_build(
    registry: dict[str, Any], capsys: Capture
) -> None:
    for name, kind, quick in (
        ("p/quick", "certified", True),
        ("p/slow", "vacuous", False),
        ("q/quick", "ill-posed", True),
    ):
        make_claim(name, Kind(kind), quick=quick)
    for words, names in (
        ("--all", "p/quick p/slow q/quick"),
        ("--paper p", "p/quick"),
        ("p/slow p/slow", "p/slow"),
        ("p/*", "p/quick"),
        ("p/* --all", "p/quick p/slow"),
        ("p", "p/quick"),
    ):
        assert main(["check", "--verbose", *words.split()]) == 0
        output = capsys.readouterr().out
        assert re.findall(r"^([pq]/\w+)", output, flags=re.MULTILINE) == names.split(), words
        left_out = "p/slow" not in names and words != "--all"
        assert ("Left out, because the check takes long: p/slow." in output) == left_out, words
    assert "Add --all" in refused(capsys, "check", "*slow")
    assert main(["check", "--all", "--fail-on", "violated"]) == 0
    capsys.readouterr()
    assert main(["check", "--all", "--fail-on", "violated,vacuous"]) == 1
    output, errors = capsys.readouterr()
    assert errors == "error: p/slow: vacuous, which --fail-on names\n"
    assert "3 claims: 1 certified, 1 vacuous, 1 ill-posed" in output


def test_check_alone_evaluates_the_headlines_on_all_cores(
    registry: dict[str, Any], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without arguments, long claims among the headlines are evaluated, slow ones first; other claims are not."""
    make_claim("p/lemma", Kind.VIOLATED, headline=True)
    make_claim("p/theorem", quick=False, headline=True)
    make_claim("p/line")
    started: list[tuple[int, list[int]]] = []

    def in_processes(function: Any, calls: Any, jobs: int) -> list[Any]:
        found = [function(*arguments) for arguments in calls]
        started.append((jobs, [index for index, _ in found]))
        return found

    monkeypatch.setattr(check_unit, "in_processes", in_processes)
    monkeypatch.setattr(check_unit, "FEW", 2)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert main(["check"]) == 0
    output = capsys.readouterr().out
    assert ["p", "2"] in [line.split() for line in output.splitlines()]
    assert main(["check", "--verbose"]) == 0
    names = re.findall(r"^(p/\w+)", capsys.readouterr().out, flags=re.MULTILINE)
    assert names[:2] == ["p/lemma", "p/theorem"]  # in their order, whatever is known first
    assert "p/line" not in names
    assert started == [(2, [1, 0])] * 2


def test_verdicts_are_counted_by_paper_and_by_what_they_judge(registry: dict[str, Any]) -> None:
    made = [("ours", "false statement"), ("reading", "wording"), *[("printed", "misprint")] * 2]
    made += [("printed", "wording"), ("printed", "false statement"), ("reading", "false statement")]
    for number, (source, error_kind) in enumerate(made):
        make_claim(f"p/{number}", Kind.VIOLATED, source=source, error_kind=error_kind)
    make_claim("p/holds", error_kind="misprint")
    make_claim("q/ours", Kind.VIOLATED, source="ours")
    make_claim("r/vague", Kind.ILL_POSED)
    verdicts = [checker.check(name) for name in registry]
    assert report.sentence(verdicts[2], None).plain.startswith("p/2  violated  Lemma 7 (misprint): ")
    lines = report.count_table(verdicts, None)
    p = "4 printed (1 false statement, 2 misprints, 1 of wording), 2 readings, 1 ours"
    assert [line for line in lines if line.startswith("  ")] == [f"  7 violated: {p}", "  1 violated: 1 ours"]
    rows = {line.split()[0]: line.split()[1:] for line in lines if not line.startswith(" ")}
    for paper, *kinds in (("p", "certified", *["violated"] * 7), ("q", "violated"), ("r", "ill-posed")):
        assert rows[paper] == [str(len(kinds)), *(str(kinds.count(kind)) for kind in Kind)]
    whole = p.replace("1 ours", "2 ours")
    assert report.summary(verdicts, 0, 0, 1.0).splitlines()[1:] == [f"8 violated: {whole}"]
    # a terminal's lines have at most its columns, and the same words; a pipe's one line a claim; both are aligned
    long = replace(verdicts[0], reason="many-worded reasons " * 30)
    wide, narrow = (
        "\n".join([report.sentence(long, width).plain, *report.count_table(verdicts, width)])
        for width in (None, 80)
    )
    assert max(map(len, narrow.splitlines())) <= 80
    assert narrow.split() == wide.split()
    assert not re.search(r" $", wide, flags=re.MULTILINE)
    header, *below = lines
    for row in below:
        if not row.startswith(" "):
            counts = [match.end() for match in re.finditer(r"\S+", row)][1:]
            assert counts == [match.end() for match in re.finditer(r"\S+", header)][1:]


def test_a_report_has_all_fields_and_no_infinities(registry: dict[str, Any], tmp_path: Path) -> None:
    @claim("p/one", label="Lemma 7", source="reading", error_kind="wording")
    def one(digit: Digit) -> Sides:
        """A digit is at least infinite."""
        return at_least(float(digit), most=float("inf"))

    path = tmp_path / "r.json"
    assert main(["check", "--all", "--json", str(path), "--seed", "5"]) == 0
    found = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert set(found) == {"claims", "times", "sources", "versions", "seed"}
    (record,) = found["claims"]
    assert record.keys() == set(FIELDS.split())
    assert (record["source"], record["error_kind"]) == ("reading", "wording")
    assert (record["measured"], record["bound"], record["seed"], found["seed"]) == (0, None, 5, 5)
    assert record["counterexample"] == {"digit": 0}
    assert found["times"].keys() == {"p/one"}


def test_a_report_holds_its_file(
    registry: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the code of a counterexample, which can be pasted; a file may name the repair that the next one states."""
    monkeypatch.chdir(tmp_path)
    head = "from typing import Annotated\nfrom clusterproof import at_most, choice, claim\n"
    for name, options, most in (("mine", ', repaired_by="mine/next"', 1), ("next", "", 2)):
        text = f'{head}@claim("mine/{name}"{options})\ndef {name}(n: Annotated[int, choice(1, 2)]):\n'
        Path(f"{name}.py").write_text(f"{text}    return at_most(n, most={most})\n")
    assert main(["check", "mine.py", "next.py", "--json", "r.json"]) == 0
    found = json.loads(Path("r.json").read_text())
    text = Path("mine.py").read_text()
    sum_of = hashlib.sha256(text.encode()).hexdigest()
    assert found["sources"]["mine.py"] == {"text": text, "sha256": sum_of, "beside": {}}
    (entry,) = (one for one in found["claims"] if one["verdict"] == "violated")
    exec(entry["code"], {})


def test_one_line_of_a_chain_is_checked_by_its_id(
    registry: dict[str, Any], capsys: Capture, tmp_path: Path
) -> None:
    two_lines("p/chain")
    two_lines("p/long", quick=False)
    for name in ("p/chain#first", "p/long#first"):
        assert main(["check", name, "--fail-on", "violated", "--verbose"]) == 0
        assert re.search(rf"^{name} +certified", capsys.readouterr().out, flags=re.MULTILINE)
    assert "must be one of its lines: first, second" in refused(capsys, "check", "p/chain#third")
    path = tmp_path / "r.json"
    assert main(["check", "p/chain", "--fail-on", "violated", "--json", str(path)]) == 1
    records = {record["claim"]: record for record in json.loads(path.read_text())["claims"]}
    assert list(records) == ["p/chain", "p/chain#first", "p/chain#second"]
    assert records["p/chain"]["counterexample"] == {"digit": 5, "line": "second"}
    assert records["p/chain#first"]["verdict"] == "certified"


DRAWN = drawn(lambda stream: float(stream.random()), write=float, read=float)


def test_one_of_the_seeds_that_refutes_a_claim_decides(registry: dict[str, Any], tmp_path: Path) -> None:
    """Of values that are drawn the largest one of three seeds, and only that, breaks a bound just below it."""
    limits = [1.0]

    @claim("p/drawn", evaluations=40)
    def drawn_value(value: Annotated[float, DRAWN]) -> Sides:
        """A drawn value is at most a limit."""
        return at_most(value, limit=limits[-1])

    def checked() -> Any:
        words = ["check", "p/drawn", "--seed", "4", "--seeds", "3", "--json", str(tmp_path / "r.json")]
        assert main(words) == 0
        return json.loads((tmp_path / "r.json").read_text())["claims"][0]

    largest = max(checker.check("p/drawn", seed=seed).measured or 0.0 for seed in (4, 5, 6))
    united = checked()
    assert (united["verdict"], united["measured"], united["instances"]) == ("consistent", largest, 120)
    limits.append(largest * (1 - 1e-6))
    assert checked()["counterexample"] == {"value": largest}


def test_a_pipe_gets_whole_ids_and_one_line_a_claim(registry: dict[str, Any], capsys: Capture) -> None:
    name = "p/" + "-".join(["long"] * 30)
    make_claim(name)
    assert main(["check", "--all", "--verbose"]) == 0
    assert main(["claims"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith(name + " ")]
    assert len(rows) == 2
    assert "holds on" in rows[0]
    assert "\x1b" not in rows[0]


# ---- claims


def test_claims_are_listed_by_file_paper_and_stored_verdict(
    registry: dict[str, Any], capsys: Capture, tmp_path: Path
) -> None:
    """A claim without a stored verdict is checked."""
    registry.update(OF_THE_CATALOGUE)
    make_claim("mine/false", Kind.VIOLATED)
    make_claim("mine/broken", outcome=RuntimeError("no"))
    path = tmp_path / "file.py"
    path.write_text(
        "from typing import Annotated\nfrom clusterproof import at_most, choice, claim\n"
        '@claim("file/true")\ndef true(n: Annotated[int, choice(1, 2)]):\n    return at_most(n, most=2)\n'
    )
    stored = {name: record["verdict"] for name, record in read_verdicts().items()}
    assert stored["cfl-mgd/lemma-2"] == "violated" != stored["cfl-mgd/theorem-d"]
    for words, wanted in (
        ("", {*registry}),
        ("--paper cfl-mgd", {*OF_THE_CATALOGUE}),
        ("--verdict violated,vacuous", {"mine/false", "cfl-mgd/lemma-2"}),
        (str(path), {"file/true"}),
        (f"{path} --verdict violated", set()),
        (f"{path} --verdict certified", {"file/true"}),
    ):
        capsys.readouterr()
        assert main(["claims", *words.split()]) == 0
        output, errors = capsys.readouterr()
        listed = {line.split("  ")[0]: line for line in output.splitlines()[1:]}
        assert listed.keys() == wanted, words
        assert all(checker.find_claim(name).title in line for name, line in listed.items())
        assert ("mine/broken: the check failed: RuntimeError: no" in errors) == words.startswith("--verdict")


# ---- show


def test_show_gives_the_statement_the_verdict_and_the_repair(
    registry: dict[str, Any], capsys: Capture
) -> None:
    make_claim("p/bad", Kind.VIOLATED, repaired_by="p/good")
    make_claim("p/good", outcome=RuntimeError("no"))
    assert main(["show", "p/bad"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("p/bad  violated")
    for words in (
        "p/bad: Lemma 7",
        "A digit is at most nine",
        "    digit = 7\n",
        "replay('p/bad', {'digit': 7})",
    ):
        assert words in output
    repair = "Repaired by p/good: A digit is at most nine, or less in claims that are to be false."
    assert " ".join(output.split()).endswith(repair)
    assert main(["show", "p/good", "--no-check"]) == 0
    assert main(["show", "p/good"]) == 1
    assert "error: p/good: the check failed: RuntimeError: no" in capsys.readouterr().err


Number = Annotated[Fraction, rationals(-2, 2, 4, upwards=True, downwards=True)]


def test_show_says_what_the_lines_are_and_rest_on(
    registry: dict[str, Any], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    @claim("p/unequal")
    def unequal(first: Number, second: Number) -> Sides:
        """Twice the product of different numbers is at most the sum of their squares."""
        suppose("they differ", first != second)
        return at_most(2 * first * second, squares=first**2 + second**2)

    two_lines("p/mixed", source={"first": "printed", "second": "reading"})
    registry.update(OF_THE_CATALOGUE)
    pages = {}
    for name in ("p/mixed", "p/unequal", "cfl-mgd/theorem-d"):
        assert main(["show", name]) == 0
        pages[name] = capsys.readouterr().out
    for words in (
        "    first\n        certified: ",
        "    second (reading)\n        violated: ",
        "    digit = 5, line = second\n    5 > 4 (most)\n",
    ):
        assert words in pages["p/mixed"]
    assert "Its lines have several sources" in " ".join(pages["p/mixed"].split())
    assert "!= of symbols is no hypothesis" in " ".join(pages["p/unequal"].split())
    assert "The paper" not in pages["p/unequal"]  # nothing is known of the paper of a reader's claim
    assert "Ours: no source prints it." in " ".join(pages["cfl-mgd/theorem-d"].split())
    verdict = checker.check("p/mixed")
    for line in verdict.lines:
        assert line.evidence is not None
        size, rule = len(json.dumps(line.evidence, separators=(",", ":"))), line.evidence["rule"]
        digest = hashlib.sha256(verdict.text.encode()).hexdigest()
        said = f"(the kernel's rule {rule}; size {size} bytes; checksum of the text {digest[:12]})"
        assert said in " ".join(pages["p/mixed"].split())
    # the title of a step stands beside its name
    assert main(["show", "cfl-mgd/lemma-2"]) == 0
    assert "every c_4 (ours): The error |e_2|" in " ".join(capsys.readouterr().out.split())
    # the first sentence counts inconclusive lines
    first, second = verdict.lines
    changed = replace(verdict, lines=(replace(first, verdict=Kind.INCONCLUSIVE), second))
    monkeypatch.setattr(checker, "check", lambda *_, **__: changed)
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["show", "p/mixed"]) == 0
    assert "1 of its 2 lines is inconclusive" in capsys.readouterr().out.splitlines()[0]


def test_show_joins_a_line_that_is_too_long_with_the_next_one_alone(
    registry: dict[str, Any], capsys: Capture, monkeypatch: pytest.MonkeyPatch
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
