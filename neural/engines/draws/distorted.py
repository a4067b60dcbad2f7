"""Local training on images that are distorted anew in every step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from clusterproof.neural.data.augmentation import FLIP, NUMBERS, distorted
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.engines.data import Batch
from clusterproof.neural.engines.draws.counted_orders import branches, draw_key, numbers, uniform
from clusterproof.neural.engines.draws.seed_streams import SeedStreams
from clusterproof.neural.engines.engine import LocalWork


def draw_distortions(
    preprocessing: Preprocessing,
    clients: Tensor,
    steps: int,
    samples: int,
    generator: np.random.Generator | SeedStreams,
    names: Tensor | None = None,
) -> Tensor:
    """Draw what distorts the images of local training, from counters: the same on every device, and made there.

    Parameters
    ----------
    preprocessing
        What is done.
    clients
        Whose, (k,).
    steps, samples
        Gradient steps of each, and samples of a step.
    generator
        Of the round; it gives a key, and each participant's numbers hang on that, on the client, and on how
        often that one came before, in other replicates. Of R seeds each gives its own for its participants.
    names
        What each client is called in the draw, (k,), where several seeds' are numbered through; ``clients`` where None.

    Returns
    -------
    Tensor
        Uniform in [0, 1), float32, (k, steps, samples, 5), where ``clients`` are; the numbers of a batch are all
        alike but for flips where that is asked for.
    """
    before = (clients[:, None] == clients).tril_(-1).sum(1)
    key = draw_key(generator)
    if isinstance(key, Tensor):
        key = key.repeat_interleave(len(clients) // len(key))
    own = branches(branches(key, clients if names is None else names), before)
    drawn = uniform(numbers(own, (steps, samples, NUMBERS), clients.device))
    if preprocessing.augmentation_per == "batch":
        flips = torch.arange(NUMBERS, device=clients.device) == FLIP
        drawn = torch.where(flips, drawn, drawn[:, :, :1])
    return drawn


@dataclass(frozen=True, eq=False)
class Distortions:
    """What distorts the images of all participants of a call.

    Attributes
    ----------
    preprocessing
        What is done.
    numbers
        Of ``draw_distortions``, (k, steps, samples, 5), where the images are.
    """

    preprocessing: Preprocessing
    numbers: Tensor

    def of(self, batch: Batch, rows: slice | np.ndarray, step: int) -> Batch:
        """Distort a batch as stored, of the participants ``rows``, in a step of theirs."""
        if not isinstance(rows, slice):
            first, last = int(rows[0]), int(rows[-1])
            if np.array_equal(rows, np.arange(first, last + 1)):
                rows = slice(first, last + 1)
        which = rows if isinstance(rows, slice) else torch.from_numpy(rows).to(self.numbers.device)
        drawn = self.numbers[which, step, : batch.targets.shape[1]]
        images = distorted(batch.images, self.preprocessing, drawn)
        return replace(batch, given=images, rows=None, looked_up=None, listed=None)


@dataclass(frozen=True, eq=False)
class DistortedWork(LocalWork):
    """Local training whose batches are distorted; who chooses a model does so by images that are not.

    Attributes
    ----------
    distortions
        Of the participants, by ``rows``.
    """

    distortions: Distortions

    def batches(self) -> Iterator[Batch]:
        """Data of each step, of those clients that are not done yet."""
        given = {each.name: getattr(self, each.name) for each in fields(LocalWork)}
        stored = LocalWork(**{**given, "data": self.data.as_stored})
        for step, batch in enumerate(stored.batches()):
            yield self.distortions.of(batch, self.rows[: len(batch.targets)], step)


def local_work(distortions: Distortions | None, **given: Any) -> LocalWork:
    """Make the work of participants, on images that are distorted where there are distortions."""
    return LocalWork(**given) if distortions is None else DistortedWork(**given, distortions=distortions)
