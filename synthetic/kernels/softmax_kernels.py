"""Compiled local training of a linear classifier with all samples, in double precision: plain, for ``compiling``.

What it does is defined by ``SoftmaxMixture.local_training`` and ``Sample.gradient``. The samples are used in
blocks that stay in a core's cache. A product takes five classes and four features at once: twenty numbers are
then combined for every nine that are read. Scores lie in one array with a fixed distance between classes, which
lets the compiler see that they do not overlap, and use vector instructions. While a block is worked on, the next
one is fetched: a client's data are larger than a core's cache, and are read once a step.
"""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms.parts.hints import prefetch, use_widest_vectors

BLOCK = 256
"""Samples of a block."""
CLASSES, FEATURES = 5, 4
"""Classes and features of a product at once."""
LINE = 8
"""Numbers that memory gives at once."""
LN2_HIGH, LN2_LOW, LOG2_E = 6.93147180369123816490e-01, 1.90821492927058770002e-10, 1.4426950408889634
"""log 2 in two parts, the first of which times a small integer is exact (Cody and Waite), and 1 / log 2."""


def add_scores(x: np.ndarray, row: int, w: np.ndarray, s: np.ndarray, size: int) -> None:
    """Scores W x of a block: ``x`` (f n,) from a block's start on, rows n = ``row`` apart, into ``s``."""
    use_widest_vectors()
    classes, features = w.shape
    whole, even = classes - classes % CLASSES, features - features % FEATURES
    s[:] = 0
    for c in range(0, whole, CLASSES):
        p = np.uint64(c * BLOCK)
        p1, p2, p3, p4 = (
            p + np.uint64(BLOCK),
            p + np.uint64(2 * BLOCK),
            p + np.uint64(3 * BLOCK),
            p + np.uint64(4 * BLOCK),
        )
        for f in range(0, even, FEATURES):
            q, q1, q2, q3 = (
                np.uint64(f * row),
                np.uint64((f + 1) * row),
                np.uint64((f + 2) * row),
                np.uint64((f + 3) * row),
            )
            a00, a01, a02, a03 = w[c, f], w[c, f + 1], w[c, f + 2], w[c, f + 3]
            a10, a11, a12, a13 = w[c + 1, f], w[c + 1, f + 1], w[c + 1, f + 2], w[c + 1, f + 3]
            a20, a21, a22, a23 = w[c + 2, f], w[c + 2, f + 1], w[c + 2, f + 2], w[c + 2, f + 3]
            a30, a31, a32, a33 = w[c + 3, f], w[c + 3, f + 1], w[c + 3, f + 2], w[c + 3, f + 3]
            a40, a41, a42, a43 = w[c + 4, f], w[c + 4, f + 1], w[c + 4, f + 2], w[c + 4, f + 3]
            for k in range(size):
                i = np.uint64(k)
                x0, x1, x2, x3 = x[q + i], x[q1 + i], x[q2 + i], x[q3 + i]
                s[p + i] += a00 * x0 + a01 * x1 + a02 * x2 + a03 * x3
                s[p1 + i] += a10 * x0 + a11 * x1 + a12 * x2 + a13 * x3
                s[p2 + i] += a20 * x0 + a21 * x1 + a22 * x2 + a23 * x3
                s[p3 + i] += a30 * x0 + a31 * x1 + a32 * x2 + a33 * x3
                s[p4 + i] += a40 * x0 + a41 * x1 + a42 * x2 + a43 * x3
    for c in range(classes):
        for f in range(even if c < whole else 0, features):
            p, q, a = np.uint64(c * BLOCK), np.uint64(f * row), w[c, f]
            for k in range(size):
                s[p + np.uint64(k)] += a * x[q + np.uint64(k)]


def to_probabilities(
    s: np.ndarray,
    classes: int,
    size: int,
    top: np.ndarray,
    total: np.ndarray,
    bits: np.ndarray,
    power: np.ndarray,
) -> None:
    """Softmax of the scores of a block, in place; ``bits`` and ``power`` are one piece of memory."""
    use_widest_vectors()
    top[:size] = s[:size]
    for c in range(1, classes):
        row = s[c * BLOCK : c * BLOCK + size]
        for i in range(size):
            top[i] = max(row[i], top[i])
    total[:size] = 0
    for c in range(classes):
        row = s[c * BLOCK : c * BLOCK + size]
        for i in range(size):
            # e^y = 2^k e^r with |r| <= log(2) / 2, whose series needs 13 terms for 53 bits; 2^k by its bits
            y = max(row[i] - top[i], -700.0)
            k = np.floor(y * LOG2_E + 0.5)
            r = (y - k * LN2_HIGH) - k * LN2_LOW
            high = 1 / 40320 + r * (1 / 362880 + r * (1 / 3628800 + r * (1 / 39916800 + r * (1 / 479001600))))
            low = 1 / 24 + r * (1 / 120 + r * (1 / 720 + r * (1 / 5040 + r * high)))
            row[i] = 1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * low)))
            bits[i] = (np.int64(k) + 1023) << 52
        for i in range(size):
            likely = row[i] * power[i]
            row[i] = likely
            total[i] += likely
    for i in range(size):
        total[i] = 1 / total[i]
    for c in range(classes):
        row = s[c * BLOCK : c * BLOCK + size]
        for i in range(size):
            row[i] *= total[i]


def add_products(x: np.ndarray, row: int, s: np.ndarray, size: int, slope: np.ndarray, follows: int) -> None:
    """Add p x' of a block to ``slope`` (classes, f), and fetch the ``follows`` samples after it."""
    use_widest_vectors()
    classes, features = slope.shape
    whole, even = classes - classes % CLASSES, features - features % FEATURES
    for c in range(0, whole, CLASSES):
        p = np.uint64(c * BLOCK)
        p1, p2, p3, p4 = (
            p + np.uint64(BLOCK),
            p + np.uint64(2 * BLOCK),
            p + np.uint64(3 * BLOCK),
            p + np.uint64(4 * BLOCK),
        )
        for f in range(0, even, FEATURES):
            q, q1, q2, q3 = (
                np.uint64(f * row),
                np.uint64((f + 1) * row),
                np.uint64((f + 2) * row),
                np.uint64((f + 3) * row),
            )
            # of the rows of this product the next block's part, a share of it with each set of classes
            for k in range(c // CLASSES * LINE, follows, whole // CLASSES * LINE):
                i = np.uint64(k + BLOCK)
                prefetch(x, q + i)
                prefetch(x, q1 + i)
                prefetch(x, q2 + i)
                prefetch(x, q3 + i)
            a00 = a01 = a02 = a03 = a10 = a11 = a12 = a13 = a20 = a21 = 0.0
            a22 = a23 = a30 = a31 = a32 = a33 = a40 = a41 = a42 = a43 = 0.0
            for k in range(size):
                i = np.uint64(k)
                x0, x1, x2, x3 = x[q + i], x[q1 + i], x[q2 + i], x[q3 + i]
                s0, s1, s2, s3, s4 = s[p + i], s[p1 + i], s[p2 + i], s[p3 + i], s[p4 + i]
                a00, a01, a02, a03 = a00 + s0 * x0, a01 + s0 * x1, a02 + s0 * x2, a03 + s0 * x3
                a10, a11, a12, a13 = a10 + s1 * x0, a11 + s1 * x1, a12 + s1 * x2, a13 + s1 * x3
                a20, a21, a22, a23 = a20 + s2 * x0, a21 + s2 * x1, a22 + s2 * x2, a23 + s2 * x3
                a30, a31, a32, a33 = a30 + s3 * x0, a31 + s3 * x1, a32 + s3 * x2, a33 + s3 * x3
                a40, a41, a42, a43 = a40 + s4 * x0, a41 + s4 * x1, a42 + s4 * x2, a43 + s4 * x3
            for place, found in enumerate((a00, a01, a02, a03)):
                slope[c, f + place] += found
            for place, found in enumerate((a10, a11, a12, a13)):
                slope[c + 1, f + place] += found
            for place, found in enumerate((a20, a21, a22, a23)):
                slope[c + 2, f + place] += found
            for place, found in enumerate((a30, a31, a32, a33)):
                slope[c + 3, f + place] += found
            for place, found in enumerate((a40, a41, a42, a43)):
                slope[c + 4, f + place] += found
    for c in range(classes):
        for f in range(even if c < whole else 0, features):
            p, q, found = np.uint64(c * BLOCK), np.uint64(f * row), 0.0
            for k in range(size):
                found += s[p + np.uint64(k)] * x[q + np.uint64(k)]
            slope[c, f] += found


def descend_whole(
    x: np.ndarray,
    row: int,
    count: int,
    class_means: np.ndarray,
    w: np.ndarray,
    u: np.ndarray,
    pulled: np.ndarray,
    steps: int,
    step_size: float,
    momentum: float,
    proximal: float,
) -> None:
    """Train one client with all its samples: ``w`` and ``u`` (classes, f) in place.

    Parameters
    ----------
    x, row, count
        Features: number f of sample k is ``x[f * row + k]``, k < ``count``.
    class_means
        C of the ``Sample``, (classes, f).
    w, u, pulled
        Model, buffer and anchor, (classes, f).
    steps, step_size, momentum, proximal
        Of ``SoftmaxMixture.local_training``.
    """
    slope = np.empty_like(w)
    s, top, total = np.empty(len(w) * BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    bits = np.empty(BLOCK, np.int64)
    power = bits.view(np.float64)
    for _ in range(steps):
        slope[:] = 0
        for start in range(0, count, BLOCK):
            size = min(BLOCK, count - start)
            follows = min(BLOCK, count - start - size)
            add_scores(x[start:], row, w, s, size)
            to_probabilities(s, len(w), size, top, total, bits, power)
            add_products(x[start:], row, s, size, slope, follows)
        for c in range(w.shape[0]):
            for f in range(w.shape[1]):
                found = slope[c, f] / count - class_means[c, f] + proximal * (w[c, f] - pulled[c, f])
                u[c, f] = momentum * u[c, f] + found
                w[c, f] -= step_size * u[c, f]
