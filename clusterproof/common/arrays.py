"""Array operations of the algorithms for any array-API library."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import array_api_compat
import numpy as np
from array_api_compat import device, is_array_api_obj, is_numpy_array, is_torch_array

from clusterproof.common.validation import InvalidArgument, brief

Array: TypeAlias = Any
"""Type of an array of any library that array-api-compat supports, such as numpy, torch or array-api-strict."""


def array_namespace(*arrays: Array) -> Any:
    """Return the array library of the arguments.

    NumPy arrays are checked first, because each round calls this often.
    """
    if all(type(array) is np.ndarray for array in arrays):
        return np
    return array_api_compat.array_namespace(*arrays)


def convert_array(argument: str, value: Any, rule: str, remedy: str, *, integers: bool = False) -> Array:
    """Convert a user's array: floats of single or double precision, or 64-bit integers.

    Parameters
    ----------
    argument, rule, remedy
        Parts of the error message.
    value
        An array of any library, or a value that NumPy converts, such as a list. The result has the same library and
        device. Booleans, integers and floating numbers of another precision become float64.
    integers
        Whether only integers and booleans are allowed; they become int64.

    Raises
    ------
    InvalidArgument
        If the value is not an array, is a masked array or has entries of another type; the message states the type.
    """
    try:
        array = unmasked(value)
    except (TypeError, ValueError, RuntimeError) as error:  # such as lists of unequal lengths
        raise InvalidArgument(argument, brief(value), f"{rule} ({error})", remedy) from error
    xp = array_namespace(array)
    kinds = ("bool", "integral") if integers else ("bool", "integral", "real floating")
    if not xp.isdtype(array.dtype, kinds):
        raise InvalidArgument(argument, brief(value), f"{rule}, not of type {array.dtype}", remedy)
    if integers:
        return xp.astype(array, xp.int64, copy=False)
    return array if array.dtype in (xp.float32, xp.float64) else xp.astype(array, xp.float64)


def unmasked(value: Any) -> Array:
    """Return an array of another library unchanged, and any other value as a NumPy array.

    Raises
    ------
    TypeError
        If the value or one of its elements is a masked array, since NumPy would use the numbers under the mask.
    """
    if _is_masked(value):
        raise TypeError("a masked array: fill or remove its masked entries")
    return value if is_array_api_obj(value) and not is_numpy_array(value) else np.asarray(value)


def _is_masked(value: Any) -> bool:
    return np.ma.isMaskedArray(value) or (isinstance(value, list | tuple) and any(map(_is_masked, value)))


def like(values: np.ndarray, reference: Array) -> Array:
    """Copy a numpy array into the library and onto the device of ``reference``."""
    namespace = array_namespace(reference)
    return namespace.asarray(values, device=device(reference))


def to_numpy(array: Array) -> np.ndarray:
    """Copy an array of any library into NumPy, on the host."""
    if isinstance(array, np.ndarray | np.generic):
        return np.asarray(array)
    if is_torch_array(array):
        return np.asarray(array.detach().cpu())
    return np.array(np.from_dlpack(array))


def on_device(array: Array) -> bool:
    """Return whether an array is in the memory of an accelerator instead of the host's."""
    return bool(is_torch_array(array) and array.device.type != "cpu")


def argmin_smallest_index(losses: Array) -> Array:
    """Return the index of the smallest entry along the last axis; ties go to the smallest index.

    Libraries differ on ties and NaN in ``argmin``; here NaN is treated as infinite. ``losses`` has the shape (..., P);
    the result is integers (...).
    """
    xp = array_namespace(losses)
    first = losses[..., 0]
    smallest = xp.where(xp.isnan(first), xp.asarray(xp.inf, dtype=losses.dtype), first)
    best = xp.zeros(losses.shape[:-1], dtype=xp.int64, device=device(losses))
    # column by column: a reduction of a short last axis is twenty times slower in numpy
    for index in range(1, losses.shape[-1]):
        smaller = losses[..., index] < smallest
        best = xp.where(smaller, index, best)
        smallest = xp.where(smaller, losses[..., index], smallest)
    return best


def one_hot(assignments: Array, clusters: int, *, dtype: Any) -> Array:
    """Return indicators r_ip (..., k, P) of type ``dtype``: 1 if client i is assigned to cluster p, otherwise 0."""
    xp = array_namespace(assignments)
    indices = xp.arange(clusters, dtype=assignments.dtype, device=device(assignments))
    return xp.astype(assignments[..., None] == indices, dtype)


def rows(values: Array, indices: Array) -> Array:
    """Return the rows (..., k, d) of ``values`` (..., n, d) at ``indices`` (..., k).

    The leading axes broadcast against each other.
    """
    xp = array_namespace(values, indices)
    lead = np.broadcast_shapes(tuple(values.shape[:-2]), tuple(indices.shape[:-1]))
    table = xp.reshape(values, (-1, values.shape[-1]))
    if len(values.shape) > 2:
        # offset by replicate, so that one index selects a whole row
        count, replicates = values.shape[-2], tuple(values.shape[:-2])
        first = xp.arange(math.prod(replicates), dtype=indices.dtype, device=device(indices)) * count
        indices = xp.reshape(first, replicates)[..., None] + indices
    picked = xp.take(table, xp.reshape(indices, (-1,)), axis=0)
    return xp.reshape(picked, (*lead, indices.shape[-1], values.shape[-1]))


def replace_rows(values: Array, indices: Array, updates: Array) -> Array:
    """Return a copy of ``values`` (..., n, d) with rows ``indices`` (..., k) replaced by ``updates`` (..., k, d).

    Indices must not repeat along the last axis.
    """
    xp = array_namespace(values, updates)
    chosen = one_hot(indices, values.shape[-2], dtype=indices.dtype)
    # select instead of multiplying by the indicator, which would spread one client's NaN to others
    spread = rows(updates, xp.argmax(chosen, axis=-2))
    return xp.where(xp.any(chosen == 1, axis=-2)[..., None], spread, values)


def sums_by_cluster(values: Array, membership: Array) -> Array:
    """Sum the clients' rows (..., k, d) in each cluster, (..., P, d); ``one_hot`` returns ``membership``."""
    xp = array_namespace(values, membership)
    return xp.matmul(xp.matrix_transpose(membership), values)
