"""The server's round of FPFC by compiled loops, where numba is installed and there is enough to do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from array_api_compat import is_numpy_array

from clusterproof.algorithms.arrays import Array
from clusterproof.algorithms.parts.compiling import can_compile, compiled
from clusterproof.algorithms.parts.pair_storage import PAGE_ENTRIES, PageWriter, Pairs
from clusterproof.algorithms.parts.penalties import Penalty

LARGEST_GAP = 1 / 4
"""Share of a page's memory that may be left unused: less is not worth a copy of the page."""
KERNELS = "clusterproof.algorithms.parts.pair_kernels"
LEAST_ENTRIES = 10**6
"""Numbers in theta, R m^2 d, from which on loops are compiled: below, a run ends before they are loaded."""


def applies(models: Array) -> bool:
    """Whether the pairs of models (R, m, d) are updated by compiled loops."""
    if not is_numpy_array(models) or models.dtype not in (np.float32, np.float64):
        return False
    return models.size * models.shape[1] >= LEAST_ENTRIES and can_compile()


def update_compiled(
    pairs: Pairs,
    models: np.ndarray,
    moving: np.ndarray,
    movers: np.ndarray,
    far: np.ndarray,
    *,
    penalty: Penalty,
    augmentation: float,
    threshold: float,
    reuse_memory: bool,
) -> Pairs:
    """Update every pair of a mover, as ``PairStep.update`` does.

    Parameters
    ----------
    pairs
        Of the round before.
    models
        After the local steps, (R, m, d).
    moving
        Whose pairs are updated, booleans (R, m).
    movers, far
        Clients (R, k) that include the movers, and who is certainly too far from each to be stored or close,
        booleans (R, k, m).
    penalty, augmentation, threshold, reuse_memory
        Of the ``PairStep``.
    """
    loops = compiled(KERNELS)
    runs, clients, dimension = models.shape
    flat = np.ascontiguousarray(models.reshape(-1, dimension))
    sums = pairs.partner_sums(models).reshape(flat.shape).copy()
    sums[moving.ravel()] = 0
    stored, near, factors = pairs.stored.copy(), pairs.near.copy(), pairs.factors.copy()
    labels, pieces = pairs.groups.labels.ravel(), penalty.pieces(augmentation)
    fresh = loops.screen(stored, near, moving, movers, far)
    shared = (flat, sums, stored, near, labels, pieces, threshold)
    made, joined = PageWriter(max(1, PAGE_ENTRIES // dimension)), False
    owned = reuse_memory and pairs.exclusive
    for page, span in pairs.spans(release=reuse_memory):
        columns = [pairs.replicate[span], pairs.first[span], pairs.second[span], factors[span]]
        if not owned:
            page = page.copy()
        gone = np.zeros(len(page), dtype=bool)
        joined |= loops.update_rows(page, *columns, gone, moving.ravel(), *shared)
        if gone.any():
            columns = [part.copy() for part in columns]
            left = loops.close_gaps(page, gone, *columns)
            page, columns = _shortened(page, left), [part[:left] for part in columns]
        replicate, first, second, shrinkage = columns
        made.add(page, replicate, first, second, shrinkage)
    begin, size = 0, made.size
    while begin < len(fresh[0]):
        page = np.empty((min(size, len(fresh[0]) - begin), dimension), flat.dtype)
        rows, shrinkage = np.empty(len(page), dtype=np.int64), np.empty(len(page))
        begin, filled, close = loops.fresh_rows(begin, *fresh, page, rows, shrinkage, *shared)
        joined |= close
        if filled:
            kept = page if filled == len(page) else page[:filled].copy()
            replicate, first, second = (part[rows[:filled]] for part in fresh)
            made.add(kept, replicate, first, second, shrinkage[:filled])
    groups = pairs.groups.after(near, joined=joined, search=loops.components)
    result = made.finish(stored, near, groups, exclusive=owned)
    return replace(result, sums=sums.reshape(runs, clients, dimension))


def _shortened(page: np.ndarray, rows: int) -> np.ndarray:
    """Give the first rows of a page, in its memory where they nearly fill that."""
    whole = page if page.base is None else page.base
    return page[:rows] if rows * page.shape[1] >= (1 - LARGEST_GAP) * whole.size else page[:rows].copy()
