"""The pair variables of FPFC, theta_ij and v_ij, held as one vector a pair or as nothing at all.

After a pair's update theta = s delta and v = rho (1 - s) delta for one vector delta and one factor s in
[0, 1], so that delta and s are all there is to hold, for i < j alone. A pair with theta = w_i - w_j and
v = 0 is *clean* and needs nothing: every pair is so at the start, and is so again from its second
update in a row in the region where the penalty is constant. It stays so while neither model moves.

The vectors lie in pages of a few hundred rows. A round copies the pages it touches, so that the old
state stays as it was; or it writes into them, if nobody else has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array, is_torch_array

from clusterproof.algorithms.arrays import Array, like, on_device
from clusterproof.algorithms.parts.grouping import Groups

PAGE_ENTRIES = 2**18
"""Numbers in a page, about: what a core's cache holds, so that a page is read once from memory."""

ENTRIES_ON_DEVICE = 2**26
"""The same on a device, which wants much to do at a time and sees the host wait once a round, not once a page."""

Columns: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Replicate, i, j and s of the rows of a page, (n,) each."""


@dataclass(frozen=True)
class Pairs:
    """Pair variables of R runs of m clients.

    Attributes
    ----------
    pages
        The vectors delta, arrays (n_b, d) with n rows together.
    replicate, first, second
        Which run and pair i < j each row belongs to, integers (n,).
    factors
        s of each row, (n,).
    stored
        Whether a pair has a row, booleans (R, m, m), symmetric.
    near
        Whether ||theta_ij|| is at most the threshold of grouping, booleans (R, m, m), symmetric.
    groups
        Connected components of ``near``.
    exclusive
        Whether no other state has the same pages, so that a round may write into them.
    sums
        What every client's stored pairs add to what it is sent, kept from round to round by compiled loops, see
        ``partner_sums``, (R, m, d).
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
        """Each page, and the slice of its rows in the other attributes.

        Parameters
        ----------
        release
            Let go of every page as it is given.

        Raises
        ------
        RuntimeError
            If the pages were let go of before.
        """
        if sum(page.shape[0] for page in self.pages) != len(self.factors):
            raise RuntimeError("the pairs of this state were handed on to the next, see `reuse_memory`")
        end, position = 0, 0
        while position < len(self.pages):
            page = self.pages.pop(0) if release else self.pages[position]
            position += not release
            start, end = end, end + page.shape[0]
            yield page, slice(start, end)

    def signed_sums(self, weights: np.ndarray, clients: np.ndarray, models: Array) -> Array:
        """Sum over stored partners j of weight_ij delta_ij, with delta_ji = -delta_ij.

        Parameters
        ----------
        weights
            Of each row, (n,).
        clients
            Clients i of each run, (R, k).
        models
            (R, m, d), for the library and the type.

        Returns
        -------
        Array
            (R, k, d).
        """
        xp = array_namespace(models)
        runs, count = clients.shape
        places = np.full(self.stored.shape[:2], -1)
        np.put_along_axis(places, clients, np.arange(runs * count).reshape(runs, count), axis=1)
        ends = np.stack([places[self.replicate, end] for end in (self.first, self.second)], axis=1)
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
        """Sum over stored partners j of theta_ij - v_ij / rho = (2 s - 1) delta_ij.

        Parameters
        ----------
        models
            (R, m, d), for the library and the type.
        clients
            Clients i of each run, (R, k); everybody where None.

        Returns
        -------
        Array
            (R, k, d).
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
        Rows of a page, about: fewer than half wait for others to lie with.
    """

    size: int
    _pages: list[Array] = field(default_factory=list)
    _columns: list[Columns] = field(default_factory=list)
    _waiting: list[tuple[Array, Columns]] = field(default_factory=list)

    def add(
        self,
        vectors: Array,
        replicate: np.ndarray,
        first: np.ndarray,
        second: np.ndarray,
        factors: np.ndarray,
    ) -> None:
        """Add vectors (n, d) of pairs with their factors (n,)."""
        replicate, first, second = (part.astype(np.int32, copy=False) for part in (replicate, first, second))
        columns = (replicate, first, second, factors)
        if 2 * len(factors) >= self.size:
            self._pages.append(vectors)
            self._columns.append(columns)
        elif len(factors):
            self._waiting.append((vectors, columns))
            if sum(part.shape[0] for part, _ in self._waiting) >= self.size:
                self._join()

    def finish(self, stored: np.ndarray, near: np.ndarray, groups: Groups, *, exclusive: bool) -> Pairs:
        """Give what was collected."""
        self._join()
        if not self._columns:
            nothing = np.empty(0, dtype=np.int32)
            return Pairs([], nothing, nothing, nothing, np.empty(0), stored, near, groups, exclusive)
        replicate, first, second, factors = map(np.concatenate, zip(*self._columns, strict=True))
        return Pairs(self._pages, replicate, first, second, factors, stored, near, groups, exclusive)

    def _join(self) -> None:
        """Make one page of the rows that wait."""
        if self._waiting:
            parts = [part for part, _ in self._waiting]
            alone = len(parts) == 1
            self._pages.append(parts[0] if alone else array_namespace(parts[0]).concat(parts, axis=0))
            self._columns += [columns for _, columns in self._waiting]
            self._waiting = []


def page_rows(models: Array) -> int:
    """Rows of a page of vectors like models (..., d), about."""
    dimension: int = models.shape[-1]
    return max(1, (ENTRIES_ON_DEVICE if on_device(models) else PAGE_ENTRIES) // dimension)


def gathered(models: Array, replicate: np.ndarray, clients: np.ndarray) -> Array:
    """Models of the given clients of models (R, m, d), a new array (n, d)."""
    xp = array_namespace(models)
    flat = xp.reshape(models, (-1, models.shape[-1]))
    return xp.take(flat, like(replicate * models.shape[-2] + clients, models), axis=0)


def difference(models: Array, replicate: np.ndarray, first: np.ndarray, second: np.ndarray) -> Array:
    """w_i - w_j of the given pairs of models (R, m, d), a new array (n, d)."""
    one = gathered(models, replicate, first)
    one -= gathered(models, replicate, second)
    return one


def pick(table: Array, indices: np.ndarray) -> Array:
    """Rows of a table at increasing indices; the table itself where they are all of them."""
    if len(indices) == table.shape[0]:
        return table
    return array_namespace(table).take(table, like(indices, table), axis=0)


def put(table: Array, indices: np.ndarray, vectors: Array) -> Array:
    """Write rows into a table at different indices, in place where the library can; gives the table."""
    if is_numpy_array(table) or is_torch_array(table):
        table[like(indices, table)] = vectors
        return table
    xp = array_namespace(table)
    places = np.full(table.shape[0], -1)
    places[indices] = np.arange(len(indices))
    spread = xp.take(vectors, like(np.maximum(places, 0), table), axis=0)
    return xp.where(like(places >= 0, table)[:, None], spread, table)


def column(values: np.ndarray, reference: Array) -> Array:
    """Values (n,) as a column (n, 1) of the library and type of ``reference``."""
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
    """Sum of weights times rows of a table (n, d) in each of ``count`` segments, (count, d).

    Row r goes to ``segments[starts[r]:starts[r + 1]]``, with the weights there.
    """
    shape = (count, table.shape[0])
    if is_numpy_array(table):
        from scipy.sparse import csc_matrix

        return csc_matrix((weights.astype(table.dtype), segments, starts), shape) @ table
    dense = np.zeros(shape)
    dense[segments, np.repeat(np.arange(table.shape[0]), np.diff(starts))] = weights
    xp = array_namespace(table)
    return xp.matmul(xp.astype(like(dense, table), table.dtype), table)
