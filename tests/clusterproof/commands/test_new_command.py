"""The command that writes a file to begin with: the file runs, its theorem is false and its repair holds."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from clusterproof import checker, load_claims
from clusterproof.commands.application import main


@pytest.mark.slow(reason="several seconds")
def test_the_file_runs_and_is_judged_and_the_next_commands_can_be_pasted(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "my paper.py"
    assert main(["new", "claim", str(path)]) == 0
    first, second = capsys.readouterr().out.splitlines()[1:3]
    assert shlex.split(first) == ["clusterproof", "check", str(path)]
    assert shlex.split(second) == ["clusterproof", "show", "my-paper/theorem-1", str(path)]
    assert load_claims(path) == ["my-paper/theorem-1", "my-paper/repaired"]
    false, repaired = (checker.check(name) for name in ("my-paper/theorem-1", "my-paper/repaired"))
    # after one round the error is |1 - step_size|, and the printed rate is negative beyond step size 1
    assert false.verdict == "violated"
    assert false.measured == -false.bound > 0
    assert repaired.verdict == "consistent"
