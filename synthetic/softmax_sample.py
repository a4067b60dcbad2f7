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


def pooled_minimiser(x: np.ndarray, y: np.ndarray, shares: np.ndarray, classes: int) -> np.ndarray | None:
    """Minimise the loss weighted by shares (n,) that add to 1; None where it has no minimum.

    Where the loss falls for ever, it does so as exp(-t), on which a Newton step has length 1 whatever t:
    the steps then do not shrink while the gradient vanishes.
    """
    width = x.shape[1]
    model = np.zeros((classes, width))
    rows = np.arange(len(y))

    def loss(candidate: np.ndarray) -> float:
        scores = candidate @ x.T
        return float(shares @ (log_sum_exp(scores) - scores[y, rows]))

    # the same added to all classes: the one direction that is flat everywhere
    flat = np.kron(np.ones((classes, classes)) / classes, np.eye(width))
    for _ in range(100):
        likely = probabilities(model @ x.T).T
        errors = likely.copy()
        errors[rows, y] -= 1
        gradient = (errors * shares[:, None]).T @ x
        hessian = np.empty((classes, width, classes, width))
        for one in range(classes):
            for other in range(one + 1):
                weight = likely[:, one] * ((one == other) - likely[:, other]) * shares
                block = (x * weight[:, None]).T @ x
                hessian[one, :, other, :], hessian[other, :, one, :] = block, block.T
        try:
            direction = np.linalg.solve(hessian.reshape(classes * width, -1) + flat, gradient.ravel())
        except np.linalg.LinAlgError:
            return None
        scale, step = 1.0, direction.reshape(classes, width)
        if np.linalg.norm(step) <= 1e-8 * (1 + np.linalg.norm(model)):
            return (model - step).ravel()
        if np.linalg.norm(gradient) < 1e-13:
            return None
        while scale > 1e-6 and not loss(model - scale * step) <= loss(model) + 1e-15:
            scale /= 2
        model = model - scale * step
    return None
