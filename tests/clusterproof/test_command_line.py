"""The command line: exit statuses, one line for every mistake, and nothing half done."""

import getpass
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import ROOT, command, make_claim, refused
from hypothesis import given, settings
from hypothesis import strategies as st

import clusterproof
from clusterproof import theory
from clusterproof.algorithms import ALGORITHMS
from clusterproof.algorithms.storage import load_trace
from clusterproof.commands.application import main
from clusterproof.commands.experiment import algorithm_parameters, experiment_options, task_parameters
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


MISTAKES: dict[str, list[str]] = {
    "command": ["chek", "--chek", "run --task", "-x", "check --sead 3", "claims x", "show", "run", "figures"],
    "numbers": [
        *(
            f"run cfl-mgd --step-size {value}"
            for value in ("0", "-1", "nan", "inf", "-inf", "x", "1e999", "''")
        ),
        *(f"run cfl-mgd --momentum {value}" for value in ("1", "-.1", "nan", "inf", "2", "1.0000001")),
        *(f"run cfl-mgd --rounds {value}" for value in ("-1", "x", "nan", "1.5", "inf")),
        *(f"run ifca --seed {value}" for value in ("-1", "x", "1.5")),
        *(f"run ifca --replicates {value}" for value in ("0", "-3", "x")),
        *(f"run ifca --clusters {value}" for value in ("0", "-1", "41", "x", "nan")),
        *(f"run ifca --models {value}" for value in ("0", "-1", "41", "x")),
        *(f"run ifca --clients {value}" for value in ("0", "-1", "x")),
        *(f"run ifca --dimension {value}" for value in ("0", "-1", "x", "2.5")),
        *(f"run ifca --condition-number {value}" for value in ("0.9", "nan", "inf", "-1")),
        *(f"run ifca --task logistic --condition-number {value}" for value in ("1", "nan", "1e308")),
        *(f"run ifca --task quadratic --condition-number {value}" for value in ("1e300", "nan", "0")),
        *(f"run ifca --separation {value}" for value in ("0", "-1", "nan", "inf")),
        *(f"run ifca --task {task} --separation 1e308" for task in ("regression", "quadratic")),
        *(f"run ifca --noise {value}" for value in ("-1", "nan", "inf")),
        *(f"run ifca --samples {value}" for value in ("0", "-1", "x")),
        *(f"run ifca --participation {value}" for value in ("0", "1.1", "nan", "-1")),
        *(f"run ifca --averaging model --local-steps {value}" for value in ("0", "-2", "x")),
        *(
            f"run ifca --proportions {value}"
            for value in ("1", "1,2,3", "0,1", "-1,2", "nan,1", "a,b", "1,", "''")
        ),
        *(f"run ifca --task quadratic --spread {value}" for value in ("-1", "nan")),
        *(f"run ifca --task logistic --signal {value}" for value in ("0", "nan")),
        *(f"run ifca --task logistic --support {value}" for value in ("0", "-1")),
        "check --seed -1",
        "check --trials 0",
        "check --seed x",
        "figures --seed -1 --out x",
        "show cfl-mgd/lemma-2 --seed -1",
    ],
    "choices": [
        "run ifka",
        "run ifca --clients 1",
        "run cfl-mgd --task regresion",
        "run cfl-mgd --averaging both",
        "run cfl-mgd --data stale",
        "run cfl-mgd --sampling odd",
        "run cfl-mgd --update-order none",
        "run cfl-mgd --local-steps 2",
        "run ifca --momentum .5",
        "run fedavg --models 2",
        "run ifca --task quadratic --noise 1",
        "run ifca --task regression --spread 1",
        "run ifca --step-sizes 1",
        "check cfl-mgd/lema-2",
        "check nothing-like-it",
        "check --paper nobody",
        "claims --paper nobody",
        "show cfl-mgd/lema-2",
        "figures none-such --out figs",
        "figures --out figs --format gif",
    ],
    "sizes": [
        *(
            f"run {algorithm} --task {task} --{size} 1000000000000000"
            for algorithm in ("cfl-mgd", "local")
            for task in TASKS
            for size in ("rounds", "replicates", "clients", "dimension")
        ),
        "run ifca --clusters 100000000 --clients 100000000",
        "run ifca --task quadratic --dimension 1000000",
        "run ifca --data fixed --dimension 1000000",
        "run ifca --sampling direct --samples 1000000000000",
        "run ifca --task logistic --support 1000000000000",
        "run ifca --rounds 99999999999999999999999999",
    ],
    "files": [
        "run ifca --out /proc/run",
        "run ifca --out /dev/null/run",
        "run ifca --out .",
        "run ifca --out ''",
        "check --json /proc/report",
        "check --json /nowhere/at/all",
        "check --json .",
        "check --markdown /dev/null/report",
        "claims --json /nowhere/at/all",
        "check --replay /nowhere",
        "check --replay .",
        "check --trace /nowhere",
        "check cfl-mgd/theorem-b --trace /nowhere",
        "check --replay r.json --all",
        "check --replay r.json --trace t",
        "check --trace t --json r.json",
        "figures --out /proc/figures",
        "figures --out /dev/null",
    ],
}


@pytest.mark.parametrize("kind", list(MISTAKES))
def test_every_mistake_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.json").write_text("[]")
    for mistake in MISTAKES[kind]:
        arguments = ["" if word == "''" else word for word in mistake.split()]
        message = refused(capsys, *arguments)
        if kind == "numbers" and arguments[0] == "run" and "--task" not in arguments:
            assert arguments[-2] in message, (mistake, message)
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_there_are_enough_mistakes() -> None:
    assert sum(map(len, MISTAKES.values())) >= 100


@pytest.mark.parametrize(
    ("mistake", "parts"),
    [
        ("run cfl-mgd --step-size -1", ["--step-size = -1.0", "greater than 0", "1 / task.smoothness"]),
        ("run ifca --models 41", ["--models = 41", "at most the number of clients (40)"]),
        ("run ifca --momentum .5", ["--momentum = 0.5", "not an option of ifca", "cfl-mgd"]),
        ("run ifka", ["algorithm = 'ifka'", "nearest are ifca"]),
        ("run ifca --task regresion", ["--task = 'regresion'", "nearest are regression"]),
        ("run ifca --step-sise 1", ["--step-sise", "Did you mean --step-size?"]),
        ("run ifca --rounds 1000000000", ["--rounds = 1000000000", "GiB of memory"]),
        ("run ifca --out /dev/null/run", ["--out = '/dev/null/run'", "Not a directory", "another place"]),
        ("check --paper nobody", ["--paper = 'nobody'", "must be one of", "cfl-mgd"]),
        ("figures eror-per-round --out f", ["id = 'eror-per-round'", "nearest are error-per-round"]),
    ],
)
def test_messages_name_argument_value_rule_and_remedy(
    capsys: pytest.CaptureFixture[str], mistake: str, parts: list[str]
) -> None:
    message = refused(capsys, *mistake.split())
    for part in parts:
        assert part in message


def test_an_unknown_claim_gets_the_nearest(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    make_claim("p/lemma-2")
    for name in ("check", "show"):
        assert "the nearest are p/lemma-2" in refused(capsys, name, "p/lema-2")


WORDS = st.sampled_from(
    [
        *("--" + option.name.replace("_", "-") for option in experiment_options()),
        *(
            "--rounds",
            "--seed",
            "--replicates",
            "--task",
            "--no-reset-momentum",
            "--",
            "-1",
            "nan",
            "inf",
            "0",
        ),
        *(
            "1e309",
            "regression",
            "quadratic",
            "logistic",
            "model",
            "true",
            "=",
            "[]",
            "{}",
            "--noise=",
            "1,2",
        ),
    ]
) | st.text(max_size=4)


@given(
    algorithm=st.sampled_from(list(ALGORITHMS)),
    words=st.lists(WORDS, max_size=5),
    sizes=st.sampled_from(["--rounds=1", "--rounds=0"]),
)
@settings(max_examples=300)
def test_no_words_break_run(algorithm: str, words: list[str], sizes: str) -> None:
    heard: list[str] = []
    stream = type(
        "Stream",
        (),
        {"write": lambda _, text: heard.append(text), "flush": lambda _: None, "isatty": lambda _: False},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", stream())
        patch.setattr(sys, "stdout", type("Silent", (stream,), {"write": lambda _, text: None})())
        status = main(["run", algorithm, "--clients=4", "--dimension=2", sizes, *words])
    message = "".join(heard)
    assert status in (0, 2), message
    assert message.count("\n") == (status == 2), message
    assert "defect" not in message


def test_a_check_that_asks_for_too_much_memory_is_bad_input(
    registry: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    make_claim("p/one", outcome=MemoryError("too large"))
    assert main(["check", "--trials", "1000000"]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert errors[-1] == "clusterproof: --trials = 1000000: must fit into memory; give fewer"
    assert main(["check"]) == 1


def test_without_an_extra_its_name_is_given(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "clusterproof[store]" in refused(capsys, "run", "ifca", "--out", str(tmp_path / "r"))
    assert "clusterproof[plot]" in refused(capsys, "figures", "--out", str(tmp_path / "f"))
    assert list(tmp_path.iterdir()) == []


def test_standard_output_may_be_named() -> None:
    claim = next(iter(REGISTRY))
    done = command("check", claim, "--json", "/dev/stdout")
    records, _ = json.JSONDecoder().raw_decode(done.stdout)
    assert records[0]["claim"] == claim
    assert done.returncode == 0


@pytest.mark.parametrize(
    "words",
    [
        *(f"run ifca --{name}" for name in ("rounds", "seed", "samples", "local-steps", "replicates")),
        "run sofl --grid",
        "run cfl --warm-up",
        "check cfl-mgd/lemma-2 --trials",
        "check cfl-mgd/lemma-2 --seed",
        "table fpfc/table-1 --seeds",
        "table fpfc/table-1 --rounds",
        "train --out f --rounds",
        "train --out f --hidden",
        "train --out f --batch-size",
        "figures drift --out f --seed",
    ],
)
def test_integers_of_thirty_digits_have_a_limit_and_a_remedy(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for huge in ("9" * 30, "999999999999999999999999"):
        message = refused(capsys, *words.split(), huge)
        assert f"= {huge}: must be an integer, at most " in message
        assert "; lower it" in message
    assert list(tmp_path.iterdir()) == []


def test_more_seeds_than_anybody_can_wait_for_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "at most 10000; lower it" in refused(capsys, "table", "fpfc/table-1", "--seeds", "999999999")


def test_a_user_without_a_name_gets_answers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 1000")

    monkeypatch.setattr(getpass, "getuser", nameless)
    assert main(["claims", "--paper", "ifca"]) == 0
