"""Mean cross-entropy of a linear classifier on one set of samples, its derivatives, and its minimum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

BLOCK = 1024
"""Samples that are used at once: what stays in a core's cache between their two products."""
LINE = 64
"""Bytes that memory gives at once."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Samples of one client.

    The mean loss is the mean of log sum exp(W x) minus <W, C>, where C is the mean of e_y x': all that the
    classes have to say is in C, and no sample's class is read again.

    Attributes
    ----------
    features
        One column per sample, the last row ones, (f + 1, n).
    class_means
        C, (classes, f + 1).
    """

    features: np.ndarray
    class_means: np.ndarray

    @classmethod
    def of(cls, features: np.ndarray, targets: np.ndarray, classes: int) -> Sample:
        """Gather what is needed of features (f + 1, n) with classes (n,)."""
        indicator = np.zeros((classes, len(targets)))
        indicator[targets, np.arange(len(targets))] = 1 / len(targets)
        return cls(features, (indicator @ features.T).astype(features.dtype))

    def loss(self, matrix: np.ndarray) -> float:
        """Return the mean loss of a classifier (classes, f + 1)."""
        total = sum(float(log_sum_exp(matrix @ block).sum()) for block in self._blocks())
        own = float((matrix.astype(float) * self.class_means).sum())
        return float(total / self.features.shape[1] - own)

    def gradient(self, matrix: np.ndarray) -> np.ndarray:
        """Return the gradient of the mean loss, (classes, f + 1)."""
        total = np.zeros_like(self.class_means)
        for block in self._blocks():
            total += probabilities(matrix @ block) @ block.T
        total /= self.features.shape[1]
        total -= self.class_means
        return total

    def hessian_product(self, matrix: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return the Hessian of the mean loss at a classifier times a direction, all (classes, f + 1)."""
        total = np.zeros_like(self.class_means)
        for block in self._blocks():
            likely = probabilities(matrix @ block)
            moved = direction @ block
            moved -= (likely * moved).sum(axis=0)
            total += (likely * moved) @ block.T
        total /= self.features.shape[1]
        return total

    def _blocks(self) -> Iterator[np.ndarray]:
        for start in range(0, self.features.shape[1], BLOCK):
            yield self.features[:, start : start + BLOCK]


def aligned_rows(count: int, length: int, kind: np.dtype) -> np.ndarray:
    """Return an empty array (count, length) each of whose rows starts where memory's lines do."""
    size = LINE // kind.itemsize
    padded = -(-length // size) * size
    memory = np.empty(count * padded + size, kind)
    start = -memory.ctypes.data % LINE // kind.itemsize
    return memory[start : start + count * padded].reshape(count, padded)[:, :length]


def log_sum_exp(scores: np.ndarray) -> np.ndarray:
    """Return the logarithm of the sum of exponentials over the classes, (classes, n) to (n,)."""
    largest = scores.max(axis=0)
    return np.asarray(largest + np.log(np.exp(scores - largest).sum(axis=0)))


def probabilities(scores: np.ndarray) -> np.ndarray:
    """Softmax over the classes, the last but one axis of (..., classes, n), in place.

    The samples are the long axis: reductions over it are the slow ones.
    """
    scores -= scores.max(axis=-2, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-2, keepdims=True)
    return scores
