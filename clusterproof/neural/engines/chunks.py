"""As many clients at a time as memory allows, divided among the threads of a CPU.

A client is computed by one thread, and which clients share a chunk does not depend on the number of threads: results
have the same bits for any number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np
import torch
from threadpoolctl import ThreadpoolController
from torch import Tensor

from clusterproof.algorithms.memory import free_memory

SHARE = 0.5
"""Of the free memory that the chunks in progress may use; algorithms hold arrays of the same order."""

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some participants whose data are padded to one width and that take equally many steps.

    Attributes
    ----------
    positions
        Which of the participants, (k,).
    width
        Samples that their data are padded to.
    """

    positions: np.ndarray
    width: int

    @property
    def index(self) -> Tensor:
        """The positions as an index of tensors."""
        return torch.from_numpy(self.positions)

    @property
    def rows(self) -> Tensor | slice:
        """The positions as an index of tensors; a slice, which makes views, of one participant."""
        first = int(self.positions[0])
        return slice(first, first + 1) if len(self.positions) == 1 else self.index


def make_chunks(widths: np.ndarray, steps: np.ndarray, limit: Callable[[int], int]) -> list[Chunk]:
    """Divide participants (k,) with these widths and numbers of steps into chunks.

    Parameters
    ----------
    widths, steps
        Of each participant, (k,).
    limit
        Largest number of participants in a chunk of a width.
    """
    order = np.lexsort((-steps, -widths))
    ends = np.flatnonzero(np.diff(widths[order]) | np.diff(steps[order])) + 1
    chunks = []
    for group in np.split(order, ends):
        for first in range(0, len(group), size := limit(int(widths[group[0]])) if len(group) else 1):
            positions = group[first : first + size]
            chunks.append(Chunk(positions, int(widths[positions[0]])))
    return chunks


def run_chunks(
    chunks: list[Chunk],
    work: Callable[[Chunk], Result],
    add: Callable[[Chunk, Result], None],
    device: torch.device,
    precision: str,
) -> None:
    """Do work on each chunk, on a CPU in as many threads as torch has, and add the results in the chunks' order.

    Parameters
    ----------
    chunks, work
        What to compute.
    add
        Called in this thread with each chunk and its result.
    device, precision
        Where, and how exact a GPU's products are, see ``ImageTask``.
    """
    threads = min(torch.get_num_threads(), len(chunks)) if device.type == "cpu" else 1
    with exact_products(device, precision):
        if threads <= 1:
            for chunk in chunks:
                add(chunk, work(chunk))
            return
        with ThreadPoolExecutor(threads, initializer=_use_one_thread) as pool:
            # in waves, so that no more than these results wait to be added
            for first in range(0, len(chunks), 2 * threads):
                wave = chunks[first : first + 2 * threads]
                futures = [pool.submit(copy_context().run, work, chunk) for chunk in wave]
                for chunk, future in zip(wave, futures, strict=True):
                    add(chunk, future.result())


def _use_one_thread() -> None:
    torch.get_num_threads()  # sets a new thread's number to the process's, and would do so after the next line
    torch.set_num_threads(1)


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Let torch compute with that many threads if it is called from this one."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def exact_products(device: torch.device, precision: str) -> Iterator[None]:
    """Compute on one thread of a CPU, or with the precision asked for and repeatable convolutions on a GPU."""
    if device.type == "cpu":
        with libraries().limit(limits=1, user_api="blas"), torch_threads(1):
            yield
        return
    coarse, matmul = precision != "highest", torch.backends.cuda.matmul
    before, matmul.allow_tf32 = matmul.allow_tf32, coarse
    try:
        with (
            torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=coarse),
            torch.autocast("cuda", torch.bfloat16) if precision == "bf16" else nullcontext(),
        ):
            yield
    finally:
        matmul.allow_tf32 = before


@cache
def libraries() -> ThreadpoolController:
    """The libraries of linear algebra that are loaded; looking for them takes milliseconds."""
    return ThreadpoolController()


def free_bytes(device: torch.device) -> int:
    """Memory that is free on a device; on a GPU what torch keeps to give out again is free, too."""
    if device.type == "cuda":
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0]) + int(cached)
    return free_memory()
