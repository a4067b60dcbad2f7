"""Local training on images that are distorted anew in every step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from clusterproof.neural.data.augmentation import distorted
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.engines.data import Batch
from clusterproof.neural.engines.engine import LocalWork


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
        numbers = self.numbers[which, step, : batch.targets.shape[1]]
        return replace(batch, images=distorted(batch.images, self.preprocessing, numbers))


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
