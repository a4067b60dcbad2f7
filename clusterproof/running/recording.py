"""Record values of a run's states: models, requested fields, and functions of state and task."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import is_array_api_obj

from clusterproof.algorithms.base import State, Task
from clusterproof.common.arrays import to_numpy
from clusterproof.common.validation import InvalidArgument, check_instance, check_list
from clusterproof.running.contract import copy_arrays, written

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
