"""Compiled products with samples most of whose numbers are 0, for ``compiling``; see ``samples.SparseSamples``.

Eight rows are added at a time, so that the sum goes through memory once for all of them.
"""

from __future__ import annotations

import numpy as np


def list_numbers(
    pixels: np.ndarray,
    begins: np.ndarray,
    ends: np.ndarray,
    places: np.ndarray,
    entries: np.ndarray,
) -> None:
    """List what is not 0 in samples (n, in): where, into ``places``, and what, into ``entries``.

    Those of sample i are from ``begins[i]`` to ``ends[i]``. Both lists have room for one more.
    """
    count = 0
    for i in range(pixels.shape[0]):
        begins[i] = count
        for j in range(pixels.shape[1]):
            places[count] = j
            entries[count] = pixels[i, j]
            count += pixels[i, j] != 0
        ends[i] = count


def values(
    begins: np.ndarray,
    ends: np.ndarray,
    places: np.ndarray,
    entries: np.ndarray,
    white: float,
    rows: np.ndarray,
    start: np.ndarray,
    out: np.ndarray,
) -> None:
    """Set out[i] to ``start`` (h,) plus rows (in, h) at the places of sample i times its entries over white, (n, h)."""
    factors = np.empty(len(rows), out.dtype)
    for i in range(len(begins)):
        out[i] = start
        count = ends[i] - begins[i]
        for e in range(count):
            factors[e] = entries[begins[i] + e]
            factors[e] /= white
        add_rows(places[begins[i] : ends[i]], factors[:count], rows, out[i])


def turn(
    begins: np.ndarray,
    ends: np.ndarray,
    places: np.ndarray,
    entries: np.ndarray,
    white: float,
    firsts: np.ndarray,
    samples: np.ndarray,
    numbers: np.ndarray,
) -> None:
    """List by place what is listed by sample, over white: that of place j is from ``firsts[j]`` to ``firsts[j + 1]``.

    ``firsts`` (in + 1,) is 0 at first; the other lists have one place for every number.
    """
    for i in range(len(begins)):
        for e in range(begins[i], ends[i]):
            firsts[places[e] + 1] += 1
    for j in range(1, len(firsts)):
        firsts[j] += firsts[j - 1]
    following = firsts.copy()
    for i in range(len(begins)):
        for e in range(begins[i], ends[i]):
            at = following[places[e]]
            following[places[e]] = at + 1
            samples[at] = i
            numbers[at] = entries[e]
            numbers[at] /= white


def add_rows(places: np.ndarray, factors: np.ndarray, rows: np.ndarray, total: np.ndarray) -> None:
    """Add rows (p, h) at places (n,), times factors (n,), to a total (h,)."""
    end = len(places) - len(places) % 8
    for e in range(0, end, 8):
        a, b, c, d = rows[places[e]], rows[places[e + 1]], rows[places[e + 2]], rows[places[e + 3]]
        p, q, r, s = rows[places[e + 4]], rows[places[e + 5]], rows[places[e + 6]], rows[places[e + 7]]
        f = factors[e : e + 8]
        for k in range(len(total)):
            total[k] += (
                f[0] * a[k]
                + f[1] * b[k]
                + f[2] * c[k]
                + f[3] * d[k]
                + f[4] * p[k]
                + f[5] * q[k]
                + f[6] * r[k]
                + f[7] * s[k]
            )
    for e in range(end, len(places)):
        row = rows[places[e]]
        for k in range(len(total)):
            total[k] += factors[e] * row[k]
