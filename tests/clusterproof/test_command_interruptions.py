"""A full disk, a signal or a closed pipe costs no file and no finished run."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import ROOT, make_claim

from clusterproof.commands.application import main
from clusterproof.theory import REGISTRY


def test_a_failing_disk_does_not_cost_the_report(
    registry: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    monkeypatch.setattr(os, "rename", full_disk)
    make_claim("p/one")
    (tmp_path / "report").write_text("old")
    for arguments in (
        ["check", "--json", str(tmp_path / "report")],
        ["run", "ifca", "--out", str(tmp_path / "run")],
    ):
        assert main(arguments) == 2
        output, errors = capsys.readouterr()
        assert "No space left on device" in errors
        assert "1 consistent" in output or "purity" in output
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("report", "old")]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_leaves_nothing(tmp_path: Path, how: signal.Signals) -> None:
    """The signal comes from inside the fifth round, so that no clock decides."""
    code = (
        "import os, sys\n"
        "from clusterproof.algorithms import IFCA\n"
        "from clusterproof.commands.application import main\n"
        "original, calls = IFCA.step, []\n"
        "def step(*arguments):\n"
        "    calls.append(1)\n"
        f"    if len(calls) == 5: os.kill(os.getpid(), {int(how)})\n"
        "    return original(*arguments)\n"
        "IFCA.step = step\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "ifca", "--rounds", "50", "--out", str(tmp_path / "run")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == (130 if how is signal.SIGINT else -signal.SIGKILL)
    assert done.stderr == ("clusterproof: interrupted\n" if how is signal.SIGINT else "")
    assert done.stdout == ""
    assert not (tmp_path / "run").exists()


def test_a_closed_pipe_is_quiet_and_costs_no_file(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    claim = next(iter(REGISTRY))
    done = subprocess.run(
        [sys.executable, "-m", "clusterproof", "check", claim, "--json", str(tmp_path / "r.json")],
        cwd=ROOT,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")
    assert json.loads((tmp_path / "r.json").read_text())[0]["claim"] == claim
