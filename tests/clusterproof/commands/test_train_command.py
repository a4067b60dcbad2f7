"""The command ``train``: the configuration that it makes and what it prints."""

import re
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from tiny_training import TINY

from clusterproof.algorithms import CFLMGD, FedAvg
from clusterproof.commands import terminal
from clusterproof.commands.application import main
from clusterproof.neural.runs.configuration import configuration_from, read_toml, to_toml
from clusterproof.neural.runs.storage.run_folder import CONFIGURATION, stored_configuration

FLAGS = shlex.split("--clusters 2 --clients-per-cluster 2 --images 120 --hidden 4 --threads 1")


def run_command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    status = main(["train", *arguments])
    return status, *capsys.readouterr()


def test_flags_make_the_configuration_that_is_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    status, output, errors = run_command(
        capsys,
        *shlex.split("--algorithm cfl-mgd --models 3 --averaging model --momentum .5 --reset-momentum"),
        *("--partition", "label-shift", "--clusters", "2", "--shifts", "0,4", "--images", "120"),
        *("--network", "mlp", "--hidden", "6,5", "--rounds", "2", "--seed", "3", "--batch-size", "4"),
        *("--step-size-decay", "0.9", "--local-unit", "epoch", "--out", str(out)),
    )
    assert (status, errors) == (0, "")
    found = read_toml(out / CONFIGURATION)
    assert found.algorithm == CFLMGD(
        step_size=0.1, momentum=0.5, clusters=3, averaging="model", reset_momentum=True
    )
    assert found.partition.options == {"clusters": 2, "shifts": [0, 4], "images": 120}
    assert found.network.options == {"hidden": [6, 5]}
    training = found.training
    assert (training.rounds, training.seed, training.batch_size) == (2, 3, 4)
    assert (training.step_size_decay, training.local_unit) == (0.9, "epoch")
    assert re.search(r"cfl-mgd on digits, label-shift, mlp: 2 of 2 rounds, seed 3", output)
    assert re.search(r"round 2: test accuracy 0\.\d+, share with their cluster's model [01]", output)
    assert f"stored in {out}" in output


def test_a_file_makes_the_same_run_as_flags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--algorithm", "fedavg", *FLAGS, "--rounds", "2", "--seed", "5"]
    assert run_command(capsys, *flags, "--out", str(tmp_path / "flags"))[0] == 0
    stored = tmp_path / "flags" / CONFIGURATION
    text = stored.read_text().replace("seed = 5", "seed = 4").replace("rounds = 2", "rounds = 9")
    (tmp_path / "run.toml").write_text(text)
    beside = ["--config", str(tmp_path / "run.toml"), "--seed", "5", "--rounds", "2"]
    assert run_command(capsys, *beside, "--out", str(tmp_path / "file"))[0] == 0
    assert (tmp_path / "file" / CONFIGURATION).read_text() == stored.read_text()
    assert read_toml(stored).algorithm == FedAvg(step_size=0.1)
    names = [Path("checkpoints") / f"checkpoint-000002.{kind}" for kind in ("safetensors",)]
    for name in names:
        assert (tmp_path / "file" / name).read_bytes() == (tmp_path / "flags" / name).read_bytes()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--algorithm", "ifca"], "served by the loss on their training data"),
        (["--algorithm", "ifca", "--test-assignment", "test-loss"], "on their labelled test data"),
        (["--algorithm", "fedavg"], "every client is served the one model"),
        (["--algorithm", "local"], "every client is served its own model"),
    ],
)
def test_the_report_says_who_is_served_what(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], words: str
) -> None:
    status, output, _ = run_command(capsys, *flags, *FLAGS, "--rounds", "1", "--out", str(tmp_path / "run"))
    assert status == 0
    assert words in output


def test_without_out_it_chooses_a_folder_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("training-1", "training-2"):
        status, output, errors = run_command(capsys, *FLAGS, "--rounds", "1")
        assert status == 0
        assert f"the run is stored in {name}" in errors
        assert f"stored in {name}" in output
        assert (tmp_path / name / CONFIGURATION).is_file()


def test_options_override_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(to_toml(configuration_from(TINY)), encoding="utf-8")
    out = tmp_path / "run"
    more = ["--threads", "2", "--hidden", "3", "--step-size", "0.05", "--images", "100", "--local-steps", "1"]
    assert run_command(capsys, "--config", str(path), *more, "--out", str(out))[0] == 0
    found = stored_configuration(out)
    assert (found.training.threads, found.network.options) == (2, {"hidden": [3]})
    assert found.partition.options == {**configuration_from(TINY).partition.options, "images": 100}
    before = configuration_from(TINY).algorithm
    assert found.algorithm == replace(before, step_size=0.05, local_steps=1)  # type: ignore[call-arg]


def test_parameters_that_another_algorithm_lacks_are_left_out_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(to_toml(configuration_from(TINY)), encoding="utf-8")
    arguments = ["--config", str(path), "--algorithm", "fedavg", "--out", str(tmp_path / "run")]
    status, _, errors = run_command(capsys, *arguments)
    assert status == 0
    assert re.search(r"left out of .*tiny.toml, as fedavg has no such parameter: .*\baveraging\b", errors)
    assert stored_configuration(tmp_path / "run").algorithm == FedAvg(step_size=0.1, local_steps=2)


def test_without_a_terminal_lines_say_round_and_metrics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(range(0, 1000, 20))  # seconds between two calls
    lines_of = partial(terminal.RoundLines, clock=lambda: next(clock))
    monkeypatch.setattr(terminal, "RoundLines", lines_of)
    arguments = [*FLAGS, "--rounds", "5", "--evaluate-every", "2", "--out", str(tmp_path / "run")]
    status, _, errors = run_command(capsys, *arguments)
    assert status == 0
    found = [re.sub(r"clusters \d|purity [\d.]+|\d\.\d+", "#", line) for line in errors.splitlines()]
    assert found == [
        "clusterproof: round 1 of 5, training, 3 min left",
        "clusterproof: round 3 of 5, accuracy #, training loss #, #, #, 53 s left",
        "clusterproof: round 5 of 5, accuracy #, training loss #, #, #",
    ]
