"""Losses and gradients on clients' stored regression samples, computed without d x d matrices."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from clusterproof.common.arrays import argmin_smallest_index

CACHED = 2**16
"""Several clients are processed in one matrix product if each client has at most this number of entries."""

TOGETHER = 8 * CACHED
"""Largest number of entries in a matrix product over several clients.

Smaller products require more calls. Larger products do not fit into the processor's cache, so rows are read twice.
"""


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Compressed data of each client: rows with the same sums of squares and products as the client's n samples.

    Attributes
    ----------
    features
        Features X, (m, r, d) with r = min(n, d + 1).
    targets
        Targets y, (m, 1, r).
    samples
        Number of samples n, by which sums over rows are divided.
    """

    features: np.ndarray
    targets: np.ndarray
    samples: int

    @classmethod
    def of(cls, data: Iterable[tuple[np.ndarray, np.ndarray]]) -> StoredRows:
        """Compress each client's features (n, d) and targets (n,) to d + 1 rows if n > d + 1, by a QR decomposition."""
        samples, parts = 0, []
        for features, targets in data:
            rows = np.column_stack([features, targets])
            samples, columns = rows.shape
            parts.append(np.linalg.qr(rows, mode="r") if samples > columns else rows)
        both = np.asarray(parts)
        return cls(
            np.ascontiguousarray(both[..., :-1]), np.ascontiguousarray(both[..., None, :, -1]), samples
        )

    def losses(self, models: np.ndarray, clients: np.ndarray) -> np.ndarray:
        """Return the losses (..., k, P) of models (..., P, d) for clients (..., k)."""
        X, y = self._rows(clients)
        residuals = _by_client(models[..., None, :, :], clients) @ np.swapaxes(X, -1, -2) - y
        return _by_replicate(self._half_squares(residuals), clients, models.shape[:-2])

    def gradients(self, points: np.ndarray, clients: np.ndarray) -> np.ndarray:
        """Return the gradients (..., k, d) at one point per client; the points have the same shape."""
        X, y = self._rows(clients)
        chi = _by_client(points[..., None, :], clients)
        lead = np.broadcast_shapes(chi.shape[:-2], X.shape[:-2])
        result, size = np.empty((*lead, *chi.shape[-2:])), clients_together(X.shape[-2] * X.shape[-1])
        for first in range(0, X.shape[-3], size):
            block = (..., slice(first, first + size), slice(None), slice(None))
            np.matmul(chi[block] @ np.swapaxes(X[block], -1, -2) - y[block], X[block], out=result[block])
        return _by_replicate(result / self.samples, clients, points.shape[:-2])[..., 0, :]

    def losses_and_gradients(self, models: np.ndarray, clients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the losses (..., k, P) and gradients (..., k, P, d) of models (..., P, d) for clients (..., k)."""
        X, y = self._rows(clients)
        residuals = _by_client(models[..., None, :, :], clients) @ np.swapaxes(X, -1, -2) - y
        both = self._half_squares(residuals), residuals @ X / self.samples
        losses, gradients = (_by_replicate(values, clients, models.shape[:-2]) for values in both)
        return losses, gradients

    def choose_and_sum(self, models: np.ndarray, clients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the model that each client chooses, (..., k), and per model the sum of gradients, (..., P, d).

        The gradients reuse the residuals that were computed for the losses. Clients with few samples are processed in
        groups, and all others one at a time, so that the rows are still in the processor's cache when they are used a
        second time.
        """
        X, y = self._rows(clients)
        columns = models.reshape(-1, models.shape[-1])
        runs = math.prod(models.shape[:-2])
        losses = np.empty((len(X), runs, models.shape[-2]))
        sums = np.zeros((runs, *models.shape[-2:]))
        size = clients_together(X[0].size)
        if size == 1:
            self._one_by_one(X, y[:, 0], columns, losses, sums)
        else:
            for block in (slice(first, first + size) for first in range(0, len(X), size)):
                self._together(X[block], y[block], columns, losses[block], sums)
        choices = argmin_smallest_index(losses).T
        if np.isnan(losses).any():  # `argmin` treats NaN as the smallest number
            sums = self._together(X, y, columns, losses, np.zeros_like(sums))
        return choices.reshape(*models.shape[:-2], len(X)), sums.reshape(models.shape) / self.samples

    def _one_by_one(
        self, X: np.ndarray, y: np.ndarray, columns: np.ndarray, losses: np.ndarray, sums: np.ndarray
    ) -> None:
        """Fill losses (k, R, P) and sums (R, P, d) for models (R P, d), one client at a time."""
        runs, P = losses.shape[1:]
        every = np.arange(runs)
        for features, targets, own in zip(X, y, losses, strict=True):
            residuals = columns @ features.T
            residuals -= targets
            squares = np.einsum("qr,qr->q", residuals, residuals)
            own[:] = squares.reshape(runs, P)
            if runs == 1:  # avoid arrays with a single entry
                only = squares.argmin()
                sums[0, only] += residuals[only] @ features
            else:
                best = own.argmin(axis=-1)
                sums[every, best] += residuals[best + P * every] @ features

    def _together(
        self, X: np.ndarray, y: np.ndarray, columns: np.ndarray, losses: np.ndarray, sums: np.ndarray
    ) -> np.ndarray:
        """Fill losses (k, R, P) and sums (R, P, d) for models (R P, d), all clients at once; return the sums."""
        clients, runs, P = losses.shape
        residuals = columns @ np.swapaxes(X, -1, -2) - y  # (k, R P, r)
        losses[:] = np.einsum("kqr,kqr->kq", residuals, residuals).reshape(losses.shape)
        best = argmin_smallest_index(losses)
        own = residuals[np.arange(clients)[:, None], best + P * np.arange(runs)]  # (k, R, r)
        membership = (best.T[..., None, :] == np.arange(P)[:, None]).astype(float)  # (R, P, k)
        sums += membership @ np.swapaxes(own @ X, 0, 1)
        return sums

    def hessian_products(self, directions: np.ndarray, clients: np.ndarray) -> np.ndarray:
        """Return X'X/n v for one direction v per client; both have the shape (..., k, d)."""
        X, _ = self._rows(clients)
        products = _by_client(directions[..., None, :], clients) @ np.swapaxes(X, -1, -2) @ X / self.samples
        return _by_replicate(products, clients, directions.shape[:-2])[..., 0, :]

    def _half_squares(self, residuals: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("...r,...r->...", residuals, residuals) / (2 * self.samples))

    def _rows(self, clients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return features (..., k, r, d) and targets (..., k, 1, r) of clients, as views for consecutive clients."""
        first = int(clients.min())
        consecutive = slice(first, first + clients.shape[-1])
        every = np.arange(len(self.features))
        chosen = consecutive if np.array_equal(clients, every[consecutive]) else clients
        return self.features[chosen], self.targets[chosen]


def clients_together(numbers: int) -> int:
    """Return the number of clients to process in one matrix product if each client has ``numbers`` entries."""
    return 1 if numbers > CACHED else TOGETHER // numbers


def _by_client(vectors: np.ndarray, clients: np.ndarray) -> np.ndarray:
    """Gather for each client the vectors of all R replicates: (..., k, P, d) becomes (k, R P, d).

    The axis k may have length 1. If clients differ between replicates, (..., k), the vectors stay unchanged.
    """
    if clients.ndim > 1:
        return vectors
    *_, k, P, d = vectors.shape
    return np.moveaxis(vectors.reshape(-1, k, P, d), 0, 1).reshape(k, -1, d)


def _by_replicate(values: np.ndarray, clients: np.ndarray, lead: tuple[int, ...]) -> np.ndarray:
    """Undo ``_by_client``: values (k, R P, ...) become (*lead, k, P, ...)."""
    if clients.ndim > 1:
        return values
    split = values.reshape(len(values), *lead, values.shape[1] // math.prod(lead), *values.shape[2:])
    return np.moveaxis(split, 0, len(lead))
