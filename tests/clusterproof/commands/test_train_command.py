"""The command ``train``: the configuration that it makes, what it prints, and one line for whatever fails."""

import json
import os
import re
import shlex
import signal
from pathlib import Path

import pytest
from command_line import refused
from planting import planted
from small_training import SMALL, Plant, configure, contents, interrupted_at, rounds_kept

from clusterproof.algorithms import CFLMGD, FedAvg
from clusterproof.commands import train as command
from clusterproof.commands.application import main
from clusterproof.neural import training
from clusterproof.neural.checkpoint import CONFIGURATION, stored_configuration
from clusterproof.neural.configuration import KNOWN, configuration_from
from clusterproof.neural.task import ImageTask
from clusterproof.neural.training import train


def run_command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    status = main(["train", *arguments])
    return status, *capsys.readouterr()


@pytest.mark.slow(reason="a second or more")
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
    assert (status, errors.count("models have clients")) == (0, len(errors.splitlines()))
    found = configuration_from(json.loads((out / CONFIGURATION).read_text()))
    assert found.make_algorithm() == CFLMGD(
        step_size=0.1, momentum=0.5, clusters=3, averaging="model", reset_momentum=True
    )
    assert found.partition.options == {"clusters": 2, "shifts": [0, 4], "images": 120}
    assert found.network.options == {"hidden": [6, 5]}
    asked = found.training
    assert (asked.rounds, asked.seed, asked.batch_size) == (2, 3, 4)
    assert (asked.step_size_decay, asked.local_unit) == (0.9, "epoch")
    assert re.search(r"cfl-mgd on digits, label-shift, mlp: 2 of 2 rounds, seed 3", output)
    means = r"round 2: test accuracy 0\.\d+ \(mean over clients\), 0\.\d+ \(over samples\), share with their"
    assert re.search(means, output)
    assert f"stored in {out}" in output


def test_a_file_makes_the_same_run_as_flags_and_options_override_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--algorithm", "fedavg", *SMALL, "--rounds", "2", "--seed", "5"]
    assert run_command(capsys, *flags, "--out", str(tmp_path / "flags"))[0] == 0
    stored = tmp_path / "flags" / CONFIGURATION
    (tmp_path / "run.json").write_text(stored.read_text().replace('"seed": 5', '"seed": 4'))
    (tmp_path / "run.toml").write_text(
        'algorithm = {name = "fedavg"}\nnetwork.hidden = [8]\ntraining = {threads = 1, rounds = 2}\n'
        "partition = {clusters = 2, clients_per_cluster = 3, images = 240}\n"
    )
    for name in ("run.json", "run.toml"):
        override = ["--config", str(tmp_path / name), "--seed", "5"]
        assert run_command(capsys, *override, "--out", str(tmp_path / name[4:]))[0] == 0
        assert contents(tmp_path / name[4:]) == contents(tmp_path / "flags")
    assert stored_configuration(tmp_path / "json").make_algorithm() == FedAvg(step_size=0.1)


def test_a_flag_of_a_file_is_switched_off_and_help_has_the_defaults_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A partition's other parameters are left out."""
    text = "data.flip = true\npartition = {clusters = 2, images = 240}\ntraining.rounds = 37\n"
    (tmp_path / "run.toml").write_text(text)
    asked = ["--config", str(tmp_path / "run.toml"), "--partition", "iid", "--hidden="]
    assert re.findall(r"rounds\. +\[default:\s(\d+)", run_command(capsys, *asked, "--help")[1]) == ["37"]
    for name, more in (("on", []), ("off", ["--no-flip"])):
        assert run_command(capsys, *asked, *more, "--rounds", "0", "--out", str(tmp_path / name))[0] == 0
        found = stored_configuration(tmp_path / name)
        assert found.make_preprocessing().flip == (name == "on")
        assert (found.partition.options, found.network.options) == ({}, {"hidden": []})


def test_parameters_that_another_algorithm_lacks_are_left_out_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sections = configure({"name": "ifca", "averaging": "model", "local_steps": 2}, rounds=1).sections
    (tmp_path / "run.json").write_text(json.dumps(sections))
    arguments = [
        "--config",
        str(tmp_path / "run.json"),
        "--algorithm",
        "fedavg",
        "--out",
        str(tmp_path / "run"),
    ]
    status, _, errors = run_command(capsys, *arguments)
    assert status == 0
    assert re.search(r"left out of .*run.json, as fedavg has no such parameter: .*\baveraging\b", errors)
    assert stored_configuration(tmp_path / "run").make_algorithm() == FedAvg(step_size=0.1, local_steps=2)


@pytest.mark.parametrize("name", KNOWN["algorithm"])
def test_help_has_the_options_of_what_is_named_with_their_defaults(
    capsys: pytest.CaptureFixture[str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    status, output, _ = run_command(capsys, "--algorithm", name, "--help")
    assert status == 0
    assert len(output.splitlines()) <= 120
    flags = set(re.findall(r"^│ --([a-z0-9-]+)", output, flags=re.MULTILINE))
    parameters = {
        "models" if key == "clusters" else key for key in vars(configure({"name": name}).make_algorithm())
    }
    assert {key.replace("_", "-") for key in parameters} <= flags
    assert ("momentum" in flags) == (name in ("cfl-mgd", "fedavgm"))
    assert re.search(r"--rounds +INT +Number of communication rounds\. \[default:\s100\]", output)
    options = list(command._options({**command.DEFAULTS, "algorithm": name}, {}))
    texts = [option.annotation.__metadata__[-1].help for option in options]
    assert all(texts)
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--algorithm", "ifca"], "served by the loss on their training data"),
        (["--algorithm", "ifca", "--test-assignment", "test-loss"], "on their labelled test data"),
        (["--algorithm", "fedavg"], "every client is served the one model"),
        (["--algorithm", "local"], "every client is served its own model"),
        (["--algorithm", "fpfc", "--partition", "rotations"], "on their labelled test data"),
        (["--algorithm", "per-fedavg"], "what its personal step makes"),
    ],
)
def test_the_report_says_who_is_served_what(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], words: str
) -> None:
    others = shlex.split("--clusters 2 --clients 6 --samples 20 --hidden 8 --threads 1")
    sizes = others if "rotations" in flags else SMALL
    status, output, _ = run_command(capsys, *flags, *sizes, "--rounds", "1", "--out", str(tmp_path / "run"))
    assert status == 0
    assert words in output


def test_without_out_it_chooses_a_folder_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("training-1", "training-2"):
        status, output, errors = run_command(capsys, *SMALL, "--rounds", "1")
        assert status == 0
        assert f"the run will be stored in {name}" in errors
        assert f"stored in {name}" in output
        assert (tmp_path / name / CONFIGURATION).is_file()


def test_a_disk_that_fills_keeps_the_last_checkpoint_and_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = os.fsync
    left = 4  # the configuration, rows and checkpoint of round 2, and rows of round 4

    def full_disk(descriptor: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(28, "No space left on device")
        whole(descriptor)

    out = tmp_path / "run"
    arguments = ["train", *SMALL, "--rounds", "8", "--checkpoint-every", "2", "--out", str(out)]
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        status = main(arguments)
    output, errors = capsys.readouterr()
    assert (status, errors.count("\n")) == (2, 1)
    assert "No space left on device" in errors
    assert f"Make space; `clusterproof train --resume {out}` then continues after round 2" in errors
    assert "test accuracy" in output, "what was measured must not be lost"
    assert rounds_kept(out) == 2
    assert not list(out.rglob("*.partial"))
    assert main(["train", "--resume", str(out)]) == 0
    train(stored_configuration(out), tmp_path / "whole")
    assert contents(out) == contents(tmp_path / "whole")


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_keeps_finished_rounds_and_names_the_command_that_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], times: int
) -> None:
    """Which can be pasted, whatever code of the user's trains."""
    own, out = tmp_path / "my own.py", tmp_path / "my run"
    own.write_text("from clusterproof.algorithms import IFCA\n\n\nclass Mine(IFCA):\n    pass\n")
    arguments = ["train", *SMALL, "--rounds", "8", "--checkpoint-every", "3", "--evaluate-every", "9"]
    arguments += ["--algorithm", f"{own}:Mine", "--out", str(out)]
    before = signal.getsignal(signal.SIGINT)
    # in the fifth round, as the first one of a user's code is carried out twice
    with interrupted_at(6, times):
        assert main(arguments) == 130
    assert signal.getsignal(signal.SIGINT) is before
    (command,) = re.findall(r"run `(.+)` to resume", capsys.readouterr().err.splitlines()[-1])
    # the first press lets the round end; the second one does not
    assert rounds_kept(out) == (5 if times == 1 else 3)
    assert f"--resume {shlex.quote(str(out))}, or" in refused(capsys, *arguments)
    assert main(shlex.split(command)[1:]) == 0
    assert ": 8 of 8 rounds, " in capsys.readouterr().out
    train(stored_configuration(out, {"algorithm": f"{own}:Mine"}), tmp_path / "whole")
    assert contents(out) == contents(tmp_path / "whole")


def test_ctrl_c_before_the_first_checkpoint_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    for name in ("assemble", "save_checkpoint"):
        with planted(training, name, interrupted):
            assert main(["train", *SMALL, "--out", str(tmp_path / "run")]) == 130
        assert "clusterproof: interrupted\n" in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == []


def test_want_of_memory_is_said_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], plant: Plant
) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 99 bytes")

    plant(ImageTask, "gradient_sums", exhausted)
    assert "out of memory" in refused(capsys, "train", *SMALL, "--out", str(tmp_path / "run"))
