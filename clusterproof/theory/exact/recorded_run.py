"""Runs of CFL-MGD that record the clients' gradients and momentum, for claims about single clients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clusterproof.algorithms import CFLMGD, Task
from clusterproof.common.randomness import Randomness
from clusterproof.synthetic.wrapped import WrappedTask


@dataclass(eq=False)
class RecordedTask(WrappedTask):
    """A task that records every gradient that it returns.

    Attributes
    ----------
    task
        The recorded task.
    drawn
        Gradients (..., m, d), one array per round.
    """

    task: Task
    drawn: list[np.ndarray] = field(default_factory=list)

    def losses(self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return the losses of the recorded task, (..., k, P)."""
        return np.asarray(self.task.losses(models, clients, generator))

    def gradients(
        self, points: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return the gradients of the recorded task, (..., k, d)."""
        drawn = np.asarray(self.task.gradients(points, clients, generator))
        self.drawn.append(drawn)
        return drawn


@dataclass(frozen=True)
class RecordedRun:
    """A run with the gradients and momentum of every client. Without replicates, that axis is missing.

    Attributes
    ----------
    models
        (rounds + 1, replicates, P, d).
    assignments
        C^t as chosen clusters, (rounds, replicates, m).
    gradients
        g_i^t, (rounds, replicates, m, d).
    buffers
        u_i^t as each client holds it before round t, after line 15 of the previous round: (rounds + 1, replicates, m,
        d).
    """

    models: np.ndarray
    assignments: np.ndarray
    gradients: np.ndarray
    buffers: np.ndarray


def record(
    task: Any,
    algorithm: CFLMGD,
    *,
    rounds: int,
    initial: np.ndarray,
    seed: int = 0,
) -> RecordedRun:
    """Run option I with clients' momentum and full participation, and record everything.

    Parameters
    ----------
    task
        A mixture, or a ``RecordedTask``-like object with the attribute ``drawn``.
    algorithm
        The algorithm, with ``momentum_owner="client"``.
    rounds
        T, at least 1.
    initial
        (P, d) or (replicates, P, d).
    seed
        Seed of the run.
    """
    recorded = task if hasattr(task, "drawn") else RecordedTask(task)
    randomness = Randomness.from_seed(seed, "recorded", algorithm.name)
    state = algorithm.initialise(initial, recorded)
    models, buffers, assignments = [state.models], [state.buffers], []
    for _ in range(rounds):
        state = algorithm.step(state, recorded, randomness)
        models.append(state.models)
        buffers.append(state.buffers)
        assignments.append(np.asarray(state.assignments))
    return RecordedRun(
        models=np.stack(models),
        assignments=np.stack(assignments),
        gradients=np.stack(recorded.drawn),
        buffers=np.stack(buffers),
    )
