"""Which client's training first led to numbers that are not finite."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
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
        The first whose gradient or local model is not finite; None where each of them was.
    cluster
        Of that client, or of the first model that is not finite; None where that is unknown.
    """

    client: int | None
    cluster: int | None


class _Found(BaseException):
    """Raised out of a round that is carried out again, by the first client that goes wrong.

    No ``except Exception`` on its way out of a stranger's algorithm takes it for an error.
    """

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
    """Carry out a round again and look at everything that clients compute.

    Parameters
    ----------
    algorithm, state, task, randomness
        As before the round.
    outcome
        State after it; None where the algorithm stopped by itself.
    assignments
        Last known cluster of every client before the round, (m,); -1 if there is none.
    """
    found = Culprit(None, None)
    try:
        algorithm.step(state, _watched(task), randomness)
    except _Found as stop:
        found = stop.culprit
    except InvalidArgument:
        pass  # the algorithm stops by itself, after something that no client computed
    known = assignments.copy()
    if outcome is not None:
        known[to_numpy(outcome.clients)] = to_numpy(outcome.assignments)
    cluster = found.cluster
    if cluster is None and found.client is not None and known[found.client] >= 0:
        cluster = int(known[found.client])
    if cluster is None and outcome is not None:
        harmed = np.flatnonzero(~np.isfinite(to_numpy(outcome.models)).all(axis=-1))
        cluster = int(harmed[0]) if len(harmed) and algorithm.target == "clusters" else None
    return Culprit(found.client, cluster)


def describe(culprit: Culprit, done: int) -> str:
    """Say in which round, at which client and in which cluster a run went wrong."""
    place = "the server's model" if culprit.client is None else f"the model of client {culprit.client}"
    if culprit.cluster is not None:
        place = f"{place} in cluster {culprit.cluster}"
    return f"led in round {done} to numbers that are not finite, in {place}"


def _watched(task: Task) -> Task:
    """Give a copy of a task that raises as soon as what it tells a client is not finite."""
    kind = type(task)

    def check(values: Array, clients: Array) -> None:
        finite = np.isfinite(to_numpy(values))
        good = finite.reshape(*finite.shape[:-1], -1).all(axis=-1)
        if not good.all():
            raise _Found(int(np.broadcast_to(to_numpy(clients), good.shape)[~good][0]), None)

    # mypy knows no base that is a value
    class Watched(kind):  # type: ignore[misc, valid-type]
        """The task, watched."""

        def gradients(self, points: Array, clients: Array, generator: np.random.Generator) -> Array:
            answer = super().gradients(points, clients, generator)
            check(answer, clients)
            return answer

        def gradient_sums(
            self, models: Array, clients: Array, assignments: Array, generator: np.random.Generator
        ) -> Array:
            # one by one, on the same batches: a sum does not say whose summand was not finite
            self.gradients(rows(models, assignments), clients, copy.deepcopy(generator))
            return super().gradient_sums(models, clients, assignments, generator)

        def losses_and_gradients(
            self, models: Array, clients: Array, generator: np.random.Generator
        ) -> tuple[Array, Array]:
            losses, gradients = super().losses_and_gradients(models, clients, generator)
            finite = np.isfinite(to_numpy(gradients)).all(axis=-1)
            if not finite.all():
                client, model = np.argwhere(~finite)[0]
                raise _Found(int(to_numpy(clients)[client]), int(model))
            return losses, gradients

        def local_training(
            self,
            points: Array,
            buffers: Array | None,
            anchors: Array | None,
            clients: Array,
            *rest: Any,
            **how: Any,
        ) -> tuple[Array, Array]:
            trained, carried = super().local_training(points, buffers, anchors, clients, *rest, **how)
            check(trained, clients)
            return trained, carried

        def meta_training(
            self, points: Array, clients: Array, generator: np.random.Generator, **how: Any
        ) -> Array:
            trained = super().meta_training(points, clients, generator, **how)
            check(trained, clients)
            return trained

        def cluster_training(
            self,
            models: Array,
            buffers: Array | None,
            clients: Array,
            assignments: Array | Callable[[Array], Array],
            losses_generator: np.random.Generator,
            generator: np.random.Generator,
            **how: Any,
        ) -> tuple[Array, Array, Array | None]:
            # one by one, on the same samples: a sum does not say whose summand was not finite
            chosen = assignments
            if callable(chosen):
                chosen = chosen(self.losses(models, clients, copy.deepcopy(losses_generator)))
            start = rows(models, chosen)
            own = None if buffers is None else rows(buffers, chosen)
            motion = {name: value for name, value in how.items() if name != "weights"}
            self.local_training(start, own, start, clients, copy.deepcopy(generator), **motion)
            sums: tuple[Array, Array, Array | None] = super().cluster_training(
                models, buffers, clients, assignments, losses_generator, generator, **how
            )
            return sums

    watched = object.__new__(Watched)
    watched.__dict__.update(task.__dict__)
    return watched
