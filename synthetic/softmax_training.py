"""Compiled local training of several clients, on as many threads as numba is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np

from clusterproof.algorithms.parts.compiling import compiled
from clusterproof.synthetic.softmax_sample import Sample, aligned_rows

LEAST_PRODUCTS = 10**7
"""Products of one pass over everybody's data from which on training is compiled: below, loading takes longer."""
LARGE, PARTS = 2**14, 4
"""Samples of a client from which on several threads share it, and in how many parts, however many threads."""
KERNELS = "clusterproof.synthetic.kernels.softmax_kernels"


def tiled(sample: Sample) -> np.ndarray:
    """Lay out samples as the compiled loops read them, one tile after the other.

    Returns
    -------
    numpy.ndarray
        (tiles, features, TILE), where memory's lines start: without the row of ones, and with zeros for the
        features and samples that the last ones want.
    """
    loops = compiled(KERNELS)
    features, samples = sample.features[:-1], sample.features.shape[1]
    tiles, height = -(-samples // loops.TILE), -(-len(features) // loops.FEATURES) * loops.FEATURES
    result = aligned_rows(tiles * height, loops.TILE, features.dtype).reshape(tiles, height, loops.TILE)
    result[...] = 0
    whole = samples // loops.TILE
    cut = features[:, : whole * loops.TILE].reshape(len(features), whole, loops.TILE)
    result[:whole, : len(features)] = cut.transpose(1, 0, 2)
    result[whole:, : len(features), : samples - whole * loops.TILE] = features[:, whole * loops.TILE :]
    return result


def train_compiled(
    samples: list[Sample],
    tiles: list[np.ndarray],
    w: np.ndarray,
    u: np.ndarray,
    pulled: np.ndarray,
    *,
    steps: int,
    step_size: float,
    momentum: float,
    proximal: float,
) -> None:
    """Train clients with all their samples in double precision; the outcome does not depend on the threads.

    Parameters
    ----------
    samples, tiles
        Of every client, k, and as ``tiled`` lays them out.
    w, u, pulled
        Models, buffers and anchors, (k, classes, f); the first two are written.
    steps, step_size, momentum, proximal
        Of ``SoftmaxMixture.local_training``.
    """
    import numba

    loops = compiled(KERNELS)
    counts = [one.features.shape[1] for one in samples]
    motion = (float(step_size), float(momentum), float(proximal))

    def train(client: int) -> None:
        x, one = tiles[client], samples[client]
        state = (one.class_means, w[client], u[client], pulled[client])
        loops.descend_whole(x.reshape(-1), x.shape[1], counts[client], *state, steps, *motion)

    def train_in_parts(client: int, apply: Callable[..., Iterable[None]]) -> None:
        x, one = tiles[client], samples[client]
        length = -(-len(x) // PARTS) * loops.TILE
        slopes = np.empty((PARTS, *w[client].shape))
        memory = [loops.scratch(len(w[client]), x.shape[1]) for _ in range(PARTS)]

        def add_up(part: int) -> None:
            ends = (min(place * length, counts[client]) for place in (part, part + 1))
            loops.sum_slopes(x.reshape(-1), x.shape[1], *ends, w[client], slopes[part], memory[part])

        for _ in range(steps):
            for _ in apply(add_up, range(PARTS)):
                pass
            slope = slopes.sum(axis=0)
            loops.move(slope, counts[client], one.class_means, w[client], u[client], pulled[client], *motion)

    large = [client for client, count in enumerate(counts) if count >= LARGE]
    # the largest first, so that no thread is left with it
    others = sorted(set(range(len(samples))) - set(large), key=lambda client: -counts[client])
    threads = min(numba.get_num_threads(), max(len(samples), PARTS))
    with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        apply = map if pool is None else pool.map
        for client in large:
            train_in_parts(client, apply)
        for _ in apply(train, others):
            pass
