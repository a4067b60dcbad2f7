"""The command, its exit statuses and its files; conformance as tests of pytest."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import refused

from clusterproof.commands.application import main
from clusterproof.commands.conform import import_object
from clusterproof.common import InvalidArgument
from clusterproof.conformance import (
    DEFINITIONS,
    ConformanceTask,
    assert_conforms,
    checks,
    conform,
    parametrize_with_checks,
)

FILE = """
from clusterproof.algorithms import FedAvg
from clusterproof.conformance import DEFINITIONS
class Right(DEFINITIONS["scaffold"]): pass
class Doubled(DEFINITIONS["fedprox"]):
    def __init__(self, task, settings):
        super().__init__(task, {**settings, "proximal": 2 * settings["proximal"]})
class Equal(DEFINITIONS["fedavg"]):
    def __init__(self, task, settings):
        super().__init__(task, {**settings, "weighting": "clients"})
class Own(FedAvg): pass
class Raises(Right):
    def round(self, participants): raise RuntimeError("no data")
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "implementations.py"
    path.write_text(FILE)
    (tmp_path / "implementations.py_misspelt.py").write_text("Right = mising")
    (tmp_path / "implementations.py_imports.py").write_text("import no_such_library")
    return str(path)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("name", "algorithm", "options", "status", "words"),
    [
        ("Right", "scaffold", (), 0, "Right conforms to the algorithm scaffold"),
        ("Own", "fedavg", (), 0, "Own conforms to the algorithm fedavg"),
        ("Right", "scaffold", ("--set", "option=I"), 0, "Right conforms to the algorithm scaffold"),
        ("Doubled", "fedprox", (), 1, "the factor 1/2 is missing"),
        ("Equal", "fedavg", (), 4, "weighting = clients"),
        ("Doubled", "fedprox", ("--set", "proximal=0"), 3, "Doubled was not compared with fedprox"),
        (
            "Equal",
            "fedavg",
            ("--set", "weighting=clients", "--supports", "batches"),
            0,
            "all clients always take part",
        ),
        ("Right", "scaffold", ("--supports", ""), 0, "as its attribute `supports` declares"),
    ],
)
def test_exit_statuses(
    name: str,
    algorithm: str,
    options: tuple[str, ...],
    status: int,
    words: str,
    file: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["conform", f"{file}:{name}", "--as", algorithm, *options]) == status
    output = capsys.readouterr().out
    assert words in " ".join(output.split())
    assert len(output.splitlines()) <= 50
    assert max(map(len, output.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("{}:Raises", "--as", "scaffold"), "RuntimeError: no data"),
        (("{}:Right", "--as", "scafold"), "scaffold"),
        (("{}:Right",), "--list"),
        (("{}:Wrong", "--as", "scaffold"), "no attribute 'Wrong'"),
        (("nowhere.py:Right", "--as", "scaffold"), "No such file"),
        (("no_such_package:Right", "--as", "scaffold"), "No module named 'no_such_package'"),
        (("Right", "--as", "scaffold"), "MODULE:NAME"),
        (("{}:Right", "--as", "scaffold", "--set", "option"), "NAME=VALUE"),
        (("{}:Right", "--as", "scaffold", "--json", "{}/report.json"), "--json"),
        (
            ("{}_misspelt.py:Right", "--as", "scaffold"),
            "raised NameError: name 'mising' is not defined",
        ),
        (("{}_imports.py:Right", "--as", "scaffold"), "No module named 'no_such_library'"),
        (("{}:Right", "--as", "scaffold", "--set", "optoin=I"), "option"),
        ((), "must be given"),
    ],
)
def test_a_wrong_call_is_refused_in_one_line(
    arguments: tuple[str, ...], words: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in refused(capsys, "conform", *(argument.format(file) for argument in arguments))


def test_a_report_on_what_cannot_be_used_is_written_too(file: str, tmp_path: Path) -> None:
    written = tmp_path / "report.json"
    assert main(["conform", f"{file}:Raises", "--as", "scaffold", "--json", str(written)]) == 2
    assert json.loads(written.read_text())["verdict"] == "unusable"


@pytest.mark.parametrize(
    ("name", "algorithm"), [("Right", "scaffold"), ("Doubled", "fedprox"), ("Equal", "fedavg")]
)
def test_a_report_is_written_with_every_number(
    name: str, algorithm: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The models of each run are those of its task, settings and schedule."""
    written = tmp_path / "report.json"
    main(["conform", f"{file}:{name}", "--as", algorithm, "--json", str(written)])
    record = json.loads(written.read_text())
    assert capsys.readouterr().out.startswith(f"{name} ")
    assert (record["implementation"], record["algorithm"]) == (name, algorithm)
    start = import_object(f"{file}:{name}")
    for run in record["runs"]:
        probe = run["probe"]
        arrays = {key: None if rows is None else np.array(rows) for key, rows in probe["task"].items()}
        again = start(ConformanceTask(**arrays), probe["settings"])
        models = [again.model]
        for participants in probe["schedule"]:
            again.round(participants)
            models.append(again.model)
        np.testing.assert_array_equal([state["model"] for state in run["states"]], models)


def test_a_lambda_is_an_implementation(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Path(file).open("a") as text:
        text.write("function = lambda task, settings: Right(task, settings)\n")
    assert main(["conform", f"{file}:function", "--as", "scaffold"]) == 0


def test_every_algorithm_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "--list"]) == 0
    output = capsys.readouterr().out
    assert max(map(len, output.splitlines())) <= 80
    printed = " ".join(output.split())
    for name, definition in DEFINITIONS.items():
        assert f"{name} source" in printed
        assert " ".join(definition.equation.split("; ")) in printed
    assert "empty_cluster: coast, freeze" in output
    assert "trigger: round, stationary" in output


def test_assert_conforms_raises_with_the_report() -> None:
    definition = DEFINITIONS["fedprox"]
    assert assert_conforms(definition, "fedprox").status == 0
    with pytest.raises(AssertionError, match="the proximal term has no effect"):
        assert_conforms(DEFINITIONS["fedavg"], "fedprox")


def test_checks_are_named_and_the_run_is_made_once() -> None:
    runs = []

    def start(task: object, settings: object) -> object:
        runs.append(task)
        return DEFINITIONS["fedavg"](task, settings)  # type: ignore[arg-type]

    found = checks(start, "fedprox")
    assert str(found[0]) == "fedprox-one-step"
    assert "fedprox-fixed-point" in map(str, found)
    found[0]()
    count = len(runs)
    with pytest.raises(AssertionError, match="the proximal term has no effect") as failed:
        found[1]()
    own, *others = str(failed.value).splitlines()
    assert own.startswith("local-epochs: ")
    assert not {"Checks", "Runs"} & {*others}
    assert len(runs) == count > 0
    assert conform(start, "fedprox").verdict == "differs"
    stronger = {"proximal": 1.5}
    (one,) = checks(
        lambda task, settings: DEFINITIONS["fedprox"](task, {**settings, **stronger}),  # type: ignore[arg-type]
        "fedprox",
        checks=["rounds"],
        settings=stronger,
    )
    one()


SUITE = """
from clusterproof.conformance import DEFINITIONS, parametrize_with_checks

def always_option_1(task, settings):
    return DEFINITIONS["scaffold"](task, {**settings, "option": "I"})

@parametrize_with_checks(always_option_1, "scaffold", settings={"option": "I"})
def test_right(check):
    check()

failing = "local-epochs step-size rounds sizes batches server-step participation strengths".split()
failing += "seven-clients many-rounds everything fixed-point".split()
@parametrize_with_checks(DEFINITIONS["fedavg"], "fedprox", expected_failures=dict.fromkeys(failing, "no proximal term"))
def test_wrong(check):
    check()
"""


def test_an_expected_failure_is_the_name_of_a_check() -> None:
    expected = {"rounds": "no proximal term"}
    made = parametrize_with_checks(DEFINITIONS["fedavg"], "fedprox", expected_failures=expected).args[1]
    marks = {str(one.values[0]): [mark.kwargs for mark in one.marks] for one in made}
    # a failure that no longer occurs is one, too
    assert marks.pop("fedprox-rounds") == [{"reason": "no proximal term", "strict": True}]
    assert not any(marks.values())
    with pytest.raises(InvalidArgument, match="one-step"):
        parametrize_with_checks(DEFINITIONS["fedavg"], "fedprox", expected_failures={"one-stp": "misspelt"})


@pytest.mark.slow(reason="several seconds")
def test_pytest_runs_each_check(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout
    assert "test_right[scaffold-participation]" in done.stdout
    assert "12 xfailed" in done.stdout
