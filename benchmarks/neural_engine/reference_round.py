"""A whole round of CFL-MGD on a perceptron with one hidden layer, written by hand in numpy for that one case.

It knows nothing of tasks, engines and algorithms, and takes full batches of clients with equally many samples,
on one thread. One product gives the losses of all models and the first local step; local steps go by Gram
matrices; only sums over clusters are ever put together.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from clusterproof.neural.partitions.partition import Partition

GROUP = 16
"""Clients whose samples stay in the processor's cache."""


@dataclass
class ReferenceRound:
    """Clients' data, and what is kept from round to round.

    Parameters
    ----------
    partition
        Whose clients train.
    hidden
        Units of the hidden layer (h).
    step_size, momentum, local_steps
        Of CFL-MGD with model averaging.
    """

    partition: Partition
    hidden: int
    step_size: float
    momentum: float
    local_steps: int
    grams: dict[int, np.ndarray] = field(default_factory=dict)

    def split(self, vectors: np.ndarray) -> list[np.ndarray]:
        """Weights (P, h, in) and (P, c, h) and biases (P, h) and (P, c) of vectors (P, d)."""
        pixels = self.partition.train.pixels
        shapes = [(self.hidden, pixels[0].size), (self.partition.classes, self.hidden)]
        parts, offset = [], 0
        for shape in ((shapes[0]), (shapes[0][0],), (shapes[1]), (shapes[1][0],)):
            size = int(np.prod(shape))
            parts.append(vectors[:, offset : offset + size].reshape(-1, *shape))
            offset += size
        return parts

    def __call__(
        self, models: np.ndarray, buffers: np.ndarray, clients: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """New models and buffers (P, d), and the participants' clusters (k,)."""
        sums, speeds = np.zeros_like(models), np.zeros_like(buffers)
        chosen = np.empty(len(clients), dtype=np.int64)
        for first in range(0, len(clients), GROUP):
            here = slice(first, first + GROUP)
            chosen[here], share, rate = self._group(models, buffers, clients[here], sums, speeds)
        sizes = np.bincount(chosen, minlength=len(models))[:, None]
        divisor = np.maximum(sizes, 1).astype(models.dtype)
        ends, speeds = sums / divisor, speeds / divisor
        layer = self.hidden * (self.partition.train.pixels[0].size + 1)
        ends[:, :layer] += models[:, :layer] + models.dtype.type(share) * buffers[:, :layer]
        speeds[:, :layer] += models.dtype.type(rate) * buffers[:, :layer]
        return np.where(sizes, ends, models), np.where(sizes, speeds, buffers), chosen

    def _group(
        self,
        models: np.ndarray,
        buffers: np.ndarray,
        clients: np.ndarray,
        sums: np.ndarray,
        speeds: np.ndarray,
    ) -> tuple[np.ndarray, float, float]:
        """Clusters of some clients, whose moves are added to the sums, and the start buffer's shares in both."""
        number, held = models.dtype.type, self.partition.train
        (w1, b1, w2, b2), (u1, c1, u2, c2) = self.split(models), self.split(buffers)
        count, k, n = len(models), len(clients), held.indices.shape[1]
        x = held.pixels.reshape(len(held.pixels), -1)[held.indices[clients].ravel()].astype(models.dtype)
        x *= number(1 / 255)
        y = held.targets[clients]
        first = (x @ w1.reshape(-1, x.shape[1]).T).reshape(k, n, count, -1)
        first += b1
        losses = np.empty((k, count))
        for model in range(count):
            scores = np.maximum(first[:, :, model], 0).reshape(k * n, -1) @ w2[model].T + b2[model]
            scores -= scores.max(1, keepdims=True)
            surprise = np.log(np.exp(scores).sum(1)) - scores[np.arange(k * n), y.ravel()]
            losses[:, model] = surprise.reshape(k, n).mean(1)
        chosen = losses.argmin(1)
        order = np.argsort(chosen, kind="stable")
        own, x, y = chosen[order], x.reshape(k, n, -1)[order], y[order]
        begun, gram = first[order, :, own], self._gram(clients[order], x)
        members = {model: slice(*np.searchsorted(own, (model, model + 1))) for model in np.unique(own)}
        carried = np.empty_like(begun)
        for model, rows in members.items():
            carried[rows] = (x[rows].reshape(-1, x.shape[2]) @ u1[model].T + c1[model]).reshape(
                -1, *begun.shape[1:]
            )
        truth = np.eye(len(w2[0]), dtype=models.dtype)[y]
        v, a, q, r = (part[own] for part in (w2, b2, u2, c2))
        moves, rates, share, rate = np.zeros_like(begun), np.zeros_like(begun), 0.0, 1.0
        for step in range(self.local_steps):
            z = gram @ moves if step else np.zeros_like(begun)
            z += begun
            if step:
                z += number(share) * carried
            np.maximum(z, 0, out=z)
            o = z @ v.mT
            o += a[:, None]
            o -= o.max(2, keepdims=True)
            np.exp(o, out=o)
            o /= o.sum(2, keepdims=True)
            o -= truth
            o *= number(1 / n)
            e = o @ v
            e *= z > 0
            for part, slope in ((q, o.mT @ z), (r, o.sum(1)), (rates, e)):
                part *= number(self.momentum)
                part += slope
            for part, speed in ((v, q), (a, r), (moves, rates)):
                part -= number(self.step_size) * speed
            rate *= self.momentum
            share -= self.step_size * rate
        for model, rows in members.items():
            samples = x[rows].reshape(-1, x.shape[2])
            for total, coefficients, later in ((sums, moves, (v, a)), (speeds, rates, (q, r))):
                places = self.split(total)
                places[0][model] += coefficients[rows].reshape(len(samples), -1).T @ samples
                places[1][model] += coefficients[rows].sum((0, 1))
                for place, part in zip(places[2:], later, strict=True):
                    place[model] += part[rows].sum(0)
        return chosen, share, rate

    def _gram(self, clients: np.ndarray, x: np.ndarray) -> np.ndarray:
        """X X' + 1 of clients (k,) with data (k, n, in), kept."""
        if any(client not in self.grams for client in clients.tolist()):
            for client, one in zip(clients.tolist(), x @ x.mT + x.dtype.type(1), strict=True):
                self.grams[client] = one
        return np.stack([self.grams[client] for client in clients.tolist()])
