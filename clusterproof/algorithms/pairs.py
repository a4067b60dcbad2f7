"""The server of FPFC: the proximal step for each pair, the sums to send to clients, and the groups of clients.

After a pair's update, theta_ij = s delta_ij and v_ij = rho (1 - s) delta_ij, where the vector delta_ij and the factor s
in [0, 1] are the same in both equations. The server stores delta_ij and s for i < j, because delta_ji = -delta_ij.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from clusterproof.algorithms.penalties import least_square, lengths_of
from clusterproof.common.limits import free_memory
from clusterproof.common.validation import InvalidArgument

PAIR_RULES = {"either": 1, "both": 2, "all": 0}
"""For each rule, the number of clients of a pair that must take part in an update of the pair."""

SMALL = 10_000
"""Largest number of entries in delta for which we use NumPy. The compiled loop is faster, but loads in a second."""


@dataclass(frozen=True)
class Pairs:
    """Pair variables of m clients. The M = m (m - 1) / 2 pairs have the order (0, 1), (0, 2), ..., (m - 2, m - 1).

    Attributes
    ----------
    delta
        Vectors delta_ij, (..., M, d). When a later state has overwritten the array, it must not be read.
    factor
        Factors s, (..., M).
    near
        Whether ||theta_ij|| is at most the threshold for grouping, booleans (..., m, m). Entries with i >= j are
        False.
    sums
        For each client i, the sum of theta_ij - v_ij / rho = (2 s - 1) delta_ij over all j, (..., m, d).
    groups
        Connected component of each client in the graph ``near``, numbered by first appearance, (..., m).
    """

    delta: np.ndarray
    factor: np.ndarray
    near: np.ndarray
    sums: np.ndarray
    groups: np.ndarray


def start_pairs(models: np.ndarray, threshold: float, *, reuse_memory: bool) -> Pairs:
    """Return the pairs of clients with models (..., m, d), with theta_ij = w_i - w_j and v = 0.

    Raises
    ------
    InvalidArgument
        If there is not enough memory for the vectors, or for two copies without ``reuse_memory``.
    """
    *lead, clients, dimension = models.shape
    shape = (*lead, clients * (clients - 1) // 2, dimension)
    size, present = math.prod(shape) * models.itemsize, free_memory() // (1 if reuse_memory else 2)
    if size > present:
        rule = (
            f"have {shape[-2]} pairs, whose vectors of {dimension} numbers take {size / 2**30:.3g} GiB; "
            f"at most {present / 2**30:.3g} GiB of memory are free for these vectors"
        )
        remedy = "use fewer clients, a smaller model or fewer replicates"
        remedy += "" if reuse_memory else ", or reuse_memory = True, which takes half"
        raise InvalidArgument("clients", clients, rule, remedy)
    pairs = Pairs(
        delta=np.zeros(shape, models.dtype),
        factor=np.ones(shape[:-1]),
        near=np.zeros((*lead, clients, clients), dtype=bool),
        sums=np.zeros_like(models),
        groups=np.broadcast_to(np.arange(clients), models.shape[:-1]).copy(),
    )
    no_penalty = np.array([[np.inf, 1.0, 0.0]])
    moving = np.ones(models.shape[:-1], dtype=bool)
    return update_pairs(pairs, models, moving, 0, no_penalty, threshold, reuse_memory=True)


def update_pairs(
    pairs: Pairs,
    models: np.ndarray,
    moving: np.ndarray,
    needed: int,
    pieces: np.ndarray,
    threshold: float,
    *,
    reuse_memory: bool,
) -> Pairs:
    """Update theta and v as the server does after it has received the models.

    Parameters
    ----------
    pairs, models
        Pairs of the previous round, and models after the local steps, (..., m, d).
    moving, needed
        Whether each client takes part, booleans (..., m), and how many clients of a pair must take part in an update,
        see ``PAIR_RULES``.
    pieces
        The penalty's proximal factor, see ``Penalty.pieces``.
    threshold
        Largest ||theta_ij|| of two connected clients.
    reuse_memory
        Whether to overwrite the vectors of ``pairs``.

    Raises
    ------
    RuntimeError
        If the vectors of ``pairs`` have already been overwritten.
    """
    require_current(pairs)
    delta = pairs.delta.view() if reuse_memory else np.empty_like(pairs.delta)
    factor, near = pairs.factor.copy(), pairs.near.copy()
    # if all pairs of a client are updated, recompute the client's sum, so that rounding errors do not accumulate
    kept = ~moving & (needed > 0) | (needed > 1)
    sums = np.where(kept[..., None], pairs.sums, 0)
    runs = math.prod(models.shape[:-2])
    arrays = (pairs.delta, delta, factor, near, sums, kept, models, moving)
    flat = [array.reshape(runs, *array.shape[models.ndim - 2 :]) for array in arrays]
    update: Any = _update_in_numpy if pairs.delta.size <= SMALL else _compiled()
    least = least_square(np.finfo(delta.dtype))
    update(*flat, needed, pieces, threshold, least, not reuse_memory)
    if reuse_memory:
        pairs.delta.setflags(write=False)
    unchanged = np.array_equal(near, pairs.near)
    return Pairs(delta, factor, near, sums, pairs.groups if unchanged else connected_groups(near))


def _update(
    old: Any, delta: Any, factor: Any, near: Any, sums: Any, kept: Any, models: Any, moving: Any, needed: int,
    pieces: Any, threshold: float, least: float, copying: bool,
) -> None:  # fmt: skip
    """Update the pairs with at least ``needed`` participants. For clients ``kept``, replace the old terms in sums."""
    number = delta.dtype.type  # scalars with the vectors' precision allow the compiler to vectorise loops
    for run in range(len(models)):
        pair = 0
        for i in range(models.shape[1]):
            for j in range(i + 1, models.shape[1]):
                vector, sum_i, sum_j = delta[run, pair], sums[run, i], sums[run, j]
                if copying:
                    vector[:] = old[run, pair]
                if moving[run, i] + moving[run, j] >= needed:
                    model_i, model_j = models[run, i], models[run, j]
                    share, square = number(1 - factor[run, pair]), number(0)
                    loss = 2 * factor[run, pair] - 1
                    loss_i, loss_j = number(loss * kept[run, i]), number(loss * kept[run, j])
                    for k in range(len(vector)):
                        updated = share * vector[k] + (model_i[k] - model_j[k])
                        sum_i[k] -= loss_i * vector[k]
                        sum_j[k] += loss_j * vector[k]
                        vector[k] = updated
                        square += updated * updated
                    length, piece = np.sqrt(square), 0
                    if not least <= square < np.inf:  # as in ``lengths_of``
                        unit = np.max(np.abs(vector))
                        if 0 < unit < np.inf:
                            square = number(0)
                            for k in range(len(vector)):
                                square += (vector[k] / unit) * (vector[k] / unit)
                            length = unit * np.sqrt(square)
                    while length > pieces[piece, 0]:
                        piece += 1
                    _, p, q = pieces[piece]
                    factor[run, pair] = max(0.0, p - q / length) if q > 0 else p
                    near[run, i, j] = factor[run, pair] * length <= threshold
                    gain = number(2 * factor[run, pair] - 1)
                    for k in range(len(vector)):
                        sum_i[k] += gain * vector[k]
                        sum_j[k] -= gain * vector[k]
                pair += 1


@cache
def _compiled() -> Any:
    """Compile the loop over pairs. The compiler may reorder sums, but must handle values that are not finite."""
    import numba

    fastmath = {"reassoc", "contract", "nsz"}
    return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=fastmath)(_update)


def _update_in_numpy(
    old: Any, delta: Any, factor: Any, near: Any, sums: Any, kept: Any, models: Any, moving: Any, needed: int,
    pieces: Any, threshold: float, _least: float, copying: bool,
) -> None:  # fmt: skip
    """Compute the same updates as ``_update``, but with NumPy."""
    clients = np.arange(models.shape[1])[:, None]
    i, j = np.triu_indices(len(clients), 1)
    signs = (clients == i).astype(float) - (clients == j)
    due = moving[:, i].astype(int) + moving[:, j] >= needed
    if copying:
        delta[:] = old
    sums -= kept[..., None] * (signs @ (np.where(due, 2 * factor - 1, 0)[..., None] * delta))
    delta[due] = ((1 - factor)[..., None] * delta + models[:, i] - models[:, j])[due]
    length = lengths_of(delta)
    _, p, q = np.moveaxis(pieces[np.searchsorted(pieces[:-1, 0], length)], -1, 0)
    with np.errstate(
        divide="ignore", invalid="ignore"
    ):  # for length 0, the factor is 0 if q > 0 and p if q = 0
        factor[due] = np.where(q > 0, np.maximum(0, p - q / length), p)[due]
    near[:, i, j] = np.where(due, factor * length <= threshold, near[:, i, j])
    sums += signs @ (np.where(due, 2 * factor - 1, 0)[..., None] * delta)


def connected_groups(near: np.ndarray) -> np.ndarray:
    """Return the connected components of graphs (..., m, m), numbered by first appearance, (..., m).

    Clients i and j are connected if entry (i, j) or entry (j, i) is True.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graphs = near.reshape(-1, *near.shape[-2:])
    labels = [connected_components(csr_array(graph), directed=False)[1] for graph in graphs]
    return np.array(labels, dtype=np.int64).reshape(near.shape[:-1])


def rows_by_client(clients: int) -> Iterator[tuple[int, slice]]:
    """Yield each client i, with the slice that selects the pairs (i, i + 1), ..., (i, m - 1)."""
    end = 0
    for i in range(clients):
        start, end = end, end + clients - 1 - i
        yield i, slice(start, end)


def signed_sums(pairs: Pairs, weights: np.ndarray) -> np.ndarray:
    """Return for each i the sum of weight_ij delta_ij over j, (..., m, d), for symmetric weights (..., M)."""
    require_current(pairs)
    total = np.zeros_like(pairs.sums)
    for i, own in rows_by_client(total.shape[-2]):
        vectors = weights[..., own, None] * pairs.delta[..., own, :]
        total[..., i, :] += vectors.sum(axis=-2)
        total[..., i + 1 :, :] -= vectors
    return total


def delta_lengths(pairs: Pairs) -> np.ndarray:
    """Return ||delta_ij|| for each pair, (..., M)."""
    require_current(pairs)
    return np.asarray(lengths_of(pairs.delta))


def squared_gaps(pairs: Pairs, models: np.ndarray) -> np.ndarray:
    """Return ||w_i - w_j - theta_ij||^2 for each pair, (..., M), from models (..., m, d)."""
    require_current(pairs)
    result = np.empty(pairs.factor.shape)
    for i, own in rows_by_client(models.shape[-2]):
        theta = pairs.factor[..., own, None] * pairs.delta[..., own, :]
        gaps = models[..., i : i + 1, :] - models[..., i + 1 :, :] - theta
        result[..., own] = (gaps.astype(float) ** 2).sum(axis=-1)
    return result


def require_current(pairs: Pairs) -> None:
    """Raise an error if a later state has overwritten the vectors.

    Raises
    ------
    RuntimeError
        If a later state has overwritten the vectors.
    """
    if not pairs.delta.flags.writeable:
        raise RuntimeError("the pairs of this state were overwritten by the next state, see `reuse_memory`")
