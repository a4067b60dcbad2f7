"""Compiled local training of several clients, on as many threads as numba is allowed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.lib.stride_tricks import as_strided

from clusterproof.algorithms.parts.compiling import compiled
from clusterproof.synthetic.softmax_sample import Sample

LEAST_PRODUCTS = 10**7
"""Products of one pass over everybody's data from which on training is compiled: below, loading takes longer."""


def train_compiled(
    samples: list[Sample],
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
    samples
        Of every client, k.
    w, u, pulled
        Models, buffers and anchors, (k, classes, f); the first two are written.
    steps, step_size, momentum, proximal
        Of ``SoftmaxMixture.local_training``.
    """
    import numba

    descend_whole = compiled("clusterproof.synthetic.kernels.softmax_kernels").descend_whole

    def train(client: int) -> None:
        one = samples[client]
        row, count = one.features.strides[0] // one.features.itemsize, one.features.shape[1]
        # rows may lie apart: seen as one, with what is between them
        flat = as_strided(one.features, ((len(one.features) - 1) * row + count,), (one.features.itemsize,))
        descend_whole(
            flat,
            row,
            count,
            one.class_means,
            w[client],
            u[client],
            pulled[client],
            steps,
            float(step_size),
            float(momentum),
            float(proximal),
        )

    # the largest first, so that no thread is left with it
    order = np.argsort([-one.features.shape[1] for one in samples], kind="stable").tolist()
    threads = min(numba.get_num_threads(), len(samples))
    if threads == 1:
        for client in order:
            train(client)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(train, order))
