"""Random numbers and orders from counters, with the same bits on every device.

SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 14) is a
function of a seed and of how many numbers came before, so that all its numbers can be made at once, wherever the
counters are: sums and products of 64-bit integers are the same on every device, where the generators that come with
a device are not. A number with several indices is taken from a tree: number i of the key seeds the generator of its
second index, and so on.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from clusterproof.neural.engines.draws.seed_streams import SeedStreams

GAMMA = 0x9E3779B97F4A7C15
MIXING = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
LAST_SHIFT = 31
FRACTION = 24
"""Bits of a float32 between 0 and 1."""


def draw_key(generator: np.random.Generator | SeedStreams) -> int | Tensor:
    """Take the key of a draw, 64 bits, from one of a run's streams: the seed and its named axes are in it.

    Of the streams of R seeds there is one of each, signed integers (R,) on the device that computes.
    """
    if isinstance(generator, SeedStreams):
        return generator.keys()
    return int(generator.integers(2**64, dtype=np.uint64))


def numbers(key: int | Tensor, shape: tuple[int, ...], device: torch.device | None = None) -> Tensor:
    """Give a uniform 64-bit number for every index, as signed integers (..., *shape).

    Parameters
    ----------
    key
        From ``draw_key``, which gives one key or those of R seeds, or the keys of branches, (...). A number depends
        on its key and on its index alone, not on the shape.
    shape
        One axis an index.
    device
        Where they are made; nothing is copied there.
    """
    found = key
    for size in shape:
        indices = torch.arange(size, device=device)
        found = branches(found[..., None] if isinstance(found, Tensor) else found, indices)
    assert isinstance(found, Tensor)
    return found


def numbers_of_rows(key: int | Tensor, shape: tuple[int, ...], device: torch.device | None = None) -> Tensor:
    """Give the same numbers for participants, of a shape (participants, ...).

    Of R keys each makes those of one replicate, whose participants follow each other.
    """
    if not isinstance(key, Tensor):
        return numbers(key, shape, device)
    return numbers(key, (shape[0] // len(key), *shape[1:]), device).flatten(0, 1)


def branches(key: int | Tensor, indices: Tensor) -> Tensor:
    """Give the numbers with these indices (...), of one key or of keys that broadcast against them."""
    counters = indices * _signed(GAMMA)
    if isinstance(key, Tensor):
        return _mixed(counters + (key + _signed(GAMMA)))
    return _mixed(counters.add_(_signed(key + GAMMA)))


def uniform(words: Tensor) -> Tensor:
    """Numbers in [0, 1) from the first 24 bits of each word, float32 of the same shape, exact on every device."""
    return _shifted(words, 64 - FRACTION).to(torch.float32).mul_(2.0**-FRACTION)


def random_orders(key: int | Tensor, shape: tuple[int, ...], device: torch.device | None = None) -> Tensor:
    """Give a uniform permutation of the last axis for every index of the others, integers of a shape.

    The numbers are sorted. Two of them are equal with probability 2^-64.
    """
    return torch.argsort(numbers(key, shape, device), dim=-1, stable=True)


def random_subsets(
    key: int | Tensor, count: int, shape: tuple[int, ...], device: torch.device | None = None
) -> Tensor:
    """Give ``count`` of the last axis's indices, uniform without replacement and ascending, (..., count).

    Of R keys come the subsets of each, (R, ..., count).
    """
    return torch.sort(random_orders(key, shape, device)[..., :count], dim=-1).values


def _mixed(state: Tensor) -> Tensor:
    """Figure 14's ``mix64``, in place."""
    for shift, factor in MIXING:
        state.bitwise_xor_(_shifted(state, shift)).mul_(_signed(factor))
    return state.bitwise_xor_(_shifted(state, LAST_SHIFT))


def _shifted(state: Tensor, shift: int) -> Tensor:
    """Shift right, zeros coming in where torch's shift repeats the sign."""
    return (state >> shift).bitwise_and_((1 << (64 - shift)) - 1)


def _signed(number: int) -> int:
    """The signed integer with the same 64 bits."""
    kept = number % 2**64
    return kept - 2**64 if kept >= 2**63 else kept
