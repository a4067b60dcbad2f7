"""A run whose numbers are no longer finite ends in a line that names the round."""

from pathlib import Path
from typing import Any

import pytest
import torch
from small_training import SMALL, Plant, configure, rounds_kept

from clusterproof.algorithms import InvalidArgument, Task
from clusterproof.commands.application import main
from clusterproof.neural.runs.storage.checkpoint import find_checkpoint
from clusterproof.neural.runs.training import train
from clusterproof.neural.task import ImageTask


@pytest.mark.parametrize("algorithm", ["ifca", "local", "fpfc"])
def test_the_round_that_diverges_is_named(tmp_path: Path, plant: Plant, algorithm: str) -> None:
    """One client's gradients are NaN from the fourth round on: FPFC refuses its model, the others return it."""
    configuration, done = configure({"name": algorithm, "step_size": 0.01}), [0]
    gradients, gradient_sums = ImageTask.gradients, ImageTask.gradient_sums

    def spoilt(self: ImageTask, points: torch.Tensor, clients: torch.Tensor, generator: Any) -> torch.Tensor:
        is_sick = (clients == 4) & (len(done) > 3)
        return torch.where(is_sick[:, None], torch.nan, gradients(self, points, clients, generator))

    def spoilt_sums(self: ImageTask, *arguments: Any) -> torch.Tensor:
        sums = gradient_sums(self, *arguments)
        return sums if len(done) <= 3 else sums * torch.nan

    for name, method in (
        ("gradients", spoilt),
        ("gradient_sums", spoilt_sums),
        ("local_steps", Task.local_steps),
    ):
        plant(ImageTask, name, method)
    with pytest.raises(
        InvalidArgument, match=r"led in round 4 to numbers that are not finite; lower it;"
    ) as caught:
        train(configuration, out=tmp_path / "run", progress=lambda row: done.append(row["round"]))
    assert "\n" not in str(caught.value)
    assert rounds_kept(tmp_path / "run") == 2
    stored = find_checkpoint(tmp_path / "run" / "checkpoints")
    assert stored is not None
    assert torch.isfinite(stored.restore(configuration.algorithm).state.models).all()


@pytest.mark.parametrize("averaging", ["gradient", "model"])
def test_too_large_a_step_is_exit_two_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], averaging: str
) -> None:
    arguments = ["train", "--algorithm", "ifca", "--averaging", averaging, *SMALL, "--step-size", "1e30"]
    assert main([*arguments, "--out", str(tmp_path / "run")]) == 2
    output, errors = capsys.readouterr()
    assert errors.count("\n") == 1
    assert "--step-size = 1e+30: led in round" in errors
    assert "Traceback" not in errors + output
    rounds_kept(tmp_path / "run")


def test_a_step_that_vanishes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"training\.step_size_decay = 1e-200.*in round 3"):
        train(configure(step_size_decay=1e-200), out=tmp_path / "run")
    assert rounds_kept(tmp_path / "run") == 2
