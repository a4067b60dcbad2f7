"""A run whose numbers are no longer finite ends in a line that says whose they were."""

from pathlib import Path
from types import SimpleNamespace
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
    step = {"number": 0}

    def spoil(values: torch.Tensor, clients: torch.Tensor) -> torch.Tensor:
        spoilt = values.clone()
        if step["number"] >= 3:
            spoilt[clients == sick] = torch.nan
        return spoilt

    def spoiled(name: str, position: int, part: int | None) -> Any:
        """Spoil a method's answer, or a part of it; the clients are its argument at ``position``."""
        real = getattr(ImageTask, name)

        def method(self: ImageTask, *arguments: Any, **options: Any) -> Any:
            answer, clients = real(self, *arguments, **options), arguments[position]
            if part is None:
                return spoil(answer, clients)
            return tuple(spoil(value, clients) if i == part else value for i, value in enumerate(answer))

        return method

    def add(chosen: torch.Tensor, vectors: Any, count: int) -> Any:
        if vectors is None:
            return None
        return torch.stack([vectors[chosen == index].sum(0) for index in range(count)])

    def gradient_sums(self: ImageTask, models: Any, clients: Any, assignments: Any, generator: Any) -> Any:
        return add(assignments, self.gradients(models[assignments], clients, generator), len(models))

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
        **options: Any,
    ) -> Any:
        chosen = assignments
        if callable(assignments):
            chosen = assignments(self.losses(models, clients, losses_generator))
        start, momenta = models[chosen], None if buffers is None else buffers[chosen]
        found = self.local_training(start, momenta, start, clients, generator, **options)
        return chosen, *(add(chosen, vectors, len(models)) for vectors in found)

    for name, position, part in (
        ("gradients", 1, None),
        ("meta_training", 1, None),
        ("losses_and_gradients", 1, 1),
        ("local_training", 3, 0),
    ):
        plant(ImageTask, name, spoiled(name, position, part))
    plant(ImageTask, "gradient_sums", gradient_sums)
    plant(ImageTask, "cluster_training", cluster_training)

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
    before = (checkpoint.state, assembly.task, checkpoint.randomness)
    client, _ = find_culprit(assembly.algorithm, *before, None, checkpoint.last_assignments)
    assert client is None, "a healthy round has no culprit"
    nobody = np.zeros(0, int)
    models = np.array([[0.0, 1.0], [np.nan, 1.0], [np.inf, np.nan]])
    averaged = SimpleNamespace(models=models, clients=nobody, assignments=nobody)
    found = find_culprit(assembly.algorithm, *before, averaged, checkpoint.last_assignments)
    # no client is: the server made the first model that is not finite
    assert found == (None, 1 if configuration.algorithm.target == "clusters" else None)


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
