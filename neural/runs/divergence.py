"""Which client's training first led to numbers that are not finite."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clusterproof.algorithms import Algorithm, InvalidArgument, State
from clusterproof.algorithms.arrays import Array, rows, to_numpy
from clusterproof.algorithms.protocol import Task
from clusterproof.algorithms.randomness import Randomness


@dataclass(frozen=True)
class Culprit:
    """Where a round went wrong.

    Attributes
    ----------
    client
        The first whose gradient or local model is not finite; None if each of them was.
    cluster
        Of that client, or of the first model that is not finite; None if that is unknown.
    """

    client: int | None
    cluster: int | None


class _Found(BaseException):
    """Raised by the first client that goes wrong; no ``except Exception`` of a user's algorithm catches it."""

    def __init__(self, client: int, cluster: int | None) -> None:
        super().__init__(client, cluster)
        self.culprit = Culprit(client, cluster)


def find_culprit(
    algorithm: Algorithm[Any],
    state: State,
    task: Task,
    randomness: Randomness,
    outcome: State | None,
    assignments: np.ndarray,
) -> Culprit:
    """Carry out a round again and check everything that clients compute.

    Parameters
    ----------
    algorithm, state, task, randomness
        As before the round.
    outcome
        State after it; None if the algorithm raised an error.
    assignments
        Last known cluster of every client before the round, (m,); -1 if there is none.
    """
    culprit = Culprit(None, None)
    try:
        algorithm.step(state, _watched(task), randomness)
    except _Found as found:
        culprit = found.culprit
    except InvalidArgument:
        pass  # the algorithm stops by itself, after something that no client computed
    known = assignments.copy()
    if outcome is not None:
        known[to_numpy(outcome.clients)] = to_numpy(outcome.assignments)
    if culprit.cluster is None and culprit.client is not None and known[culprit.client] >= 0:
        return replace(culprit, cluster=int(known[culprit.client]))
    if culprit.cluster is None and outcome is not None and algorithm.target == "clusters":
        diverged = np.flatnonzero(~np.isfinite(to_numpy(outcome.models)).all(axis=-1))
        return replace(culprit, cluster=int(diverged[0]) if len(diverged) else None)
    return culprit


def describe(culprit: Culprit, done: int) -> str:
    """Describe in which round, at which client and in which cluster a run went wrong."""
    place = "the server's model" if culprit.client is None else f"the model of client {culprit.client}"
    if culprit.cluster is not None:
        place = f"{place} in cluster {culprit.cluster}"
    return f"led in round {done} to numbers that are not finite, in {place}"


def _watched(task: Task) -> Task:
    """Copy a task; the copy raises ``_Found`` at the first client whose numbers are not finite."""
    kind: Any = type(task)

    def watched(name: str, position: int) -> Callable[..., Any]:
        """Wrap a method whose argument at ``position`` names the clients (k,) of its answer (..., k, d)."""
        method = getattr(kind, name)

        def checked(self: Any, *arguments: Any, **options: Any) -> Any:
            answer = method(self, *arguments, **options)
            values = to_numpy(answer[0] if isinstance(answer, tuple) else answer)
            finite = np.isfinite(values).all(axis=-1)
            if not finite.all():
                clients = np.broadcast_to(to_numpy(arguments[position]), finite.shape)
                raise _Found(int(clients[~finite][0]), None)
            return answer

        return checked

    def losses_and_gradients(
        self: Any, models: Array, clients: Array, generator: np.random.Generator
    ) -> tuple[Array, Array]:
        losses, gradients = kind.losses_and_gradients(self, models, clients, generator)
        finite = np.isfinite(to_numpy(gradients)).all(axis=-1)
        if not finite.all():
            client, model = np.argwhere(~finite)[0]
            raise _Found(int(to_numpy(clients)[client]), int(model))
        return losses, gradients

    # a sum does not show whose summand was not finite: first the clients one by one, on the same samples
    def gradient_sums(
        self: Any, models: Array, clients: Array, assignments: Array, generator: np.random.Generator
    ) -> Array:
        self.gradients(rows(models, assignments), clients, copy.deepcopy(generator))
        return kind.gradient_sums(self, models, clients, assignments, generator)

    def cluster_training(
        self: Any,
        models: Array,
        buffers: Array | None,
        clients: Array,
        assignments: Array | Callable[[Array], Array],
        losses_generator: np.random.Generator,
        generator: np.random.Generator,
        **options: Any,
    ) -> Any:
        chosen = assignments
        if callable(chosen):
            chosen = chosen(self.losses(models, clients, copy.deepcopy(losses_generator)))
        start = rows(models, chosen)
        momenta = None if buffers is None else rows(buffers, chosen)
        motion = {name: value for name, value in options.items() if name != "weights"}
        self.local_training(start, momenta, start, clients, copy.deepcopy(generator), **motion)
        return kind.cluster_training(
            self, models, buffers, clients, assignments, losses_generator, generator, **options
        )

    methods = {
        "gradients": watched("gradients", 1),
        "local_training": watched("local_training", 3),
        "meta_training": watched("meta_training", 1),
        "losses_and_gradients": losses_and_gradients,
        "gradient_sums": gradient_sums,
        "cluster_training": cluster_training,
    }
    copied: Task = object.__new__(type(kind.__name__, (kind,), methods))
    copied.__dict__.update(task.__dict__)
    return copied
