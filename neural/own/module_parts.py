"""What a module holds: parameters, buffers and plain attributes, and whether it is the same elsewhere or later."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor, nn


def trainable(module: nn.Module) -> dict[str, Tensor]:
    """Parameters by name, without frozen ones; one that several parts share comes once."""
    return {name: value for name, value in module.named_parameters() if value.requires_grad}


def tensors(module: nn.Module) -> dict[str, Tensor]:
    """Parameters by name, frozen ones, too, and buffers, those that are not stored, too."""
    return {place: value.detach() for place, value in [*module.named_parameters(), *module.named_buffers()]}


def unlike_tensor(before: dict[str, Tensor], after: dict[str, Tensor]) -> str:
    """Name a tensor that one of two lacks or that is not the same in both; empty where there is none."""
    for place in dict.fromkeys([*before, *after]):
        if place not in before or place not in after or not same(before[place], after[place]):
            return place
    return ""


def same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one type, one shape and the same numbers, NaN at the same places."""
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    one, other = one.to_dense(), other.to_dense()
    return bool(((one == other) | (one.isnan() & other.isnan())).all())


def attributes(module: nn.Module) -> dict[str, list[Any]]:
    """Plain attributes of all parts, those that hold several things as what they hold."""
    found: dict[str, list[Any]] = {}
    for place, part in module.named_modules():
        for key, value in vars(part).items():
            inside: list[Any] = [value]
            if isinstance(value, dict):
                inside += [*value.keys(), *value.values()]
            elif isinstance(value, list | set | tuple):
                inside += list(value)
            elif isinstance(value, Tensor):
                inside.append(value._version)
            found[f"{place}.{key}".lstrip(".")] = inside
    return found


def written(before: dict[str, list[Any]], after: dict[str, list[Any]]) -> str:
    """Name an attribute of a module that is not what it was; empty where all are."""
    for place in sorted({*before, *after}):
        one, other = before.get(place, []), after.get(place, [])
        if len(one) != len(other) or any(
            a is not b and not _alike(a, b) for a, b in zip(one, other, strict=True)
        ):
            return place
    return ""


def unlike_attribute(module: nn.Module, again: nn.Module) -> str:
    """Name an attribute whose tensors, arrays or floats are others in another module; empty where none is."""
    one, other = attributes(module), attributes(again)
    for place in one:
        numbers = [[x for x in held.get(place, []) if isinstance(x, _NUMBERS)] for held in (one, other)]
        if len(numbers[0]) != len(numbers[1]) or any(map(_unlike, *numbers)):
            return place
    return ""


_NUMBERS = (Tensor, np.ndarray, np.floating, float)


def _unlike(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return not same(one.detach(), other.detach())
    arrays = [np.asarray(value) for value in (one, other)]
    return arrays[0].dtype.kind != "O" and arrays[0].tobytes() != arrays[1].tobytes()


def _alike(one: Any, other: Any) -> bool:
    return isinstance(one, int | float | str) and type(one) is type(other) and one == other
