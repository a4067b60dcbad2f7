"""The server's side of a round of FPFC: the proximal step of every pair that the round touches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from array_api_compat import array_namespace

from clusterproof.algorithms.arrays import Array, all_to_numpy, on_device, to_numpy
from clusterproof.algorithms.parts.compiled_pairs import applies, update_compiled
from clusterproof.algorithms.parts.dense_pairs import DensePairs
from clusterproof.algorithms.parts.grouping import Groups
from clusterproof.algorithms.parts.pair_storage import (
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
from clusterproof.algorithms.parts.penalties import Penalty, lengths_of

PAIR_RULES = ("either", "both", "all")
"""Which pairs a round updates: those with an active client, with two, or all."""

Index: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Replicate, i and j of some pairs i < j, (n,) each."""


@dataclass(frozen=True)
class PairStep:
    """How pairs are updated.

    Attributes
    ----------
    penalty, augmentation
        g and rho of the proximal step.
    threshold
        Largest ||theta_ij|| of two clients that are grouped (nu).
    rule
        One of ``PAIR_RULES``.
    reuse_memory
        Let go of the given pairs' pages, and write into them if no other pairs have them.
    """

    penalty: Penalty
    augmentation: float
    threshold: float
    rule: str
    reuse_memory: bool

    def start(self, models: Array) -> Pairs:
        """Pairs with theta = w_i - w_j and v = 0 for models (R, m, d): all are clean."""
        runs, clients, _ = models.shape
        stored = np.zeros((runs, clients, clients), dtype=bool)
        near = stored | np.eye(clients, dtype=bool)
        every = np.triu(~stored, 1)
        pages = list(_by_page(_within(every, models, ~stored[:, 0], self.threshold), models))
        for index, lengths in zip(pages, _lengths(models, pages), strict=True):
            mark(near, *index, lengths <= self.threshold)
        return PageWriter(1).finish(stored, near, Groups.of(near), exclusive=True)

    def update(self, pairs: Pairs, before: Array, models: Array, active: np.ndarray) -> Pairs:
        """Carry out the server's update of theta and v.

        Parameters
        ----------
        pairs
            Of the round before.
        before, models
            Models before and after the local steps, (R, m, d).
        active
            Who took part, booleans (R, m).
        """
        moving = np.ones_like(active) if self.rule == "all" else active
        reach = max(self.penalty.saturation, self.threshold)
        if self.rule != "both" and applies(models):
            return update_compiled(
                pairs,
                models,
                moving,
                *_too_far(models, moving, reach),
                penalty=self.penalty,
                augmentation=self.augmentation,
                threshold=self.threshold,
                reuse_memory=self.reuse_memory,
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
        for index, lengths, moved in _fresh(models, fresh):
            shrunk, clean = self._settle(lengths, index, np.ones(len(lengths)), stored, near)
            kept = np.flatnonzero(~clean)
            rest = difference(models, *_at(index, kept)) if moved is None else pick(moved, kept)
            made.add(rest, *_at(index, kept), shrunk[kept])
        first, second = np.nonzero((near & ~pairs.near).any(axis=0))
        joined = bool((pairs.groups.labels[:, first] != pairs.groups.labels[:, second]).any())
        groups = pairs.groups.after(near, joined=joined)
        return made.finish(stored, near, groups, exclusive=self.reuse_memory and pairs.exclusive)

    def update_dense(self, pairs: DensePairs, models: Array, active: Array) -> DensePairs:
        """Do the same to pairs on a device, for models (R, m, d) and booleans (R, m) there."""
        return pairs.update(
            models,
            active,
            penalty=self.penalty,
            augmentation=self.augmentation,
            threshold=self.threshold,
            rule=self.rule,
            reuse_memory=self.reuse_memory,
        )

    def _update_stored(
        self,
        made: PageWriter,
        pairs: Pairs,
        models: Array,
        moving: np.ndarray,
        stored: np.ndarray,
        near: np.ndarray,
    ) -> None:
        """Update the pairs that have a row: the vectors page by page, then everything else at once."""
        index, factors = (pairs.replicate, pairs.first, pairs.second), pairs.factors.copy()
        one, other = moving[index[0], index[1]], moving[index[0], index[2]]
        touched = np.flatnonzero(one & other if self.rule == "both" else one | other)
        chosen = _at(index, touched)
        shares, lengths = column(1 - factors[touched], models), np.empty(len(touched))
        pages, found = [], []
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
                found.append((part, lengths_of(moved)))
                page = moved if len(inside) == page.shape[0] else put(page, inside, moved)
            pages.append((page, span))
        read = all_to_numpy([own for _, own in found])
        for (part, _), own in zip(found, read, strict=True):
            lengths[part] = own
        factors[touched], clean = self._settle(lengths, chosen, factors[touched], stored, near)
        gone = np.zeros(len(factors), dtype=bool)
        gone[touched] = clean
        for page, span in pages:
            rows = np.flatnonzero(~gone[span])
            made.add(pick(page, rows), *_at(index, span.start + rows), factors[span][rows])

    def _settle(
        self, lengths: np.ndarray, index: Index, factors: np.ndarray, stored: np.ndarray, near: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Take the proximal step at vectors delta of these lengths (n,), of pairs that had ``factors``.

        Returns
        -------
        tuple
            The new factors (n,), and which pairs are clean from now on, booleans (n,).
        """
        shrunk = self.penalty.shrinkage(lengths, self.augmentation)
        clean = (factors == 1) & (shrunk == 1)  # v was 0 and is 0, hence theta = w_i - w_j
        mark(near, *index, shrunk * lengths <= self.threshold)
        mark(stored, *index, ~clean)
        return shrunk, clean

    def lengths(self, pairs: Pairs, models: Array) -> np.ndarray:
        """||theta_ij|| of all pairs, (R, m, m)."""
        result = np.zeros(pairs.stored.shape)
        for index in _by_page(np.triu(~pairs.stored, 1), models):
            mark(result, *index, to_numpy(lengths_of(difference(models, *index))))
        for page, span in pairs.spans():
            index = (pairs.replicate[span], pairs.first[span], pairs.second[span])
            mark(result, *index, pairs.factors[span] * to_numpy(lengths_of(page)))
        return result

    def defects(self, pairs: Pairs, models: Array) -> tuple[np.ndarray, np.ndarray]:
        """Sums over ordered pairs of two squared distances, each (R,).

        Returns
        -------
        tuple
            Of v from the subdifferential of g(||.||) at theta, and of w_i - w_j from theta.
        """
        runs = models.shape[0]
        everybody = np.ones(pairs.stored.shape[:2], dtype=bool)
        slopes, gaps = np.zeros(runs), np.zeros(runs)
        clean = _within(np.triu(~pairs.stored, 1), models, everybody, self.penalty.saturation)
        for index in _by_page(clean, models):
            apart = difference(models, *index)
            found = to_numpy(self.penalty.stationarity_residual(apart, 0 * apart))
            np.add.at(slopes, index[0], 2 * found**2)
        for page, span in pairs.spans():
            index = (pairs.replicate[span], pairs.first[span], pairs.second[span])
            theta = column(pairs.factors[span], page) * page
            dual = column(self.augmentation * (1 - pairs.factors[span]), page) * page
            found = to_numpy(self.penalty.stationarity_residual(theta, dual))
            np.add.at(slopes, index[0], 2 * found**2)
            gap = to_numpy(lengths_of(difference(models, *index) - theta))
            np.add.at(gaps, index[0], 2 * gap**2)
        return slopes, gaps


def _at(index: Index, chosen: np.ndarray) -> Index:
    return index[0][chosen], index[1][chosen], index[2][chosen]


def _paired(active: np.ndarray, how: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Combine the flags (R, m) of two clients into one of the pair, (R, m, m)."""
    return np.asarray(how(active[:, :, None], active[:, None, :]))


def _by_page(chosen: np.ndarray, models: Array) -> Iterator[Index]:
    """Indices of the pairs marked in (R, m, m), as many at once as make a page."""
    replicate, first, second = np.nonzero(chosen)
    size = page_rows(models)
    for start in range(0, len(first), size):
        yield _at((replicate, first, second), np.arange(start, min(start + size, len(first))))


def _fresh(models: Array, pages: Iterator[Index]) -> Iterator[tuple[Index, np.ndarray, Array | None]]:
    """Pairs of each page, ||w_i - w_j||, and the differences themselves.

    A device is asked for all lengths at once; these come without the differences, which would not fit together.
    """
    if on_device(models):
        known = list(pages)
        yield from zip(known, _lengths(models, known), [None] * len(known), strict=True)
        return
    for index in pages:
        moved = difference(models, *index)
        yield index, to_numpy(lengths_of(moved)), moved


def _lengths(models: Array, pages: list[Index]) -> list[np.ndarray]:
    """||w_i - w_j|| of the pairs of each page; the differences are let go, and a device is read once."""
    return all_to_numpy([lengths_of(difference(models, *index)) for index in pages])


def _within(chosen: np.ndarray, models: Array, moving: np.ndarray, reach: float) -> np.ndarray:
    """Leave out the pairs of a mover that are farther apart than ``reach``, of those marked (R, m, m).

    What rounding leaves open stays in: the screening is a matrix product, which loses digits.
    """
    if not np.isfinite(reach) or not chosen.any():
        return chosen
    movers, beyond = _too_far(models, moving, reach)
    far = np.zeros(chosen.shape, dtype=bool)
    np.put_along_axis(far, movers[:, :, None], beyond, axis=1)
    return np.asarray(chosen & ~far & ~np.swapaxes(far, 1, 2))


def _too_far(models: Array, moving: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Movers of each run, and some others where a run has fewer than another, (R, k); who is too far, (R, k, m)."""
    movers = np.argsort(~moving, axis=1, kind="stable")[:, : int(moving.sum(axis=1).max())]
    runs, count = movers.shape
    if not np.isfinite(reach):
        return movers, np.zeros((runs, count, models.shape[1]), dtype=bool)
    xp = array_namespace(models)
    centred = models - xp.mean(models, axis=-2, keepdims=True)
    moved = gathered(centred, np.repeat(np.arange(runs), count), movers.ravel())
    moved = xp.reshape(moved, (runs, count, -1))
    squares, products = all_to_numpy(
        [xp.vecdot(centred, centred), xp.matmul(moved, xp.matrix_transpose(centred))]
    )
    sums = np.take_along_axis(squares, movers, axis=1)[:, :, None] + squares[:, None, :]
    slack = 8 * models.shape[-1] * np.finfo(squares.dtype).eps * sums
    return movers, sums - 2 * products - slack > reach**2
