"""The command line on a user's file: modules, patterns, verdicts that fail a build, and completion."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import make_claim, refused

from clusterproof.commands.application import app, main
from clusterproof.theory import Kind

FILE = '''
from fractions import Fraction
from typing import Annotated
from clusterproof import at_most, claim, rationals

Step = Annotated[Fraction, rationals(0, 2, 2)]

@claim("mine/true")
def true(step: Step):
    """It holds.

    Statement
        |1 - eta| <= {bound}.
    """
    return at_most(abs(1 - step), bound={bound})

@claim("mine/false")
def false(step: Step):
    """It does not hold."""
    return at_most(abs(1 - step), half=Fraction(1, 2))
'''


@pytest.fixture
def mine(registry: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.py"
    path.write_text(FILE.format(bound="1"))
    make_claim("ours/lemma-1")
    make_claim("ours/lemma-2", Kind.VACUOUS)
    make_claim("ours/lemma-long", quick=False)
    make_claim("ours/theorem")
    return path


def checked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    status = main(["check", *words, "--verbose"])
    output, errors = capsys.readouterr()
    return status, output, errors


def evaluated(output: str) -> set[str]:
    return {word for word in output.split() if "/" in word and word.split("/")[0] in ("mine", "ours")}


def test_claims_of_a_file_are_listed_by_paper(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with mine.open("a") as file:
        file.write(
            FILE.format(bound="1")
            .split('@claim("mine/true")')[1]
            .partition("\n@claim")[0]
            .join(('@claim("ours/other")', "\n"))
        )
    assert main(["claims", "mine.py", "--paper", "mine"]) == 0
    assert evaluated(capsys.readouterr().out) == {"mine/true", "mine/false"}


@pytest.mark.slow(reason="a second or more")
def test_a_file_may_name_the_repair_that_the_next_one_states(
    mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = FILE.format(bound="1").split('@claim("mine/true")')
    mine.write_text(f'{first}@claim("mine/wrong", repaired_by="mine/true"){second.split("@claim")[0]}')
    mine.with_name("next.py").write_text(f'{first}@claim("mine/true"){second}')
    status, output, _ = checked(capsys, "mine.py", "next.py")
    assert (status, evaluated(output)) == (0, {"mine/wrong", "mine/true", "mine/false"})


@pytest.mark.slow(reason="several seconds")
def test_a_module_is_checked_alone_or_among_ours(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, output, _ = checked(capsys, "mine.py")
    assert status == 0
    assert evaluated(output) == {"mine/true", "mine/false"}
    _, output, _ = checked(capsys, "ours/*", "mine/t*", "mine.py")
    assert evaluated(output) == {"ours/lemma-1", "ours/lemma-2", "ours/theorem", "mine/true"}
    assert main(["show", "mine/true", "mine.py"]) == 0
    assert "|1 - eta| <= 1" in capsys.readouterr().out
    assert main(["claims", "mine.py"]) == 0
    assert evaluated(capsys.readouterr().out) == {"mine/true", "mine/false"}


def test_patterns_leave_out_what_takes_long(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluated(checked(capsys, "ours/lemma-*")[1]) == {"ours/lemma-1", "ours/lemma-2"}
    assert "ours/lemma-long" in evaluated(checked(capsys, "ours/lemma-*", "--all")[1])
    assert "ours/lemma-long" in evaluated(checked(capsys, "ours/lemma-long")[1])
    assert "add --all" in refused(capsys, "check", "*-long")


@pytest.mark.slow(reason="a second or more")
def test_a_report_holds_its_file(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(capsys, "mine.py", "--json", "r.json")[0] == 0
    report = json.loads(Path("r.json").read_text())
    assert report["sources"] == {
        "mine.py": {
            "text": mine.read_text(),
            "sha256": hashlib.sha256(mine.read_bytes()).hexdigest(),
            "beside": {},
        }
    }
    (entry,) = (one for one in report["claims"] if one["verdict"] == "violated")
    exec(entry["code"], {})


def test_named_verdicts_fail_the_build(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(capsys, "ours/*", "--fail-on", "violated,ill-posed")[0] == 0
    status, output, errors = checked(capsys, "ours/*", "--fail-on", "violated,vacuous")
    assert status == 1
    assert errors == "clusterproof: ours/lemma-2: vacuous, which --fail-on names\n"
    assert "3 claims" in output


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_completed(shell: Any, tmp_path: Path) -> None:
    script = app.generate_completion(prog_name="clusterproof", shell=shell)
    for name in ("check", "claims", "certify", "--fail-on", "--seeds"):
        assert name.removeprefix("--") in script
    if program := shutil.which(shell):
        path = tmp_path / "completion"
        path.write_text(script)
        assert subprocess.run([program, "-n", str(path)], capture_output=True).returncode == 0


def test_bash_offers_the_options_of_check(tmp_path: Path) -> None:
    """By another route than the text of the script: bash itself is asked."""
    if not shutil.which("bash"):
        pytest.skip("there is no bash")
    (tmp_path / "completion").write_text(app.generate_completion(prog_name="clusterproof", shell="bash"))
    asked = (
        "source completion; COMP_WORDS=(clusterproof check --fai); COMP_CWORD=2;"
        "COMP_LINE='clusterproof check --fai'; COMP_POINT=${#COMP_LINE};"
        "$(complete -p clusterproof | sed 's/.*-F \\([^ ]*\\).*/\\1/') clusterproof --fai check;"
        'echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, cwd=tmp_path)
    assert "--fail-on" in done.stdout, done.stderr
