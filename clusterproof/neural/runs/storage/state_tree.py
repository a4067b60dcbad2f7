"""The arrays inside an algorithm's state: map over them, separate them from it, put them back.

A state is a dataclass of arrays, None, whole numbers, texts, lists of these, and further dataclasses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from array_api_compat import is_array_api_obj, is_torch_array

from clusterproof.algorithms.arrays import Array, array_namespace, on_device, to_numpy
from clusterproof.algorithms.base import Algorithm, State
from clusterproof.algorithms.guard import arrays_of

T = TypeVar("T")


def state_class(algorithm: Algorithm[Any]) -> type[State]:
    """Class of an algorithm's states, from the annotation of its ``initialise``."""
    kind: type[State] = get_type_hints(type(algorithm).initialise)["return"]
    return kind


def map_arrays(change: Callable[[Array], Array], value: T) -> T:
    """Copy of a state with arrays ``change(array)``; everything else is kept.

    Raises
    ------
    TypeError
        If it holds something that a state cannot hold.
    """

    def copy(part: Any) -> Any:
        if is_array_api_obj(part):
            return change(part)
        if isinstance(part, list):
            return [copy(element) for element in part]
        if is_dataclass(part):
            changed = {field.name: copy(getattr(part, field.name)) for field in fields(part)}
            return type(part)(**changed)  # type: ignore[misc]  # is_dataclass is true for classes, too
        return _plain(part)

    result: T = copy(value)
    return result


def take_apart(value: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """Separate a state into plain JSON values, which name its arrays, and those arrays.

    Returns
    -------
    tuple
        The arguments of ``put_together``: the plain values, and numpy arrays by name.

    Raises
    ------
    TypeError
        If it holds something that a state cannot hold.
    """
    arrays: dict[str, np.ndarray] = {}

    def separate(part: Any, name: str) -> Any:
        if is_array_api_obj(part):
            number = isinstance(part, np.generic)
            arrays[name] = np.array(part if number else to_numpy(part), order="C")
            library = "torch" if is_torch_array(part) else "numpy"
            return {"array": name, "library": "scalar" if number else library}
        if isinstance(part, list):
            return {"list": [separate(element, f"{name}.{index}") for index, element in enumerate(part)]}
        if is_dataclass(part):
            prefix = f"{name}." if name else ""
            entries = {
                field.name: separate(getattr(part, field.name), prefix + field.name) for field in fields(part)
            }
            return {"record": type(part).__name__, "fields": entries}
        return _plain(part)

    return separate(value, ""), arrays


def put_together(plain: Any, arrays: Mapping[str, np.ndarray], kind: type[T], device: Any = None) -> T:
    """Make a state of the results of ``take_apart``.

    Parameters
    ----------
    plain, arrays
        Of ``take_apart``.
    kind
        Class of the state; only it and the classes that its annotations name are ever made.
    device
        Of torch arrays.

    Raises
    ------
    ValueError, KeyError, TypeError
        If the values are not those of such a state.
    """

    def join(part: Any, annotation: Any) -> Any:
        if not isinstance(part, dict):
            return part
        if "array" in part:
            array = arrays[part["array"]]
            if part["library"] == "torch":
                import torch

                return torch.tensor(array, device=device)
            return array[()] if part["library"] == "scalar" else array.copy()
        if "list" in part:
            element = (get_args(annotation) or (Any,))[0] if get_origin(annotation) is list else Any
            return [join(entry, element) for entry in part["list"]]
        for record in get_args(annotation) or (annotation,):  # the annotation may be a union
            if isinstance(record, type) and record.__name__ == part["record"]:
                hints = get_type_hints(record)
                return record(**{name: join(entry, hints[name]) for name, entry in part["fields"].items()})
        raise ValueError(f"holds a {part['record']} where the algorithm has another record")

    result: T = join(plain, kind)
    return result


def lay_out_alike(array: Array) -> Array:
    """Give an array the memory layout that it will have when it is read from a file.

    The last bit of a matrix product may depend on the strides and the alignment of its factors, so that a
    resumed run could differ from one that was not interrupted.
    """
    if isinstance(array, np.ndarray):
        return np.ascontiguousarray(array).reshape(array.shape)
    if is_torch_array(array) and not (array.is_contiguous() and array.data_ptr() % 64 == 0):
        import torch

        return array.clone(memory_format=torch.contiguous_format)
    return array


def all_finite(state: Any) -> bool:
    """Whether every floating number of a state is finite; one device-to-host copy."""
    verdicts = [array_namespace(array).isfinite(array).all() for _, array in arrays_of(state)]
    remote = [verdict for verdict in verdicts if on_device(verdict)]
    if remote:
        verdicts = [verdict for verdict in verdicts if not on_device(verdict)]
        verdicts += to_numpy(array_namespace(remote[0]).stack(remote)).tolist()
    return all(map(bool, verdicts))


def _plain(value: Any) -> Any:
    """Return a value that JSON holds unchanged.

    Raises
    ------
    TypeError
        For any other value.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"a state cannot hold a {type(value).__name__}")
