"""The pair variables of FPFC on a device: a vector for every ordered pair, updated without asking the host.

``pair_storage`` keeps vectors for few pairs, and which ones hangs on their lengths, so that the host must know
these. Here every pair has one, with delta_ji = -delta_ij: that takes more memory, and a round neither copies
anything nor waits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, device

from clusterproof.algorithms.arrays import Array, like, on_device, rows, to_numpy
from clusterproof.algorithms.parts.grouping import Groups
from clusterproof.algorithms.parts.pair_storage import ENTRIES_ON_DEVICE, Pairs
from clusterproof.algorithms.parts.penalties import Penalty, lengths_of

LARGEST = 2**31
"""Numbers R m^2 d of all vectors up to which they are held: 8 GiB in single precision, twice that in a round."""


@dataclass(frozen=True)
class DensePairs:
    """Pair variables of R runs of m clients, theta = s delta and v = rho (1 - s) delta.

    Attributes
    ----------
    pages
        The vectors delta of some clients i and all j, arrays (R, b, m, d) with m rows together.
    factors
        s of each pair, (R, m, m), in double precision.
    clean
        Whether theta = w_i - w_j and v = 0, so that ``Pairs`` would hold nothing, booleans (R, m, m).
    near
        Whether ||theta_ij|| is at most the threshold of grouping, booleans (R, m, m).
    exclusive
        Whether no other state has the same pages, so that a round may write into them.
    """

    pages: list[Array]
    factors: Array
    clean: Array
    near: Array
    exclusive: bool

    @classmethod
    def start(cls, models: Array, threshold: float) -> DensePairs:
        """Pairs with theta = w_i - w_j and v = 0 for models (R, m, d)."""
        xp = array_namespace(models)
        runs, clients, _ = models.shape
        pages = [_differences(models, part) for part in _parts(models)]
        factors = xp.ones((runs, clients, clients), dtype=xp.float64, device=device(models))
        near = xp.concat([lengths_of(page) for page in pages], axis=1) <= threshold
        return cls(pages, factors, xp.ones_like(near), near, exclusive=True)

    def anchor_sums(self, models: Array, clients: Array) -> Array:
        """Sum over all j of w_j + theta_ij - v_ij / rho, for models (R, m, d) and clients (R, k), (R, k, d).

        That is w_i where the pair is clean, and taken as such: beside a w_j that is far away it would be lost.
        """
        xp = array_namespace(models)
        partners = xp.astype(~self.clean, models.dtype)
        weights = xp.astype(2 * self.factors - 1, models.dtype) * partners
        sums = [xp.matmul(weights[:, part, None, :], page) for page, part in self._spans(release=False)]
        total = models * (models.shape[1] - xp.sum(partners, axis=-1, keepdims=True))
        total += xp.matmul(partners, models)
        total += xp.concat(sums, axis=1)[:, :, 0, :]
        return rows(total, clients)

    def update(
        self,
        models: Array,
        active: Array,
        *,
        penalty: Penalty,
        augmentation: float,
        threshold: float,
        rule: str,
        reuse_memory: bool,
    ) -> DensePairs:
        """Carry out the server's update of theta and v, see ``PairStep.update``.

        Parameters
        ----------
        models
            After the local steps, (R, m, d).
        active
            Who took part, booleans (R, m).
        penalty, augmentation, threshold, rule, reuse_memory
            Of the ``PairStep``.
        """
        xp = array_namespace(models)
        one, other = active[:, :, None], active[:, None, :]
        numbers = xp.arange(models.shape[1], device=device(models))
        due = xp.ones_like(self.clean) & (numbers[:, None] != numbers)
        if rule != "all":
            due = due & (one & other if rule == "both" else one | other)
        # theta of a clean pair is w_i - w_j only as long as neither moves without the other
        kept = self.clean & (one == other) if rule == "both" else self.clean
        shares = xp.astype(xp.where(due, 1 - self.factors, xp.ones_like(self.factors)), models.dtype)
        moves = xp.astype(due, models.dtype)
        pages, found = [], []
        for page, part in self._spans(release=reuse_memory):
            gaps = _differences(models, part)
            gaps *= moves[:, part, :, None]
            if reuse_memory and self.exclusive:
                page *= shares[:, part, :, None]
            else:
                page = page * shares[:, part, :, None]
            page += gaps
            pages.append(page)
            found.append(lengths_of(page))
        lengths = xp.astype(xp.concat(found, axis=1), xp.float64)
        shrunk = penalty.shrinkage(lengths, augmentation)
        return DensePairs(
            pages,
            xp.where(due, shrunk, self.factors),
            xp.where(due, (self.factors == 1) & (shrunk == 1), kept),  # v was 0 and is 0
            xp.where(due, shrunk * lengths <= threshold, self.near),
            exclusive=reuse_memory and self.exclusive,
        )

    def labels(self) -> Array:
        """Group of every client, numbered by first appearance, as ``grouping.components``; integers (R, m).

        Every product doubles how far the relation reaches: as many as m has binary digits.
        """
        xp = array_namespace(self.near)
        clients = self.near.shape[-1]
        reached = self.near
        for _ in range(math.ceil(math.log2(max(clients - 1, 1)))):
            steps = xp.astype(reached, xp.float32)
            reached = xp.matmul(steps, steps) > 0
        numbers = xp.arange(clients, device=device(reached))
        first = xp.min(xp.where(reached, numbers, clients), axis=-1)
        leads = (first == numbers)[:, None, :] & (numbers <= first[:, :, None])
        return xp.sum(xp.astype(leads, xp.int64), axis=-1) - 1

    def listed(self) -> Pairs:
        """Give the same as ``Pairs``, for reports on the host."""
        xp = array_namespace(self.factors)
        stored = ~to_numpy(self.clean)
        pages, columns = [], []
        for page, part in self._spans(release=False):
            run, row, second = np.nonzero(np.triu(stored, 1)[:, part])
            places = (run * page.shape[1] + row) * stored.shape[-1] + second
            pages.append(xp.take(xp.reshape(page, (-1, page.shape[-1])), like(places, page), axis=0))
            columns.append((run, part.start + row, second))
        replicate, first, second = map(np.concatenate, zip(*columns, strict=True))
        factors, near = to_numpy(self.factors)[replicate, first, second], to_numpy(self.near)
        groups = Groups.of(near)
        return Pairs(pages, replicate, first, second, factors, stored, near, groups, exclusive=False)

    def _spans(self, *, release: bool) -> Iterator[tuple[Array, slice]]:
        """Each page and whose it is, see ``Pairs.spans``."""
        if sum(page.shape[1] for page in self.pages) != self.factors.shape[1]:
            raise RuntimeError("the pairs of this state were handed on to the next, see `reuse_memory`")
        end, position = 0, 0
        while position < len(self.pages):
            page = self.pages.pop(0) if release else self.pages[position]
            position += not release
            start, end = end, end + page.shape[1]
            yield page, slice(start, end)


def fits(models: Array) -> bool:
    """Whether models (R, m, d) are on a device that holds a vector for every pair of theirs."""
    return on_device(models) and math.prod(models.shape) * models.shape[1] <= LARGEST


def _parts(models: Array) -> list[slice]:
    """Clients whose vectors make a page."""
    runs, clients, dimension = models.shape
    size = max(1, ENTRIES_ON_DEVICE // (runs * clients * dimension))
    return [slice(start, min(start + size, clients)) for start in range(0, clients, size)]


def _differences(models: Array, part: slice) -> Array:
    """w_i - w_j of some clients i and all j of models (R, m, d), a new array (R, b, m, d)."""
    return models[:, part, None, :] - models[:, None, :, :]
