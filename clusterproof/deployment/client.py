"""A client's side: answer the server's questions with its own data, by the algorithms' own local steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from clusterproof.algorithms import InvalidArgument, OneBatchTask, Randomness, Task
from clusterproof.algorithms.parts.aggregation import (
    local_descent,
    local_momentum_descent,
    local_proximal_descent,
)
from clusterproof.algorithms.parts.model_averaging import LocalMotion, average_local_training
from clusterproof.deployment.messages import Reply, Request


@dataclass(frozen=True)
class OwnData:
    """What one client has.

    Attributes
    ----------
    task
        Answers losses and gradients of this client.
    index
        Which of the task's clients this one is: 0 for a task of one client.
    samples
        How many examples it has.
    """

    task: Task
    index: int
    samples: int


def answer(data: OwnData, request: Request, randomness: Randomness) -> Reply:
    """Answer a question.

    Parameters
    ----------
    data
        The client's.
    request
        The server's question.
    randomness
        Source of the client's mini-batches, where its task draws any.

    Raises
    ------
    InvalidArgument
        If there is no such question.
    """
    task, me, arrays = data.task, np.array([data.index]), request.arrays
    if request.method == "losses":
        found = {"losses": task.losses(arrays["models"], me, randomness.assignment)[0]}
    elif request.method == "gradient":
        found = {"gradient": task.gradients(arrays["point"][None], me, randomness.gradient)[0]}
    elif request.method == "losses-and-gradients":
        losses, gradients = cast(OneBatchTask, task).losses_and_gradients(
            arrays["models"], me, randomness.assignment
        )
        found = {"losses": losses[0], "gradients": gradients[0]}
    elif request.method == "local-training":
        found = _train_locally(data, request, me, randomness)
    elif request.method == "cluster-training":
        found = _train_in_cluster(data, request, me, randomness)
    else:
        raise InvalidArgument("method", request.method, "must be a question that clients know", "update both")
    return Reply({name: np.asarray(array) for name, array in found.items()}, data.samples)


def _train_locally(
    data: OwnData, request: Request, me: np.ndarray, randomness: Randomness
) -> dict[str, np.ndarray]:
    """Local steps from a point, as ``LocalTrainingTask.local_training`` says."""
    arrays, numbers = request.arrays, request.numbers
    point = arrays["point"][None]
    steps: dict[str, Any] = {
        "step_size": float(numbers["step_size"]),
        "local_steps": int(numbers["local_steps"]),
    }
    if "buffer" in arrays:
        if numbers["proximal"]:
            raise InvalidArgument("proximal", numbers["proximal"], "excludes momentum", "leave one out")
        point, buffer = local_momentum_descent(
            data.task,
            point,
            arrays["buffer"][None],
            me,
            randomness.gradient,
            momentum=float(numbers["momentum"]),
            **steps,
        )
        return {"point": point[0], "buffer": buffer[0]}
    if "anchor" in arrays:
        point = local_proximal_descent(
            data.task,
            point,
            arrays["anchor"][None],
            me,
            randomness.gradient,
            proximal=float(numbers["proximal"]),
            **steps,
        )
    else:
        point = local_descent(data.task, point, me, randomness.gradient, **steps)
    return {"point": point[0]}


def _train_in_cluster(
    data: OwnData, request: Request, me: np.ndarray, randomness: Randomness
) -> dict[str, np.ndarray]:
    """A round of model averaging of which this client is the one participant."""
    arrays, numbers = request.arrays, request.numbers
    given = arrays.get("assignment")
    averages = average_local_training(
        data.task,
        arrays["models"],
        me,
        randomness,
        LocalMotion(
            step_size=float(numbers["step_size"]),
            local_steps=int(numbers["local_steps"]),
            momentum=float(numbers["momentum"]),
            proximal=float(numbers["proximal"]),
        ),
        assignments=None if given is None else np.array([int(given)]),
        buffers=arrays.get("buffers"),
    )
    cluster = int(averages.assignments[0])
    found = {"assignment": np.asarray(cluster), "point": averages.models[cluster]}
    return found if averages.buffers is None else {**found, "buffer": averages.buffers[cluster]}
