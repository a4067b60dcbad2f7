"""As many clients at a time as fit into memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

SHARE = 0.5
"""Of the free memory that a chunk may use; what algorithms hold besides is of the same order."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some participants whose data are padded to one width.

    Attributes
    ----------
    rows
        Which of the participants, in their order in a call; a slice where they follow each other.
    positions
        The same as integers.
    width
        Samples that their data are padded to.
    """

    rows: slice | np.ndarray
    positions: np.ndarray
    width: int

    @classmethod
    def of(cls, positions: np.ndarray, width: int) -> Chunk:
        """Chunk of participants at positions (k,)."""
        follow = np.array_equal(positions, np.arange(positions[0], positions[0] + len(positions)))
        rows = slice(int(positions[0]), int(positions[-1]) + 1) if follow else positions
        return cls(rows, positions, width)

    def split(self, count: int) -> list[Chunk]:
        """Divide it into parts of like size, ``count`` of them unless it has fewer participants."""
        parts = np.array_split(self.positions, min(count, len(self.positions)))
        return [Chunk.of(part, self.width) for part in parts]

    def pieces(self, size: int) -> list[Chunk]:
        """Divide it into parts of ``size`` participants, and a last one of the rest."""
        return [
            Chunk.of(self.positions[first : first + size], self.width)
            for first in range(0, len(self.positions), size)
        ]


@dataclass(frozen=True)
class Block:
    """Some replicates with all their participants, or some participants of one replicate.

    Attributes
    ----------
    replicates, columns
        Which of the replicates, and which of the participants of each.
    rows
        The same of all participants, those of a replicate side by side.
    width
        Samples that their data are padded to.
    """

    replicates: slice
    columns: slice
    rows: slice
    width: int


class Place:
    """Rows of a tensor (k, d) to write to: the very memory where they follow each other, else a copy."""

    def __init__(self, target: Tensor, rows: slice | np.ndarray) -> None:
        self._target, self._rows = target, rows
        if isinstance(rows, slice):
            self.tensor = target[rows]
        else:
            self.tensor = target.new_empty(len(rows), target.shape[1])

    def store(self) -> None:
        """Copy back, where it is a copy."""
        if not isinstance(self._rows, slice):
            self._target[self._rows] = self.tensor


def free_bytes(device: torch.device) -> int:
    """Memory that is free on a device; 1 GiB where the system does not say.

    On a GPU what torch keeps to give out again is free, too, though the device calls it taken.
    """
    if device.type == "cuda":
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0]) + int(kept)
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 2**30
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))


def of_one_width(widths: np.ndarray, steps: np.ndarray) -> list[Chunk]:
    """Put participants (k,) whose data are padded to one width together, in each those with more steps first."""
    order = np.lexsort((-steps, -widths))
    ends = np.flatnonzero(np.diff(widths[order])) + 1
    return [Chunk.of(part, int(widths[part[0]])) for part in np.split(order, ends) if len(part)]


def run_in_chunks(
    widths: np.ndarray, steps: np.ndarray, limit: Callable[[int], int], work: Callable[[Chunk], None]
) -> None:
    """Do work on all participants, as many at a time as a limit allows, or as memory does: see ``run_in_parts``.

    Parameters
    ----------
    widths
        What each participant's data are padded to, (k,); a chunk has one width.
    steps
        Gradient steps of each, (k,); within a chunk those with more come first.
    limit
        Largest number of participants in a chunk of a width.
    work
        What to do; called again on smaller chunks after it ran out of memory.
    """
    allowed = len(widths)
    for everybody in of_one_width(widths, steps):
        size = min(allowed, limit(everybody.width))
        found = run_in_parts(everybody, size, work)
        allowed = found if found < size else allowed


def run_in_parts(everybody: Chunk, size: int, work: Callable[[Chunk], None]) -> int:
    """Do work on all participants of a chunk, so many at a time, and say how many at a time it was in the end.

    When memory runs out, the number is halved, with a warning, down to a single client.
    """
    start = 0
    while start < len(everybody.positions):
        part = Chunk.of(everybody.positions[start : start + size], everybody.width)
        clients = len(part.positions)
        try:
            work(part)
        except (MemoryError, RuntimeError) as error:
            if not _out_of_memory(error) or clients == 1:
                raise
            size = clients // 2
            warnings.warn(
                f"out of memory with {clients} clients at a time; going on with {size}",
                RuntimeWarning,
                stacklevel=2,
            )
        else:
            start += clients
    return size


def _out_of_memory(error: Exception) -> bool:
    """Whether memory ran out, which torch reports in another way on the host."""
    kinds = (MemoryError, torch.cuda.OutOfMemoryError)
    return isinstance(error, kinds) or "DefaultCPUAllocator" in str(error)
