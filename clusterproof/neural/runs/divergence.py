"""Which client's training first led to numbers that are not finite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from clusterproof.algorithms import Algorithm, State, sum_gradients
from clusterproof.algorithms.arrays import to_numpy
from clusterproof.algorithms.protocol import Task
from clusterproof.algorithms.randomness import Randomness

Culprit: TypeAlias = tuple[int | None, int | None]
"""Where a round went wrong: the first client whose gradient or local model is not finite, None if each of them was; and
the cluster of that client, or of the first model that is not finite, None if that is unknown."""

WATCHED = {
    "gradients": (1, 0),
    "losses_and_gradients": (1, 1),
    "local_training": (3, 0),
    "meta_training": (1, 0),
    "reshuffled_training": (1, 0),
}
"""Methods of a task: which argument names the clients (k,), and which result is theirs, (k, d) or (k, P, d)."""


class _Found(BaseException):
    """Raised with the first client that goes wrong, and its cluster; no ``except Exception`` of a user catches it."""


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
    client, cluster = None, None
    try:
        algorithm.step(state, _watched(task), randomness)
    except _Found as found:
        client, cluster = found.args
    except Exception:  # the algorithm stops by itself, after something that no client computed
        pass
    known = assignments.copy()
    if outcome is not None:
        known[to_numpy(outcome.clients)] = to_numpy(outcome.assignments)
    if cluster is None and client is not None and known[client] >= 0:
        cluster = int(known[client])
    if cluster is None and outcome is not None and algorithm.target == "clusters":
        diverged = np.flatnonzero(~np.isfinite(to_numpy(outcome.models)).all(axis=-1))
        cluster = int(diverged[0]) if len(diverged) else None
    return client, cluster


def _watched(task: Task) -> Task:
    """Copy a task; the copy raises ``_Found`` at the first client whose numbers are not finite.

    A sum does not show whose summand was not finite. The copy therefore does not train whole clusters, and
    algorithms train the clients one by one, on the same samples.
    """
    kind: Any = type(task)

    def watched(name: str, position: int, part: int) -> Callable[..., Any]:
        method = getattr(kind, name)

        def checked(self: Any, *arguments: Any, **options: Any) -> Any:
            answer = method(self, *arguments, **options)
            values = to_numpy(answer[part] if isinstance(answer, tuple) else answer)
            for client, *model in np.argwhere(~np.isfinite(values).all(axis=-1)).tolist():
                raise _Found(int(to_numpy(arguments[position])[client]), model[0] if model else None)
            return answer

        return checked

    def absent(_: Any) -> None:
        raise AttributeError

    methods = {name: watched(name, *places) for name, places in WATCHED.items()}
    namespace = {**methods, "gradient_sums": sum_gradients, "cluster_training": property(absent)}
    copied: Task = object.__new__(type(kind.__name__, (kind,), namespace))
    copied.__dict__.update(task.__dict__)
    return copied
