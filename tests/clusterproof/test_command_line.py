"""The command line: exit statuses, one line for every mistake, and nothing half done."""

import getpass
import json
import re
import subprocess
import sys
from typing import Any

import pytest
from command_line import ROOT, command, make_claim

import clusterproof
from clusterproof import theory
from clusterproof.algorithms import ALGORITHMS
from clusterproof.algorithms.storage import load_trace
from clusterproof.commands.application import main
from clusterproof.commands.experiment import algorithm_parameters, task_parameters
from clusterproof.synthetic import TASKS
from clusterproof.theory import REGISTRY

HEAVY = ("numpy", "scipy", "torch", "matplotlib", "polars", "hypothesis")
HEAVY += tuple(f"clusterproof.{folder}" for folder in ("theory", "algorithms", "synthetic"))


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_answering_imports_none_of_the_machinery(argument: str) -> None:
    code = (
        "from clusterproof.commands.application import main; import sys; main(sys.argv[1:]);"
        f"print('loaded', [name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, argument], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "loaded []"


def test_help_names_the_commands_and_version_the_version() -> None:
    done = command("--help")
    assert done.returncode == 0
    for name in ("check", "claims", "show", "run", "figures"):
        assert re.search(rf"\b{name}\b", done.stdout)
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", command("--version").stdout)


def test_help_of_run_lists_every_parameter_of_every_algorithm_and_task() -> None:
    listed = set(re.findall(r"--[a-z-]+", command("run", "--help").stdout))
    wanted = {name for task in TASKS for name in task_parameters(task)}
    wanted |= {name for algorithm in ALGORITHMS for name in algorithm_parameters(algorithm)}
    assert {"--" + name.replace("_", "-") for name in wanted} <= listed
    assert {"--models", "--clusters", "--step-size", "--rounds", "--replicates"} <= listed


def test_the_facade_gives_the_public_names() -> None:
    assert clusterproof.check is theory.check
    assert clusterproof.CFLMGD is ALGORITHMS["cfl-mgd"]
    assert clusterproof.RegressionMixture is TASKS["regression"]
    assert clusterproof.load_trace is load_trace
    for name in ("run", "claims", "assert_holds", "IFCA", "FedAvg", "QuadraticMixture", "save_trace"):
        assert callable(getattr(clusterproof, name))
    with pytest.raises(AttributeError, match="attribute chekc"):
        clusterproof.chekc  # noqa: B018 - looking it up is the test


def test_a_check_that_asks_for_too_much_memory_is_bad_input(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    make_claim("p/one", outcome=MemoryError("too large"))
    assert main(["check", "--trials", "1000000"]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert errors[-1] == "clusterproof: --trials = 1000000: must fit into memory; give fewer"
    assert main(["check"]) == 1


def test_standard_output_may_be_named() -> None:
    claim = next(iter(REGISTRY))
    done = command("check", claim, "--json", "/dev/stdout")
    records, _ = json.JSONDecoder().raw_decode(done.stdout)
    assert records[0]["claim"] == claim
    assert done.returncode == 0


def test_a_user_without_a_name_gets_answers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 1000")

    monkeypatch.setattr(getpass, "getuser", nameless)
    assert main(["claims", "--paper", "ifca"]) == 0
