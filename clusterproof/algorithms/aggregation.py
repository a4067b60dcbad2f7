"""Local training of clients and averages of the server, the components of the algorithms."""

from __future__ import annotations

import copy
from typing import cast

import numpy as np
from array_api_compat import array_namespace

from clusterproof.algorithms.arrays import Array, argmin_smallest_index, one_hot, rows, sums_by_cluster
from clusterproof.algorithms.finiteness import check_finite
from clusterproof.algorithms.protocol import Task, TrainingTask
from clusterproof.algorithms.randomness import Randomness


def choose_clusters(task: Task, models: Array, clients: Array, generator: np.random.Generator) -> Array:
    """Assign each participant (..., k) to the model (..., P, d) of smallest loss: CFL-MGD (8); ties to the first."""
    return argmin_smallest_index(task.losses(models, clients, generator))


def cluster_sizes(assignments: Array, clusters: int, *, dtype: object, weights: Array | None = None) -> Array:
    """Return the number of participants of each cluster, or the sum of their weights (..., k), as floats (..., P)."""
    membership = _weighted(one_hot(assignments, clusters, dtype=dtype), weights)
    return array_namespace(assignments).sum(membership, axis=-2)


def average_by_cluster(
    values: Array, assignments: Array, fallback: Array, weights: Array | None = None
) -> Array:
    """Average over each cluster's participants; an empty cluster keeps its fallback.

    CFL-MGD (6) is 0 / 0 for an empty cluster; the fallback defines the result.

    Parameters
    ----------
    values
        One row per participant, (..., k, d).
    assignments
        Integers (..., k).
    fallback
        One row per cluster, (..., P, d).
    weights
        Positive weights of the participants, (..., k). If None, all are one.
    """
    xp = array_namespace(values)
    membership = _weighted(one_hot(assignments, fallback.shape[-2], dtype=values.dtype), weights)
    return divide_sums(sums_by_cluster(values, membership), xp.sum(membership, axis=-2), fallback)


def _weighted(membership: Array, weights: Array | None) -> Array:
    return membership if weights is None else membership * weights[..., None]


def divide_sums(sums: Array, sizes: Array, fallback: Array) -> Array:
    """Divide the clusters' sums (..., P, d) by their sizes (..., P); a cluster of size 0 keeps its fallback."""
    xp = array_namespace(sums)
    sizes = sizes[..., None]
    occupied = sizes > 0
    return xp.where(occupied, sums / xp.where(occupied, sizes, xp.ones_like(sizes)), fallback)


def local_momentum_descent(
    task: Task,
    points: Array,
    buffers: Array,
    clients: Array,
    generator: np.random.Generator,
    *,
    step_size: float,
    momentum: float,
    local_steps: int,
    update_order: str = "momentum-first",
) -> tuple[Array, Array]:
    """Run H steps of momentum gradient descent on every participant: CFL-MGD (4).

    Parameters
    ----------
    task, clients, generator
        Task, participants (..., k), and source of their samples.
    points, buffers
        Each participant's model and momentum buffer, (..., k, d).
    step_size, momentum, local_steps
        Parameters eta, beta and H of the paper.
    update_order
        ``"momentum-first"`` updates u and then chi, as (4) and the indices of line 20 of Algorithm 1;
        ``"as-printed"`` takes the equations of line 20 one after the other, so that chi moves by the
        buffer of the previous step.

    Returns
    -------
    tuple
        Models and buffers after H steps, both (..., k, d).
    """
    if hasattr(task, "local_training") and update_order == "momentum-first":
        return cast(TrainingTask, task).local_training(
            points,
            buffers,
            None,
            clients,
            generator,
            step_size=step_size,
            momentum=momentum,
            proximal=0.0,
            local_steps=local_steps,
        )
    for _ in range(local_steps):
        updated = momentum * buffers + task.gradients(points, clients, generator)
        direction = updated if update_order == "momentum-first" else buffers
        points, buffers = points - step_size * direction, updated
    return points, buffers


def local_descent(
    task: Task,
    points: Array,
    clients: Array,
    generator: np.random.Generator,
    *,
    step_size: float,
    local_steps: int,
    proximal: float = 0.0,
    anchors: Array | None = None,
    corrections: Array | None = None,
) -> Array:
    """Run H gradient steps on phi_i(w) + proximal / 2 ||w - anchor||^2 + <correction, w> on every participant.

    Parameters
    ----------
    task, clients, generator
        Task, participants (..., k), and source of their samples.
    points
        Each participant's starting point, (..., k, d).
    step_size, local_steps, proximal
        Parameters eta, H and mu.
    anchors
        Each participant's centre of the proximal term, (..., k, d). If None, its starting point.
    corrections
        Vector that is added to each participant's gradients, (..., k, d). If None, zero. Not with a proximal term.

    Returns
    -------
    Array
        Models after H steps, (..., k, d).
    """
    if corrections is not None:
        for _ in range(local_steps):
            points = points - step_size * (task.gradients(points, clients, generator) + corrections)
        return points
    anchors = points if anchors is None else anchors
    if hasattr(task, "local_training"):
        return cast(TrainingTask, task).local_training(
            points,
            None,
            anchors,
            clients,
            generator,
            step_size=step_size,
            momentum=0.0,
            proximal=proximal,
            local_steps=local_steps,
        )[0]
    for _ in range(local_steps):
        gradients = task.gradients(points, clients, generator)
        if proximal:
            gradients = gradients + proximal * (points - anchors)
        points = points - step_size * gradients
    return points


def average_local_training(
    task: Task,
    models: Array,
    clients: Array,
    randomness: Randomness,
    *,
    step_size: float,
    local_steps: int,
    proximal: float = 0.0,
    momentum: float = 0.0,
    update_order: str = "momentum-first",
    reset_momentum: bool = False,
    buffers: Array | None = None,
    assignments: Array | None = None,
    weights: Array | None = None,
    checked: bool = False,
) -> tuple[Array, Array | None, Array]:
    """Train every participant from its cluster's model and average by cluster: CFL-MGD (6) and line 16.

    A task with ``cluster_training`` returns the sums directly, without storing every participant's model.

    Parameters
    ----------
    task, models, clients, randomness
        Server models (..., P, d), participants (..., k), and the source of their samples.
    step_size, local_steps, proximal
        Parameters eta, H, and the coefficient of the proximal term around the start, for training without a buffer.
    momentum, update_order
        Parameters of training with a momentum buffer, see ``local_momentum_descent``.
    reset_momentum
        Whether participants start with zero momentum instead of ``buffers``.
    buffers
        Initial momentum of each cluster's participants, (..., P, d). If None, no momentum.
    assignments
        Cluster of each participant, integers (..., k). If None, assigned by ``choose_clusters``.
    weights
        Weights of the participants in the averages, (..., k), see ``client_weights``. If None, all are one.
    checked
        Whether to raise an error for a participant's model that is not finite.

    Returns
    -------
    tuple
        Averages of the members' models and momentum buffers, (..., P, d), unchanged for an empty cluster, the latter
        None where the participants had none; and the cluster of each participant, integers (..., k).

    Raises
    ------
    InvalidArgument
        If ``checked`` and a model is not finite; the message names the client.
    """
    carried = 0 * buffers if buffers is not None and reset_momentum else buffers
    if hasattr(task, "cluster_training") and update_order == "momentum-first":
        before = copy.deepcopy(randomness.gradient) if checked else None
        assigned, sums, buffer_sums = cast(TrainingTask, task).cluster_training(
            models,
            carried,
            clients,
            argmin_smallest_index if assignments is None else assignments,
            randomness.assignment,
            randomness.gradient,
            weights=weights,
            step_size=step_size,
            momentum=momentum,
            proximal=proximal,
            local_steps=local_steps,
        )
        xp = array_namespace(sums)
        if before is not None and not bool(xp.all(xp.isfinite(sums))):
            # repeat on the same samples, client by client, to find the client whose model is not finite
            start = rows(models, assigned)
            points = local_descent(
                task, start, clients, before, step_size=step_size, local_steps=local_steps, proximal=proximal
            )
            check_finite(points, clients, step_size)
        sizes = cluster_sizes(assigned, models.shape[-2], dtype=models.dtype, weights=weights)
        if buffers is not None:
            buffers = divide_sums(buffer_sums, sizes, fallback=buffers)
        return divide_sums(sums, sizes, fallback=models), buffers, assigned
    if assignments is None:
        assignments = choose_clusters(task, models, clients, randomness.assignment)
    start = rows(models, assignments)
    if buffers is None:
        points = local_descent(
            task,
            start,
            clients,
            randomness.gradient,
            step_size=step_size,
            local_steps=local_steps,
            proximal=proximal,
        )
    else:
        points, updated_buffers = local_momentum_descent(
            task,
            start,
            rows(carried, assignments),
            clients,
            randomness.gradient,
            step_size=step_size,
            momentum=momentum,
            local_steps=local_steps,
            update_order=update_order,
        )
        buffers = average_by_cluster(updated_buffers, assignments, fallback=buffers, weights=weights)
    if checked:
        check_finite(points, clients, step_size)
    averages = average_by_cluster(points, assignments, fallback=models, weights=weights)
    return averages, buffers, assignments
