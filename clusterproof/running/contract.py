"""Check the values that an algorithm's methods return, for ``run`` and for the training of networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from clusterproof.algorithms.base import Algorithm, State, Task
from clusterproof.common.arrays import Array, to_numpy
from clusterproof.common.validation import InvalidArgument

TARGETS = ("clusters", "pooled", "clients")


@dataclass(frozen=True)
class Guard:
    """Checks of the values that an algorithm returns on one task.

    Each check raises ``InvalidArgument`` for a wrong value.

    Attributes
    ----------
    argument, name
        Names for error messages: the argument that selects the algorithm, and the name of the algorithm.
    leading
        Shape of the replicate axes of the models.
    library
        Class of the arrays, such as ``numpy.ndarray``.
    dtype
        Type of the models, such as ``"float32"``; None allows any type.
    """

    argument: str
    name: str
    leading: tuple[int, ...]
    library: type
    dtype: str | None = None

    def check_count(self, algorithm: Algorithm[Any], task: Task) -> int:
        """Check that the target is known and the number of models is positive; return this number."""
        if algorithm.target not in TARGETS:
            rule = f"must have a `target` among {', '.join(TARGETS)}, not {algorithm.target!r}"
            raise self._refused(rule, "state which minimisers the models approximate")
        count: object = algorithm.model_count(task)
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
            rule = f"must return an integer, at least 1, from `model_count`, not {count!r}"
            raise self._refused(rule, "return the number of the server's models")
        return int(count)

    def check_models(self, method: str, models: Any, shape: tuple[int, ...]) -> None:
        """Check that a method returns models of the given shape; ``shape`` omits the leading axes."""
        given, wanted = self._form(models), (*self.leading, *shape)
        typed = "" if self.dtype is None else f" of type {self.dtype}"
        if given != f"{wanted}{typed}":
            kind = "a tensor" if self.library.__name__ == "Tensor" else "an array"
            rule = f"must return models from `{method}` as {kind} {wanted}{typed}, not {given}"
            raise self._refused(rule, "keep the shape and type of the models")
        if isinstance(models, np.ndarray) and models.dtype.kind != "f":
            rule = f"must return models from `{method}` as floating-point numbers, not of type {models.dtype}"
            raise self._refused(rule, "keep the shape and type of the models")

    def check_state(self, method: str, state: Any, kind: type[State], shape: tuple[int, ...]) -> None:
        """Check that a method returns a state of the given class, with models of the given shape."""
        if type(state) is not kind:
            rule = f"must return a {kind.__name__} from `{method}`, not {type(state).__name__}"
            raise self._refused(rule, "return the class in the annotation of `initialise`")
        self.check_models(method, state.models, shape)

    def check_round(self, before: State, after: Any, clients: int, models: int) -> None:
        """Check that a round returns a state of the same class, with one cluster per participant.

        Parameters
        ----------
        before, after
            States before and after the round.
        clients, models
            Upper limits (exclusive) of the participants' indices, and of the indices of their models.
        """
        self.check_state("step", after, type(before), tuple(before.models.shape)[len(self.leading) :])
        remedy = "return the participants' indices as `clients`, and their clusters (or -1) as `assignments`"
        sizes = []
        for attribute, count, least in (("clients", clients, 0), ("assignments", models, -1)):
            indices = getattr(after, attribute)
            values = to_numpy(indices) if isinstance(indices, self.library) else None
            lead = None if values is None else values.shape[:-1]
            if values is None or values.dtype.kind not in "iu" or lead not in ((), self.leading):
                given = self._form(indices, typed=True)
                rule = f"must return `{attribute}` from `step` as one integer per participant, not {given}"
                raise self._refused(rule, remedy)
            outside = values[(values < least) | (values >= count)]
            if outside.size:
                rule = (
                    f"must return `{attribute}` from `step` between {least} and {count - 1}, not {outside[0]}"
                )
                raise self._refused(rule, remedy)
            sizes.append(values.shape[-1])
        if sizes[0] != sizes[1]:
            rule = f"must return {sizes[0]} assignments from `step`, one per participant, not {sizes[1]}"
            raise self._refused(rule, remedy)

    def check_unwritten(self, state: State, copies: Mapping[str, np.ndarray]) -> None:
        """Check that a round has not changed the arrays of the state before the round.

        ``copies`` is the result of ``copy_arrays`` before the round.
        """
        name = written(state, copies)
        if name is not None:
            rule = f"must leave the state that `step` receives unchanged; it writes to the state's `{name}`"
            raise self._refused(rule, "compute a new array, such as x = x - step in place of x -= step")

    def _form(self, array: Array, typed: bool = False) -> str:
        """Describe an array by its shape, and by its dtype if ``typed``, or by its class if the class is wrong."""
        if not isinstance(array, self.library):
            return type(array).__name__
        values: Array = array  # an array of the library, whose class has no static type
        shape = str(tuple(values.shape))
        return f"{shape} of type {dtype_of(values)}" if typed or self.dtype is not None else shape

    def _refused(self, rule: str, remedy: str) -> InvalidArgument:
        return InvalidArgument(self.argument, self.name, rule, remedy)


def is_custom(algorithm: Algorithm[Any]) -> bool:
    """Return whether a user wrote the algorithm.

    Only for these algorithms, each round is checked for changes of the given state. Tests check this library's
    algorithms.
    """
    return not type(algorithm).__module__.startswith("clusterproof.")


def dtype_of(array: Array) -> str:
    """Return the name of an array's number type, such as ``"float32"``."""
    return str(array.dtype).removeprefix("torch.")


def arrays_of(value: Any, name: str = "") -> Iterator[tuple[str, Array]]:
    """Yield name and value of each array in a state, including arrays in dataclasses, lists and mappings."""
    if is_array_api_obj(value):
        yield name, value
    elif is_dataclass(value):
        for field in fields(value):
            yield from arrays_of(getattr(value, field.name), f"{name}.{field.name}".strip("."))
    elif isinstance(value, list | tuple):
        for index, element in enumerate(value):
            yield from arrays_of(element, f"{name}.{index}")
    elif isinstance(value, Mapping):
        for key, element in value.items():
            yield from arrays_of(element, f"{name}.{key}")


def copy_arrays(state: State) -> dict[str, np.ndarray]:
    """Copy the arrays in a state to the host; index the copies by name."""
    return {name: np.array(to_numpy(array)) for name, array in arrays_of(state)}


def written(state: State, copies: Mapping[str, np.ndarray]) -> str | None:
    """Return the name of an array in a state that differs from the copy, or None if all arrays are equal."""
    for name, array in arrays_of(state):
        if name not in copies or not np.array_equal(to_numpy(array), copies[name], equal_nan=True):
            return name
    return None
