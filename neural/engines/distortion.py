"""Random distortions of the images that local training sees, drawn from counters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from clusterproof.neural.client_data import Batch
from clusterproof.neural.data.augmentation import FLIP, NUMBERS, distorted
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.engines.sampling import branches, draw_key, numbers, uniform


def draw_distortions(
    preprocessing: Preprocessing,
    clients: Tensor,
    steps: int,
    samples: int,
    generator: np.random.Generator,
) -> Tensor:
    """Draw what distorts the images of local training.

    Parameters
    ----------
    preprocessing
        Which distortions.
    clients
        Whose, (k,).
    steps, samples
        Gradient steps of each, and samples of a step.
    generator
        Gives a key. Each participant's numbers depend on that, on the client, and on how often the same client
        is among ``clients`` before.

    Returns
    -------
    Tensor
        Uniform in [0, 1), float32, (k, steps, samples, 5); the numbers of a batch are equal, except for flips, with
        ``augmentation_per = "batch"``.
    """
    before = (clients[:, None] == clients).tril_(-1).sum(1)
    keys = branches(branches(draw_key(generator), clients), before)
    drawn = uniform(numbers(keys, (steps, samples, NUMBERS)))
    if preprocessing.augmentation_per == "batch":
        drawn = torch.where(torch.arange(NUMBERS) == FLIP, drawn, drawn[:, :, :1])
    return drawn


@dataclass(frozen=True, eq=False)
class Distortions:
    """What distorts the images of all participants of a call.

    Attributes
    ----------
    preprocessing
        Which distortions.
    numbers
        Of ``draw_distortions``, (k, steps, samples, 5).
    """

    preprocessing: Preprocessing
    numbers: Tensor

    def apply(self, batch: Batch, rows: np.ndarray, step: int) -> Batch:
        """Distort a batch as stored, of participants ``rows`` (r,), in one of their steps."""
        drawn = self.numbers[torch.from_numpy(rows), step, : batch.targets.shape[1]]
        images = distorted(batch.images, self.preprocessing, drawn.to(batch.images.device))
        return replace(batch, images=images)
