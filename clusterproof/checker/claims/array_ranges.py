"""Ranges of quantities that consist of several numbers, such as arrays: draw, change and simplify values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from clusterproof.checker.claims.ranges import End, Interval, Range
from clusterproof.checker.claims.values import bits, draw_near, draw_value, simpler_values
from clusterproof.checker.kernel.ranges import Instance, value_of
from clusterproof.common import InvalidArgument
from clusterproof.common.validation import check_count

CANDIDATES = 6
"""Largest number of values that the search tries in place of one entry."""
BLOCKS = 8
"""Largest number of blocks into which the search splits an array."""
SIMPLER = 4
"""Largest number of simpler values that the search tries in place of an entry."""


def check_length(size: Any, at_least: int = 0) -> None:
    """Require that the number of entries is an integer or a function of earlier quantities."""
    if not isinstance(size, End):
        check_count("length", size, at_least=at_least, at_most=10**6, remedy="give a number of entries")


class Several(Range):
    """Range of a quantity that consists of several numbers."""

    complete = False

    @abstractmethod
    def fit(self, value: Any, so_far: Instance) -> Any:
        """Adjust a value that was drawn for other earlier quantities, so that it lies in this range."""

    @abstractmethod
    def extremes(self, so_far: Instance) -> list[Any]:
        """Return a few extreme values of the range, such as constant arrays."""

    @abstractmethod
    def near(self, value: Any, so_far: Instance, stream: np.random.Generator) -> Any:
        """Change a few of the numbers at random."""

    @abstractmethod
    def changes(self, value: Any, so_far: Instance) -> Iterator[Any]:
        """Yield values that differ from the given one in one entry or one block, in the order of the entries."""

    @abstractmethod
    def simpler(self, value: Any, so_far: Instance) -> list[Any]:
        """Return values that are simpler than the given one, the simplest first."""

    @abstractmethod
    def bits(self, value: Any, so_far: Instance) -> float:
        """Return the approximate number of bits needed to store the value, at least one bit per number."""


class Entrywise(Several):
    """Range of arrays of a given shape whose entries share one range, ``entries``."""

    entries: Any

    @abstractmethod
    def lengths(self) -> tuple[Any, ...]:
        """Return the number of entries along each axis: an integer, or a function of earlier quantities."""

    def __post_init__(self) -> None:
        for size in self.lengths():
            check_length(size)
        if not isinstance(self.entries, Range):
            raise InvalidArgument(
                "values", self.entries, "must be a range", "write integers(0, 3), for example"
            )

    def shape_of(self, so_far: Instance) -> tuple[int, ...]:
        """Return the shape of the array for the given earlier quantities."""
        return tuple(int(value_of(each, so_far)) for each in self.lengths())

    def size(self, so_far: Instance) -> int:
        """Return the number of entries."""
        return int(np.prod(self.shape_of(so_far)))

    @abstractmethod
    def made(self, entries: Sequence[Any], so_far: Instance) -> Any:
        """Build a value of this range from its entries."""

    @abstractmethod
    def flat(self, value: Any) -> list[Any]:
        """Return the entries of a value as a flat list."""

    @property
    def is_float(self) -> bool:
        """Whether the entries are floats."""
        return isinstance(self.entries, Interval) and isinstance(self.entries.cast(0), float)

    def draw(self, so_far: Instance, stream: np.random.Generator) -> Any:
        """Draw an array of one of three kinds: independent entries, entries of two values, or one nonzero entry."""
        size, kind = self.size(so_far), stream.random()
        if min(self.shape_of(so_far)) < 0:
            return None
        count = 2 if kind < 0.2 else size
        drawn = [draw_value(self.entries, so_far, stream) for _ in range(count)]
        if any(each is None for each in drawn):
            return None
        if kind < 0.2:
            drawn = [drawn[int(which)] for which in stream.integers(2, size=size)]
        elif kind < 0.4 and size and self.entries.holds(zero := 0 * drawn[0], so_far):
            only = int(stream.integers(size))
            drawn = [each if index == only else zero for index, each in enumerate(drawn)]
        return self.made(drawn, so_far)

    def fit(self, value: Any, so_far: Instance) -> Any:
        """Fit a value to the shape: drop its last entries, or repeat the last entry."""
        if self.holds(value, so_far):
            return value
        shape = self.shape_of(so_far)
        array = np.asarray(value, dtype=object)
        if not array.size or not np.prod(shape):
            return value
        for axis, length in enumerate(shape):
            array = np.take(array, np.minimum(np.arange(length), array.shape[axis] - 1), axis=axis)
        low, high = self.entries.ends(so_far) if isinstance(self.entries, Interval) else (None, None)
        entries = [_between(each, low, high) for each in array.ravel()]
        return self.made(entries, so_far)

    def extremes(self, so_far: Instance) -> list[Any]:
        """Return constant arrays, and an array whose entries alternate between two values."""
        size, ends = self.size(so_far), self._candidates(so_far)[:2]
        patterns = [(end,) for end in ends] + ([tuple(ends)] if len(ends) > 1 else [])
        return [self.made([p[i % len(p)] for i in range(size)], so_far) for p in patterns]

    def _candidates(self, so_far: Instance) -> list[Any]:
        """Return values to try for one entry: the ends of its range first, then simple values."""
        if isinstance(self.entries, Interval):
            low, high = self.entries.tried_ends(so_far)
            simple = [self.entries.cast(each) for each in (0, 1, -1, (low + high) / 2)]
            every = [low, high, *(each for each in simple if low <= each <= high)]
        else:
            listed = list(self.entries.values(so_far) or ())
            every = [*listed[:1], *listed[-1:], *listed]
        return list(dict.fromkeys(every))[:CANDIDATES]

    def near(self, value: Any, so_far: Instance, stream: np.random.Generator) -> Any:
        """Change the value slightly: move, replace or swap entries, or replace a block of entries."""
        entries = self.flat(value)
        size, kind = len(entries), stream.random()
        if not size:
            return value
        first = int(stream.integers(size))
        if kind < 0.4 and isinstance(self.entries, Interval):
            entries[first] = draw_near(self.entries, entries[first], so_far, stream)
        elif kind < 0.7:
            entries[first] = draw_value(self.entries, so_far, stream)
        elif kind < 0.85:
            other = int(stream.integers(size))
            entries[first], entries[other] = entries[other], entries[first]
        else:
            last = int(stream.integers(first, size)) + 1
            entries[first:last] = [draw_value(self.entries, so_far, stream)] * (last - first)
        changed = self.made(entries, so_far)
        return changed if self.holds(changed, so_far) else value

    def changes(self, value: Any, so_far: Instance) -> Iterator[Any]:
        """Yield copies with one replaced entry, then copies with a replaced block of 1/2, 1/4 or 1/8 of the entries."""
        entries = self.flat(value)
        size, candidates = len(entries), self._candidates(so_far)
        blocks = [(index, index + 1) for index in range(size)]
        share = 2
        while share <= BLOCKS and size // share > 1:
            length = size // share
            blocks += [(start, start + length) for start in range(0, size - length + 1, length)]
            share *= 2
        for first, last in blocks:
            others = candidates
            if last == first + 1 and isinstance(self.entries, Interval):
                step = [entries[first] * factor for factor in (2, -1)]
                others = [*candidates, *(e for e in step if self.entries.holds(e, so_far))]
            for each in others:
                if any(entry != each for entry in entries[first:last]):
                    yield self.made([*entries[:first], *[each] * (last - first), *entries[last:]], so_far)

    def simpler(self, value: Any, so_far: Instance) -> list[Any]:
        """Return constant arrays, then arrays with a block of equal entries, then arrays with one simpler entry."""
        entries = self.flat(value)
        if not entries:
            return []
        size = len(entries)
        simplest = min(
            [*self._candidates(so_far), *dict.fromkeys(entries)], key=lambda each: bits(self.entries, each)
        )
        moves = [[each] * size for each in dict.fromkeys([simplest, *self._candidates(so_far), *entries])]
        length = size // 2
        while length > 1:
            starts = range(0, size - length + 1, length)
            moves += [[*entries[:i], *[simplest] * length, *entries[i + length :]] for i in starts]
            length //= 2
        for index, entry in enumerate(entries):
            first = simpler_values(self.entries, entry, so_far)[:SIMPLER]
            others = dict.fromkeys([simplest, *first, *self._candidates(so_far)])
            moves += [[*entries[:index], each, *entries[index + 1 :]] for each in others]
        return [self.made(move, so_far) for move in moves if move != entries]

    def bits(self, value: Any, so_far: Instance) -> float:
        """Return the number of bits of all entries, plus one bit for each entry."""
        return sum(1 + bits(self.entries, entry) for entry in self.flat(value))

    def encode(self, value: Any) -> Any:
        """Return the entries as nested lists."""

        def write(part: Any) -> Any:
            return [write(each) for each in part] if np.ndim(part) else self.entries.encode(part)

        return write(value)


def array_of(entries: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
    """Return a read-only array, of dtype float if all entries are floats, and otherwise of dtype object."""
    is_float = bool(len(entries)) and all(isinstance(each, float) for each in entries)
    array = np.empty(len(entries), dtype=float if is_float else object)
    array[:] = list(entries)
    array = array.reshape(shape)
    array.setflags(write=False)
    return array


def _between(value: Any, low: Any, high: Any) -> Any:
    value = value if low is None or low <= value else type(value)(low)
    return value if high is None or value <= high else type(value)(high)
