"""A training run of a table: its data and task, and how clients get their model in testing."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from clusterproof.algorithms import FedAvg, InvalidArgument, Randomness, State
from clusterproof.experiments.tables.training_run import (
    Snapshot,
    image_task,
    make_algorithm,
    require_data,
    served_by_test_loss,
    served_by_training_data,
    snapshots,
)
from clusterproof.neural.data.loading import DATASETS


def test_served_by_training_data_as_by_plain_loops() -> None:
    """Least loss on the client's own training images, then all test images of its rotation."""
    settings = {
        "data": "digits",
        "partition": {"name": "rotations", "clusters": 2, "clients": 12, "samples": 100},
        "network": {"name": "mlp", "hidden": [16]},
        "task": {"dtype": "float64"},
    }
    task = image_task(settings, 2)
    algorithm = make_algorithm({"algorithm": "ifca", "averaging": "model", "step_size": 0.3})
    (look,) = snapshots(algorithm, task, rounds=4, seed=1)
    for models in (look.state.models, task.initial_models(2, (), Randomness.from_seed(3, "x").gradient)):
        look = replace(look, state=replace(look.state, models=models))
        found = served_by_training_data(look)
        chosen, shares = [], []
        for client, cluster in enumerate(task.labels):
            train, test = task.partition.train, task.partition.test
            losses = [
                loss(model, train.pixels[train.indices[client]], train.targets[client])[0] for model in models
            ]
            chosen.append(int(np.argmin(losses)))
            holders = test.labels == cluster
            images, targets = test.pixels[test.indices[holders].ravel()], test.targets[holders].ravel()
            shares.append(loss(models[chosen[-1]], images, targets)[1])
        assert found["accuracy"] == pytest.approx(100 * np.mean(shares))
        agree = [
            np.mean(np.array(chosen) == (task.labels if same else 1 - task.labels)) for same in (True, False)
        ]
        assert found["correct_model"] == pytest.approx(max(agree))


def loss(model: torch.Tensor, pixels: np.ndarray, targets: np.ndarray) -> tuple[float, float]:
    """Cross-entropy and accuracy of a perceptron with 16 hidden units, by torch's own layers."""
    net = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(64, 16), torch.nn.ReLU(), torch.nn.Linear(16, 10)
    ).double()
    torch.nn.utils.vector_to_parameters(model, net.parameters())
    scores = net(torch.from_numpy(pixels / 255)).detach()
    labels = torch.from_numpy(targets)
    return (
        float(torch.nn.functional.cross_entropy(scores, labels)),
        float((scores.argmax(1) == labels).double().mean()),
    )


def test_a_task_is_made_as_its_settings_say() -> None:
    settings = {
        "data": "digits",
        "partition": {"name": "rotations", "clusters": 2, "clients": 12, "samples": 100},
        "network": {"name": "mlp", "hidden": [4]},
        "preprocessing": {"crop": 6, "flip": True},
        "gpu": True,
    }
    task = image_task({**settings, "device": "cpu"}, 0)
    assert task.network.image_shape == (1, 6, 6)
    assert (task.device, task.settings["preprocessing"]) == ("cpu", {"crop": 6, "flip": True})


@pytest.mark.parametrize(("half", "found"), [(2, 1), (3, 2)])
def test_a_cluster_is_found_where_more_than_half_of_its_clients_get_its_model(half: int, found: int) -> None:
    """Of four clients of the first cluster two, which is no more than half, or three."""
    labels = np.repeat([0, 1], 4)
    chosen = np.array([0] * half + [1] * (4 - half) + [1] * 4)
    scores = SimpleNamespace(losses=1.0 - np.eye(2)[chosen], accuracies=np.full((8, 2), 0.5))
    test = SimpleNamespace(labels=labels)
    task: Any = SimpleNamespace(
        scores=lambda models: scores, partition=SimpleNamespace(test=test), clusters=2
    )
    state = State(np.zeros((2, 3)), None, None)
    record = served_by_test_loss(Snapshot(0, 1, FedAvg(step_size=1.0), task, state, labels))
    assert record == {"accuracy": 50.0, "correct_model": (half + 4) / 8, "found": found}


def test_a_data_set_is_there_where_any_of_its_files_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CIFAR-10 comes as one archive or as its parts."""
    monkeypatch.setenv("CLUSTERPROOF_DATA", str(tmp_path))
    (tmp_path / "cifar10").mkdir()
    with pytest.raises(InvalidArgument, match="data fetch cifar10"):
        require_data("cifar10")
    archive = DATASETS["cifar10"].archive
    assert archive is not None
    (tmp_path / "cifar10" / archive.name).touch()
    require_data("cifar10")
    require_data("digits")  # needs no file
