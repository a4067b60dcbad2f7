"""The pair variables of FPFC, theta_ij and v_ij, held as one vector a pair or as nothing at all.

After a pair's update theta = s delta and v = rho (1 - s) delta for one vector delta and one factor s in
[0, 1], so that delta and s are all there is to hold, for i < j alone. A pair with theta = w_i - w_j and
v = 0 is *clean* and needs nothing: every pair is so at the start, and is so again from its second
update in a row in the region where the penalty is constant. It stays so while neither model moves.

The vectors lie in pages of a few hundred rows. A round makes new pages of those it touches, so that
the old state stays as it was; or it lets go of each old page as soon as the new one is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from algorithms.arrays import Array, like

PAGE_ENTRIES = 2**18
"""Numbers in a page, about: what a core's cache holds, so that a page is read once from memory."""


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
    """

    pages: list[Array]
    replicate: np.ndarray
    first: np.ndarray
    second: np.ndarray
    factors: np.ndarray
    stored: np.ndarray
    near: np.ndarray

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
        total = xp.zeros((runs * count, models.shape[-1]), dtype=models.dtype, device=device(models))
        for page, span in self.spans():
            ends = np.stack([places[self.replicate[span], end[span]] for end in (self.first, self.second)])
            side, row = np.nonzero(ends >= 0)
            if len(row):
                signed = np.where(side == 0, weights[span][row], -weights[span][row])
                total = total + _weighted_sums(page, ends[side, row], row, signed, runs * count)
        return xp.reshape(total, (runs, count, models.shape[-1]))


@dataclass
class PageWriter:
    """Collects rows into pages.

    Attributes
    ----------
    size
        Rows from which on a page is closed.
    """

    size: int
    _pages: list[Array] = field(default_factory=list)
    _parts: list[Array] = field(default_factory=list)
    _columns: list[tuple[np.ndarray, ...]] = field(default_factory=list)

    def add(
        self,
        vectors: Array,
        replicate: np.ndarray,
        first: np.ndarray,
        second: np.ndarray,
        factors: np.ndarray,
    ) -> None:
        """Add vectors (n, d) of pairs with their factors (n,)."""
        if not len(factors):
            return
        self._columns.append((replicate, first, second, factors))
        self._parts.append(vectors)
        if sum(part.shape[0] for part in self._parts) >= self.size:
            self._close()

    def finish(self, stored: np.ndarray, near: np.ndarray) -> Pairs:
        """Give what was collected."""
        if not self._columns:
            nothing = np.empty(0, dtype=np.int64)
            return Pairs([], nothing, nothing, nothing, np.empty(0), stored, near)
        self._close()
        replicate, first, second, factors = map(np.concatenate, zip(*self._columns, strict=True))
        return Pairs(self._pages, replicate, first, second, factors, stored, near)

    def _close(self) -> None:
        if self._parts:
            alone = len(self._parts) == 1
            namespace = array_namespace(self._parts[0])
            self._pages.append(self._parts[0] if alone else namespace.concat(self._parts, axis=0))
            self._parts = []


def grouped(near: np.ndarray) -> np.ndarray:
    """Connected components of the relation "close", numbered by first appearance, (R, m).

    Parameters
    ----------
    near
        Booleans (R, m, m), symmetric.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    runs, clients, _ = near.shape
    replicate, first, second = np.nonzero(near)
    nodes, offset = runs * clients, replicate * clients
    edges = (np.ones(len(first), dtype=bool), (offset + first, offset + second))
    labels = connected_components(csr_matrix(edges, (nodes, nodes)), directed=False)[1]
    _, starts, inverse = np.unique(labels, return_index=True, return_inverse=True)
    opens = np.zeros(nodes, dtype=np.int64)
    opens[starts] = 1
    ranks = np.cumsum(opens.reshape(runs, clients), axis=1).ravel() - 1
    return np.asarray(ranks[starts[inverse]].reshape(runs, clients))


def difference(models: Array, replicate: np.ndarray, first: np.ndarray, second: np.ndarray) -> Array:
    """w_i - w_j of the given pairs of models (R, m, d), a new array (n, d)."""
    xp = array_namespace(models)
    flat = xp.reshape(models, (-1, models.shape[-1]))
    offset = replicate * models.shape[-2]
    one = xp.take(flat, like(offset + first, models), axis=0)
    one -= xp.take(flat, like(offset + second, models), axis=0)
    return one


def pick(table: Array, indices: np.ndarray) -> Array:
    """Rows of a table at increasing indices; the table itself where they are all of them."""
    if len(indices) == table.shape[0]:
        return table
    return array_namespace(table).take(table, like(indices, table), axis=0)


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
    table: Array, segments: np.ndarray, rows: np.ndarray, weights: np.ndarray, count: int
) -> Array:
    """Sum of weights times rows of a table (n, d) in each of ``count`` segments, (count, d)."""
    shape = (count, table.shape[0])
    if is_numpy_array(table):
        from scipy.sparse import csr_matrix

        return csr_matrix((weights.astype(table.dtype), (segments, rows)), shape) @ table
    dense = np.zeros(shape)
    dense[segments, rows] = weights
    xp = array_namespace(table)
    return xp.matmul(xp.astype(like(dense, table), table.dtype), table)
