"""Clients' images on the device that computes."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from clusterproof.algorithms.arrays import to_numpy
from clusterproof.neural.data.augmentation import undistorted
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.engines.samples import SparseSamples
from clusterproof.neural.partitions.partition import Holdings

Ids: TypeAlias = np.ndarray | Tensor
"""Integers on the host, or on the device that computes."""

LOOKED_UP = 4
"""Steps at least whose images are looked up at a time; else as many as make up a client's data, but an even number."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Samples of k clients, padded to the same number b.

    Attributes
    ----------
    given
        Images in [0, 1], (k, b, C, H, W), or other samples, (k, b, ...); or what looks them up when they are asked for.
    targets
        Classes, (k, b).
    weights
        One over the client's number of real samples, and 0 for padding, (k, b).
    shared
        Gives ``answers`` where they are made for many steps at once.
    rows
        The samples with a one and zeros behind their own numbers, (k, b, i'), where they are stored so.
    looked_up
        Images of all steps that were looked up together, (s, k, b, C, H, W), and which of the steps this is.
    listed
        What is not 0 in all samples of the clients, where it is listed.
    """

    given: Tensor | Callable[[], Tensor]
    targets: Tensor
    weights: Tensor
    shared: Callable[[int], Tensor] | None = None
    rows: Tensor | None = None
    looked_up: tuple[Tensor, int] | None = None
    listed: SparseSamples | None = None
    _truth: Tensor | None = field(default=None, init=False)
    _answers: Tensor | None = field(default=None, init=False)

    def truth(self, classes: int) -> Tensor:
        """The weights at each sample's class and 0 elsewhere, (k, classes, b); kept for the next question."""
        if self._truth is None or self._truth.shape[1] != classes:
            empty = self.weights.new_zeros(self.targets.shape[0], classes, self.targets.shape[1])
            made = empty.scatter_(1, self.targets[:, None, :], self.weights[:, None, :])
            object.__setattr__(self, "_truth", made)
        assert self._truth is not None
        return self._truth

    def answers(self, classes: int) -> Tensor:
        """What the truth adds to the gradient in the scores, (k, b, classes); kept for the next question."""
        if self.shared is not None:
            return self.shared(classes)
        if self._answers is None:
            object.__setattr__(self, "_answers", _answers(self.targets, self.weights, classes))
        assert self._answers is not None
        return self._answers

    @cached_property
    def images(self) -> Tensor:
        """The samples."""
        return self.given if isinstance(self.given, Tensor) else self.given()

    @property
    def features(self) -> Tensor:
        """Images as vectors, (k, b, C H W)."""
        return self.images.flatten(2)


class ClientData:
    """Holdings on a device: pixels stay bytes until they are used, and codes stay integers.

    Parameters
    ----------
    holdings
        Whose images.
    device, dtype
        Where, and the type of the scaled images.
    channels_last
        Store colours next to each other, as convolutions are fastest.
    preprocessing
        What evaluation does to images; training distorts them ``as_stored``.
    looked_up
        Whether the host looks the clients up even on a GPU, where an engine needs to know their sizes.
    row
        Numbers that a sample's own are filled up to, with a one and zeros, see ``Engine.row``.
    listed
        Whether to list what is not 0, see ``samples.are_mostly_zero``: in up to .75 times the memory of bytes.
    """

    def __init__(
        self,
        holdings: Holdings,
        device: torch.device,
        dtype: torch.dtype,
        *,
        channels_last: bool,
        preprocessing: Preprocessing | None = None,
        looked_up: bool = False,
        row: int | None = None,
        listed: bool = False,
    ) -> None:
        self._preprocessing = preprocessing
        self.sizes = np.asarray(holdings.sizes)
        self.widths = padded_widths(self.sizes)
        self.alike = bool((self.sizes == self.sizes[0]).all())
        self.stays = device.type == "cuda" and not looked_up
        self.dtype = dtype
        self._white = torch.tensor(255.0, dtype=dtype)
        self._channels_last = channels_last
        pixels = torch.from_numpy(np.ascontiguousarray(holdings.pixels))
        if pixels.is_floating_point():
            pixels = pixels.to(dtype)
        stored = pixels.permute(0, 2, 3, 1) if channels_last else pixels
        self._image_shape = tuple(stored.shape[1:])
        self._pixels = _filled(stored.reshape(len(pixels), -1), row).to(device)
        # bytes are scaled as when they are looked up
        white = self._white if pixels.dtype == torch.uint8 else torch.ones_like(self._white)
        self._lists = SparseSamples.listed(self._pixels, white) if listed else None
        self._ends = row is not None
        self._indices = torch.from_numpy(np.asarray(holdings.indices)).to(device)
        self._targets = torch.from_numpy(np.asarray(holdings.targets)).to(device)
        self._sizes = torch.from_numpy(self.sizes.astype(np.int64)).to(device)

    @property
    def as_stored(self) -> ClientData:
        """The same data, nothing done to the images."""
        same = copy.copy(self)
        same._preprocessing = None
        return same

    def part(self, clients: slice) -> ClientData:
        """The data of some of the clients, who are numbered from 0; nothing is copied."""
        same = copy.copy(self)
        same.sizes, same.widths = self.sizes[clients], self.widths[clients]
        for name in ("_indices", "_targets", "_sizes"):
            setattr(same, name, getattr(self, name)[clients])
        return same

    @property
    def device(self) -> torch.device:
        """Where the data are."""
        return self._pixels.device

    def ids(self, clients: Tensor, shape: tuple[int, ...]) -> Ids:
        """Clients (..., k), broadcast to a shape, where those who look up their data want them.

        That is the host, which puts clients of like size together. On a GPU the numbers stay there, where the
        host never waits for them: all data are then padded to the largest size.
        """
        return clients.expand(shape) if self.stays else np.array(np.broadcast_to(to_numpy(clients), shape))

    def sizes_of(self, clients: Ids) -> Ids:
        """Number of samples of clients (k,): on the host, or on a GPU where they differ and the clients are there."""
        if isinstance(clients, Tensor):
            return np.full(len(clients), self.sizes[0]) if self.alike else self._sizes[clients]
        return self.sizes[clients]

    def widths_of(self, clients: Ids) -> np.ndarray:
        """What the data of clients (k,) are padded to, on the host."""
        if isinstance(clients, Tensor):
            return np.full(len(clients), self.widths.max())
        return self.widths[clients]

    def whole(self, clients: Ids, width: int) -> Batch:
        """All samples of clients (k,), padded to ``width``."""
        where = self._here(clients)
        columns = min(width, self._indices.shape[1])
        indices = self._indices[where, :columns]
        listed = None if self._lists is None else self._lists.at(indices)
        return self._make(indices, self._targets[where, :columns], self.sizes_of(clients), listed)

    def chosen(self, clients: Ids, samples: Ids, counts: Ids) -> Batch:
        """Samples (k, b) of clients (k,), of which the first ``counts`` (k,) are real."""
        where, which = self._here(clients)[:, None], self._here(samples)
        return self._make(self._indices[where, which], self._targets[where, which], counts)

    def each_step(
        self, clients: Tensor, samples: Tensor, size: int, counts: list[int] | Tensor
    ) -> Iterator[Batch]:
        """Batches of steps of clients (k,), whose indices are looked up once for all of them.

        Parameters
        ----------
        clients, samples
            Whose, and which of their samples in all steps, one step after the other, (k, steps * size).
        size
            Of a step's batch, with its padding.
        counts
            How many samples of each step are real, the first ones: of all clients, or of each (k, steps).
        """
        where = clients[:, None], samples
        # a step's numbers in one piece
        indices, targets = (
            found[where].view(len(clients), -1, size).transpose(0, 1).contiguous()
            for found in (self._indices, self._targets)
        )
        if isinstance(counts, Tensor):
            weights = list(mean_weights(counts.T, size, counts.new_empty(0, dtype=self.dtype)))
        else:
            like = self._white.new_empty(0, device=self.device)
            made = {one: mean_weights(np.full(len(clients), one), size, like) for one in set(counts)}
            weights = [made[count] for count in counts]

        @cache
        def of_all(classes: int) -> Tensor:
            return _answers(targets, torch.stack(weights), classes)

        def answers(step: int, classes: int) -> Tensor:
            return of_all(classes)[step]

        together = max(LOOKED_UP, self._indices.shape[1] // size // 2 * 2)
        for first in range(0, len(targets), together):
            steps = range(first, min(first + together, len(targets)))
            found = self._looked_up(indices[first : steps.stop].flatten(0, 1))
            images, rows = (
                None if one is None else torch.unflatten(one, 0, (len(steps), -1)) for one in found
            )
            assert images is not None
            for place, step in enumerate(steps):
                own = None if rows is None else rows[place]
                given = (targets[step], weights[step], partial(answers, step), own, (images, place))
                yield Batch(images[place], *given)

    def _here(self, numbers: Ids) -> Tensor:
        return numbers if isinstance(numbers, Tensor) else torch.from_numpy(numbers).to(self.device)

    def _make(
        self, indices: Tensor, targets: Tensor, counts: Ids, listed: SparseSamples | None = None
    ) -> Batch:
        like = self._white.new_empty(0, device=self.device)
        weights = mean_weights(counts, indices.shape[1], like)
        if self._ends:
            images, rows = self._looked_up(indices)
            return Batch(images, targets, weights, rows=rows)
        return Batch(lambda: self._looked_up(indices)[0], targets, weights, listed=listed)

    def _looked_up(self, indices: Tensor) -> tuple[Tensor, Tensor | None]:
        """Scaled images (k, b, C, H, W) at indices (k, b), and the rows that hold them where these end in ones."""
        found = self._pixels.index_select(0, indices.flatten())
        if self._pixels.dtype == torch.uint8:
            # one launch for both on a GPU; on a CPU two passes are faster
            on_gpu = found.device.type == "cuda"
            found = found / self._white if on_gpu else found.to(self.dtype).div_(255)
        rows = found.view(*indices.shape, -1)
        images = torch.unflatten(rows[..., : math.prod(self._image_shape)], -1, self._image_shape)
        if self._channels_last:
            images = images.permute(0, 1, 4, 2, 3)
        if self._preprocessing is not None:
            return undistorted(images, self._preprocessing), None
        return images, rows if self._ends else None


def side_by_side(batches: list[Batch]) -> Tensor:
    """Images of steps' batches, (s, k, b, C, H, W); nothing is copied where they were looked up side by side."""
    looked_up = [batch.looked_up for batch in batches]
    if looked_up[0] is not None:
        everything, first = looked_up[0]
        places = [one[1] for one in looked_up if one is not None and one[0] is everything]
        if places == list(range(first, first + len(batches))):
            return everything[first : first + len(batches)]
    return torch.stack([batch.images for batch in batches])


def _filled(pixels: Tensor, row: int | None) -> Tensor:
    """Pixels (N, in) with a one and zeros behind them, (N, row)."""
    if row is None:
        return pixels
    rows = pixels.new_zeros(len(pixels), row)
    rows[:, : pixels.shape[1]] = pixels
    rows[:, pixels.shape[1]] = 255 if pixels.dtype == torch.uint8 else 1
    return rows


def _answers(targets: Tensor, weights: Tensor, classes: int) -> Tensor:
    """Minus the weights at each sample's class and 0 elsewhere, (..., classes), from targets and weights (...)."""
    empty = weights.new_zeros(*weights.shape, classes)
    return empty.scatter_(-1, targets[..., None], -weights[..., None])


def mean_weights(counts: Ids, width: int, like: Tensor) -> Tensor:
    """Weights (..., width) of means over the first ``counts`` (...) samples, of the type of ``like``."""
    if isinstance(counts, Tensor):
        real = torch.arange(width, device=like.device) < counts[..., None]
        return real.to(like.dtype).div_(counts[..., None])
    if like.device.type == "cuda" and len(counts) and (counts == counts[0]).all():
        count = int(counts[0])  # without copying counts to the device
        weights = like.new_full((len(counts), width), 1 / count)
        if count < width:
            weights[:, count:].zero_()
        return weights
    sizes = torch.from_numpy(counts).to(like.device)[:, None]
    real = torch.arange(width, device=like.device) < sizes
    return real.to(like.dtype).div_(sizes)


def padded_widths(sizes: np.ndarray) -> np.ndarray:
    """What each client's data are padded to, so that those of like size can share a product: (m,).

    The largest size over a power of the root of 2, rounded up. It does not hang on who else takes part.
    """
    ladder = np.ceil(sizes.max() / 2 ** (np.arange(64) / 2)).astype(np.int64)[::-1]
    return np.asarray(ladder[np.searchsorted(ladder, sizes)])
