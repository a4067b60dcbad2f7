"""Random numbers from counters, and the mini-batches of local training that they order.

SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 14) is a
function of a seed and of how many numbers came before, so that a number depends on its index alone and all of them are
made at once. A number with several indices is taken from a tree: number i of the key seeds the generator of its second
index, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

GAMMA = 0x9E3779B97F4A7C15
MIXING = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
LAST_SHIFT = 31
FRACTION = 24
"""Bits of a float32 between 0 and 1."""


def draw_key(generator: np.random.Generator) -> int:
    """Take the key of a draw, 64 bits, from one of a run's streams."""
    return int(generator.integers(2**64, dtype=np.uint64))


def numbers(key: int | Tensor, shape: tuple[int, ...]) -> Tensor:
    """Give a uniform 64-bit number for every index, as signed integers (..., *shape).

    Parameters
    ----------
    key
        From ``draw_key``, or keys (...), each of a tree of its own. A number depends on its key and on its index, not
        on the shape.
    shape
        One axis an index.
    """
    result = key
    for size in shape:
        result = branches(result[..., None] if isinstance(result, Tensor) else result, torch.arange(size))
    assert isinstance(result, Tensor)
    return result


def branches(key: int | Tensor, indices: Tensor) -> Tensor:
    """Give the numbers with these indices (...), of one key or of keys that broadcast against them."""
    counters = indices * _signed(GAMMA)
    if isinstance(key, Tensor):
        return _mix(counters + (key + _signed(GAMMA)))
    return _mix(counters.add_(_signed(key + GAMMA)))


def uniform(words: Tensor) -> Tensor:
    """Numbers in [0, 1) from the first 24 bits of each word, float32 of the same shape."""
    return _shift(words, 64 - FRACTION).to(torch.float32).mul_(2.0**-FRACTION)


def _mix(state: Tensor) -> Tensor:
    """Figure 14's ``mix64``, in place."""
    for shift, factor in MIXING:
        state.bitwise_xor_(_shift(state, shift)).mul_(_signed(factor))
    return state.bitwise_xor_(_shift(state, LAST_SHIFT))


def _shift(state: Tensor, shift: int) -> Tensor:
    """Shift right, filling with zeros where torch's shift repeats the sign."""
    return (state >> shift).bitwise_and_((1 << (64 - shift)) - 1)


def _signed(number: int) -> int:
    """The signed integer with the same 64 bits."""
    word = number % 2**64
    return word - 2**64 if word >= 2**63 else word


@dataclass(frozen=True, eq=False)
class Schedule:
    """Which of its samples each client uses in each step: batch after batch through random orders of its data, or all.

    A pass uses each sample once, in batches of ``batch_size`` of which the last may be smaller; the next
    pass has a new order.

    Attributes
    ----------
    sizes
        Samples of each client in a pass, (k,).
    batch_size
        Samples of a step.
    steps
        Gradient steps of each client, (k,).
    orders
        Samples of each client in the order of each pass, (k, passes, largest size); None if each step uses all data.
    """

    sizes: np.ndarray
    batch_size: int
    steps: np.ndarray
    orders: np.ndarray | None

    @classmethod
    def draw(
        cls,
        sizes: np.ndarray,
        batch_size: int,
        local_steps: int | np.ndarray,
        unit: str,
        generator: np.random.Generator,
    ) -> Schedule:
        """Draw the orders of all passes.

        Parameters
        ----------
        sizes, batch_size
            Samples of each client (k,) and of a batch.
        local_steps, unit
            How many ``"step"``s, of one batch each, or ``"epoch"``s, of one pass each, of every client or of
            each, (k,).
        generator
            Source of the orders, of which it gives the key.
        """
        batches = -(-sizes // batch_size)
        steps = local_steps * (batches if unit == "epoch" else np.ones_like(batches))
        passes = int((-(-steps // batches)).max(initial=0))
        return cls(sizes, batch_size, steps, _orders(draw_key(generator), passes, sizes))

    @classmethod
    def independent(
        cls, sizes: np.ndarray, batch_size: int, steps: int, generator: np.random.Generator
    ) -> Schedule:
        """Draw a batch for each step without replacement, independently of the other steps; see ``draw``."""
        orders = _orders(draw_key(generator), steps, sizes)[..., :batch_size]
        return cls(np.minimum(sizes, batch_size), batch_size, np.full(len(sizes), steps), orders)

    def batch(self, rows: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Samples of some clients in a step.

        Parameters
        ----------
        rows
            Which of the clients, (r,); all have more than ``step`` steps.
        step
            From 0.

        Returns
        -------
        tuple
            Samples (r, b), padded with 0, and how many of them are real, (r,). The largest batch that any
            client has in the step is b, so that a client's numbers do not depend on ``rows``.
        """
        assert self.orders is not None
        batches = -(-self.sizes // self.batch_size)
        start = (step % batches) * self.batch_size
        counts = np.minimum(self.batch_size, self.sizes - start)
        width = counts[self.steps > step].max()
        columns, counts = start[rows, None] + np.arange(width), counts[rows]
        real = np.arange(width) < counts[:, None]
        orders = self.orders[rows, step // batches[rows]]
        return np.where(real, np.take_along_axis(orders, columns * real, axis=1), 0), counts


def _orders(key: int, passes: int, sizes: np.ndarray) -> np.ndarray:
    """Put each client's samples in random orders (k, passes, largest size), padding last."""
    largest = int(sizes.max(initial=0))
    is_real = np.arange(largest) < sizes[:, None, None]
    keys = numbers(key, (len(sizes), passes, largest)).numpy()
    return np.argsort(np.where(is_real, keys, np.iinfo(np.int64).max), axis=-1, kind="stable")
