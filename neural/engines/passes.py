"""A pass over clients: as many at a time as memory allows, shared out among a CPU's threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import numpy as np
import torch

from clusterproof.neural.engines.chunks import (
    SHARE,
    Block,
    Chunk,
    free_bytes,
    of_one_width,
    run_in_chunks,
    run_in_parts,
)
from clusterproof.neural.engines.crew import in_turn, numpy_on_one_thread, side_by_side, torch_threads
from clusterproof.neural.networks import MLP, Network

CLIENTS_AT_A_TIME = {"cpu": 16, "cuda": 512}
"""At most, for each thread: more win nothing, and a number that does not hang on free memory keeps runs alike."""

SHARES = 4
"""Chunks whose results are added up are a multiple of so many, so that 2 or 4 threads end together."""

AHEAD = 2
"""Chunks for each thread that are begun before the first of them is added up."""

SHARED_WORK = 1_000_000
"""Samples times parameters of a perceptron's client from which threads win: below, they wait for the interpreter.

Measured on two threads: two thirds of one thread's speed at 80 000, the same at 1 000 000, 1.4 times at 4 000 000.
"""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Passes:
    """How a task goes over its clients.

    Attributes
    ----------
    network
        Whose size decides how many clients fit.
    device, dtype
        Where and in which precision it is computed.
    chunk
        Clients at a time; from the free memory where None.
    precision
        Of products on a GPU, see ``ImageTask``.
    """

    network: Network
    device: torch.device
    dtype: torch.dtype
    chunk: int | None
    precision: str

    def each(
        self,
        widths: np.ndarray,
        work: Callable[[Chunk], None],
        *,
        steps: np.ndarray | None = None,
        models: int = 1,
    ) -> None:
        """Do work that writes every client's own results, of clients whose data are padded to widths (k,).

        On a CPU, each thread does a part of the clients, unless these are too small.

        Parameters
        ----------
        widths, work
            See ``run_in_chunks``.
        steps
            Gradient steps of each, (k,); the same number where None.
        models
            How many each client is scored on.
        """
        threads = self._threads

        def limit(width: int) -> int:
            return self._at_once(width, models, threads)

        def shared(chunk: Chunk) -> None:
            parts = chunk.split(threads) if self._is_large(chunk.width, models) else [chunk]
            side_by_side(work, parts, threads)

        with products(self.device, self.precision):
            run_in_chunks(
                widths,
                np.zeros(len(widths)) if steps is None else steps,
                limit,
                shared if threads > 1 else work,
            )

    def in_order(
        self,
        widths: np.ndarray,
        work: Callable[[Chunk], Result],
        add: Callable[[Chunk, Result], None],
        *,
        size: Callable[[int], int],
        steps: np.ndarray | None = None,
        models: int = 1,
    ) -> None:
        """Do work whose results are added up, always in the same order.

        On a CPU, each thread takes chunks of its own; who shares a chunk does not hang on their number.

        Parameters
        ----------
        widths, steps, models
            As for ``each``.
        work
            Gives what the clients of a chunk add.
        add
            Called with each chunk and what it gave, one after the other.
        size
            Largest number of clients in a chunk of a width; a GPU, which adds in no order of ours, takes all that fit.
        """
        threads = self._threads
        steps = np.zeros(len(widths)) if steps is None else steps

        def alone(everybody: Chunk, large: bool) -> int:
            fitting = self._at_once(everybody.width, models, 1)
            if self.device.type == "cuda":
                return fitting
            most = min(size(everybody.width), fitting)
            return of_like_size(len(everybody.positions), most) if large else most

        def one(part: Chunk) -> list[tuple[Chunk, Result]]:
            found: list[tuple[Chunk, Result]] = []
            run_in_parts(part, len(part.positions), lambda some: found.append((some, work(some))))
            return found

        def several(parts: list[Chunk]) -> list[tuple[Chunk, Result]]:
            return list(chain.from_iterable(map(one, parts)))

        with products(self.device, self.precision):
            for everybody in of_one_width(widths, steps):
                large = self._is_large(everybody.width, models)
                parts = everybody.pieces(alone(everybody, large))
                together = 1 if large else AHEAD * threads  # small ones wait for the interpreter
                groups = [parts[first : first + together] for first in range(0, len(parts), together)]
                results: Iterable[list[tuple[Chunk, Result]]] = map(several, groups)
                if threads > 1:
                    results = in_turn(several, groups, threads if large else 1, AHEAD * threads)
                with torch_threads(1):  # its own would wait busily, and take the turns of the crew
                    for part, result in chain.from_iterable(results):
                        add(part, result)

    def blocks(
        self,
        widths: np.ndarray,
        replicates: int,
        clients: int,
        work: Callable[[Block], None],
        *,
        models: int = 1,
    ) -> None:
        """Do work on a GPU, where all widths are one: on all replicates at once, or as many as fit.

        Parameters
        ----------
        widths
            What the data of all participants are padded to, (replicates * clients,).
        replicates, clients
            How many, with so many participants each.
        work
            What to do with a block; called again on smaller ones after it ran out of memory.
        models
            How many each participant is scored on.
        """

        def limit(width: int) -> int:
            return max(1, self._at_once(width, models, 1) // clients)

        def several(chunk: Chunk) -> None:
            first, end = int(chunk.positions[0]), int(chunk.positions[-1]) + 1
            if end - first > 1:
                everybody = slice(first * clients, end * clients)
                work(Block(slice(first, end), slice(0, clients), everybody, chunk.width))
                return

            def some(part: Chunk) -> None:
                left, right = int(part.positions[0]), int(part.positions[-1]) + 1
                here = slice(first * clients + left, first * clients + right)
                work(Block(slice(first, end), slice(left, right), here, part.width))

            own = widths[first * clients : end * clients]
            run_in_chunks(own, np.zeros(clients), lambda width: self._at_once(width, models, 1), some)

        with products(self.device, self.precision):
            run_in_chunks(widths[::clients], np.zeros(replicates), limit, several)

    @property
    def _threads(self) -> int:
        several = self.device.type == "cpu" and not self.network.one_thread
        return torch.get_num_threads() if several else 1

    def _is_large(self, width: int, models: int) -> bool:
        """Whether threads win on clients of a width."""
        return not isinstance(self.network, MLP) or models * width * self.network.dimension >= SHARED_WORK

    def _at_once(self, width: int, models: int, threads: int) -> int:
        """Clients in a chunk of a width."""
        if self.chunk is not None:
            return self.chunk
        numbers = width * (math.prod(self.network.image_shape) + 3 * models * self.network.activations)
        numbers += 5 * self.network.dimension + width**2
        fitting = SHARE * free_bytes(self.device) / (numbers * self.dtype.itemsize)
        return max(1, min(threads * CLIENTS_AT_A_TIME[self.device.type], int(fitting)))


def of_like_size(clients: int, most: int) -> int:
    """Clients in a chunk, ``most`` at most, so that the chunks are of like size and ``SHARES`` divides their number."""
    chunks = min(clients, SHARES * math.ceil(clients / (SHARES * most)))
    return math.ceil(clients / chunks)


@contextmanager
def products(device: torch.device, precision: str) -> Iterator[None]:
    """Let a GPU's products be as exact as asked for, its convolutions repeatable, and numpy's keep to a thread."""
    if device.type == "cpu":
        with numpy_on_one_thread():
            yield
        return
    coarse = precision != "highest"
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = coarse
    try:
        with (
            torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=coarse),
            torch.autocast("cuda", torch.bfloat16) if precision == "bf16" else nullcontext(),
        ):
            yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
