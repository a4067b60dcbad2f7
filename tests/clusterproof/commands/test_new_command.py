"""The command that writes a file to begin with: the file runs, its theorem is false and its repair holds."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from clusterproof import checker, load_claims
from clusterproof.commands.application import COMMANDS, main


@pytest.mark.slow(reason="several seconds")
def test_the_file_runs_and_is_judged_and_the_next_commands_can_be_pasted(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "my paper.py"
    assert main(["new", str(path)]) == 0
    first, second = capsys.readouterr().out.splitlines()[1:3]
    assert shlex.split(first) == ["clusterproof", "check", str(path)]
    assert shlex.split(second) == ["clusterproof", "show", "my-paper/theorem-1", str(path)]
    assert load_claims(path) == ["my-paper/theorem-1", "my-paper/repaired"]
    false, repaired = (checker.check(name) for name in ("my-paper/theorem-1", "my-paper/repaired"))
    # after one round the error is |1 - step_size|, and the printed rate is negative beyond step size 1
    assert false.verdict == "violated"
    assert false.measured == -false.bound > 0
    assert repaired.verdict == "consistent"


FAILING = '''
from fractions import Fraction
from clusterproof.theorem import Q, Sides, at_most, claim


@claim("own/{name}")
def {name}(x: Fraction = Q[0:1:8]) -> Sides:
    """A sentence of the reader's."""
    {body}
'''


@pytest.mark.parametrize(
    "bodies",
    [
        ("return at_most(x, half=0)", "1 / 0"),
        pytest.param(("1 / 0", "undefined"), marks=pytest.mark.slow(reason="starts processes")),
    ],
)
def test_what_is_suggested_and_counted_fits_what_was_decided(
    bodies: tuple[str, ...],
    registry: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A reader's sentence is printed by no paper, and of a claim whose check fails there is nothing to show.

    The process that counts has not read the file.
    """
    monkeypatch.setattr("clusterproof.commands.child_process.is_child", False)
    path = tmp_path / "own.py"
    path.write_text("".join(FAILING.format(name=f"claim_{n}", body=body) for n, body in enumerate(bodies)))
    assert main(["check", str(path)]) == 1
    output = capsys.readouterr().out
    decided = any("return" in body for body in bodies)
    assert ("clusterproof show" in output) == decided
    assert "printed" not in output
    assert ("1 violated: 1 false statement" in output) == decided


@pytest.mark.parametrize("paper", sorted({claim.paper for claim in checker.catalogue()}))
def test_show_lists_the_claims_of_a_paper(paper: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", paper]) == 0
    _, *rows, _, suggested = capsys.readouterr().out.splitlines()
    ids = [row.partition(" ")[0] for row in rows]
    assert ids == [claim.id for claim in checker.catalogue(paper)]
    assert suggested.endswith(f"clusterproof show {ids[0]}")


def test_help_begins_with_what_people_use_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("│ ")]
    known = [name for name, *_ in COMMANDS]
    assert [name for _, name, *_ in lines if name in known] == known
    assert known[:4] == ["check", "show", "new", "run"]


@pytest.mark.slow(reason="searches, and exports")
@pytest.mark.usefixtures("claims_of_files")
def test_what_a_check_decides_is_exported_by_the_command_that_it_suggests(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And of a file that was not checked, or has changed since, export says what to type first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("clusterproof.checker.export.coqc.NEEDED", ("no-such-program",))
    bodies = {"exported": "return at_most(x, half=Fraction(1, 2))", "open": "return at_most(x**x, one=1)"}
    text = "".join(FAILING.format(name=name, body=body) for name, body in bodies.items())
    Path("own.py").write_text(text)
    assert main(["export", "own.py", "--out", "folder"]) == 2
    (first,) = re.findall(r"checked first\. Type: clusterproof (check .*)\.", capsys.readouterr().err)
    assert main(shlex.split(first)) == 0
    (second,) = re.findall(r"clusterproof (export .*?)  ", capsys.readouterr().out)
    assert main(shlex.split(second.replace("FOLDER", "folder"))) == 0
    assert (tmp_path / "folder" / "replay.py").is_file()
    printed = capsys.readouterr().out
    assert "own/exported: not checked: no-such-program is not installed" in printed
    assert "not in it, as the kernel decides no line: own/open" in printed
    Path("own.py").write_text(text.replace("Fraction(1, 2)", "1"))  # which is true
    assert main(shlex.split(second.replace("FOLDER", "other"))) == 2
    assert (
        f"must be checked again, because its text has changed. Type: clusterproof {first}."
        in capsys.readouterr().err
    )
    assert not Path("other").exists()
