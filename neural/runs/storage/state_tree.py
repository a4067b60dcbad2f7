"""The arrays inside an algorithm's state: visit them, take them out, put them back.

A state is a dataclass of arrays, None, whole numbers, texts, lists of these, and further dataclasses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from array_api_compat import array_namespace, is_torch_array

from clusterproof.algorithms.arrays import Array, on_device, to_numpy
from clusterproof.algorithms.protocol import Algorithm, State

T = TypeVar("T")


def state_class(algorithm: Algorithm[Any]) -> type[State]:
    """Give the class of an algorithm's states, from the annotation of its ``initialise``."""
    found: type[State] = get_type_hints(type(algorithm).initialise)["return"]
    return found


def map_arrays(change: Callable[[Array], Array], value: T) -> T:
    """Copy of a state whose arrays are ``change(array)``; everything else is kept.

    Raises
    ------
    TypeError
        If there is something in it that is not of a state.
    """
    result: Any = _map(change, value)
    return result  # type: ignore[no-any-return]


def take_apart(value: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """Separate a state into plain JSON values, which name its arrays, and those arrays.

    Returns
    -------
    tuple
        What ``put_together`` takes: the plain values, and numpy arrays by name.

    Raises
    ------
    TypeError
        If there is something in it that is not of a state.
    """
    arrays: dict[str, np.ndarray] = {}
    return _take_apart(value, "", arrays), arrays


def put_together(plain: Any, arrays: Mapping[str, np.ndarray], kind: type[T], device: Any = None) -> T:
    """Make the state again.

    Parameters
    ----------
    plain, arrays
        As ``take_apart`` gave them.
    kind
        Class of the state; no other class is ever made than those that its annotations name.
    device
        Of torch arrays.

    Raises
    ------
    ValueError, KeyError, TypeError
        If the values are not those of such a state.
    """
    result: T = _put_together(plain, arrays, kind, device)
    return result


def lay_out_alike(array: Array) -> Array:
    """Give an array the memory layout that it will have when it is read from a file.

    Matrix products may differ in the last bit with the strides and the alignment of what they
    multiply, so that a resumed run could leave the path of one that was not interrupted.
    """
    if isinstance(array, np.ndarray):
        return np.ascontiguousarray(array).reshape(array.shape)
    if is_torch_array(array):
        aligned = array.is_contiguous() and array.data_ptr() % 64 == 0
        return array if aligned else _copied(array)
    return array


def all_finite(state: Any) -> bool:
    """Whether every floating number of a state is finite; a device is asked once."""
    verdicts: list[bool] = []
    there: list[Array] = []

    def look(array: Array) -> Array:
        if on_device(array):
            there.append(array.isfinite().all())
        elif is_torch_array(array):
            verdicts.append(bool(array.isfinite().all()))
        elif np.issubdtype(array.dtype, np.floating):
            verdicts.append(bool(np.isfinite(array).all()))
        return array

    map_arrays(look, state)
    if there:
        verdicts += to_numpy(array_namespace(there[0]).stack(there)).tolist()
    return all(verdicts)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic) or is_torch_array(value)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | str)


def _map(change: Callable[[Array], Array], value: Any) -> Any:
    if _is_array(value):
        return change(value)
    if isinstance(value, list):
        return [_map(change, element) for element in value]
    if is_dataclass(value) and not isinstance(value, type):
        return type(value)(
            **{field.name: _map(change, getattr(value, field.name)) for field in fields(value)}
        )
    if _is_plain(value):
        return value
    raise TypeError(f"a state cannot hold a {type(value).__name__}")


def _take_apart(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    if _is_array(value):
        number = isinstance(value, np.generic)
        arrays[name] = np.array(value if number else to_numpy(value), order="C")
        library = "torch" if is_torch_array(value) else "numpy"
        return {"array": name, "library": "scalar" if number else library}
    if isinstance(value, list):
        return {"list": [_take_apart(element, f"{name}.{i}", arrays) for i, element in enumerate(value)]}
    if is_dataclass(value) and not isinstance(value, type):
        prefix = f"{name}." if name else ""
        parts = {
            field.name: _take_apart(getattr(value, field.name), prefix + field.name, arrays)
            for field in fields(value)
        }
        return {"record": type(value).__name__, "fields": parts}
    if _is_plain(value):
        return value
    raise TypeError(f"a state cannot hold a {type(value).__name__}")


def _put_together(plain: Any, arrays: Mapping[str, np.ndarray], kind: Any, device: Any) -> Any:
    if not isinstance(plain, dict):
        return plain
    if "array" in plain:
        array = arrays[plain["array"]]
        if plain["library"] == "torch":
            import torch

            return torch.tensor(array, device=device)
        return array[()] if plain["library"] == "scalar" else array.copy()
    if "list" in plain:
        element = (get_args(kind) or (Any,))[0] if get_origin(kind) is list else Any
        return [_put_together(part, arrays, element, device) for part in plain["list"]]
    for record in get_args(kind) or (kind,):  # one of several, where the annotation names several
        if isinstance(record, type) and record.__name__ == plain["record"]:
            break
    else:
        raise ValueError(f"holds a {plain['record']} where the algorithm has another record")
    hints = get_type_hints(record)
    parts = {name: _put_together(part, arrays, hints[name], device) for name, part in plain["fields"].items()}
    return record(**parts)


def _copied(tensor: Any) -> Any:
    """Copy of a torch tensor in contiguous memory of its own."""
    import torch

    return tensor.clone(memory_format=torch.contiguous_format)
