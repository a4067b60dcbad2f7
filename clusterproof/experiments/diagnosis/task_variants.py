"""The same task as a run sees it, with all data, and with one sample per client."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.algorithms.protocol import Task
from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.neural.partitions.base import ClientImages


@dataclass(frozen=True, eq=False)
class TaskVariants:
    """Three variants of a task.

    Attributes
    ----------
    batch
        As the run uses it.
    whole
        Without sampling noise: all data of a client, or its expected loss. Also answers ``DifferentiatedTask``.
    single
        A task with one sample per client, y ~ D_p of the papers; its clients may be others, its labels are
        their clusters. None if a client's loss is not random, so that only the client is drawn.
    choice_samples, gradient_samples
        Samples that a client chooses its model with, and samples in a gradient (n' of the papers, which
        have the same number for both); 1 if ``single`` is None.
    held
        Samples that a client holds for a whole run (n), the least of all clients; None if every batch is
        drawn from the client's distribution.
    """

    batch: Task
    whole: Any
    single: Task | None = None
    choice_samples: int = 1
    gradient_samples: int = 1
    held: int | None = None


def task_variants(task: Task) -> TaskVariants:
    """Make the three variants of an ``ImageTask``, a synthetic mixture, or a task whose answers are not random.

    Raises
    ------
    InvalidArgument
        If it does not multiply by Hessians.
    """
    if not hasattr(task, "hessian_products"):
        raise InvalidArgument(
            "task", type(task).__name__, "must answer `hessian_products`", "leave the diagnosis out"
        )
    given: Any = task
    if hasattr(given, "partition"):
        held = int(given.partition.train.sizes.min())
        # the serial engine would call the network once for every sample
        custom = given.network.name == "own" and given.network.vectorises
        engine = "vmap" if custom else given.engine
        apart = dataclasses.replace(given.partition, train=one_sample_each(given.partition.train))
        return TaskVariants(
            batch=task,
            # the curvature from rounded products would not resolve small eigenvalues
            whole=dataclasses.replace(given, batch_size=None, precision="highest"),
            single=dataclasses.replace(given, partition=apart, batch_size=None, engine=engine),
            choice_samples=held,
            gradient_samples=held if given.batch_size is None else min(held, int(given.batch_size)),
            held=held,
        )
    if getattr(given, "data", None) == "fresh":
        whole = dataclasses.replace(given, data="population")
        single = dataclasses.replace(given, samples=1)
        return TaskVariants(task, whole, single, int(given.samples), int(given.samples))
    return TaskVariants(task, task)


def one_sample_each(held: ClientImages) -> ClientImages:
    """Give every sample that a client holds to a client of its own, in the same cluster."""
    real = np.arange(held.indices.shape[1]) < held.sizes[:, None]
    return ClientImages(
        pixels=held.pixels,
        indices=held.indices[real][:, None],
        targets=held.targets[real][:, None],
        sizes=np.ones(int(held.sizes.sum()), dtype=np.int64),
        labels=np.repeat(held.labels, held.sizes),
    )
