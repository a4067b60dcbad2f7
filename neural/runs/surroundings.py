"""What surrounds a training run: its threads, and the errors of disk and memory in the project's words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clusterproof.algorithms import InvalidArgument


@contextmanager
def naming_the_way_back(folder: Path, kept: int) -> Iterator[None]:
    """Say, when something cannot be written, which checkpoint is left and how to go on from it."""
    try:
        yield
    except InvalidArgument as error:
        if error.argument != "out":
            raise
        remedy = f"make room; `clusterproof train --resume {folder}` then goes on after round {kept}"
        raise InvalidArgument(error.argument, error.value, error.rule, remedy) from error


@contextmanager
def so_many_threads(number: int) -> Iterator[None]:
    """Let torch and numpy compute with that many threads: the order of their additions hangs on it."""
    from threadpoolctl import threadpool_limits

    from clusterproof.neural.engines.crew import torch_threads

    with threadpool_limits(limits=number), torch_threads(number):
        yield


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raise what torch raises for want of memory as Python does."""
    try:
        yield
    except RuntimeError as error:
        if "memory" in str(error):
            raise MemoryError(str(error)) from error
        raise
