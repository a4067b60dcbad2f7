"""The pair variables of FPFC, theta_ij and v_ij, stored as one vector per pair, or not at all.

After a pair's update theta = s delta and v = rho (1 - s) delta for one vector delta and one factor s in
[0, 1], so that only delta and s are stored, for i < j. A pair with theta = w_i - w_j and v = 0 is *clean*
and is not stored: every pair is clean at the start, and again from its second consecutive update in the
region where the penalty is constant. It remains clean while neither model changes.

The vectors are stored in pages of a few hundred rows. A round copies the pages that it changes, so that the
old state is unchanged, or overwrites them if no other state uses them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array, is_torch_array

from clusterproof.algorithms.arrays import Array, like
from clusterproof.algorithms.grouping import Groups

PAGE_ENTRIES = 2**18
"""Approximate numbers per page: what fits into a core's cache, so that a page is read once from memory."""

Columns: TypeAlias = tuple[np.ndarray, ...]
"""Replicate, i, j and s of the rows of a page, (n,) each."""


@dataclass(frozen=True)
class Pairs:
    """Pair variables of R runs of m clients.

    Attributes
    ----------
    pages
        The vectors delta, arrays (n_b, d) with n rows in total.
    replicate, first, second
        Run and pair i < j of each row, integers (n,).
    factors
        Factor s of each row, (n,).
    stored
        Whether a pair has a row, booleans (R, m, m), symmetric.
    near
        Whether ||theta_ij|| is at most the threshold of grouping, booleans (R, m, m), symmetric.
    groups
        Connected components of ``near``.
    exclusive
        Whether no other state uses the pages, so that a round may overwrite them.
    sums
        Result of ``partner_sums`` for all clients, (R, m, d), kept between rounds by the compiled loops.
    """

    pages: list[Array]
    replicate: np.ndarray
    first: np.ndarray
    second: np.ndarray
    factors: np.ndarray
    stored: np.ndarray
    near: np.ndarray
    groups: Groups
    exclusive: bool
    sums: np.ndarray | None = None

    def spans(self, *, release: bool = False) -> Iterator[tuple[Array, slice]]:
        """Yield each page and the slice of its rows in the other attributes; ``release`` removes the page.

        Raises
        ------
        RuntimeError
            If the pages were released before.
        """
        if sum(page.shape[0] for page in self.pages) != len(self.factors):
            raise RuntimeError("the pairs of this state were released to the next state, see `reuse_memory`")
        end, position = 0, 0
        while position < len(self.pages):
            page = self.pages.pop(0) if release else self.pages[position]
            position += not release
            start, end = end, end + page.shape[0]
            yield page, slice(start, end)

    def signed_sums(self, weights: np.ndarray, clients: np.ndarray, models: Array) -> Array:
        """Return the sums over stored partners j of weight_ij delta_ij, with delta_ji = -delta_ij, (R, k, d).

        ``weights`` (n,) are those of the rows, ``clients`` (R, k) the indices i; ``models`` (R, m, d) determine
        library and dtype.
        """
        xp = array_namespace(models)
        runs, count = clients.shape
        positions = np.full(self.stored.shape[:2], -1)
        np.put_along_axis(positions, clients, np.arange(runs * count).reshape(runs, count), axis=1)
        ends = np.stack([positions[self.replicate, end] for end in (self.first, self.second)], axis=1)
        row, side = np.nonzero(ends >= 0)
        signed = np.where(side == 0, weights[row], -weights[row])
        # the entries of row r are numbers starts[r] to starts[r + 1]
        starts = np.concatenate([[0], np.cumsum((ends >= 0).sum(axis=1))])
        segments = ends[row, side]
        total = xp.zeros((runs * count, models.shape[-1]), dtype=models.dtype, device=device(models))
        for page, span in self.spans():
            first, last = starts[span.start], starts[span.stop]
            if first < last:
                inner = starts[span.start : span.stop + 1] - first
                total += _weighted_sums(page, segments[first:last], inner, signed[first:last], runs * count)
        return xp.reshape(total, (runs, count, models.shape[-1]))

    def partner_sums(self, models: Array, clients: np.ndarray | None = None) -> Array:
        """Return the sums over stored partners j of theta_ij - v_ij / rho = (2 s - 1) delta_ij, (R, k, d).

        ``clients`` (R, k) are the indices i; if None, all. ``models`` (R, m, d) determine library and dtype.
        """
        if self.sums is not None:
            return self.sums if clients is None else self.sums[np.arange(len(clients))[:, None], clients]
        if clients is None:
            clients = np.broadcast_to(np.arange(models.shape[1]), models.shape[:2])
        return self.signed_sums(2 * self.factors - 1, clients, models)


@dataclass
class PageWriter:
    """Collects rows into pages.

    Attributes
    ----------
    size
        Rows of a page, about; fewer than half of it wait for more.
    """

    size: int
    _pages: list[Array] = field(default_factory=list)
    _columns: list[Columns] = field(default_factory=list)
    _waiting: list[tuple[Array, Columns]] = field(default_factory=list)

    def add(self, vectors: Array, *columns: np.ndarray) -> None:
        """Add vectors (n, d) of pairs with their columns: replicate, i, j and s, (n,) each."""
        *index, factors = columns
        replicate, first, second = (numbers.astype(np.int32, copy=False) for numbers in index)
        columns = (replicate, first, second, factors)
        if 2 * len(factors) >= self.size:
            self._pages.append(vectors)
            self._columns.append(columns)
        elif len(factors):
            self._waiting.append((vectors, columns))
            if sum(part.shape[0] for part, _ in self._waiting) >= self.size:
                self._join()

    def finish(self, stored: np.ndarray, near: np.ndarray, groups: Groups, *, exclusive: bool) -> Pairs:
        """Return the collected pairs."""
        self._join()
        if not self._columns:
            empty = np.empty(0, dtype=np.int32)
            return Pairs([], empty, empty, empty, np.empty(0), stored, near, groups, exclusive)
        replicate, first, second, factors = map(np.concatenate, zip(*self._columns, strict=True))
        return Pairs(self._pages, replicate, first, second, factors, stored, near, groups, exclusive)

    def _join(self) -> None:
        """Join the waiting rows to one page."""
        if self._waiting:
            parts = [part for part, _ in self._waiting]
            alone = len(parts) == 1
            self._pages.append(parts[0] if alone else array_namespace(parts[0]).concat(parts, axis=0))
            self._columns += [columns for _, columns in self._waiting]
            self._waiting = []


def page_rows(models: Array) -> int:
    """Return the approximate number of rows of a page of vectors of models (..., d)."""
    dimension: int = models.shape[-1]
    return max(1, PAGE_ENTRIES // dimension)


def gathered(models: Array, replicate: np.ndarray, clients: np.ndarray) -> Array:
    """Return the models of the given clients from models (R, m, d), a new array (n, d)."""
    xp = array_namespace(models)
    flat = xp.reshape(models, (-1, models.shape[-1]))
    return xp.take(flat, like(replicate * models.shape[-2] + clients, models), axis=0)


def difference(models: Array, replicate: np.ndarray, first: np.ndarray, second: np.ndarray) -> Array:
    """Return w_i - w_j of the given pairs from models (R, m, d), a new array (n, d)."""
    delta = gathered(models, replicate, first)
    delta -= gathered(models, replicate, second)
    return delta


def pick(table: Array, indices: np.ndarray) -> Array:
    """Return the rows of a table at increasing indices; the table itself if these are all rows."""
    if len(indices) == table.shape[0]:
        return table
    return array_namespace(table).take(table, like(indices, table), axis=0)


def put(table: Array, indices: np.ndarray, vectors: Array) -> Array:
    """Return a table with rows at distinct indices replaced, in place if the library supports it."""
    if is_numpy_array(table) or is_torch_array(table):
        table[like(indices, table)] = vectors
        return table
    xp = array_namespace(table)
    positions = np.full(table.shape[0], -1)
    positions[indices] = np.arange(len(indices))
    spread = xp.take(vectors, like(np.maximum(positions, 0), table), axis=0)
    return xp.where(like(positions >= 0, table)[:, None], spread, table)


def column(values: np.ndarray, reference: Array) -> Array:
    """Return values (n,) as a column (n, 1) with the library and dtype of ``reference``."""
    return array_namespace(reference).astype(like(values, reference), reference.dtype)[:, None]


def mark(
    flags: np.ndarray, replicate: np.ndarray, first: np.ndarray, second: np.ndarray, values: np.ndarray
) -> None:
    """Set entries of a symmetric array (R, m, m), in place."""
    flags[replicate, first, second] = values
    flags[replicate, second, first] = values


def _weighted_sums(
    table: Array, segments: np.ndarray, starts: np.ndarray, weights: np.ndarray, count: int
) -> Array:
    """Return the weighted sums of rows of a table (n, d) in ``count`` segments, (count, d).

    Row r is added to ``segments[starts[r]:starts[r + 1]]`` with the weights at these positions.
    """
    shape = (count, table.shape[0])
    if is_numpy_array(table):
        from scipy.sparse import csc_matrix

        return csc_matrix((weights.astype(table.dtype), segments, starts), shape) @ table
    dense = np.zeros(shape)
    dense[segments, np.repeat(np.arange(table.shape[0]), np.diff(starts))] = weights
    xp = array_namespace(table)
    return xp.matmul(xp.astype(like(dense, table), table.dtype), table)
