"""From a configuration to the task and the algorithm that it describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterproof.algorithms import Algorithm, InvalidArgument
from clusterproof.algorithms.guard import Guard
from clusterproof.algorithms.validation import require
from clusterproof.neural.data import loading as datasets
from clusterproof.neural.data.preprocessing import central
from clusterproof.neural.partitions import by_name as partitions
from clusterproof.neural.runs.configuration import Configuration, naming
from clusterproof.neural.runs.options import NETWORKS

if TYPE_CHECKING:
    from clusterproof.neural.task import ImageTask


@dataclass(frozen=True, eq=False)
class Assembly:
    """What is trained on what.

    Attributes
    ----------
    algorithm, task
        As in ``algorithms.run``.
    guard
        Checks of what the algorithm returns.
    choices
        What was left open and is settled now: ``device``, ``engine``, ``threads`` and ``test_assignment``, and
        whether accuracies are those after a ``personal_step``. A resumed run keeps them, for the sake of its bits.
    """

    algorithm: Algorithm[Any]
    task: ImageTask
    guard: Guard
    choices: dict[str, Any]


def assemble(configuration: Configuration, choices: Mapping[str, Any] | None = None) -> Assembly:
    """Load the data, divide them, and make network, task and algorithm.

    Parameters
    ----------
    configuration
        Of the run.
    choices
        Those of an earlier assembly, to keep; chosen if None.

    Raises
    ------
    InvalidArgument
        If something does not fit together, is missing or is too large; what is wrong in a configuration is
        named as ``section.key``.
    """
    torch = require("torch", None, "torch")
    from clusterproof.neural.custom.module_network import own_network
    from clusterproof.neural.networks import network
    from clusterproof.neural.task import ImageTask

    training, algorithm = configuration.training, configuration.algorithm
    made = dict(choices or {})
    present = "cuda" if torch.cuda.is_available() else "cpu"
    made.setdefault("device", present if training.device == "auto" else training.device)
    made.setdefault("threads", training.threads or torch.get_num_threads())
    with naming("data"):
        images = datasets.load(configuration.data, configuration.data_dir)
        seen = configuration.preprocessing
        seen.check(images.train.pixels)
    with naming("partition"):
        chosen = configuration.partition
        division = partitions.partition(chosen.name, images, seed=training.seed, **chosen.options)
    with naming("network"):
        shape = seen.shape(images.train.pixels.shape[1:])
        named = configuration.network
        if named.name in NETWORKS:
            net = network(named.name, shape, images.train.classes, **named.options)
        else:
            pixels = central(images.train.pixels, seen.crop)
            net = own_network(named.name, replace(images.train, pixels=pixels), named.options)
    _check_memory(algorithm, net.dimension, len(division.train.sizes), division.clusters, training.dtype)
    with naming("training"):
        task = ImageTask(
            partition=division,
            network=net,
            batch_size=training.batch_size,
            local_unit=training.local_unit,
            device=made["device"],
            dtype=training.dtype,
            engine=made.get("engine", training.engine),
            chunk=training.chunk,
            precision=training.precision,
            preprocessing=seen,
        )
    made["engine"] = task.settings["engine"]
    default = "train" if division.paired else "test-loss"
    made.setdefault("test_assignment", training.test_assignment or default)
    name = configuration.algorithm_reference or algorithm.name
    guard = Guard("algorithm.name", name, (), torch.Tensor, training.dtype)
    with naming("algorithm"):
        guard.check_count(algorithm, task)
    if algorithm.has_personal_step and division.paired:
        made["personal_step"] = True
    if training.after_local_training and "step_size" not in algorithm.settings:
        rule = f"asks for an algorithm with a step size, which {algorithm.name} has not"
        raise InvalidArgument("training.after_local_training", True, rule, "leave it out")
    _check_tests(configuration, made["test_assignment"], paired=division.paired)
    return Assembly(algorithm, task, guard, made)


def _check_tests(configuration: Configuration, assignment: str, *, paired: bool) -> None:
    """Require test data of the training clients where they are asked for."""
    if paired:
        return
    remedy = "choose a partition such as rotated-groups, or another value"
    rule = f"needs test data of the training clients, and {configuration.partition.name} has those of others"
    for argument, value in (
        ("training.test_assignment", assignment if assignment == "train" else None),
        ("training.after_local_training", configuration.training.after_local_training or None),
        ("algorithm.name", configuration.algorithm.name if configuration.algorithm.name == "local" else None),
    ):
        if value is not None:
            raise InvalidArgument(argument, value, rule, remedy)


def _check_memory(algorithm: Algorithm[Any], dimension: int, clients: int, clusters: int, dtype: str) -> None:
    """Refuse a network whose models alone cannot fit into memory."""
    import torch

    from clusterproof.neural.engines.chunks import free_bytes

    models = {"pooled": 1, "clients": clients}.get(algorithm.target, clusters)
    # the models before and after a round, and the bounds that starting points are drawn between
    needed = dimension * (2 * models * np.dtype(dtype).itemsize + 16)
    present = free_bytes(torch.device("cpu"))
    if needed > present:
        raise InvalidArgument(
            "network",
            f"{dimension} parameters",
            f"asks for at least {needed / 2**30:.3g} GiB of memory for {models} models, of which "
            f"{present / 2**30:.3g} are free here",
            "lower its widths or the number of models",
        )
