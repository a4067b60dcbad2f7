"""The clusters that a run of SoFL's tables is measured with, after a round in which few have taken part."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from clusterproof.experiments.tables.sofl.runs import both_accuracies
from clusterproof.experiments.tables.training_run import Snapshot, image_task, make_algorithm, snapshots
from clusterproof.neural.task import ImageTask

SETTINGS = {
    "data": "digits",
    "partition": {"name": "label-shift", "clusters": 2, "clients_per_cluster": 4, "images": 400},
    "network": {"name": "mlp", "hidden": [8]},
    "task": {"dtype": "float64"},
}


@pytest.fixture(scope="module")
def task() -> ImageTask:
    return image_task(SETTINGS, 3)


def after_a_round(task: ImageTask, **algorithm: Any) -> Snapshot:
    (look,) = snapshots(
        make_algorithm({"step_size": 0.2, "participation": 0.25, **algorithm}), task, rounds=1, seed=3
    )
    return look


def scores(model: torch.Tensor, images: np.ndarray) -> torch.Tensor:
    """Of images in 256 grey levels, by torch's own layers."""
    net = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(64, 8), torch.nn.ReLU(), torch.nn.Linear(8, 10)
    ).double()
    torch.nn.utils.vector_to_parameters(model.clone(), net.parameters())
    with torch.no_grad():
        found: torch.Tensor = net(torch.from_numpy(images / 255))
    return found


def accuracy(task: ImageTask, models: list[torch.Tensor]) -> float:
    """Per cent, each client with its model."""
    held, shares = task.partition.test, []
    for client, model in enumerate(models):
        guesses = scores(model, held.pixels[held.indices[client]]).argmax(1).numpy()
        shares.append(float((guesses == held.targets[client]).mean()))
    return 100 * float(np.mean(shares))


def test_who_was_not_there_yet_has_the_model_of_least_loss(task: ImageTask) -> None:
    """Two of eight clients took part in IFCA's only round."""
    look = after_a_round(task, algorithm="ifca", averaging="model")
    known, models = look.assignments, look.state.models
    assert (known >= 0).sum() == 2
    held = task.partition.train
    chosen = []
    for client in range(8):
        images, labels = held.pixels[held.indices[client]], torch.from_numpy(held.targets[client])
        losses = [float(torch.nn.functional.cross_entropy(scores(model, images), labels)) for model in models]
        chosen.append(int(known[client]) if known[client] >= 0 else int(np.argmin(losses)))
    found = both_accuracies(look)
    assert found["clusters"] == len(set(chosen)) == 2
    assert found["rand"] == pytest.approx(adjusted_rand_score(task.labels, chosen))
    assert found["server"] == pytest.approx(accuracy(task, [models[each] for each in chosen]))


def test_clients_with_models_of_their_own_keep_them_and_their_clusters(task: ImageTask) -> None:
    """Of CFL, after a round: clusters 0, 1 and 2 in turns agree with the true ones as scikit-learn says."""
    look = after_a_round(task, algorithm="cfl")
    given = np.arange(8) % 3
    models = look.state.models + torch.arange(8)[:, None] * 0.05
    found = both_accuracies(replace(look, assignments=given, state=replace(look.state, models=models)))
    assert found["clusters"] == 3
    assert found["rand"] == pytest.approx(adjusted_rand_score(task.labels, given))
    assert found["server"] == pytest.approx(accuracy(task, list(models)))
