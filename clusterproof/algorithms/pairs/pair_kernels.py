"""FPFC's pair update in loops compiled by numba, in one pass over the stored vectors.

``pair_updates`` has the same computation for any array library. Runs and clients share one axis in ``models``,
``sums`` and ``labels``: client i of run r is row r m + i. Sums may be reordered (vectorised); values need not be
finite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numba
import numpy as np

from clusterproof.algorithms.pairs.pair_storage import PAGE_ENTRIES, PageWriter, Pairs, mark

LARGEST_GAP = 1 / 4
"""Largest unused share of a page's memory before the page is copied."""

Index: TypeAlias = tuple[np.ndarray, ...]
"""Replicate, i and j of some pairs i < j, (n,) each."""

Shared: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]
"""Models and sums (R m, d), ``stored`` and ``near`` (R, m, m), groups' labels (R m,), pieces, and threshold."""

Function = TypeVar("Function", bound=Callable[..., Any])
njit: Any = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
compiled: Callable[[Function], Function] = njit  # calls are checked by the signatures below


@compiled
def shrunk(length: float, pieces: np.ndarray) -> float:
    """Return the proximal factor max(0, p - q / length) of the first piece (end, p, q) with length <= end."""
    for piece in range(len(pieces)):
        if length <= pieces[piece, 0]:
            break
    if pieces[piece, 2] == 0:
        return float(pieces[piece, 1])
    return float(max(0.0, pieces[piece, 1] - pieces[piece, 2] / length))


@compiled
def update_rows(
    page: np.ndarray, index: Index, factors: np.ndarray, gone: np.ndarray, moving: np.ndarray, shared: Shared
) -> bool:
    """Update the rows of a page with a moving client, in place, and the arrays that depend on them.

    The sums of moving clients start from zero, since all of their rows are visited; the sums of other clients
    change by the difference of the rows. Return whether two clients of different groups are now close.
    """
    models, sums, stored, near, labels, pieces, threshold = shared
    replicate, first, second = index
    clients, dimension = stored.shape[1], page.shape[1]
    held, old, joined = np.zeros(6, page.dtype), np.empty(dimension, page.dtype), False
    for row in range(len(page)):
        run, i, j = replicate[row], first[row], second[row]
        p, q = run * clients + i, run * clients + j
        if not (moving[p] or moving[q]):
            continue
        factor = factors[row]
        vector, model_i, model_j = page[row], models[p], models[q]
        held[0], held[1] = 1 - factor, 0
        share, square = held[0], held[1]
        for k in range(dimension):
            old[k] = vector[k]
            updated = share * vector[k] + (model_i[k] - model_j[k])
            vector[k] = updated
            square += updated * updated
        length = np.sqrt(square)
        new = shrunk(length, pieces)
        gone[row] = factor == 1 and new == 1  # v was 0 and is 0, hence theta = w_i - w_j
        held[2] = 0 if gone[row] else 2 * new - 1
        held[3] = 0 if moving[p] else 2 * factor - 1
        held[4] = 0 if moving[q] else 2 * factor - 1
        gain, loss, lost = held[2], held[3], held[4]
        sum_of_i, sum_of_j = sums[p], sums[q]
        for k in range(dimension):
            sum_of_i[k] += gain * vector[k] - loss * old[k]
            sum_of_j[k] -= gain * vector[k] - lost * old[k]
        factors[row] = new
        stored[run, i, j] = stored[run, j, i] = not gone[row]
        close = new * length <= threshold
        near[run, i, j] = near[run, j, i] = close
        joined |= close and labels[p] != labels[q]
    return joined


@compiled
def fresh_rows(
    begin: int, index: Index, page: np.ndarray, rows: np.ndarray, factors: np.ndarray, shared: Shared
) -> tuple[int, int, bool]:
    """Fill a page with the pairs from index ``begin`` on that leave the region of the constant penalty.

    ``rows`` and ``factors`` (n,) receive the indices of the pairs and their factors. Return the next index, the
    number of rows, and whether two clients of different groups are now close.
    """
    models, sums, stored, near, labels, pieces, threshold = shared
    replicate, first, second = index
    clients, dimension, size = stored.shape[1], page.shape[1], 0
    held, joined, position = np.zeros(2, page.dtype), False, begin
    while position < len(first) and size < len(page):
        run, i, j = replicate[position], first[position], second[position]
        p, q = run * clients + i, run * clients + j
        vector, model_i, model_j = page[size], models[p], models[q]
        square = held[1]
        for k in range(dimension):
            delta = model_i[k] - model_j[k]
            vector[k] = delta
            square += delta * delta
        length = np.sqrt(square)
        new = shrunk(length, pieces)
        close = new * length <= threshold
        near[run, i, j] = near[run, j, i] = close
        joined |= close and labels[p] != labels[q]
        if new != 1:
            held[0] = 2 * new - 1
            gain, sum_of_i, sum_of_j = held[0], sums[p], sums[q]
            for k in range(dimension):
                sum_of_i[k] += gain * vector[k]
                sum_of_j[k] -= gain * vector[k]
            stored[run, i, j] = stored[run, j, i] = True
            rows[size], factors[size] = position, new
            size += 1
        position += 1
    return position, size, joined


def update_compiled(
    pairs: Pairs,
    models: np.ndarray,
    moving: np.ndarray,
    movers: np.ndarray,
    far: np.ndarray,
    pieces: np.ndarray,
    threshold: float,
    *,
    reuse_memory: bool,
) -> Pairs:
    """Update every pair of a moving client, as ``PairStep.update`` does.

    Parameters
    ----------
    pairs, models
        Pairs of the previous round, and models after the local steps (R, m, d).
    moving
        Whether a client's pairs are updated, booleans (R, m).
    movers, far
        Clients (R, k) that include the moving ones, and whether a client is certainly too far from each of them
        to be stored or close, booleans (R, k, m).
    pieces, threshold, reuse_memory
        See ``Penalty.pieces`` and ``PairStep``.
    """
    runs, clients, dimension = models.shape
    flat = np.ascontiguousarray(models.reshape(-1, dimension))
    sums = pairs.partner_sums(models).reshape(flat.shape).copy()
    sums[moving.ravel()] = 0
    stored, near, factors = pairs.stored.copy(), pairs.near.copy(), pairs.factors.copy()
    index = _open_pairs(stored, near, moving, movers, far)
    shared = (flat, sums, stored, near, pairs.groups.labels.ravel(), pieces, threshold)
    made, joined = PageWriter(max(1, PAGE_ENTRIES // dimension)), False
    owned = reuse_memory and pairs.exclusive
    for page, span in pairs.spans(release=reuse_memory):
        columns = [pairs.replicate[span], pairs.first[span], pairs.second[span], factors[span]]
        if not owned:
            page = page.copy()
        gone = np.zeros(len(page), dtype=bool)
        joined |= update_rows(page, tuple(columns[:3]), columns[3], gone, moving.ravel(), shared)
        if gone.any():
            page, *columns = _close_gaps(gone, page, *columns)
        made.add(page, *columns)
    begin, size = 0, made.size
    while begin < len(index[0]):
        page = np.empty((min(size, len(index[0]) - begin), dimension), flat.dtype)
        rows, shrinkage = np.empty(len(page), dtype=np.int64), np.empty(len(page))
        begin, filled, close = fresh_rows(begin, index, page, rows, shrinkage, shared)
        joined |= close
        if filled:
            vectors = page if filled == len(page) else page[:filled].copy()
            made.add(vectors, *(numbers[rows[:filled]] for numbers in index), shrinkage[:filled])
    result = made.finish(stored, near, pairs.groups.after(near, joined=joined), exclusive=owned)
    return replace(result, sums=sums.reshape(runs, clients, dimension))


def _open_pairs(
    stored: np.ndarray, near: np.ndarray, moving: np.ndarray, movers: np.ndarray, far: np.ndarray
) -> Index:
    """Return the moving clients' pairs without a row that are not ``far``; clear ``near`` for all without a row."""
    run, clients = np.arange(len(movers))[:, None], np.arange(moving.shape[1])
    mover = movers[:, :, None]
    counted = moving[:, None, :] & (clients < mover)  # counted with the other client as the moving one
    unstored = moving[run, movers][..., None] & ~stored[run, movers] & (clients != mover) & ~counted
    replicate, position, other = np.nonzero(unstored)
    mark(near, replicate, movers[replicate, position], other, np.asarray(False))
    replicate, position, other = np.nonzero(unstored & ~far)
    ends = movers[replicate, position], other
    return tuple(indices.astype(np.int32) for indices in (replicate, np.minimum(*ends), np.maximum(*ends)))


def _close_gaps(gone: np.ndarray, *columns: np.ndarray) -> list[np.ndarray]:
    """Fill the rows ``gone`` of a page and its columns with rows from the end, and truncate."""
    left = len(gone) - int(gone.sum())
    holes, last = np.flatnonzero(gone[:left]), left + np.flatnonzero(~gone[left:])[::-1]
    page, *others = columns
    page[holes] = page[last]
    whole = page if page.base is None else page.base
    page = page[:left] if left * page.shape[1] >= (1 - LARGEST_GAP) * whole.size else page[:left].copy()
    shortened = [values.copy() for values in others]
    for values in shortened:
        values[holes] = values[last]
    return [page, *(values[:left] for values in shortened)]
