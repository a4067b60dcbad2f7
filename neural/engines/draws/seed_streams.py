"""The streams of several seeds side by side: keys of draws, made ahead so that a round copies none to a GPU."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.validation import InvalidArgument

AHEAD = 4096
"""Draws of a stream whose keys are made and copied at a time: 1000 rounds' and more."""


class SeedStreams:
    """One of a run's streams, of R seeds: it gives the keys of their draws, and each seed's own to a server.

    Key number i of a seed is what ``draw_key`` would take as its i-th from the seed's own stream. Copies go on
    from where they were made, and cost nothing.

    Parameters
    ----------
    generators
        The stream of each seed, R of them; they are left as they are.
    device
        Where the keys are to be.
    """

    def __init__(self, generators: Sequence[np.random.Generator], device: torch.device) -> None:
        self._own = [copy.deepcopy(generator) for generator in generators]
        self._tape = _Tape([copy.deepcopy(generator) for generator in generators], device)
        self._positions = [0] * len(self._own)
        self._drawing = [True] * len(self._own)

    def keys(self) -> Tensor:
        """Take the next key of each seed, signed integers (R,); one more launch where some have drawn more often."""
        positions, first = self._positions, self._positions[0]
        alike = all(position == first for position in positions)
        rows = [self._tape.row(position) for position in (positions[:1] if alike else positions)]
        for place, draws in enumerate(self._drawing):
            positions[place] += draws
        return rows[0] if alike else torch.stack([row[place] for place, row in enumerate(rows)])

    def among(self, drawing: Sequence[bool]) -> SeedStreams:
        """These streams, from which only some of the seeds draw; the keys of the others stay their next ones."""
        same = copy.copy(self)
        same._drawing = list(drawing)
        return same

    def of_replicate(self, place: int) -> np.random.Generator:
        """A seed's own stream, for what a server draws on the host.

        Raises
        ------
        InvalidArgument
            If keys of this stream were taken, which its own run would have drawn between.
        """
        if self._positions[place]:
            rule = "of a seed among several gives keys or a server's draws, not both"
            raise InvalidArgument("stream", type(self).__name__, rule, "run the seeds one by one")
        return self._own[place]

    def of(self, places: Sequence[int]) -> SeedStreams:
        """The streams of some of the seeds, from here on."""
        return self._copied(self._tape.of(places), places)

    def __deepcopy__(self, memo: dict[int, Any]) -> SeedStreams:
        """Another one that goes on from here."""
        return self._copied(self._tape, range(len(self._own)))

    def _copied(self, tape: _Tape, places: Sequence[int]) -> SeedStreams:
        same = copy.copy(self)
        same._tape = tape
        same._own = [copy.deepcopy(self._own[place]) for place in places]
        same._positions = [self._positions[place] for place in places]
        same._drawing = [self._drawing[place] for place in places]
        return same


class _Tape:
    """All keys of the streams so far, and those ahead."""

    def __init__(
        self, generators: list[np.random.Generator], device: torch.device, known: Sequence[np.ndarray] = ()
    ) -> None:
        self._generators, self._device = generators, device
        self._known: list[np.ndarray] = []
        self._there: list[Tensor] = []
        for block in known:
            self._keep(block)
        if not known:
            self._extend()

    def row(self, position: int) -> Tensor:
        """Keys of one draw, (R,)."""
        block, place = divmod(position, AHEAD)
        if block == len(self._there):
            self._extend()
        return self._there[block][place]

    def of(self, places: Sequence[int]) -> _Tape:
        generators = [copy.deepcopy(self._generators[place]) for place in places]
        return _Tape(generators, self._device, [block[:, list(places)] for block in self._known])

    def _extend(self) -> None:
        drawn = [one.integers(2**64, dtype=np.uint64, size=AHEAD) for one in self._generators]
        self._keep(np.stack(drawn, axis=1))

    def _keep(self, block: np.ndarray) -> None:
        self._known.append(block)
        signed = np.ascontiguousarray(block).view(np.int64)
        self._there.append(torch.from_numpy(signed).to(self._device))


def side_by_side(runs: Sequence[Randomness], device: torch.device) -> Randomness:
    """Put the streams of runs together, as ``SeedStreams``."""
    names = [field.name for field in fields(Randomness)]
    streams = {name: SeedStreams([getattr(run, name) for run in runs], device) for name in names}
    return Randomness(**cast(Any, streams))


def of_seeds(randomness: Randomness, places: Sequence[int]) -> Randomness:
    """The streams of some of the runs that were put together."""
    names = [field.name for field in fields(Randomness)]
    return Randomness(**{name: getattr(randomness, name).of(places) for name in names})
