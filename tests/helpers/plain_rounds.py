"""Rounds of algorithms with one model on quadratics, client by client and step by step, for comparisons."""

from collections.abc import Callable

import numpy as np

from clusterproof.synthetic import QuadraticMixture

Round = Callable[[np.ndarray], np.ndarray]
"""Maps a state, a vector, to that after a round."""


def averaging_round(
    task: QuadraticMixture, step: float, steps: int, proximal: float = 0.0, server: float = 1.0
) -> Round:
    """FedAvg, or FedProx, on x."""

    def after(x: np.ndarray) -> np.ndarray:
        ends = []
        for a, b in zip(task.hessians, task.centers, strict=True):
            y = x.copy()
            for _ in range(steps):
                y = y - step * (a @ (y - b) + proximal * (y - x))
            ends.append(y)
        return x + server * (sum(ends) / len(ends) - x)

    return after


def fedlin_round(task: QuadraticMixture, step: float, steps: int) -> Round:
    """FedLin on x."""

    def after(x: np.ndarray) -> np.ndarray:
        gradients = [a @ (x - b) for a, b in zip(task.hessians, task.centers, strict=True)]
        mean, ends = sum(gradients) / len(gradients), []
        for a, b, g in zip(task.hessians, task.centers, gradients, strict=True):
            y = x.copy()
            for _ in range(steps):
                y = y - step * (a @ (y - b) - g + mean)
            ends.append(y)
        return np.asarray(sum(ends) / len(ends))

    return after


def scaffold_round(task: QuadraticMixture, step: float, steps: int, option: str) -> Round:
    """SCAFFOLD on x, c_1, ..., c_m, one after the other, with c the mean of the c_i."""

    def after(state: np.ndarray) -> np.ndarray:
        x, *controls = state.reshape(-1, task.dimension)
        mean, ends, following = sum(controls) / len(controls), [], []
        for a, b, c in zip(task.hessians, task.centers, controls, strict=True):
            y = x.copy()
            for _ in range(steps):
                y = y - step * (a @ (y - b) - c + mean)
            ends.append(y)
            following.append(a @ (x - b) if option == "I" else c - mean + (x - y) / (steps * step))
        return np.concatenate([sum(ends) / len(ends), *following])

    return after


def proxskip_round(task: QuadraticMixture, step: float, probability: float, communicate: bool) -> Round:
    """ProxSkip on x_1, ..., x_m, h_1, ..., h_m, one after the other."""

    def after(state: np.ndarray) -> np.ndarray:
        points, controls = state.reshape(2, task.clients, task.dimension)
        moved = np.stack(
            [
                x - step * (a @ (x - b) - h)
                for a, b, x, h in zip(task.hessians, task.centers, points, controls, strict=True)
            ]
        )
        if not communicate:
            return np.concatenate([moved.ravel(), controls.ravel()])
        met = np.tile(sum(moved) / task.clients, (task.clients, 1))
        return np.concatenate([met.ravel(), (controls + probability / step * (met - moved)).ravel()])

    return after


def matrix_of(after: Round, size: int) -> np.ndarray:
    """Return the linear part of an affine round, column by column."""
    origin = after(np.zeros(size))
    return np.stack([after(column) - origin for column in np.eye(size)], axis=1)
