"""Random generators, derived from a seed and named axes."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np


def generator(seed: int, *axes: str | int) -> np.random.Generator:
    """Return the random generator for a seed (at least 0) and named axes.

    With the same seed and axes, the generator produces the same random numbers on every computer. Generators with
    different axes are independent. Axes are, for example, the task, the algorithm, the purpose or the replicate.
    """
    # a spawn key distinguishes trailing zeros, which entropy alone does not
    key = tuple(axis if isinstance(axis, int) else zlib.crc32(axis.encode()) for axis in axes)
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=key)))


@dataclass(frozen=True)
class Randomness:
    """The independent random generators of one run, one for each purpose.

    Two algorithms that run with equal generators have the same participants. They also have the same data as long as
    they draw the same random numbers.

    Attributes
    ----------
    initialisation, participation, assignment, gradient, clustering
        One generator for each purpose; ``clustering`` is for servers that use random numbers to form clusters.
    """

    initialisation: np.random.Generator
    participation: np.random.Generator
    assignment: np.random.Generator
    gradient: np.random.Generator
    clustering: np.random.Generator

    @classmethod
    def from_seed(cls, seed: int, *axes: str | int) -> Randomness:
        """Derive the generators from a seed and further named axes."""
        return cls(
            *(
                generator(seed, *axes, purpose)
                for purpose in ("initialisation", "participation", "assignment", "gradient", "clustering")
            )
        )
