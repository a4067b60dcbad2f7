"""Ranges of sequences, for example adversarial losses, errors of inexact steps, or one step size per round."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.checker.claims.array_ranges import Entrywise
from clusterproof.checker.claims.ranges import EndLike, Range, end_of
from clusterproof.checker.claims.values import draw_value
from clusterproof.checker.kernel import ranges as kernel_ranges
from clusterproof.checker.kernel.ranges import Instance
from clusterproof.common import InvalidArgument

LONGEST_PERIOD, MOST_PHASES = 4, 4
LONGEST = 1_000_000
"""Largest number of entries of a sequence."""
LISTED = 10_000
"""Largest number of sequences that the module lists completely."""


@dataclass(frozen=True, eq=False)
class Sequences(kernel_ranges.Tuples, Entrywise):
    """Range of tuples whose entries share one range."""

    entries: Range

    def lengths(self) -> tuple[Any, ...]:
        """Return the number of entries as a tuple of length 1."""
        return (self.length,)

    def size(self, so_far: Instance) -> int:
        """Return the number of entries as an integer."""
        size = Entrywise.size(self, so_far)
        if size > LONGEST:
            rule = f"must be at most {LONGEST}"
            raise InvalidArgument("the length of a sequence", size, rule, "choose a smaller length")
        return size

    @property
    def complete(self) -> bool:  # type: ignore[override]  # follows from the values, a constant elsewhere
        """Whether ``values`` lists all sequences."""
        return self.entries.complete

    def values(self, so_far: Instance) -> Sequence[tuple[Any, ...]] | None:
        """Return all sequences whose entries are listed values, simple values first, or None if there are too many."""
        listed, size = self.entries.values(so_far), self.size(so_far)
        if listed is None or size < 0:
            return None
        is_long = len(listed) > 1 and size >= LISTED.bit_length()  # then 2 ** size is too large, too
        if is_long or len(listed) ** size > LISTED:
            return None
        ranks = sorted(itertools.product(range(len(listed)), repeat=size), key=lambda rank: (sum(rank), rank))
        return [tuple(listed[index] for index in rank) for rank in ranks]

    def made(self, entries: Sequence[Any], so_far: Instance) -> tuple[Any, ...]:
        """Return the entries as a tuple."""
        return tuple(entries)

    def flat(self, value: tuple[Any, ...]) -> list[Any]:
        """Return the entries."""
        return list(value)

    def draw(self, so_far: Instance, stream: np.random.Generator) -> tuple[Any, ...] | None:
        """Draw a constant sequence, a periodic one, a sequence of 2 to 4 constant blocks, or independent entries."""
        size, kind = self.size(so_far), int(stream.integers(4))
        if size < 0:
            return None
        count = (
            1,
            int(stream.integers(2, LONGEST_PERIOD + 1)),
            int(stream.integers(2, MOST_PHASES + 1)),
            size,
        )[kind]
        drawn = [draw_value(self.entries, so_far, stream) for _ in range(count)]
        if any(each is None for each in drawn):
            return None
        if kind < 2:
            drawn = [drawn[index % count] for index in range(size)]
        elif kind == 2:
            ends = np.sort(stream.integers(0, size, size=count - 1, endpoint=True))
            drawn = [drawn[int(phase)] for phase in np.searchsorted(ends, np.arange(size), side="right")]
        return tuple(drawn)


def sequences(values: Range, length: EndLike) -> Any:
    """Return a range of sequences, that is, of tuples whose entries share one range.

    The search draws constant and periodic sequences, sequences of 2 to 4 constant blocks, and independent entries. It
    also improves sequences greedily: for each entry, and then for each block of entries, it chooses the value that
    brings the claim closest to its bound.

    Parameters
    ----------
    values
        Range of each entry, such as ``rationals(-1, 1, 4)`` or ``choice(-1, 1)``.
    length
        Number of entries: an integer or a function of earlier quantities, for example ``lambda rounds: rounds``.
    """
    return Sequences(values, end_of(length))
