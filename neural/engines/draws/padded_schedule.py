"""The schedule of clients with differently many samples on a GPU, none of whose numbers the host knows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from clusterproof.neural.engines.data import Batch, ClientData
from clusterproof.neural.engines.draws.counted_orders import draw_key, numbers_of_rows


@dataclass(frozen=True, eq=False)
class PaddedSchedule:
    """Batches of all clients and steps in one block: as in ``Schedule``, in shapes that hang on no participant.

    Every client takes as many steps as the one with the most of all clients would; those past its own do not
    count, see ``Ends``.

    Attributes
    ----------
    samples
        (k, steps, b), padded with 0.
    counts
        How many of them are real, the first ones, (k, steps).
    steps
        The number of steps, for everybody, (k,).
    own_steps
        Each client's own, (k,) on the device; None where all take as many.
    """

    samples: Tensor
    counts: Tensor
    steps: np.ndarray
    own_steps: Tensor | None

    @classmethod
    def draw(
        cls,
        sizes: Tensor,
        everybody: np.ndarray,
        batch_size: int,
        local_steps: int,
        unit: str,
        generator: np.random.Generator,
    ) -> PaddedSchedule:
        """Draw what ``Schedule.draw`` draws, with the same bits.

        Parameters
        ----------
        sizes
            Samples of each participant, (k,) on the device.
        everybody
            Samples of all clients that there are, on the host.
        batch_size, local_steps, unit, generator
            See there.
        """
        batches = -(-everybody // batch_size)
        most = int(batches.max())
        epochs = unit == "epoch"
        total = local_steps * most if epochs else local_steps
        passes = local_steps if epochs else int(-(-local_steps // int(batches.min())))
        orders = _orders(draw_key(generator), (len(sizes), passes, int(everybody.max())), sizes)
        step = torch.arange(total, device=sizes.device)
        own = ((sizes + (batch_size - 1)) // batch_size)[:, None]
        start = step % own * batch_size
        counts = (sizes[:, None] - start).clamp_(max=batch_size)
        # past its own last pass a client walks through that pass again
        first = (step // own).clamp_(max=passes - 1) * orders.shape[2] + start
        places = first[..., None] + torch.arange(batch_size, device=sizes.device)
        places = places.clamp_(max=orders[0].numel() - 1)
        samples = orders.flatten(1).gather(1, places.flatten(1)).view(places.shape)
        own_steps = local_steps * own[:, 0] if epochs and most > int(batches.min()) else None
        return cls(samples, counts, np.full(len(sizes), total), own_steps)

    @classmethod
    def independent(
        cls,
        sizes: Tensor,
        everybody: np.ndarray,
        batch_size: int,
        steps: int,
        generator: np.random.Generator,
    ) -> PaddedSchedule:
        """Draw what ``Schedule.independent`` draws, with the same bits; arguments as ``draw``."""
        orders = _orders(draw_key(generator), (len(sizes), steps, int(everybody.max())), sizes)
        counts = sizes.clamp(max=batch_size)[:, None].expand(-1, steps)
        return cls(orders[..., :batch_size], counts, np.full(len(sizes), steps), None)

    def batch(self, rows: np.ndarray, step: int) -> tuple[Tensor, Tensor]:
        """Samples (r, b) of clients side by side in a step, and how many of them are real, (r,)."""
        here = self._of(rows)
        return self.samples[here, step], self.counts[here, step]

    def batches_of(self, data: ClientData, clients: Tensor, rows: np.ndarray) -> Iterator[Batch]:
        """Data of all steps of clients (k,), who are at ``rows`` (k,)."""
        here = self._of(rows)
        samples = self.samples[here]
        return data.each_step(clients, samples.flatten(1), samples.shape[2], self.counts[here])

    def own_steps_of(self, rows: np.ndarray) -> Tensor | None:
        """Steps of clients at ``rows`` (k,), where they differ."""
        return None if self.own_steps is None else self.own_steps[self._of(rows)]

    @staticmethod
    def _of(rows: np.ndarray) -> slice:
        return slice(int(rows[0]), int(rows[0]) + len(rows))


def _orders(key: int | Tensor, shape: tuple[int, ...], sizes: Tensor) -> Tensor:
    """Put each client's samples in random orders (..., largest size), those that it has not last."""
    real = torch.arange(shape[-1], device=sizes.device) < sizes[:, None, None]
    keys = numbers_of_rows(key, shape, sizes.device).masked_fill_(~real, torch.iinfo(torch.int64).max)
    return torch.argsort(keys, dim=-1, stable=True)


class Ends:
    """Where clients are after their own last steps, while others go on.

    Parameters
    ----------
    own_steps
        Steps of each client, (k,).
    moving
        What moves in place, (k, ...) each.
    """

    def __init__(self, own_steps: Tensor, moving: list[Tensor]) -> None:
        self._own_steps, self._moving, self._kept = own_steps, moving, moving

    def note(self, done: int) -> None:
        """Keep what those have who were to take ``done`` steps, which are done now."""
        last = (self._own_steps == done)[:, None]
        self._kept = [
            torch.where(last, now, kept) for now, kept in zip(self._moving, self._kept, strict=True)
        ]

    def restore(self) -> None:
        """Bring everybody back there."""
        for now, kept in zip(self._moving, self._kept, strict=True):
            now.copy_(kept)
