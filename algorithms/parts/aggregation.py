"""The server's and the clients' elementary steps, from which the algorithms are composed."""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from clusterproof.algorithms.arrays import Array, argmin_smallest_index, one_hot, sums_by_cluster
from clusterproof.algorithms.protocol import LocalTrainingTask, Task


def choose_clusters(task: Task, models: Array, clients: Array, generator: np.random.Generator) -> Array:
    """Assign each participant to the model of smallest loss: CFL-MGD (8); ties to the first.

    Parameters
    ----------
    task
        Answers the losses.
    models
        Server models (..., P, d).
    clients
        Participants (..., k).
    generator
        Source of the samples that the losses are evaluated on.

    Returns
    -------
    Array
        Integers (..., k).
    """
    return argmin_smallest_index(task.losses(models, clients, generator))


def cluster_sizes(assignments: Array, clusters: int, *, dtype: object, weights: Array | None = None) -> Array:
    """Count the participants of each cluster, or add up their weights (..., k): floating numbers (..., P)."""
    membership = _weighted(one_hot(assignments, clusters, dtype=dtype), weights)
    return array_namespace(assignments).sum(membership, axis=-2)


def average_by_cluster(
    values: Array, assignments: Array, fallback: Array, weights: Array | None = None
) -> Array:
    """Average over each cluster's participants; an empty cluster keeps its fallback.

    CFL-MGD (6) divides 0 by 0 for an empty cluster; the fallback settles that.

    Parameters
    ----------
    values
        One row a participant, (..., k, d).
    assignments
        Integers (..., k).
    fallback
        One row a cluster, (..., P, d).
    weights
        Of the participants, positive (..., k); ones where None.
    """
    xp = array_namespace(values)
    membership = _weighted(one_hot(assignments, fallback.shape[-2], dtype=values.dtype), weights)
    return divide_sums(sums_by_cluster(values, membership), xp.sum(membership, axis=-2), fallback)


def _weighted(membership: Array, weights: Array | None) -> Array:
    """Multiply memberships (..., k, P) by the participants' weights (..., k)."""
    return membership if weights is None else membership * weights[..., None]


def divide_sums(sums: Array, sizes: Array, fallback: Array) -> Array:
    """Divide each cluster's sum by its size; a cluster of size 0 keeps its fallback.

    Parameters
    ----------
    sums, fallback
        One row a cluster, (..., P, d).
    sizes
        Numbers of members, or sums of their weights, (..., P).
    """
    xp = array_namespace(sums)
    sizes = sizes[..., None]
    occupied = sizes > 0
    return xp.where(occupied, sums / xp.where(occupied, sizes, xp.ones_like(sizes)), fallback)


def local_descent(
    task: Task,
    points: Array,
    clients: Array,
    generator: np.random.Generator,
    *,
    step_size: float,
    local_steps: int,
) -> Array:
    """Run gradient steps on every participant.

    Parameters
    ----------
    task
        Answers the gradients.
    points
        Each participant's model, (..., k, d).
    clients
        Participants (..., k).
    generator
        Source of the samples of the gradients.
    step_size, local_steps
        Step size and number of steps.

    Returns
    -------
    Array
        Models after the steps, (..., k, d).
    """
    return local_proximal_descent(
        task,
        points,
        points,
        clients,
        generator,
        step_size=step_size,
        proximal=0.0,
        local_steps=local_steps,
    )


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
    task
        Answers the gradients.
    points, buffers
        Each participant's model and momentum buffer, (..., k, d).
    clients
        Participants (..., k).
    generator
        Source of the samples of the gradients.
    step_size, momentum, local_steps
        The paper's eta, beta and H.
    update_order
        ``"momentum-first"`` updates u and then chi, as (4); ``"as-printed"`` moves chi by the
        buffer of the step before, as line 20 of Algorithm 1 lists it.

    Returns
    -------
    tuple
        Models and buffers after H steps, both (..., k, d).
    """
    if isinstance(task, LocalTrainingTask) and update_order == "momentum-first":
        return task.local_training(
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


def local_proximal_descent(
    task: Task,
    points: Array,
    anchors: Array,
    clients: Array,
    generator: np.random.Generator,
    *,
    step_size: float,
    proximal: float,
    local_steps: int,
) -> Array:
    """Run H gradient steps on phi_i(w) + proximal / 2 ||w - anchor||^2 on every participant.

    Parameters
    ----------
    task
        Answers the gradients.
    points, anchors
        Where each participant starts and what it is pulled to, (..., k, d).
    clients
        Participants (..., k).
    generator
        Source of the samples of the gradients.
    step_size, proximal, local_steps
        eta, mu and H.

    Returns
    -------
    Array
        Models after H steps, (..., k, d).
    """
    if isinstance(task, LocalTrainingTask):
        return task.local_training(
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
        slopes = task.gradients(points, clients, generator)
        if proximal:
            slopes = slopes + proximal * (points - anchors)
        points = points - step_size * slopes
    return points
