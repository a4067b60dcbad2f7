"""Kohonen's self-organising map on a rectangular grid, one sample an update."""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from clusterproof.algorithms.arrays import Array, like

TIME_CONSTANT = 60
"""Updates in which the Robbins-Monro schedule halves its rate, whatever their number."""


def initial_neurons(
    data: Array, shape: tuple[int, int], initialisation: str, generator: np.random.Generator
) -> Array:
    """Draw the neurons that training starts from, (rows, columns, d), of the library and type of the samples.

    Parameters
    ----------
    data
        Samples (n, d), floating numbers of any library.
    shape
        Rows and columns of the grid.
    initialisation
        ``"sample"`` draws samples with replacement, ``"random"`` unit vectors.
    """
    if initialisation == "sample":
        xp = array_namespace(data)
        chosen = like(generator.integers(data.shape[0], size=shape).ravel(), data)
        return xp.reshape(xp.take(data, chosen, axis=0), (*shape, data.shape[1]))
    neurons = generator.random((*shape, data.shape[1])) * 2 - 1
    return like(neurons / np.linalg.norm(neurons, axis=-1, keepdims=True), data)


def sample_order(samples: int, updates: int, generator: np.random.Generator) -> np.ndarray:
    """Shuffle the list in which all samples occur equally often, up to one, (updates,)."""
    order = np.arange(updates) % samples
    generator.shuffle(order)
    return order


def decayed(start: float, update: int, updates: int, schedule: str) -> float:
    """Rate or radius at an update t of T.

    ``"as-printed"`` is SoFL's (12) and (13), start / (1 + t / (T/2)), which ends at a third for every
    T. ``"robbins-monro"`` is start / (1 + t / 60): its sum diverges, that of its squares does not.
    """
    return start / (1 + update / (updates / 2 if schedule == "as-printed" else TIME_CONSTANT))


def train(
    neurons: np.ndarray,
    data: np.ndarray,
    order: np.ndarray,
    *,
    learning_rate: float,
    radius: float,
    schedule: str = "as-printed",
    distance: str = "cosine",
) -> np.ndarray:
    """Move the best matching unit of one sample after the other, and its neighbours, towards it.

    Parameters
    ----------
    neurons
        Start, (rows, columns, d).
    data
        Samples (n, d).
    order
        Index of the sample of each update, (T,).
    learning_rate, radius
        Of the first update: SoFL's eta_0 and sigma_0, the latter in units of the grid. Radius 0
        moves the winner alone.
    schedule
        See ``decayed``.
    distance
        ``"cosine"`` or ``"euclidean"``, for the choice of the best matching unit.

    Returns
    -------
    numpy.ndarray
        The trained neurons, (rows, columns, d).

    Notes
    -----
    SoFL (10)-(13); operation by operation what MiniSom 2.3.6 does with the as-printed schedule, the
    1e-8 in the cosine's denominator included.
    """
    neurons = neurons.copy()
    row, column = np.arange(neurons.shape[0], dtype=float), np.arange(neurons.shape[1], dtype=float)
    for update, sample in enumerate(order):
        winner = np.argmin(_distances(neurons, data[sample], distance))
        i, j = divmod(int(winner), neurons.shape[1])
        rate, width = (decayed(start, update, len(order), schedule) for start in (learning_rate, radius))
        spread = max(2 * width * width, 1e-300)  # radius 0 divides by what exp takes for nothing
        near = np.exp(-((row - row[i]) ** 2) / spread)[:, None] * np.exp(
            -((column - column[j]) ** 2) / spread
        )
        neurons += (near * rate)[..., None] * (data[sample] - neurons)
    return neurons


def best_matching_units(neurons: np.ndarray, data: np.ndarray, distance: str = "cosine") -> np.ndarray:
    """Index of each sample's nearest neuron in row-major order, (n,); ties go to the first."""
    return np.array([np.argmin(_distances(neurons, sample, distance)) for sample in data])


def distance_map(neurons: np.ndarray) -> np.ndarray:
    """U-matrix: mean Euclidean distance of each neuron to its up to eight neighbours, (rows, columns)."""
    rows, columns = neurons.shape[:2]
    sums, counts = np.zeros((rows, columns)), np.zeros((rows, columns))
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        here = np.s_[: rows - down, max(0, -right) : columns - max(0, right)]
        there = np.s_[down:, max(0, right) : columns + min(0, right)]
        gaps = np.linalg.norm(neurons[here] - neurons[there], axis=-1)
        for side in (here, there):
            sums[side] += gaps
            counts[side] += 1
    return np.asarray(sums / np.maximum(counts, 1))


def _distances(neurons: np.ndarray, sample: np.ndarray, distance: str) -> np.ndarray:
    if distance == "euclidean":
        return np.asarray(np.linalg.norm(sample - neurons, axis=-1))
    lengths = np.linalg.norm(neurons, axis=2) * np.linalg.norm(sample)
    return np.asarray(1 - (neurons * sample).sum(axis=2) / (lengths + 1e-8))
