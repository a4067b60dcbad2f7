"""Compiled local training of a linear classifier with all samples, in double precision, for ``compiling``.

What it does is defined by ``SoftmaxMixture.local_training`` and ``Sample.gradient``. The samples are used in
blocks that stay in a core's second cache, and read from memory once a step: while one block is worked on, the next
is fetched. A product keeps a table of results, five classes times four features or four vectors of samples, in
the registers: twenty are combined for every nine that are read.

Samples lie in tiles, see ``softmax_training.tiled``: feature f of sample k of tile t is
``x[(t * features + f) * TILE + k]``.
"""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms.parts.hints import prefetch, use_widest_vectors
from clusterproof.algorithms.parts.vectors import (
    LANES,
    add,
    add_outer,
    exponential,
    invert,
    larger,
    load,
    multiply,
    spread,
    store,
    store_sums,
    subtract,
)

TILE, BLOCK = 32, 256
"""Samples of a tile, and of the tiles of a block."""
CLASSES, FEATURES = 5, 4
"""Classes and features of a product at once."""
VECTORS, TABLE = TILE // LANES, CLASSES * FEATURES
"""Vectors of a tile's row, and of the table of results."""
COLUMNS = 2
"""Vectors of samples whose probabilities are computed at once."""
EARLY = 2
"""Tiles of the next block that are fetched while probabilities are computed; the others are during products."""
SHARES = 2
"""Parts of a tile's fetching, one with each of the first sets of classes: memory gives little at once."""
LINE = 64
"""Bytes that memory gives at once: a vector that lies in two such pieces takes twice as long."""


def aligned(size: int) -> np.ndarray:
    """Give zeros (size,) that start where memory's lines do."""
    memory = np.zeros(size + LANES)
    start = -memory.ctypes.data % LINE // memory.itemsize
    return memory[start : start + size]


def add_scores(
    x: np.ndarray,
    tile: int,
    tiles: int,
    features: int,
    weights: np.ndarray,
    biases: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Scores W x + b of the tiles from number ``tile`` on, sample k of class c at ``scores[c * BLOCK + k]``.

    ``weights`` has CLASSES classes of feature 0, of feature 1, and so on, then the next classes; ``biases`` has each
    TILE times.
    """
    use_widest_vectors()
    groups = len(biases) // (CLASSES * TILE)
    for t in range(tiles):
        for g in range(groups):
            table = load(biases, g * CLASSES * TILE, 0, 1, TABLE)
            p, q = (tile + t) * features * TILE, g * features * CLASSES
            for f in range(features):
                row = load(x, p + f * TILE, 0, 1, VECTORS)
                table = add_outer(table, spread(weights, q + f * CLASSES, CLASSES), row)
            store(scores, g * CLASSES * BLOCK + t * TILE, BLOCK, CLASSES, table)


def to_probabilities(
    scores: np.ndarray,
    classes: int,
    samples: int,
    tiles: int,
    sums: np.ndarray,
    x: np.ndarray,
    following: int,
    size: int,
) -> None:
    """Softmax of the scores of a block, in place, and 0 for what its tiles have beyond its samples.

    What a class has in all is added to ``sums``, to the TILE numbers of its own. Beside it ``size`` numbers of ``x``
    from ``following`` on are fetched.
    """
    use_widest_vectors()
    share = size // (tiles * TILE // (COLUMNS * LANES))
    for k in range(0, tiles * TILE, COLUMNS * LANES):
        top = load(scores, k, 0, 1, COLUMNS)
        for c in range(1, classes):
            top = larger(load(scores, c * BLOCK + k, 0, 1, COLUMNS), top)
        total = exponential(subtract(load(scores, k, 0, 1, COLUMNS), top))
        store(scores, k, 0, 1, total)
        for c in range(1, classes):
            likely = exponential(subtract(load(scores, c * BLOCK + k, 0, 1, COLUMNS), top))
            store(scores, c * BLOCK + k, 0, 1, likely)
            total = add(total, likely)
        total = invert(total)
        for c in range(classes):
            store(scores, c * BLOCK + k, 0, 1, multiply(load(scores, c * BLOCK + k, 0, 1, COLUMNS), total))
        for place in range(following, following + share, LANES):
            prefetch(x, place)
        following += share
    for c in range(classes):
        scores[c * BLOCK + samples : c * BLOCK + tiles * TILE] = 0
        row = load(sums, c * TILE, 0, 1, VECTORS)
        for k in range(0, tiles * TILE, TILE):
            row = add(row, load(scores, c * BLOCK + k, 0, 1, VECTORS))
        store(sums, c * TILE, 0, 1, row)


def add_products(
    x: np.ndarray,
    tile: int,
    tiles: int,
    follows: int,
    features: int,
    likely: np.ndarray,
    products: np.ndarray,
) -> None:
    """Add p x' of the tiles from number ``tile`` on to ``products``, and fetch the ``follows`` tiles of the next block.

    ``products`` holds a vector, of eight sums, of CLASSES classes and FEATURES features, then of the next classes,
    and then of the next features.
    """
    use_widest_vectors()
    groups, place = len(likely) // (CLASSES * BLOCK), 0
    for f in range(0, features, FEATURES):
        for g in range(groups):
            table = load(products, place, 0, 1, TABLE)
            for t in range(tiles):
                p, q = ((tile + t) * features + f) * TILE, g * CLASSES * BLOCK + t * TILE
                if g < SHARES and EARLY <= t < follows:
                    for k in range(g * FEATURES * TILE // SHARES, (g + 1) * FEATURES * TILE // SHARES, LANES):
                        prefetch(x, p + features * BLOCK + k)
                for k in range(0, TILE, LANES):
                    probabilities = load(likely, q + k, BLOCK, CLASSES, 1)
                    table = add_outer(table, probabilities, load(x, p + k, TILE, FEATURES, 1))
            store(products, place, 0, 1, table)
            place += TABLE * LANES


def sum_slopes(
    x: np.ndarray, features: int, first: int, last: int, w: np.ndarray, slope: np.ndarray, memory: np.ndarray
) -> None:
    """Sum p x' over the samples from number ``first``, where a tile starts, to ``last``: (classes, f) into ``slope``.

    ``x`` and ``features`` are as for ``descend_whole``, ``memory`` is of ``scratch``.
    """
    classes, width = len(w), w.shape[1] - 1
    rows = -(-classes // CLASSES) * CLASSES
    scores, memory = memory[: rows * BLOCK], memory[rows * BLOCK :]
    weights, memory = memory[: rows * features], memory[rows * features :]
    biases, memory = memory[: rows * TILE], memory[rows * TILE :]
    sums, products = memory[: rows * TILE], memory[rows * TILE :]
    for c in range(classes):
        start = c // CLASSES * features * CLASSES + c % CLASSES
        for f in range(width):
            weights[start + f * CLASSES] = w[c, f]
        biases[c * TILE : (c + 1) * TILE] = w[c, width]
    sums[:] = 0
    products[:] = 0
    for begin in range(first, last, BLOCK):
        samples, tile = min(BLOCK, last - begin), begin // TILE
        tiles, follows = -(-samples // TILE), -(-min(BLOCK, last - begin - samples) // TILE)
        add_scores(x, tile, tiles, features, weights, biases, scores)
        following, early = (tile + tiles) * features * TILE, min(EARLY, follows) * features * TILE
        to_probabilities(scores, classes, samples, tiles, sums, x, following, early)
        add_products(x, tile, tiles, follows, features, scores, products)
    # the weights are not needed any more
    for place in range(0, rows * features, TABLE):
        store_sums(weights, place, load(products, place * LANES, 0, 1, TABLE))
    place = 0
    for f in range(0, features, FEATURES):
        for c in range(rows):
            for j in range(f, f + FEATURES):
                if c < classes and j < width:
                    slope[c, j] = weights[place]
                place += 1
    for c in range(classes):
        slope[c, width] = sums[c * TILE : (c + 1) * TILE].sum()


def scratch(classes: int, features: int) -> np.ndarray:
    """Memory for ``sum_slopes``: scores, weights, biases, sums of probabilities and products, zeros at first."""
    rows = -(-classes // CLASSES) * CLASSES
    return aligned(rows * (BLOCK + features + 2 * TILE + features * LANES))


def move(
    slope: np.ndarray,
    count: int,
    class_means: np.ndarray,
    w: np.ndarray,
    u: np.ndarray,
    pulled: np.ndarray,
    step_size: float,
    momentum: float,
    proximal: float,
) -> None:
    """Carry out a step with the sum over all samples, see ``descend_whole``."""
    for c in range(w.shape[0]):
        for f in range(w.shape[1]):
            found = slope[c, f] / count - class_means[c, f] + proximal * (w[c, f] - pulled[c, f])
            u[c, f] = momentum * u[c, f] + found
            w[c, f] -= step_size * u[c, f]


def descend_whole(
    x: np.ndarray,
    features: int,
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
    x, features, count
        Tiles of ``count`` samples with ``features`` features, a multiple of FEATURES.
    class_means
        C of the ``Sample``, (classes, f).
    w, u, pulled
        Model, buffer and anchor, (classes, f).
    steps, step_size, momentum, proximal
        Of ``SoftmaxMixture.local_training``.
    """
    slope, memory = np.empty_like(w), scratch(len(w), features)
    for _ in range(steps):
        sum_slopes(x, features, 0, count, w, slope, memory)
        move(slope, count, class_means, w, u, pulled, step_size, momentum, proximal)
