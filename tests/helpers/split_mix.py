"""SplitMix64 by Python's integers, one number after the other, as its authors print it."""

import numpy as np

WORD = 2**64


class SplitMix64:
    """Figure 14 of Steele, Lea and Flood (2014) with their golden gamma."""

    def __init__(self, seed):
        self.seed = seed

    def next(self):
        self.seed = (self.seed + 0x9E3779B97F4A7C15) % WORD
        mixed = self.seed
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % WORD
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB % WORD
        return mixed ^ (mixed >> 31)


def tree_of_numbers(seed, shape):
    """A number for every index: those of an index seed generators of the next; as signed 64-bit integers."""
    generator = SplitMix64(int(seed))
    found = [generator.next() for _ in range(shape[0])]
    if len(shape) > 1:
        return np.array([tree_of_numbers(seed, shape[1:]) for seed in found])
    return np.array(found, dtype=np.uint64).view(np.int64)
