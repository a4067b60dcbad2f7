"""Run an algorithm on a task and record a trace."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import is_array_api_obj

from clusterproof.algorithms.base import Algorithm, State, Task, inherits_from_library
from clusterproof.common.arrays import Array, array_namespace, convert_array, to_numpy
from clusterproof.common.calls import checked
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import (
    InvalidArgument,
    check_count,
    check_instance,
    check_list,
    check_seed,
)
from clusterproof.running.contract import Guard, copy_arrays, is_custom, written
from clusterproof.running.trace import Trace, distances

Measure: TypeAlias = Callable[[Any, Any], Any]
"""Function of the state and the task, such as the suboptimality f(x) - f*."""


class Recorder:
    """Recorder that copies values of the states to the host.

    Parameters
    ----------
    record
        Names of the state's fields to record.
    measure
        Functions of state and task, indexed by name.
    task
        The task of the run.

    Raises
    ------
    InvalidArgument
        If a name is not a string, or a named measure is not a function.
    """

    def __init__(self, record: Sequence[str], measure: Mapping[str, Measure], task: Task) -> None:
        check_instance("measure", measure, Mapping, 'write {"gap": lambda state, task: ...}')
        check_list("record", record, str, 'give names of the state\'s fields, such as ("controls",)')
        functions: Mapping[Any, Any] = measure  # values from the user, not yet checked
        for name, function in functions.items():
            if not isinstance(name, str) or not _takes_two(function):
                rule = "must map names to functions of (state, task)"
                raise InvalidArgument(
                    "measure", {name: function}, rule, 'write {"gap": lambda state, task: ...}'
                )
        self._readers: dict[tuple[str, str], Callable[[State], Any]] = {}
        for name in record:
            self._readers["record", name] = attrgetter(name)
        for name, function in measure.items():
            self._readers["measure", name] = partial(_evaluate, name, function, task)
        self._models: list[np.ndarray] = []
        self._values: dict[tuple[str, str], list[np.ndarray]] = {key: [] for key in self._readers}

    def add(self, state: State) -> None:
        """Copy the values to record from a state.

        Raises
        ------
        InvalidArgument
            If the state has no field with a requested name, a value is not numeric or changes shape, or a function
            changes the state.
        """
        self._models.append(np.array(to_numpy(state.models)))
        for (kind, name), read in self._readers.items():
            try:
                value = read(state)
            except AttributeError as error:
                if kind == "measure":
                    raise
                known = ", ".join(field.name for field in fields(state))
                rule = f"must be a field of {type(state).__name__}, which has {known}"
                raise InvalidArgument(kind, name, rule, "correct the name") from error
            values = self._values[kind, name]
            array = np.array(to_numpy(value) if is_array_api_obj(value) else value)
            if array.dtype.kind not in "biuf":
                rule = (
                    f"must be numbers after every round, not {type(value).__name__} after round {len(values)}"
                )
                raise InvalidArgument(
                    kind, name, rule, "leave it out, because assignments are always recorded"
                )
            if values and array.shape != values[0].shape:
                rule = (
                    f"must keep the shape {values[0].shape}; it has {array.shape} after round {len(values)}"
                )
                raise InvalidArgument(kind, name, rule, "record an array with a constant shape")
            values.append(array)

    @property
    def last_models(self) -> np.ndarray:
        """Models after the last round, (..., P, d)."""
        return self._models[-1]

    @property
    def models(self) -> np.ndarray:
        """Models before the first round and after each round, (rounds + 1, ..., P, d)."""
        return np.stack(self._models)

    def values(self, kind: str) -> dict[str, np.ndarray]:
        """Return the arrays (rounds + 1, ...) for ``"record"`` or ``"measure"``, indexed by name."""
        return {name: np.stack(values) for (its, name), values in self._values.items() if its == kind}


def _takes_two(function: Any) -> bool:
    """Return whether a value is callable and its signature, if known, allows a state and a task as arguments."""
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # the function has no signature
        pass
    return True


def _evaluate(name: str, function: Measure, task: Task, state: State) -> Any:
    copies = copy_arrays(state)
    value = function(state, task)
    if (changed := written(state, copies)) is not None:
        rule = f"must leave the state unchanged; it writes to its `{changed}`"
        raise InvalidArgument("measure", name, rule, "compute a new array")
    return value


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
