"""A run whose numbers are no longer finite ends in a line that says whose they were."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_training import SMALL, Plant, configure, rounds_kept

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.arrays import to_numpy
from clusterproof.commands.application import main
from clusterproof.neural.runs.assembly import assemble
from clusterproof.neural.runs.divergence import find_culprit
from clusterproof.neural.runs.storage.checkpoint import find_checkpoint
from clusterproof.neural.runs.training import train
from clusterproof.neural.task import ImageTask


@pytest.mark.parametrize(
    "algorithm",
    [
        {"name": "ifca", "averaging": "model", "local_steps": 3},
        {"name": "cfl-mgd", "momentum_owner": "client"},
        {"name": "local"},
        *(
            pytest.param(algorithm, marks=pytest.mark.slow(reason="every algorithm"))
            for algorithm in (
                {"name": "ifca"},
                {"name": "cfl-mgd", "averaging": "model", "local_steps": 2, "participation": 0.5},
                {"name": "fedavg", "local_steps": 3},
                {"name": "fedprox"},
                {"name": "gradient-loss"},
                {"name": "sofl"},
                {"name": "fpfc", "reuse_memory": True},
                {"name": "per-fedavg"},
            )
        ),
    ],
    ids=lambda algorithm: "-".join(map(str, algorithm.values())),
)
def test_a_client_that_diverges_is_named(tmp_path: Path, plant: Plant, algorithm: dict[str, Any]) -> None:
    """One client's training yields NaN from some round on; nobody else's does."""
    configuration, sick = configure({**algorithm, "step_size": 0.01}), 4
    real = {
        name: getattr(ImageTask, name)
        for name in ("gradients", "local_training", "losses_and_gradients", "meta_training")
    }
    step = {"number": 0}

    def spoil(values: torch.Tensor, clients: torch.Tensor) -> torch.Tensor:
        spoilt = values.clone()
        if step["number"] >= 3:
            spoilt[clients == sick] = torch.nan
        return spoilt

    def gradients(self: ImageTask, points: Any, clients: Any, generator: Any) -> Any:
        return spoil(real["gradients"](self, points, clients, generator), clients)

    def gradient_sums(self: ImageTask, models: Any, clients: Any, assignments: Any, generator: Any) -> Any:
        own = gradients(self, models[assignments], clients, generator)
        return torch.stack([own[assignments == index].sum(0) for index in range(len(models))])

    def losses_and_gradients(self: ImageTask, models: Any, clients: Any, generator: Any) -> Any:
        losses, values = real["losses_and_gradients"](self, models, clients, generator)
        return losses, spoil(values, clients)

    def local_training(
        self: ImageTask, points: Any, buffers: Any, anchors: Any, clients: Any, *rest: Any, **how: Any
    ) -> Any:
        trained, carried = real["local_training"](self, points, buffers, anchors, clients, *rest, **how)
        return spoil(trained, clients), carried

    def meta_training(self: ImageTask, points: Any, clients: Any, *rest: Any, **how: Any) -> Any:
        return spoil(real["meta_training"](self, points, clients, *rest, **how), clients)

    def cluster_training(
        self: ImageTask,
        models: Any,
        buffers: Any,
        clients: Any,
        assignments: Any,
        losses_generator: Any,
        generator: Any,
        *,
        weights: None,
        **how: Any,
    ) -> Any:
        chosen = assignments
        if callable(assignments):
            chosen = assignments(self.losses(models, clients, losses_generator))
        start, speed = models[chosen], None if buffers is None else buffers[chosen]
        found = local_training(self, start, speed, start, clients, generator, **how)
        add = torch.nn.functional.one_hot(chosen, len(models)).T.to(models.dtype)
        return chosen, *(None if vectors is None else add @ vectors for vectors in found)

    replaced = (
        gradients,
        gradient_sums,
        losses_and_gradients,
        local_training,
        meta_training,
        cluster_training,
    )
    for function in replaced:
        plant(ImageTask, function.__name__, function)

    def count(row: Any) -> None:
        step["number"] = row["round"]

    with pytest.raises(InvalidArgument) as caught:
        train(configuration, out=tmp_path / "run", progress=count)
    message = str(caught.value)
    assert "\n" not in message
    assert "the model of client 4" in message
    done = step["number"] + 1
    assert f"in round {done} " in message
    assert 4 <= done <= 8
    assert rounds_kept(tmp_path / "run") in (done - 1, done - 2)
    stored = find_checkpoint(tmp_path / "run" / "checkpoints")
    assert stored is not None
    checkpoint = stored.restore(configuration.algorithm)
    assert np.isfinite(to_numpy(checkpoint.state.models)).all()
    if configuration.algorithm.target == "clusters" and "participation" not in algorithm:
        # the cluster that it had chosen in the round before, and in this one with these small steps
        assert f"in cluster {checkpoint.last_assignments[4]};" in message
    step["number"] = 0
    assembly = assemble(configuration)
    culprit = find_culprit(
        assembly.algorithm,
        checkpoint.state,
        assembly.task,
        checkpoint.randomness,
        None,
        checkpoint.last_assignments,
    )
    assert culprit.client is None, "a healthy round has no culprit"


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
