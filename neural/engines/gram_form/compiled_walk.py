"""Local steps in the span of the samples by compiled loops, where numba is installed; see ``gram_loops``."""

from __future__ import annotations

from threading import Lock

import torch
from torch import Tensor

from clusterproof.algorithms.parts.compiling import can_compile, compiled
from clusterproof.neural.engines.data import Batch
from clusterproof.neural.engines.dense import Layers
from clusterproof.neural.engines.engine import LocalWork

LOOPS = "clusterproof.neural.engines.gram_form.gram_loops"
LEAST_PRODUCTS = 10**6
"""Multiplications of a client's step from which on it is compiled: below, loading takes longer than it saves."""
LOADING = Lock()


def is_compiled(start: Tensor, later: Layers, work: LocalWork) -> bool:
    """Whether clients whose first layer gives ``start`` (k, h, n) take their steps in compiled loops.

    It does not hang on who else takes part: all samples in every step, one hidden layer, no pull to an anchor.
    """
    _, hidden, samples = start.shape
    return (
        start.device.type == "cpu"
        and work.schedule is None
        and not work.proximal
        and len(later) == 1
        and hidden * samples**2 >= LEAST_PRODUCTS
        and can_compile()
    )


def take_steps(
    start: Tensor,
    carried: Tensor | None,
    shares: list[float],
    everything: Batch,
    gram: Tensor,
    layer: tuple[Tensor, Tensor],
    velocity: tuple[Tensor, Tensor] | None,
    moves: Tensor,
    rates: Tensor | None,
    work: LocalWork,
) -> None:
    """Take all steps of k clients: ``layer``, ``velocity`` and coefficients move in place.

    Parameters
    ----------
    start, carried
        What the first layer's start and its buffer give on the samples, (k, h, n); None for no buffer.
    shares
        Of ``carried`` before each step.
    everything, gram
        The clients' data, and X X' + 1, (k, n, n).
    layer, velocity
        The last layer, (k, c, h) and (k, c), and its buffer.
    moves, rates
        Coefficients (k, h, n), zeros, and those of the buffer.
    work
        Step size and momentum.
    """
    with LOADING:  # threads with other clients arrive here at the same time
        loops = compiled(LOOPS)
    numbers = moves.numpy().dtype.type
    nothing = start.new_empty(0, *start.shape[1:])
    pair = [part.contiguous() for part in layer]
    fast = [part.contiguous() for part in velocity or (pair[0][:0], pair[1][:0])]
    arrays = (
        start.contiguous(),
        nothing if carried is None else carried.contiguous(),
        torch.tensor(shares, dtype=start.dtype),
        gram.contiguous(),
        everything.truth(pair[1].shape[1]),
        everything.weights,
        *pair,
        *fast,
        moves,
        nothing if rates is None else rates,
    )
    loops.walk(*(one.numpy() for one in arrays), numbers(work.step_size), numbers(work.momentum))
    for parts, moved in ((layer, pair), (velocity or (), fast)):
        for part, own in zip(parts, moved, strict=False):
            part.copy_(own)
