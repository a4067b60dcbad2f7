"""A round of model averaging: clients descend from their cluster's model, and the server averages."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from array_api_compat import array_namespace

from clusterproof.algorithms.arrays import Array, argmin_smallest_index, rows
from clusterproof.algorithms.parts.aggregation import (
    average_by_cluster,
    choose_clusters,
    cluster_sizes,
    divide_sums,
    local_descent,
    local_momentum_descent,
    local_proximal_descent,
)
from clusterproof.algorithms.parts.finiteness import check_finite, require
from clusterproof.algorithms.protocol import ClusterTrainingTask, Task
from clusterproof.algorithms.randomness import Randomness


@dataclass(frozen=True)
class Averages:
    """What comes of a round of model averaging.

    Attributes
    ----------
    models, buffers
        Averages of the members' models and momentum buffers, (..., P, d); those of an empty cluster are
        what they were. ``buffers`` is None where the participants had none.
    assignments
        Cluster of each participant, integers (..., k).
    """

    models: Array
    buffers: Array | None
    assignments: Array


@dataclass(frozen=True, kw_only=True)
class LocalMotion:
    """How a participant moves in a round.

    Attributes
    ----------
    step_size, local_steps
        eta and H.
    momentum, update_order
        Of participants who start with a buffer, see ``local_momentum_descent``.
    reset_momentum
        Whether they start with zero momentum, whatever the server's is.
    proximal
        Of those who do not: strength of the pull to where they start, see ``local_proximal_descent``.
    """

    step_size: float
    local_steps: int
    momentum: float = 0.0
    update_order: str = "momentum-first"
    reset_momentum: bool = False
    proximal: float = 0.0


def average_local_training(
    task: Task,
    models: Array,
    clients: Array,
    randomness: Randomness,
    motion: LocalMotion,
    *,
    assignments: Array | None = None,
    buffers: Array | None = None,
    weights: Array | None = None,
    checked: bool = False,
) -> Averages:
    """Let every participant descend from its cluster's model, and average: CFL-MGD (6) and line 16.

    A ``ClusterTrainingTask`` gives the sums at once, and no model of a participant is ever stored.

    Parameters
    ----------
    task
        Answers losses and gradients.
    models
        Server models (..., P, d).
    clients
        Participants (..., k).
    randomness
        Source of the samples.
    motion
        How a participant moves.
    assignments
        Cluster of each participant, integers (..., k); where None it chooses, see ``choose_clusters``.
    buffers
        Momentum that a cluster's participants start with, (..., P, d); None for none.
    weights
        Of the participants in the averages, (..., k), see ``client_weights``; ones where None.
    checked
        Whether a participant's model that is not finite ends the round.

    Raises
    ------
    InvalidArgument
        If the round is checked and such a model comes up; the message names the client.
    """
    carried = 0 * buffers if buffers is not None and motion.reset_momentum else buffers
    if isinstance(task, ClusterTrainingTask) and motion.update_order == "momentum-first":
        before = copy.deepcopy(randomness) if checked else randomness
        chosen, sums, own_sums = task.cluster_training(
            models,
            carried,
            clients,
            argmin_smallest_index if assignments is None else assignments,
            randomness.assignment,
            randomness.gradient,
            weights=weights,
            step_size=motion.step_size,
            momentum=motion.momentum,
            proximal=motion.proximal,
            local_steps=motion.local_steps,
        )
        xp = array_namespace(sums)

        def explain() -> None:
            # a sum does not say whose summand it was: once more on the same samples, one by one
            points = descend_alone(task, rows(models, chosen), clients, before, motion)
            check_finite(points, clients, motion.step_size)

        if checked:
            require(xp.all(xp.isfinite(sums)), explain)
        sizes = cluster_sizes(chosen, models.shape[-2], dtype=models.dtype, weights=weights)
        if buffers is not None:
            buffers = divide_sums(own_sums, sizes, fallback=buffers)
        return Averages(divide_sums(sums, sizes, fallback=models), buffers, chosen)
    if assignments is None:
        assignments = choose_clusters(task, models, clients, randomness.assignment)
    start = rows(models, assignments)
    if buffers is None:
        points = descend_alone(task, start, clients, randomness, motion)
    else:
        points, own = local_momentum_descent(
            task,
            start,
            rows(carried, assignments),
            clients,
            randomness.gradient,
            step_size=motion.step_size,
            momentum=motion.momentum,
            local_steps=motion.local_steps,
            update_order=motion.update_order,
        )
        buffers = average_by_cluster(own, assignments, fallback=buffers, weights=weights)
    if checked:
        check_finite(points, clients, motion.step_size)
    averages = average_by_cluster(points, assignments, fallback=models, weights=weights)
    return Averages(averages, buffers, assignments)


def descend_alone(
    task: Task, received: Array, clients: Array, randomness: Randomness, motion: LocalMotion
) -> Array:
    """Move participants without buffers from the models that they received to those that they send.

    Parameters
    ----------
    task, clients, randomness, motion
        As for ``average_local_training``.
    received
        One model a participant, (..., k, d).

    Returns
    -------
    Array
        (..., k, d).
    """
    if motion.proximal:
        return local_proximal_descent(
            task,
            received,
            received,
            clients,
            randomness.gradient,
            step_size=motion.step_size,
            proximal=motion.proximal,
            local_steps=motion.local_steps,
        )
    return local_descent(
        task,
        received,
        clients,
        randomness.gradient,
        step_size=motion.step_size,
        local_steps=motion.local_steps,
    )
