"""Compiled loops of the server's round of FPFC, one pass over the stored vectors: plain, for ``compiling``.

What they do is defined by ``pair_updates``, which does it for any array library. Runs and clients are one axis
in ``models``, ``sums`` and ``labels``: client i of run r is row r m + i.
"""

from __future__ import annotations

import numpy as np


def shrunk(length: float, pieces: np.ndarray) -> float:
    """Factor of the proximal point: max(0, p - q / length) of the first piece (end, p, q) that reaches so far."""
    for piece in range(len(pieces)):
        if length <= pieces[piece, 0]:
            break
    if pieces[piece, 2] == 0:
        return float(pieces[piece, 1])
    return float(max(0.0, pieces[piece, 1] - pieces[piece, 2] / length))


def screen(
    stored: np.ndarray, near: np.ndarray, moving: np.ndarray, movers: np.ndarray, far: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Replicate, i and j of the movers' pairs i, j without a row that are not ``far``; takes them out of ``near``.

    ``stored`` and ``near`` are (R, m, m), ``moving`` (R, m), ``movers`` (R, k), ``far`` (R, k, m).
    """
    clients, size = moving.shape[1], 0
    for run in range(len(movers)):
        for place, i in enumerate(movers[run]):
            if moving[run, i]:
                for j in range(clients):
                    if i != j and not stored[run, i, j] and not (moving[run, j] and j < i):
                        near[run, i, j] = near[run, j, i] = False
                        size += not far[run, place, j]
    replicate, first, second = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    size = 0
    for run in range(len(movers)):
        for place, i in enumerate(movers[run]):
            if moving[run, i]:
                for j in range(clients):
                    open_ = i != j and not stored[run, i, j] and not (moving[run, j] and j < i)
                    if open_ and not far[run, place, j]:
                        replicate[size], first[size], second[size] = run, min(i, j), max(i, j)
                        size += 1
    return replicate, first, second


def update_rows(
    page: np.ndarray,
    replicate: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    factors: np.ndarray,
    gone: np.ndarray,
    moving: np.ndarray,
    models: np.ndarray,
    sums: np.ndarray,
    stored: np.ndarray,
    near: np.ndarray,
    labels: np.ndarray,
    pieces: np.ndarray,
    threshold: float,
) -> bool:
    """Update the rows of a page that have a mover, in place, with everything that hangs on them.

    The sums of movers count from nothing, for each of their rows comes by; those of others change by what the
    row changes. Gives whether two clients of different groups are close now.
    """
    clients, dimension = stored.shape[1], page.shape[1]
    held, old, joined = np.zeros(6, page.dtype), np.empty(dimension, page.dtype), False
    for row in range(len(page)):
        run, i, j = replicate[row], first[row], second[row]
        p, q = run * clients + i, run * clients + j
        if not (moving[p] or moving[q]):
            continue
        factor = factors[row]
        vector, one, other = page[row], models[p], models[q]
        held[0], held[1] = 1 - factor, 0
        share, square = held[0], held[1]
        for k in range(dimension):
            old[k] = vector[k]
            moved = share * vector[k] + (one[k] - other[k])
            vector[k] = moved
            square += moved * moved
        length = np.sqrt(square)
        new = shrunk(length, pieces)
        gone[row] = factor == 1 and new == 1  # v was 0 and is 0, hence theta = w_i - w_j
        held[2] = 0 if gone[row] else 2 * new - 1
        held[3] = 0 if moving[p] else 2 * factor - 1
        held[4] = 0 if moving[q] else 2 * factor - 1
        gain, loss, lost = held[2], held[3], held[4]
        own, partner = sums[p], sums[q]
        for k in range(dimension):
            own[k] += gain * vector[k] - loss * old[k]
            partner[k] -= gain * vector[k] - lost * old[k]
        factors[row] = new
        stored[run, i, j] = stored[run, j, i] = not gone[row]
        close = new * length <= threshold
        near[run, i, j] = near[run, j, i] = close
        joined |= close and labels[p] != labels[q]
    return joined


def close_gaps(
    page: np.ndarray,
    gone: np.ndarray,
    replicate: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    factors: np.ndarray,
) -> int:
    """Move rows from a page's end to the places of those that are ``gone``, in place; gives how many are left."""
    left = len(page)
    for row in range(len(page)):
        if row >= left:
            break
        if gone[row]:
            left -= 1
            while left > row and gone[left]:
                left -= 1
            if left > row:
                page[row] = page[left]
                replicate[row], first[row], second[row] = replicate[left], first[left], second[left]
                factors[row] = factors[left]
    return left


def fresh_rows(
    begin: int,
    replicate: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    page: np.ndarray,
    rows: np.ndarray,
    factors: np.ndarray,
    models: np.ndarray,
    sums: np.ndarray,
    stored: np.ndarray,
    near: np.ndarray,
    labels: np.ndarray,
    pieces: np.ndarray,
    threshold: float,
) -> tuple[int, int, bool]:
    """Fill a page with the pairs from number ``begin`` on that leave the region of the constant penalty.

    ``rows`` and ``factors`` (n,) receive the numbers of the pairs and their factors. Gives where to go on, how
    many rows there are, and whether two clients of different groups are close now.
    """
    clients, dimension, size = stored.shape[1], page.shape[1], 0
    held, joined, position = np.zeros(2, page.dtype), False, begin
    while position < len(first) and size < len(page):
        run, i, j = replicate[position], first[position], second[position]
        p, q = run * clients + i, run * clients + j
        vector, one, other = page[size], models[p], models[q]
        square = held[1]
        for k in range(dimension):
            moved = one[k] - other[k]
            vector[k] = moved
            square += moved * moved
        length = np.sqrt(square)
        new = shrunk(length, pieces)
        close = new * length <= threshold
        near[run, i, j] = near[run, j, i] = close
        joined |= close and labels[p] != labels[q]
        if new != 1:
            held[0] = 2 * new - 1
            gain, own, partner = held[0], sums[p], sums[q]
            for k in range(dimension):
                own[k] += gain * vector[k]
                partner[k] -= gain * vector[k]
            stored[run, i, j] = stored[run, j, i] = True
            rows[size], factors[size] = position, new
            size += 1
        position += 1
    return position, size, joined


def components(near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels and parents of ``Groups``, (R, m) each, of a relation (R, m, m)."""
    runs, clients, _ = near.shape
    labels, parents = np.full((runs, clients), -1), np.empty((runs, clients), np.int64)
    waiting = np.empty(clients, np.int64)
    for run in range(runs):
        label = 0
        for first in range(clients):
            if labels[run, first] >= 0:
                continue
            labels[run, first], parents[run, first] = label, first
            waiting[0], size = first, 1
            while size:
                size -= 1
                one = waiting[size]
                for other in range(clients):
                    if near[run, one, other] and labels[run, other] < 0:
                        labels[run, other], parents[run, other] = label, one
                        waiting[size] = other
                        size += 1
            label += 1
    return labels, parents
