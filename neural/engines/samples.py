"""Samples of a chunk of clients, and the two products that first layers of perceptrons need of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from clusterproof.algorithms.parts.compiling import can_compile, compiled
from clusterproof.neural.engines.products import multiply

LOOPS = "clusterproof.neural.engines.sparse_loops"
MOSTLY_ZERO = 0.25
"""Share of numbers that are not 0 up to which it is faster to leave out the others; it breaks even at .4."""
LEAST_PRODUCTS = 10**7
"""Multiplications of a client's samples with a first layer from which on it is compiled, see ``compiled_walk``."""


class Samples(ABC):
    """Samples of k clients, n each and padded, with ``in`` numbers."""

    @abstractmethod
    def of(self, clients: Tensor) -> Samples:
        """Those of some of the clients, places (r,)."""

    @abstractmethod
    def values(self, weight: Tensor, bias: Tensor) -> Tensor:
        """What layers (P, h, in) and (P, h) give on all samples: (P, h, k, n)."""

    @abstractmethod
    def combine(self, coefficients: Tensor, out: Tensor) -> None:
        """Write the sum of all samples times coefficients (h, k n) into ``out`` (h, in)."""


@dataclass(frozen=True, eq=False)
class DenseSamples(Samples):
    """Samples with all their numbers.

    Attributes
    ----------
    features
        (k, n, in).
    """

    features: Tensor

    def of(self, clients: Tensor) -> DenseSamples:
        """Those of some of the clients."""
        return DenseSamples(self.features[clients])

    def values(self, weight: Tensor, bias: Tensor) -> Tensor:
        """What layers give, all of them in one product."""
        found = multiply(weight.flatten(0, 1), self.features.flatten(0, 1).mT)
        return found.view(*weight.shape[:2], *self.features.shape[:2]).add_(bias[..., None, None])

    def combine(self, coefficients: Tensor, out: Tensor) -> None:
        """Write the sum of all samples times coefficients."""
        multiply(coefficients, self.features.flatten(0, 1), out=out)


@dataclass(frozen=True, eq=False)
class SparseSamples(Samples):
    """Samples whose numbers are 0 for the most part, on a CPU: black pixels take neither place nor time.

    A sample's values have the same bits whoever else is in the chunk.

    Attributes
    ----------
    begins, ends
        Where the list of each sample begins and ends, (k, n); of all samples (N,).
    places, entries
        Which numbers are not 0, and the numbers as they are stored.
    white
        What they are divided by, in the type of products.
    inputs
        How many a sample has (in).
    """

    begins: np.ndarray
    ends: np.ndarray
    places: np.ndarray
    entries: np.ndarray
    white: np.floating
    inputs: int

    @classmethod
    def listed(cls, pixels: Tensor, white: Tensor) -> SparseSamples:
        """List the numbers of all samples (N, in), over ``white`` () and in its type."""
        together = pixels.numpy()
        begins, ends = np.empty((2, len(together)), np.int64)
        room, inputs = np.count_nonzero(together) + 1, together.shape[1]
        places, entries = np.empty(room, np.min_scalar_type(inputs)), np.empty(room, together.dtype)
        compiled(LOOPS).list_numbers(together, begins, ends, places, entries)
        return cls(begins, ends, places, entries, white.numpy().reshape(1)[0], inputs)

    def at(self, indices: Tensor) -> SparseSamples:
        """Those at indices (k, n) of all samples; no number is copied."""
        which = indices.numpy()
        return replace(self, begins=self.begins[which], ends=self.ends[which])

    def of(self, clients: Tensor) -> SparseSamples:
        """Those of some of the clients."""
        return self.at(clients)

    def values(self, weight: Tensor, bias: Tensor) -> Tensor:
        """What layers give, one after the other; stored a row a sample."""
        found = torch.empty(*weight.shape[:1], self.begins.size, weight.shape[1], dtype=weight.dtype)
        for own, start, out in zip(weight, bias, found, strict=True):
            rows = own.mT.contiguous().numpy()
            compiled(LOOPS).values(*self._lists, rows, start.numpy(), out.numpy())
        return found.mT.view(*weight.shape[:2], *self.begins.shape)

    def combine(self, coefficients: Tensor, out: Tensor) -> None:
        """Write the sum of all samples times coefficients."""
        found = np.empty((self.inputs, len(coefficients)), self.white.dtype)
        nothing = np.zeros(len(coefficients), self.white.dtype)
        compiled(LOOPS).values(*self._turned, coefficients.mT.contiguous().numpy(), nothing, found)
        out.copy_(torch.from_numpy(found).mT)

    @property
    def _lists(self) -> tuple[np.ndarray | np.floating, ...]:
        return self.begins.ravel(), self.ends.ravel(), self.places, self.entries, self.white

    @cached_property
    def _turned(self) -> tuple[np.ndarray | np.floating, ...]:
        """The same lists by place, of samples."""
        count = int((self.ends - self.begins).sum())
        firsts = np.zeros(self.inputs + 1, np.int64)
        samples, numbers = np.empty(count, np.int32), np.empty(count, self.white.dtype)
        compiled(LOOPS).turn(*self._lists, firsts, samples, numbers)
        return firsts[:-1], firsts[1:], samples, numbers, self.white.dtype.type(1)


def are_mostly_zero(pixels: np.ndarray, *, hidden: int, samples: int) -> bool:
    """Whether ``SparseSamples`` are faster for clients' images.

    Parameters
    ----------
    pixels
        Of all images, (count, ...).
    hidden, samples
        Hidden units, and samples of a client.
    """
    large = hidden * samples * pixels[0].size >= LEAST_PRODUCTS
    return large and can_compile() and bool(np.count_nonzero(pixels) <= MOSTLY_ZERO * pixels.size)
