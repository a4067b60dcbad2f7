"""Generators derived from named axes, so that a result depends on names and a seed alone."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


def generator(seed: int, *axes: str | int) -> np.random.Generator:
    """Make the generator that belongs to a seed and a tuple of named axes.

    The same seed and axes give the same bits on every machine; any other axis gives an
    independent stream.

    Parameters
    ----------
    seed
        A non-negative integer.
    axes
        Names such as the task, the algorithm, the purpose or the repetition.
    """
    # a spawn key keeps trailing zeros apart, which entropy alone does not
    key = tuple(axis if isinstance(axis, int) else zlib.crc32(axis.encode()) for axis in axes)
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=key)))


@dataclass(frozen=True)
class Randomness:
    """The independent streams of one run, one for each purpose.

    Two algorithms that are run with equal streams see the same participants and, as long as
    they ask for the same things, the same data.

    Attributes
    ----------
    initialisation, participation, assignment, gradient, clustering
        One generator each; the last is for a server that clusters at random.
    """

    initialisation: np.random.Generator
    participation: np.random.Generator
    assignment: np.random.Generator
    gradient: np.random.Generator
    clustering: np.random.Generator

    @classmethod
    def from_seed(cls, seed: int, *axes: str | int) -> Randomness:
        """Derive the streams from a seed and further named axes."""
        return cls(
            *(
                generator(seed, *axes, purpose)
                for purpose in ("initialisation", "participation", "assignment", "gradient", "clustering")
            )
        )


def of_replicate(stream: np.random.Generator, replicate: tuple[int, ...]) -> np.random.Generator:
    """What a server draws a replicate's numbers from: the replicate's own stream where it has one."""
    own: Any = getattr(stream, "of_replicate", None)
    return stream if own is None else own(*replicate)


def drawn_by(randomness: Randomness, drawing: Sequence[bool]) -> Randomness:
    """The streams when only some replicates draw gradients, (R,): those of the others stay where they are.

    Where all replicates draw from one stream there is nothing to keep apart.
    """
    own: Any = getattr(randomness.gradient, "among", None)
    return randomness if own is None else replace(randomness, gradient=own(drawing))
