"""Which samples of its own a client uses in each gradient step of its local training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from clusterproof.neural.engines.data import Batch, ClientData, Ids
from clusterproof.neural.engines.draws.counted_orders import draw_key, numbers_of_rows


@dataclass(frozen=True, eq=False)
class Schedule:
    """A walk of every client through random orders of its data, batch after batch.

    A pass uses each sample once, in batches of ``batch_size`` of which the last may be smaller; the next
    pass has a new order.

    Attributes
    ----------
    sizes
        Samples of each client in a pass, (k,).
    batch_size
        Samples of a step.
    steps
        Gradient steps of each client, (k,).
    orders
        Samples of each client in the order of each pass, (k, passes, largest size); on a device padded with 0
        to whole batches.
    """

    sizes: np.ndarray
    batch_size: int
    steps: np.ndarray
    orders: Ids

    @classmethod
    def draw(
        cls,
        sizes: np.ndarray,
        batch_size: int,
        local_steps: int,
        unit: str,
        generator: np.random.Generator,
        device: torch.device | None = None,
    ) -> Schedule:
        """Draw the orders of all passes.

        Parameters
        ----------
        sizes, batch_size
            Samples of each client (k,) and of a batch.
        local_steps, unit
            How many ``"step"``s, of one batch each, or ``"epoch"``s, of one pass each.
        generator
            Source of the orders, of which it gives the key.
        device
            Where the orders of clients with equally many samples are to be; on the host where None. They are
            the same everywhere.
        """
        batches = -(-sizes // batch_size)
        steps = local_steps * batches if unit == "epoch" else np.full(len(sizes), local_steps)
        passes = int((-(-steps // batches)).max(initial=0))
        shape = (len(sizes), passes, int(sizes.max(initial=0)))
        orders = _orders(draw_key(generator), shape, sizes[:, None], device)
        if isinstance(orders, Tensor):
            orders = pad(orders, (0, -shape[2] % batch_size))
        return cls(sizes, batch_size, steps, orders)

    @classmethod
    def independent(
        cls,
        sizes: np.ndarray,
        batch_size: int,
        steps: int,
        generator: np.random.Generator,
        device: torch.device | None = None,
    ) -> Schedule:
        """Draw a batch for each step without replacement, whatever the other steps use; arguments as ``draw``."""
        shape = (len(sizes), steps, int(sizes.max(initial=0)))
        orders = _orders(draw_key(generator), shape, sizes[:, None], device)[..., :batch_size]
        used = np.minimum(sizes, batch_size)
        return cls(used, batch_size, np.full(len(sizes), steps), orders)

    def batch(self, rows: np.ndarray, step: int) -> tuple[Ids, np.ndarray]:
        """Samples of some clients in a step.

        Parameters
        ----------
        rows
            Which of the clients, (r,); all have more than ``step`` steps.
        step
            From 0.

        Returns
        -------
        tuple
            Samples (r, b), padded with 0, and how many of them are real, (r,). The largest batch of the
            step is b, whoever has it, so that a client's numbers do not hang on who else is asked for; on a
            device all steps have the same b.
        """
        if isinstance(self.orders, Tensor):  # one size, clients side by side: no index leaves the host
            size, first = int(self.sizes[0]), int(rows[0])
            passed, batch = divmod(step, -(-size // self.batch_size))
            part = slice(batch * self.batch_size, (batch + 1) * self.batch_size)
            found = self.orders[first : first + len(rows), passed, part]
            return found, np.full(len(rows), min(self.batch_size, size - part.start))
        batches = -(-self.sizes // self.batch_size)
        start = (step % batches) * self.batch_size
        counts = np.minimum(self.batch_size, self.sizes - start)
        width = counts[self.steps > step].max()
        columns = start[rows, None] + np.arange(width)
        counts = counts[rows]
        inside = np.arange(width) < counts[:, None]
        orders = self.orders[rows, step // batches[rows]]
        return np.where(inside, np.take_along_axis(orders, columns * inside, axis=1), 0), counts

    def batches_of(self, data: ClientData, clients: Tensor, rows: np.ndarray) -> Iterator[Batch]:
        """Data of all steps of clients (k,), whose orders are on a device at ``rows`` (k,)."""
        size, first, steps = int(self.sizes[0]), int(rows[0]), int(self.steps[0])
        starts = [step % -(-size // self.batch_size) * self.batch_size for step in range(steps)]
        assert isinstance(self.orders, Tensor)
        samples = self.orders[first : first + len(rows)].flatten(1)[:, : steps * self.batch_size]
        counts = [min(self.batch_size, size - start) for start in starts]
        return data.each_step(clients, samples, self.batch_size, counts)


def _orders(key: int | Tensor, shape: tuple[int, ...], sizes: np.ndarray, device: torch.device | None) -> Ids:
    """Put each client's samples in random orders (..., largest size), those that it has not last."""
    if device is not None:  # clients with equally many samples, all of them real
        return torch.argsort(numbers_of_rows(key, shape, device), dim=-1, stable=True)
    real = np.arange(shape[-1]) < sizes[..., None]
    keys = np.where(real, numbers_of_rows(key, shape).numpy(), np.iinfo(np.int64).max)
    return np.argsort(keys, axis=-1, kind="stable")
