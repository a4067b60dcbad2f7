"""Run an algorithm on a task and record a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from clusterproof.algorithms.base import Algorithm, State, Task, inherits_from_library
from clusterproof.common.arrays import Array, array_namespace, convert_array, to_numpy
from clusterproof.common.calls import checked
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import InvalidArgument, check_count, check_instance, check_seed
from clusterproof.running.contract import Guard, copy_arrays, is_custom
from clusterproof.running.recording import Measure, Recorder
from clusterproof.running.trace import Trace, distances


class Diverged(InvalidArgument):
    """Error raised if the models of a run become NaN.

    Attributes
    ----------
    rounds
        Number of rounds before the first NaN; a run with this number of rounds has no NaN.
    """

    def __init__(self, argument: str, value: object, rule: str, remedy: str, *, rounds: int) -> None:
        super().__init__(argument, value, rule, remedy)
        self.rounds = rounds


@checked
def run(
    algorithm: Algorithm[Any],
    task: Task,
    *,
    rounds: int,
    seed: int = 0,
    replicates: int | None = None,
    initial: Array | None = None,
    progress: Callable[[int], None] | None = None,
    record: Sequence[str] = (),
    measure: Mapping[str, Measure] = MappingProxyType({}),
) -> Trace:
    """Run an algorithm on a task for ``rounds`` communication rounds.

    Parameters
    ----------
    algorithm, task
        The algorithm and the task on which it runs.
    rounds
        Number of rounds (T), at least 0.
    seed
        Seed of the run; equal seeds give bitwise identical results.
    replicates
        Number of independent runs, computed together along a leading axis. With None, there is a single run without
        this axis.
    initial
        Initial models (P, d), the same for all replicates, or (replicates, P, d). If None, the task draws separate
        initial models for each replicate. All number types except float32 are converted to float64.
    progress
        Function that is called after each round with the number of finished rounds.
    record
        Fields of the algorithm's state to record in each round, such as ``("controls",)``; see ``Trace.recorded``.
    measure
        Functions of (state, task) to evaluate before the first round and after each round, indexed by name, such as
        ``{"suboptimality": gap}``; see ``Trace.measured``. The functions must not change the state.

    Returns
    -------
    Trace
        Models, assignments and errors of every round.

    Raises
    ------
    Diverged
        If a model becomes NaN.
    InvalidArgument
        If algorithm or task is of another type, a number is out of range, or ``initial`` has the wrong shape or is not
        finite. If the algorithm breaks the protocol or writes to its state. If a recorded field or function is not
        numeric, or changes shape.
    """
    check_instance("algorithm", algorithm, Algorithm, "write run(algorithm, task, rounds=...)")
    check_instance("task", task, Task, "write run(algorithm, task, rounds=...)")
    check_count("rounds", rounds, at_least=0, remedy="give the number of communication rounds")
    check_seed(seed)
    if replicates is not None:
        check_count("replicates", replicates, at_least=1, remedy="leave it out for a single run")
    shape = () if replicates is None else (replicates,)
    guard = Guard("algorithm", algorithm.name, shape, np.ndarray)
    count = guard.check_count(algorithm, task)
    recorder = Recorder(record, measure, task)
    randomness = Randomness.from_seed(seed, str(task.settings["task"]), algorithm.name)
    if initial is None:
        models = algorithm.draw_models(task, shape, randomness)
    else:
        models = _broadcast_initial(initial, (*shape, count, task.dimension))
    guard = replace(guard, library=type(models))
    guard.check_models("draw_models", models, (count, task.dimension))
    models = convert_array("task", models, "must draw starting models of real numbers", "let it draw floats")
    state: State = algorithm.initialise(models, task)
    rows = task.clients if algorithm.target == "clients" else count
    kind = type(state) if isinstance(state, State) else State
    guard.check_state("initialise", state, kind, (rows, task.dimension))
    recorder.add(state)
    assignments = []
    for done in range(1, rounds + 1):
        copies = copy_arrays(state) if is_custom(algorithm) else None
        after = algorithm.step(state, task, randomness)
        guard.check_round(state, after, task.clients, rows)
        if copies is not None:
            guard.check_unwritten(state, copies)
        state = after
        recorder.add(state)
        _check_numbers(algorithm, recorder.last_models, done)
        assignments.append(_spread(state, shape, task.clients))
        if progress is not None:
            progress(done)
    history = recorder.models
    declared = algorithm.dynamics is not algorithm and not inherits_from_library(type(algorithm), "dynamics")
    references = task.reference_optima(algorithm.target)
    return Trace(
        models=history,
        assignments=np.stack(assignments) if assignments else np.empty((0, *shape, task.clients), int),
        errors=None if references is None else distances(history, references),
        labels=np.asarray(task.labels),
        settings={
            "algorithm": algorithm.settings,
            **({"dynamics": algorithm.dynamics.settings} if declared else {}),
            "target": algorithm.target,
            "task": dict(task.settings),
            "rounds": rounds,
            "seed": seed,
            "replicates": replicates,
        },
        recorded=recorder.values("record"),
        measured=recorder.values("measure"),
    )


def _check_numbers(algorithm: Algorithm[Any], models: np.ndarray, done: int) -> None:
    """Raise ``Diverged`` if a model is NaN after a round; the error states round, model and replicate."""
    wrong = np.isnan(models)
    if not wrong.any():
        return
    *replicate, model, _ = (int(index) for index in np.argwhere(wrong)[0])
    where = f"model {model}" + (f" of replicate {replicate[0]}" if replicate else "")
    argument, remedy = ("step_size", "lower it, or correct the algorithm")
    if argument not in algorithm.settings:
        argument, remedy = "algorithm", "correct the algorithm"
    value = algorithm.settings[argument]
    raise Diverged(argument, value, f"led in round {done} to NaN in {where}", remedy, rounds=done - 1)


def _broadcast_initial(initial: Array, shape: tuple[int, ...]) -> Array:
    """Check initial models, and broadcast them to ``shape``."""
    remedy = "give one initial model for each of the algorithm's models"
    initial = convert_array("initial", initial, "must be an array of real numbers", remedy)
    if tuple(initial.shape) not in (shape, shape[-2:]):
        raise InvalidArgument(
            "initial",
            tuple(initial.shape),
            f"must have the shape {shape[-2:]} or {shape}",
            remedy,
        )
    xp = array_namespace(initial)
    if not bool(xp.all(xp.isfinite(initial))):
        raise InvalidArgument("initial", ..., "must be finite", "remove NaN and infinite entries")
    return xp.asarray(xp.broadcast_to(initial, shape), copy=True)


def _spread(state: State, shape: tuple[int, ...], clients: int) -> np.ndarray:
    """Return the assignments of all clients; absent clients get -1."""
    chosen, participants = to_numpy(state.assignments), to_numpy(state.clients)
    if len(chosen.shape) == 1 and shape:
        chosen = np.broadcast_to(chosen, (*shape, chosen.shape[-1]))
    smallest = np.int16 if clients < 2**15 else np.int32
    if participants.shape[-1] == clients and (participants == np.arange(clients)).all():
        return chosen.astype(smallest)
    participants = np.broadcast_to(participants, chosen.shape)
    spread = np.full((*shape, clients), -1, dtype=smallest)
    np.put_along_axis(spread, participants, chosen.astype(smallest), axis=-1)
    return spread
