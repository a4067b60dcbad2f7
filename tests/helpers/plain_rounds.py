"""Rounds on quadratics as maps of one vector: the library's of one model, and an iteration of ProxSkip by client."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from clusterproof.algorithms import Algorithm
from clusterproof.common import Randomness
from clusterproof.methods.controls import proxskip
from clusterproof.methods.exact import exact_clients
from clusterproof.synthetic import QuadraticMixture

Round = Callable[[np.ndarray], np.ndarray]
"""Maps a state, a vector, to that after a round."""


def library_round(algorithm: Algorithm[Any], task: QuadraticMixture) -> Round:
    """Return a round on x, and of SCAFFOLD on x, c_1, ..., c_m, one after the other, with c the mean of the c_i."""

    def after(vector: np.ndarray) -> np.ndarray:
        rows = vector.reshape(-1, task.dimension)
        state: Any = algorithm.initialise(rows[:1], task)
        if len(rows) > 1:
            state = replace(state, control=rows[1:].mean(axis=0)[None], controls=rows[1:])
        state = algorithm.step(state, task, Randomness.from_seed(0))
        return np.concatenate([state.models, state.controls] if len(rows) > 1 else state.models, axis=None)

    return after


def proxskip_round(task: QuadraticMixture, step: float, probability: float, communicate: bool) -> Round:
    """Return an iteration on x_1, ..., x_m, h_1, ..., h_m, one after the other."""

    def gradient(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.asarray(a @ (x - b))

    gradients = [partial(gradient, a, b) for a, b in zip(task.hessians, task.centers, strict=True)]

    def after(state: np.ndarray) -> np.ndarray:
        points, controls = state.reshape(2, task.clients, task.dimension)
        clients = exact_clients(gradients, [1] * task.clients)
        settings = {"step_size": step, "probability": probability, "communicates": communicate}
        return np.ravel(proxskip(clients, points, controls, **settings))

    return after


def matrix_of(after: Round, size: int) -> np.ndarray:
    """Return the linear part of an affine round, column by column."""
    origin = after(np.zeros(size))
    return np.stack([after(column) - origin for column in np.eye(size)], axis=1)
