"""Losses and gradients of clients' stored regression rows, by products that form no d x d matrices."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

CACHED = 2**17
"""Numbers of rows that gradients pass over twice in a block, about those of a core's cache."""


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Rows of every client that have the sums of squares and products of its n samples.

    Attributes
    ----------
    features
        X, (m, r, d) with r = min(n, d + 1).
    targets
        y, (m, 1, r).
    samples
        n, by which sums over rows are divided.
    """

    features: np.ndarray
    targets: np.ndarray
    samples: int

    @classmethod
    def of(cls, data: Iterable[tuple[np.ndarray, np.ndarray]]) -> StoredRows:
        """Reduce each client's features (n, d) and targets (n,), to a triangle where there are more than d + 1 rows."""
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
        """Return the losses of models (..., P, d) on clients (..., k): (..., k, P)."""
        X, y = self._rows(clients)
        residuals = _by_client(models[..., None, :, :], clients) @ np.swapaxes(X, -1, -2) - y
        return _by_replicate(self._half_squares(residuals), clients, models.shape[:-2])

    def gradients(self, points: np.ndarray, clients: np.ndarray) -> np.ndarray:
        """Return the gradients at one point per client, (..., k, d): (..., k, d)."""
        X, y = self._rows(clients)
        chi = _by_client(points[..., None, :], clients)
        lead = np.broadcast_shapes(chi.shape[:-2], X.shape[:-2])
        result, size = np.empty((*lead, *chi.shape[-2:])), max(1, CACHED // (X.shape[-2] * X.shape[-1]))
        for first in range(0, X.shape[-3], size):
            block = (..., slice(first, first + size), slice(None), slice(None))
            np.matmul(chi[block] @ np.swapaxes(X[block], -1, -2) - y[block], X[block], out=result[block])
        return _by_replicate(result / self.samples, clients, points.shape[:-2])[..., 0, :]

    def losses_and_gradients(self, models: np.ndarray, clients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the losses (..., k, P) and gradients (..., k, P, d) of models (..., P, d) on clients (..., k)."""
        X, y = self._rows(clients)
        residuals = _by_client(models[..., None, :, :], clients) @ np.swapaxes(X, -1, -2) - y
        both = self._half_squares(residuals), residuals @ X / self.samples
        losses, gradients = (_by_replicate(values, clients, models.shape[:-2]) for values in both)
        return losses, gradients

    def hessian_products(self, directions: np.ndarray, clients: np.ndarray) -> np.ndarray:
        """Return X'X/n v for a direction v per client, (..., k, d): (..., k, d)."""
        X, _ = self._rows(clients)
        products = _by_client(directions[..., None, :], clients) @ np.swapaxes(X, -1, -2) @ X / self.samples
        return _by_replicate(products, clients, directions.shape[:-2])[..., 0, :]

    def _half_squares(self, residuals: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("...r,...r->...", residuals, residuals) / (2 * self.samples))

    def _rows(self, clients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Features (..., k, r, d) and targets (..., k, 1, r) of clients, without a copy of consecutive ones."""
        first = int(clients.min())
        consecutive = slice(first, first + clients.shape[-1])
        every = np.arange(len(self.features))
        chosen = consecutive if np.array_equal(clients, every[consecutive]) else clients
        return self.features[chosen], self.targets[chosen]


def _by_client(vectors: np.ndarray, clients: np.ndarray) -> np.ndarray:
    """Gather the vectors of all replicates that one client multiplies: (..., k, P, d) as (k, R P, d).

    The axis k may have length 1. Replicates with clients of their own, (..., k), stay as they are.
    """
    if clients.ndim > 1:
        return vectors
    *_, k, P, d = vectors.shape
    return np.moveaxis(vectors.reshape(-1, k, P, d), 0, 1).reshape(k, -1, d)


def _by_replicate(values: np.ndarray, clients: np.ndarray, lead: tuple[int, ...]) -> np.ndarray:
    """Undo ``_by_client``: values (k, R P, ...) as (*lead, k, P, ...)."""
    if clients.ndim > 1:
        return values
    split = values.reshape(len(values), *lead, values.shape[1] // math.prod(lead), *values.shape[2:])
    return np.moveaxis(split, 0, len(lead))
