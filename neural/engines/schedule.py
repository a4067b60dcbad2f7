"""Which samples of its own a client uses in each gradient step of its local training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from clusterproof.neural.engines.data import Ids


@dataclass(frozen=True, eq=False)
class Schedule:
    """A walk of every client through random orders of its data, batch after batch.

    A pass uses each sample once, in batches of ``batch_size`` of which the last may be smaller; the next
    pass has a new order.

    Attributes
    ----------
    sizes
        Samples of each client, (k,).
    batch_size
        Samples of a step.
    steps
        Gradient steps of each client, (k,).
    orders
        Samples of each client in the order of each pass, (k, passes, largest size).
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
            Source of the orders.
        device
            Where the orders of clients with equally many samples are to be; on the host where None.
        """
        batches = -(-sizes // batch_size)
        steps = local_steps * batches if unit == "epoch" else np.full(len(sizes), local_steps)
        passes = int((-(-steps // batches)).max(initial=0))
        keys = generator.random((len(sizes), passes, int(sizes.max(initial=0))))
        return cls(sizes, batch_size, steps, _orders(keys, sizes[:, None], device))

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
            step is b, whoever has it, so that a client's numbers do not hang on who else is asked for.
        """
        if isinstance(self.orders, torch.Tensor):  # one size, clients side by side: no index leaves the host
            size = int(self.sizes[0])
            batch, first = step % -(-size // self.batch_size), int(rows[0])
            part = slice(batch * self.batch_size, min(size, (batch + 1) * self.batch_size))
            found = self.orders[first : first + len(rows), step // -(-size // self.batch_size), part]
            return found, np.full(len(rows), found.shape[1])
        batches = -(-self.sizes // self.batch_size)
        start = (step % batches) * self.batch_size
        counts = np.minimum(self.batch_size, self.sizes - start)
        width = counts[self.steps > step].max()
        columns = start[rows, None] + np.arange(width)
        counts = counts[rows]
        inside = np.arange(width) < counts[:, None]
        orders = self.orders[rows, step // batches[rows]]
        return np.where(inside, np.take_along_axis(orders, columns * inside, axis=1), 0), counts


def draw_batch(
    sizes: np.ndarray, batch_size: int, generator: np.random.Generator, device: torch.device | None = None
) -> tuple[Ids, np.ndarray]:
    """Draw one batch of each client without replacement.

    Returns
    -------
    tuple
        Samples (k, b), padded with 0, on the device if one is given and clients have equally many samples;
        and how many of them are real, (k,).
    """
    counts = np.minimum(sizes, batch_size)
    orders = _orders(generator.random((len(sizes), int(sizes.max(initial=0)))), sizes, device)
    width = int(counts.max(initial=0))
    if isinstance(orders, torch.Tensor):
        return orders[:, :width], counts
    return np.where(np.arange(width) < counts[:, None], orders[:, :width], 0), counts


def _orders(keys: np.ndarray, sizes: np.ndarray, device: torch.device | None) -> Ids:
    """Sort each client's samples by their keys (..., largest size), those that it has not last.

    The keys are the same on every device: one copy takes them to a GPU, which sorts them itself.
    """
    if device is not None:
        return torch.argsort(torch.from_numpy(keys).to(device), dim=-1, stable=True)
    real = np.arange(keys.shape[-1]) < sizes[..., None]
    return np.argsort(np.where(real, keys, np.inf), axis=-1)
