"""The server's side of a round of FPFC: the proximal step of every pair that the round touches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from clusterproof.algorithms.arrays import Array, to_numpy
from clusterproof.algorithms.grouping import Groups
from clusterproof.algorithms.pairs.pair_storage import (
    PageWriter,
    Pairs,
    column,
    difference,
    gathered,
    mark,
    page_rows,
    pick,
    put,
)
from clusterproof.algorithms.penalties import Penalty, lengths_of

PAIR_RULES = ("either", "both", "all")
"""Pairs that a round updates: those with an active client, with two active clients, or all."""

LEAST_ENTRIES = 10**6
"""Smallest size of theta, R m^2 d, for compiled loops; smaller runs end before the loops are loaded."""

Index: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Replicate, i and j of some pairs i < j, (n,) each."""


@dataclass(frozen=True)
class PairStep:
    """The server's update of the pairs.

    Attributes
    ----------
    penalty, augmentation
        g and rho of the proximal step.
    threshold
        Largest ||theta_ij|| of two clients that are grouped (nu).
    rule
        One of ``PAIR_RULES``.
    reuse_memory
        Release the pages of the given pairs, and overwrite them if no other pairs use them.
    """

    penalty: Penalty
    augmentation: float
    threshold: float
    rule: str
    reuse_memory: bool

    def start(self, models: Array) -> Pairs:
        """Return pairs with theta = w_i - w_j and v = 0 for models (R, m, d): all are clean."""
        runs, clients, _ = models.shape
        stored = np.zeros((runs, clients, clients), dtype=bool)
        near = stored | np.eye(clients, dtype=bool)
        every = np.triu(~stored, 1)
        for index in _by_page(_within(every, models, ~stored[:, 0], self.threshold), models):
            lengths = to_numpy(lengths_of(difference(models, *index)))
            mark(near, *index, lengths <= self.threshold)
        return PageWriter(1).finish(stored, near, Groups.of(near), exclusive=True)

    def update(self, pairs: Pairs, before: Array, models: Array, active: np.ndarray) -> Pairs:
        """Carry out the server's update of theta and v.

        Parameters
        ----------
        pairs
            Pairs of the previous round.
        before, models
            Models before and after the local steps, (R, m, d).
        active
            Whether a client participated, booleans (R, m).
        """
        moving = np.ones_like(active) if self.rule == "all" else active
        reach = max(self.penalty.saturation, self.threshold)
        if self.rule != "both" and compiles(models):
            from clusterproof.algorithms.pairs.pair_kernels import update_compiled  # needs numba

            movers, far = _too_far(models, moving, reach)
            pieces = self.penalty.pieces(self.augmentation)
            return update_compiled(
                pairs, models, moving, movers, far, pieces, self.threshold, reuse_memory=self.reuse_memory
            )
        made = PageWriter(page_rows(models))
        stored, near = pairs.stored.copy(), pairs.near.copy()
        clean = np.triu(~stored, 1)
        due = clean & _paired(moving, np.logical_and if self.rule == "both" else np.logical_or)
        near &= ~(due | np.swapaxes(due, 1, 2))
        fresh = _by_page(_within(due, models, moving, reach), models)
        if self.rule == "both":
            # theta of a clean pair is w_i - w_j only as long as neither moves without the other
            for index in _by_page(clean & _paired(active, np.logical_xor), models):
                made.add(difference(before, *index), *index, np.ones(len(index[0])))
                mark(stored, *index, np.asarray(True))
        self._update_stored(made, pairs, models, moving, stored, near)
        for index in fresh:
            delta = difference(models, *index)
            lengths = to_numpy(lengths_of(delta))
            shrunk, clean = self._settle(lengths, index, np.ones(len(lengths)), stored, near)
            stored_rows = np.flatnonzero(~clean)
            made.add(pick(delta, stored_rows), *_at(index, stored_rows), shrunk[stored_rows])
        first, second = np.nonzero((near & ~pairs.near).any(axis=0))
        joined = bool((pairs.groups.labels[:, first] != pairs.groups.labels[:, second]).any())
        groups = pairs.groups.after(near, joined=joined)
        return made.finish(stored, near, groups, exclusive=self.reuse_memory and pairs.exclusive)

    def _update_stored(
        self, made: PageWriter, pairs: Pairs, models: Array, moving: np.ndarray, *flags: np.ndarray
    ) -> None:
        """Update the stored pairs page by page, and the flags ``stored`` and ``near``."""
        index, factors = (pairs.replicate, pairs.first, pairs.second), pairs.factors.copy()
        first, second = moving[index[0], index[1]], moving[index[0], index[2]]
        touched = np.flatnonzero(first & second if self.rule == "both" else first | second)
        chosen = _at(index, touched)
        shares, lengths = column(1 - factors[touched], models), np.empty(len(touched))
        pages = []
        for page, span in pairs.spans(release=self.reuse_memory):
            part = slice(*np.searchsorted(touched, (span.start, span.stop)))
            inside = touched[part] - span.start
            if len(inside):
                if not (self.reuse_memory and pairs.exclusive):
                    page = array_namespace(page).asarray(page, copy=True)
                moved = pick(page, inside)
                moved *= shares[part, :]
                moved += gathered(models, chosen[0][part], chosen[1][part])
                moved -= gathered(models, chosen[0][part], chosen[2][part])
                lengths[part] = to_numpy(lengths_of(moved))
                page = moved if len(inside) == page.shape[0] else put(page, inside, moved)
            pages.append((page, span))
        factors[touched], clean = self._settle(lengths, chosen, factors[touched], *flags)
        gone = np.zeros(len(factors), dtype=bool)
        gone[touched] = clean
        for page, span in pages:
            rows = np.flatnonzero(~gone[span])
            made.add(pick(page, rows), *_at(index, span.start + rows), factors[span][rows])

    def _settle(
        self, lengths: np.ndarray, index: Index, factors: np.ndarray, stored: np.ndarray, near: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Take the proximal step of pairs with vectors delta of ``lengths`` (n,) and previous ``factors``.

        Return the new factors (n,), and whether a pair is now clean, booleans (n,).
        """
        shrunk = self.penalty.shrinkage(lengths, self.augmentation)
        clean = (factors == 1) & (shrunk == 1)  # v was 0 and is 0, hence theta = w_i - w_j
        mark(near, *index, shrunk * lengths <= self.threshold)
        mark(stored, *index, ~clean)
        return shrunk, clean

    def lengths(self, pairs: Pairs, models: Array) -> np.ndarray:
        """Return ||theta_ij|| of all pairs, (R, m, m)."""
        result = np.zeros(pairs.stored.shape)
        for index in _by_page(np.triu(~pairs.stored, 1), models):
            mark(result, *index, to_numpy(lengths_of(difference(models, *index))))
        for page, span in pairs.spans():
            index = (pairs.replicate[span], pairs.first[span], pairs.second[span])
            mark(result, *index, pairs.factors[span] * to_numpy(lengths_of(page)))
        return result

    def defects(self, pairs: Pairs, models: Array) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums over ordered pairs of two squared distances, (R,) each.

        The distances are those of v from the subdifferential of g(||.||) at theta, and of w_i - w_j from theta.
        """
        runs = models.shape[0]
        moving = np.ones(pairs.stored.shape[:2], dtype=bool)
        penalties, gaps = np.zeros(runs), np.zeros(runs)
        clean = _within(np.triu(~pairs.stored, 1), models, moving, self.penalty.saturation)
        for index in _by_page(clean, models):
            apart = difference(models, *index)
            residual = to_numpy(self.penalty.stationarity_residual(apart, 0 * apart))
            np.add.at(penalties, index[0], 2 * residual**2)
        for page, span in pairs.spans():
            index = (pairs.replicate[span], pairs.first[span], pairs.second[span])
            theta = column(pairs.factors[span], page) * page
            dual = column(self.augmentation * (1 - pairs.factors[span]), page) * page
            residual = to_numpy(self.penalty.stationarity_residual(theta, dual))
            np.add.at(penalties, index[0], 2 * residual**2)
            gap = to_numpy(lengths_of(difference(models, *index) - theta))
            np.add.at(gaps, index[0], 2 * gap**2)
        return penalties, gaps


def compiles(models: Array) -> bool:
    """Return whether compiled loops update the pairs of models (R, m, d): with numba and at sufficient size."""
    if not is_numpy_array(models) or models.dtype not in (np.float32, np.float64):
        return False
    return bool(models.size * models.shape[1] >= LEAST_ENTRIES)


def _at(index: Index, chosen: np.ndarray) -> Index:
    return index[0][chosen], index[1][chosen], index[2][chosen]


def _paired(active: np.ndarray, how: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Return flags of pairs (R, m, m) from flags of clients (R, m)."""
    return np.asarray(how(active[:, :, None], active[:, None, :]))


def _by_page(chosen: np.ndarray, models: Array) -> Iterator[Index]:
    """Yield the indices of the pairs marked in (R, m, m), one page at a time."""
    replicate, first, second = np.nonzero(chosen)
    size = page_rows(models)
    for start in range(0, len(first), size):
        yield _at((replicate, first, second), np.arange(start, min(start + size, len(first))))


def _within(chosen: np.ndarray, models: Array, moving: np.ndarray, reach: float) -> np.ndarray:
    """Remove pairs of moving clients farther apart than ``reach`` from the marked pairs (R, m, m).

    Pairs within the rounding error of ``reach`` are kept, since the distances come from a matrix product.
    """
    if not np.isfinite(reach) or not chosen.any():
        return chosen
    movers, beyond = _too_far(models, moving, reach)
    far = np.zeros(chosen.shape, dtype=bool)
    np.put_along_axis(far, movers[:, :, None], beyond, axis=1)
    return np.asarray(chosen & ~far & ~np.swapaxes(far, 1, 2))


def _too_far(models: Array, moving: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Return moving clients of each run, padded with others, (R, k), and which clients are too far, (R, k, m)."""
    movers = np.argsort(~moving, axis=1, kind="stable")[:, : int(moving.sum(axis=1).max())]
    runs, count = movers.shape
    if not np.isfinite(reach):
        return movers, np.zeros((runs, count, models.shape[1]), dtype=bool)
    xp = array_namespace(models)
    centred = models - xp.mean(models, axis=-2, keepdims=True)
    moving_models = gathered(centred, np.repeat(np.arange(runs), count), movers.ravel())
    moving_models = xp.reshape(moving_models, (runs, count, -1))
    squares = to_numpy(xp.vecdot(centred, centred))
    products = to_numpy(xp.matmul(moving_models, xp.matrix_transpose(centred)))
    sums = np.take_along_axis(squares, movers, axis=1)[:, :, None] + squares[:, None, :]
    slack = 8 * models.shape[-1] * np.finfo(squares.dtype).eps * sums
    return movers, sums - 2 * products - slack > reach**2
