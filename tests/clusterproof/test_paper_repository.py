"""The template of a paper's repository, run as GitHub, pre-commit and pytest run it: red where it must be."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from checkout import CLEAN, ROOT
from command_line import refused

from clusterproof.commands.repository import Part, Row, badge_of, table

TEMPLATE = ROOT / "examples" / "paper-repository"
LEMMA = "at_most(2 * x * y, first=weight"
"""What the second lemma states; with any factor above 2 it is false."""
STORE = "clusterproof check claims/ --search --evidence evidence"
SLOW = "starts five processes"


def loaded(*path: str) -> Any:
    return yaml.safe_load(ROOT.joinpath(*path).read_text(encoding="utf-8"))


def bash(line: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a line as a step of a workflow runs it, with the program of this checkout."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**CLEAN, "PATH": path, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **variables}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", line]  # as `shell: bash` does
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def written_by_the_action(folder: Path, given: dict[str, str]) -> tuple[int, str, dict[str, Any]]:
    """Run the steps of action.yml that are no installation; return status, summary and badge."""
    action = loaded("action.yml")
    assert {*given} <= {*action["inputs"]}
    inputs = {name: str(each["default"]) for name, each in action["inputs"].items()} | given
    install, *steps = [step for step in action["runs"]["steps"] if "run" in step]
    assert install["run"] == 'python -m pip install "${CLUSTERPROOF}[run]"'
    assert install["env"] == {"CLUSTERPROOF": "${{ github.action_path }}"}
    summary = folder / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    for step in steps:
        assert "${{" not in step["run"]  # GitHub would paste a value into the command
        variables = {
            name: re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda found: inputs[found[1]], text)
            for name, text in step["env"].items()
        }
        done = bash(step["run"], folder, GITHUB_STEP_SUMMARY=str(summary), **variables)
    said = summary.read_text(encoding="utf-8")
    assert said.startswith("before\n"), done.stderr
    badge = json.loads((folder / given["badge"]).read_text(encoding="utf-8"))
    return done.returncode, said.removeprefix("before\n"), badge


def shown(summary: str) -> str:
    return re.sub(r"&#(\d+);", lambda found: chr(int(found[1])), summary)


def cells(summary: str) -> dict[str, str]:
    """Return the results of a table by what was checked."""
    rows = [line.strip("| ").split(" | ") for line in summary.splitlines() if line.startswith("| ")]
    return {shown(row[0]): row[1] for row in rows[2:]}


def of_the_workflow() -> dict[str, str]:
    """Return what the template gives to the action."""
    workflow = loaded("examples", "paper-repository", ".github", "workflows", "theorems.yml")
    (given,) = [
        step["with"]
        for step in workflow["jobs"]["theorems"]["steps"]
        if step.get("uses", "").startswith("OWNER/clusterproof@v")
    ]
    return given


def of_the_hook() -> str:
    """Return the command of the hook that the template names, as pre-commit runs it."""
    (repository,) = loaded("examples", "paper-repository", ".pre-commit-config.yaml")["repos"]
    ((name,),) = [[hook["id"] for hook in repository["hooks"]]]
    (hook,) = [each for each in loaded(".pre-commit-hooks.yaml") if each["id"] == name]
    assert not hook["pass_filenames"]
    assert re.search(hook["files"], "claims/descent.py")
    return shlex.join([*shlex.split(hook["entry"]), *hook["args"]])


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TEMPLATE, tmp_path / "paper", ignore=shutil.ignore_patterns("__pycache__")))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.slow(reason=SLOW)
def test_the_template_is_green_through_its_three_doors(copy: Path) -> None:
    status, summary, badge = written_by_the_action(copy, of_the_workflow())
    stale = f"the template's evidence is stale; in examples/paper-repository run `{STORE}`"
    assert cells(summary)["evidence"] == "replayed", f"{stale}\n{summary}"
    assert status == 0, summary
    assert STORE in (TEMPLATE / "README.md").read_text(encoding="utf-8")
    assert cells(summary) == {
        "our-paper/lemma-1": "consistent",
        "our-paper/lemma-2": "certified",
        "evidence": "replayed",
        "our_fedavg.py:OurFedAvg": "conforms",
    }
    assert badge["color"] == "brightgreen"
    assert bash(of_the_hook(), copy).returncode == 0
    tests = bash("python -m pytest tests -p no:cacheprovider", copy)
    assert tests.returncode == 0, tests.stdout
    assert "passed" in tests.stdout


@pytest.mark.slow(reason=SLOW)
def test_a_false_claim_is_red_through_each_door(copy: Path) -> None:
    edit(copy / "claims/descent.py", LEMMA, LEMMA.replace("2", "3"))
    status, summary, badge = written_by_the_action(copy, of_the_workflow())
    assert status == 1
    assert cells(summary)["our-paper/lemma-2"] == "violated"
    assert cells(summary)["evidence"] == "not replayed"  # it is of another text
    assert "our-paper/lemma-2; store it again" in shown(summary)
    assert cells(summary)["our_fedavg.py:OurFedAvg"] == "conforms"
    assert badge["color"] == "red"
    assert "1 violated" in badge["message"]
    assert bash(of_the_hook(), copy).returncode == 1
    tests = bash("python -m pytest tests -p no:cacheprovider -k claim", copy)
    assert tests.returncode == 1
    assert "our-paper/lemma-2 is violated" in tests.stdout


def test_the_action_finds_a_false_claim_whatever_the_stored_records_say(copy: Path) -> None:
    """The fast one: a file of the false lemma alone, whose record claims that it is consistent."""
    text = (copy / "claims/descent.py").read_text(encoding="utf-8")
    head, _, rest = text.partition("@claim(")
    lemma = rest.partition("@claim(")[2].replace(LEMMA, LEMMA.replace("2", "3"))
    (copy / "claims/descent.py").write_text(f"{head}@claim({lemma}", encoding="utf-8")
    status, summary, badge = written_by_the_action(copy, {"badge": "badge.json"})
    assert status == 1
    assert cells(summary) == {"our-paper/lemma-2": "violated"}
    assert badge == {"schemaVersion": 1, "label": "theorems", "message": "1 violated", "color": "red"}


@pytest.mark.slow(reason=SLOW)
@pytest.mark.parametrize(
    ("edits", "found"),
    [
        (
            {
                "evidence/our-paper.json": ('"matrix":[[1]]', '"matrix":[[2]]'),
                "our_fedavg.py": ("model -= ", "model -= 2 * "),
            },
            {"evidence": "not replayed", "our_fedavg.py:OurFedAvg": "differs"},
        ),
        ({"claims/descent.py": ("weight > 0)\n", "weight > 0\n")}, {"claims/": "not checked"}),
    ],
    ids=["forged evidence and wrong code", "syntax"],
)
def test_other_faults_are_red_and_leave_the_rest_checked(
    copy: Path, edits: dict[str, tuple[str, str]], found: dict[str, str]
) -> None:
    for file, (old, new) in edits.items():
        edit(copy / file, old, new)
    status, summary, badge = written_by_the_action(copy, of_the_workflow())
    assert status == (2 if "not checked" in found.values() else 1)
    rows = cells(summary)
    assert {*found.items()} <= {*rows.items()}
    assert {"evidence", "our_fedavg.py:OurFedAvg"} <= {*rows}
    assert badge["color"] == "red"


def test_a_table_prints_reasons_as_they_are() -> None:
    text = table([Row("a/b", "violated", "|x| < 1 | <b>`*_\n@somebody")], 1)
    (line,) = [line for line in text.splitlines() if line.startswith("| a/b")]
    assert line.count("|") == 4
    assert not set("<>`*_@") & set(line)
    assert "failed" in text.splitlines()[0]


def test_a_badge_has_the_schema_of_shields() -> None:
    parts = [Part(0, (), "2 certified"), Part(0, (), ""), Part(1, (), "fedavg: differs")]
    badge = badge_of(parts, 1)
    assert badge == {
        "schemaVersion": 1,
        "label": "theorems",
        "message": "2 certified, fedavg: differs",
        "color": "red",
    }


def test_wrong_calls_start_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "folder that exists" in refused(capsys, "repository", "claims")
    Path("claims").mkdir()
    Path("claims/_helper.py").touch()
    assert "underscore" in refused(capsys, "repository", "claims")
    Path("claims/a.py").touch()
    assert "--algorithm" in refused(capsys, "repository", "claims", "--implementation", "a.py:A")
    assert "--implementation" in refused(capsys, "repository", "claims", "--algorithm", "fedavg")
    assert "fail-on" in refused(capsys, "repository", "claims", "--fail-on", "wrong")
    assert "summary" in refused(capsys, "repository", "claims", "--summary", "claims")


def test_a_folder_is_its_files_without_helpers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from clusterproof.commands.terminal import files_in

    for name in ("b.py", "a.py", "_c.py", "deeper/d.py", "_helpers/e.py", ".hidden/f.py", "g.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert files_in(f"{tmp_path}/") == [f"{tmp_path}/{name}" for name in ("a.py", "b.py", "deeper/d.py")]
    assert "must state a claim" in refused(capsys, "check", f"{tmp_path}/")
