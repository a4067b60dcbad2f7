"""A training run of a table: from plain settings to a curve of measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from clusterproof.algorithms import ALGORITHMS, Algorithm, InvalidArgument, Randomness, State, generator
from clusterproof.algorithms.arrays import argmin_smallest_index, like, to_numpy
from clusterproof.algorithms.averaging import choose_clusters
from clusterproof.experiments.comparison import Cell, Comparison, Curve
from clusterproof.experiments.store import Unit
from clusterproof.neural.data.loading import DATASETS, ENVIRONMENT, ImageSet, data_folder, load
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.evaluation import match_models
from clusterproof.neural.partitions.by_name import partition

if TYPE_CHECKING:
    from clusterproof.neural.task import ImageTask


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A run after a number of rounds.

    Attributes
    ----------
    seed, round
        Seed of the run, and number of finished rounds.
    algorithm
        Algorithm with the step size of the last round.
    task
        Task of the run.
    state
        State of the algorithm.
    assignments
        Last known cluster of every client, (m,); -1 for clients that have not participated yet.
    """

    seed: int
    round: int
    algorithm: Algorithm[Any]
    task: ImageTask
    state: State
    assignments: np.ndarray


Measure: TypeAlias = Callable[[Snapshot], Mapping[str, Any]]
"""Function that measures a snapshot: plain JSON values by name."""


def require_data(name: str) -> None:
    """Raise ``InvalidArgument`` if the data of a table are missing.

    Raises
    ------
    InvalidArgument
        If no file of the data set exists in the data folder.
    """
    dataset = DATASETS[name]
    folder = data_folder() / name
    files = [*dataset.files, *([] if dataset.archive is None else [dataset.archive])]
    if dataset.files and not any((folder / file.name).exists() for file in files):
        remedy = f"run `clusterproof data fetch {name}`, or name its folder by --data-dir or {ENVIRONMENT}"
        raise InvalidArgument("id", name, f"needs the data set, which is not in {folder}", remedy)


@lru_cache(maxsize=1)
def _images(name: str, folder: str) -> ImageSet:
    """Return a data set, cached for later runs of the process."""
    return load(name, folder)


def image_task(settings: Mapping[str, Any], seed: int) -> ImageTask:
    """Return the task of a run.

    Parameters
    ----------
    settings
        ``data``, ``partition`` and ``network`` (each a ``name`` and its options), what is done to images
        under ``preprocessing``, ``device``, and what else is given to ``ImageTask`` under
        ``task``. Without ``device``, a GPU is used if there is one and ``gpu`` is set.
    seed
        Seed of the partition.
    """
    import torch

    from clusterproof.neural.networks import network
    from clusterproof.neural.task import ImageTask

    images = _images(settings["data"], str(data_folder()))
    divided = _named(partition, settings["partition"], images, seed=seed)
    seen = Preprocessing(**settings.get("preprocessing", {}))
    net = _named(
        network, settings["network"], seen.shape(images.train.pixels.shape[1:]), images.train.classes
    )
    default = "cuda" if settings.get("gpu") and torch.cuda.is_available() else "cpu"
    return ImageTask(
        partition=divided,
        network=net,
        preprocessing=seen,
        device=settings.get("device", default),
        **settings.get("task", {}),
    )


def make_algorithm(settings: Mapping[str, Any]) -> Algorithm[Any]:
    """Return the algorithm with the given ``settings``."""
    parameters = dict(settings)
    return ALGORITHMS[parameters.pop("algorithm")](**parameters)


def snapshots(
    algorithm: Algorithm[Any],
    task: ImageTask,
    *,
    rounds: int,
    seed: int,
    every: int = 10,
    decay: float = 1.0,
) -> Iterator[Snapshot]:
    """Run an algorithm and yield a snapshot after ``every`` so many rounds, and after the last.

    All algorithms of a seed start from the same models if their numbers agree, and have the same participants.
    ``decay`` is the factor of the step size after each round.
    """
    randomness = Randomness.from_seed(seed, "table")
    models = algorithm.draw_models(task, (), randomness)
    state: State = algorithm.initialise(models, task)
    known = np.full(task.clients, -1, dtype=np.int64)
    begun: Any = algorithm
    for done in range(1, rounds + 1):
        current = replace(begun, step_size=begun.step_size * decay ** (done - 1))
        state = current.step(state, task, randomness)
        remember(known, state)
        if done % every == 0 or done == rounds:
            yield Snapshot(seed, done, current, task, state, known.copy())


def measured_run(unit: Unit, measure: Measure) -> dict[str, Any]:
    """Train the network of a unit and measure it at regular intervals.

    Returns
    -------
    dict
        ``curve``: a record per snapshot, its ``round`` and the result of ``measure``; ``device`` and ``engine``.
    """
    settings = unit.settings
    task = image_task(settings, unit.seed)
    looks = snapshots(
        make_algorithm(settings["algorithm"]),
        task,
        rounds=settings["rounds"],
        seed=unit.seed,
        every=settings.get("every", 10),
        decay=settings.get("decay", 1.0),
    )
    curve = [{"round": look.round, **measure(look)} for look in looks]
    return {"curve": curve, "device": str(task.device), "engine": task.settings["engine"]}


def cells_of(records: Sequence[Mapping[str, Any]], keys: Mapping[str, str]) -> dict[str, Cell]:
    """Return cells by column from records, one per seed; ``keys`` maps columns to keys of the records."""
    return {
        column: Cell(tuple(float(record[key]) for record in records))
        for column, key in keys.items()
        if key in records[0]
    }


def curve_by_round(
    name: str, curves: Sequence[Sequence[Mapping[str, Any]]], keys: Mapping[str, str]
) -> Curve:
    """Return columns as functions of the round, from the measurements of each seed."""
    cells = {float(records[0]["round"]): cells_of(records, keys) for records in zip(*curves, strict=True)}
    return Curve(name, "round", tuple(cells), tuple(cells.values()))


def compare(name: str, first: ArrayLike, second: ArrayLike) -> Comparison:
    """Return the differences of two methods on the same seeds."""
    return Comparison(name, tuple(np.subtract(first, second).astype(float).tolist()))


def remember(known: np.ndarray, state: State) -> None:
    """Write the clusters of a round's participants into ``known`` (m,), in place."""
    chosen = to_numpy(state.assignments)
    all_clients = chosen.shape[-1] == len(known)
    known[slice(None) if all_clients else to_numpy(state.clients)] = chosen


def evaluation_generator(snapshot: Snapshot) -> np.random.Generator:
    """Return a generator for measurements, independent of the run's."""
    return generator(snapshot.seed, "table", "evaluation", snapshot.round)


def all_assigned(snapshot: Snapshot, source: np.random.Generator) -> np.ndarray:
    """Return the last known clusters (m,), or the model of smallest loss for clients that never participated."""
    known = snapshot.assignments
    if (known >= 0).all():
        return known
    models = snapshot.state.models
    all_clients = like(np.arange(snapshot.task.clients), models)
    chosen = choose_clusters(snapshot.task, models, all_clients, source)
    return np.where(known >= 0, known, to_numpy(chosen))


def served_by_test_loss(snapshot: Snapshot) -> dict[str, Any]:
    """Return the accuracy if each test client gets the model of smallest loss on its labelled test data.

    This is the protocol of IFCA's published code, which CFL-MGD follows; it uses labels of the test data.

    Returns
    -------
    dict
        ``accuracy``: percent, mean over the test clients. ``correct_model``: share of the test clients that
        get the model of their cluster, models being matched to clusters one to one. ``found``: number
        of clusters with a separate model, which more than half of the cluster's test clients get.
    """
    scores = snapshot.task.scores(snapshot.state.models)
    chosen = to_numpy(argmin_smallest_index(scores.losses))
    accuracies = to_numpy(scores.accuracies)[np.arange(len(chosen)), chosen]
    return _served(snapshot, chosen, np.asarray(snapshot.task.partition.test.labels), accuracies)


def served_by_training_data(snapshot: Snapshot) -> dict[str, Any]:
    """Return the accuracy if each client gets the model of smallest loss on its training data.

    No test labels are used for the choice. A client is tested on all test images of its cluster, so that test
    clients can differ from training clients.

    Returns
    -------
    dict
        As of ``served_by_test_loss``, over the training clients.
    """
    task, models = snapshot.task, snapshot.state.models
    all_clients = like(np.arange(task.clients), models)
    losses = task.losses(models, all_clients, evaluation_generator(snapshot))
    chosen = to_numpy(argmin_smallest_index(losses))
    accuracies = to_numpy(task.scores(models).accuracies)
    held = task.partition.test.labels
    of_cluster = np.stack([accuracies[held == cluster].mean(axis=0) for cluster in range(task.clusters)])
    return _served(snapshot, chosen, task.labels, of_cluster[task.labels, chosen])


def _served(
    snapshot: Snapshot, chosen: np.ndarray, labels: np.ndarray, accuracies: np.ndarray
) -> dict[str, Any]:
    """Return measurements of the models that clients get, from true clusters and accuracies (m,)."""
    clusters = snapshot.task.clusters
    owner = match_models(chosen, labels, snapshot.state.models.shape[-2], clusters)
    right = chosen == owner[labels]
    shares = [float(right[labels == cluster].mean()) for cluster in range(clusters)]
    return {
        "accuracy": 100 * float(accuracies.mean()),
        "correct_model": float(right.mean()),
        "found": sum(share > 0.5 for share in shares),
    }


def _named(make: Callable[..., Any], settings: Mapping[str, Any], *arguments: Any, **more: Any) -> Any:
    """Call a function with a name, arguments and the options of the name."""
    options = dict(settings)
    return make(options.pop("name"), *arguments, **more, **options)
