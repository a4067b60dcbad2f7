"""The few array operations that every algorithm shares, on any array-API library."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array

Array: TypeAlias = Any
"""An array of any library that array-api-compat knows: numpy, torch, array-api-strict, ..."""


def like(values: np.ndarray, reference: Array) -> Array:
    """Copy a numpy array into the library and onto the device of ``reference``."""
    namespace = array_namespace(reference)
    return namespace.asarray(values, device=device(reference))


def to_numpy(array: Array) -> np.ndarray:
    """Copy an array of any library into numpy, on the host."""
    if isinstance(array, np.ndarray):
        return array
    if is_torch_array(array):
        return np.asarray(array.detach().cpu())
    return np.array(np.from_dlpack(array))


def on_device(array: Array) -> bool:
    """Whether an array is on a device of its own, so that the host waits when it reads from it."""
    return bool(is_torch_array(array) and array.device.type != "cpu")


def all_to_numpy(arrays: list[Array]) -> list[np.ndarray]:
    """Copy arrays of one type into numpy; from a device all in one piece, so that the host waits once."""
    if not arrays or not on_device(arrays[0]):
        return [to_numpy(array) for array in arrays]
    xp = array_namespace(arrays[0])
    whole = to_numpy(xp.concat([xp.reshape(array, (-1,)) for array in arrays]))
    ends = np.cumsum([math.prod(array.shape) for array in arrays])
    parts = np.split(whole, ends[:-1])
    return [part.reshape(array.shape) for part, array in zip(parts, arrays, strict=True)]


def argmin_smallest_index(losses: Array) -> Array:
    """Index of the smallest entry along the last axis; ties go to the smallest index.

    Libraries differ on ties in ``argmin``, and a diverged run has losses that are not numbers,
    so both are settled here: a loss that is NaN counts as infinite.

    Parameters
    ----------
    losses
        Array (..., P).

    Returns
    -------
    Array
        Integers (...), each in 0 .. P - 1.
    """
    xp = array_namespace(losses)
    first = losses[..., 0]
    smallest = xp.where(xp.isnan(first), xp.asarray(xp.inf, dtype=losses.dtype), first)
    best = xp.zeros(losses.shape[:-1], dtype=xp.int64, device=device(losses))
    # column by column: reducing a short last axis costs numpy twenty times as much
    for index in range(1, losses.shape[-1]):
        smaller = losses[..., index] < smallest
        best = xp.where(smaller, index, best)
        smallest = xp.where(smaller, losses[..., index], smallest)
    return best


def one_hot(assignments: Array, clusters: int, *, dtype: Any) -> Array:
    """Indicator r_ip of cluster membership, one row a client.

    Parameters
    ----------
    assignments
        Integers (..., k), each in 0 .. P - 1.
    clusters
        P.
    dtype
        Floating type of the result.

    Returns
    -------
    Array
        (..., k, P), 1 where the client is in the cluster and 0 elsewhere.
    """
    xp = array_namespace(assignments)
    indices = xp.arange(clusters, dtype=assignments.dtype, device=device(assignments))
    return xp.astype(assignments[..., None] == indices, dtype)


def rows(values: Array, indices: Array) -> Array:
    """Pick row ``indices[..., i]`` of ``values`` for every i.

    Parameters
    ----------
    values
        Array (..., n, d).
    indices
        Integers (..., k), leading axes broadcastable against those of ``values``.

    Returns
    -------
    Array
        (..., k, d).
    """
    xp = array_namespace(values, indices)
    lead = np.broadcast_shapes(tuple(values.shape[:-2]), tuple(indices.shape[:-1]))
    table = xp.reshape(values, (-1, values.shape[-1]))
    if len(values.shape) > 2:
        # numbered throughout, so that whole rows are copied: one index a row, not one an entry
        count, own = values.shape[-2], tuple(values.shape[:-2])
        first = xp.arange(math.prod(own), dtype=indices.dtype, device=device(indices)) * count
        indices = xp.reshape(first, own)[..., None] + indices
    picked = xp.take(table, xp.reshape(indices, (-1,)), axis=0)
    return xp.reshape(picked, (*lead, indices.shape[-1], values.shape[-1]))


def replace_rows(values: Array, indices: Array, updates: Array) -> Array:
    """Copy of ``values`` whose rows ``indices`` are ``updates``; indices must not repeat.

    Parameters
    ----------
    values
        Array (..., n, d).
    indices
        Integers (..., k) without repetition along the last axis.
    updates
        Array (..., k, d).
    """
    xp = array_namespace(values, updates)
    chosen = one_hot(indices, values.shape[-2], dtype=indices.dtype)
    # picked, not multiplied by the indicator: one diverged client must not spread NaN to others
    spread = rows(updates, xp.argmax(chosen, axis=-2))
    return xp.where(xp.any(chosen == 1, axis=-2)[..., None], spread, values)


def sums_by_cluster(values: Array, membership: Array) -> Array:
    """Sum of the rows of each cluster.

    Parameters
    ----------
    values
        Array (..., k, d), one row a client.
    membership
        The one-hot array (..., k, P).

    Returns
    -------
    Array
        (..., P, d).
    """
    xp = array_namespace(values, membership)
    return xp.matmul(xp.matrix_transpose(membership), values)
