"""Run an algorithm on a task and record a trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from clusterproof.algorithms.arrays import Array, to_numpy
from clusterproof.algorithms.protocol import Algorithm, State, Task
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.trace import Trace, distances
from clusterproof.algorithms.validation import InvalidArgument, check_count, check_seed


def run(
    algorithm: Algorithm[Any],
    task: Task,
    *,
    rounds: int,
    seed: int = 0,
    replicates: int | None = None,
    initial: Array | None = None,
    progress: Callable[[int], None] | None = None,
) -> Trace:
    """Run ``rounds`` communication rounds from a seed.

    Parameters
    ----------
    algorithm, task
        The algorithm and the task on which it runs.
    rounds
        Number of rounds (T), at least 0.
    seed
        Seed of the run; the same seed gives bitwise identical results.
    replicates
        Independent repetitions, computed together along a leading axis; None for a single run
        without that axis.
    initial
        Starting models (P, d), shared by all replicates, or (replicates, P, d). If None,
        the task draws them, one set per replicate.
    progress
        Called with the number of finished rounds after each round.

    Returns
    -------
    Trace
        Models, assignments and errors by round.

    Raises
    ------
    InvalidArgument
        If a number is out of range, or ``initial`` has the wrong shape or is not finite.
    """
    check_count("rounds", rounds, at_least=0, remedy="give the number of communication rounds")
    check_seed(seed)
    if replicates is not None:
        check_count("replicates", replicates, at_least=1, remedy="leave it out for a single run")
    shape = () if replicates is None else (replicates,)
    count = algorithm.model_count(task)
    randomness = Randomness.from_seed(seed, str(task.settings["task"]), algorithm.name)
    if initial is None:
        models = algorithm.draw_models(task, shape, randomness)
    else:
        models = _broadcast_initial(initial, (*shape, count, task.dimension))
    state: State = algorithm.initialise(models, task)
    recorded = [to_numpy(state.models)]
    assignments = []
    for done in range(rounds):
        state = algorithm.step(state, task, randomness)
        recorded.append(to_numpy(state.models))
        assignments.append(_spread(state, shape, task.clients))
        if progress is not None:
            progress(done + 1)
    history = np.stack(recorded)
    references = task.reference_optima(algorithm.target)
    return Trace(
        models=history,
        assignments=np.stack(assignments) if assignments else np.empty((0, *shape, task.clients), int),
        errors=None if references is None else distances(history, references),
        labels=np.asarray(task.labels),
        settings={
            "algorithm": algorithm.settings,
            **({} if algorithm.dynamics is algorithm else {"dynamics": algorithm.dynamics.settings}),
            "task": dict(task.settings),
            "rounds": rounds,
            "seed": seed,
            "replicates": replicates,
        },
    )


def _broadcast_initial(initial: Array, shape: tuple[int, ...]) -> Array:
    """Return starting models broadcast to ``shape``."""
    if tuple(initial.shape) not in (shape, shape[-2:]):
        raise InvalidArgument(
            "initial",
            tuple(initial.shape),
            f"must have the shape {shape[-2:]} or {shape}",
            "give one starting model for each of the algorithm's models",
        )
    xp = array_namespace(initial)
    if not bool(xp.all(xp.isfinite(initial))):
        raise InvalidArgument("initial", "...", "must be finite", "remove NaN and infinite entries")
    return xp.asarray(xp.broadcast_to(initial, shape), copy=True)


def _spread(state: State, shape: tuple[int, ...], clients: int) -> np.ndarray:
    """Return the assignments of all clients, -1 for absent ones."""
    chosen = to_numpy(state.assignments)
    chosen = np.broadcast_to(chosen, (*shape, chosen.shape[-1]))
    participants = to_numpy(state.clients)
    smallest = np.int16 if clients <= np.iinfo(np.int16).max else np.int32
    if participants.shape[-1] == clients and (participants == np.arange(clients)).all():
        return chosen.astype(smallest)
    participants = np.broadcast_to(participants, chosen.shape)
    spread = np.full((*shape, clients), -1, dtype=smallest)
    np.put_along_axis(spread, participants, chosen.astype(smallest), axis=-1)
    return spread
