"""Kohonen's self-organising map on a rectangular grid, trained one sample at a time."""

from __future__ import annotations

import numpy as np

TIME_CONSTANT = 60
"""Number of updates after which the Robbins-Monro schedule has halved the learning rate."""


def initial_neurons(
    data: np.ndarray, shape: tuple[int, int], initialisation: str, generator: np.random.Generator
) -> np.ndarray:
    """Draw the initial neurons (rows, columns, d) for samples (n, d).

    ``"sample"`` draws samples with replacement, and ``"random"`` draws unit vectors.
    """
    if initialisation == "sample":
        return np.asarray(data[generator.integers(len(data), size=shape)])
    neurons = generator.random((*shape, data.shape[1])) * 2 - 1
    return np.asarray(neurons / np.linalg.norm(neurons, axis=-1, keepdims=True))


def sample_order(samples: int, updates: int, generator: np.random.Generator) -> np.ndarray:
    """Return a random sequence of samples, (updates,), in which frequencies of samples differ by at most 1."""
    order = np.arange(updates) % samples
    generator.shuffle(order)
    return order


def decayed(start: float, update: int, updates: int, schedule: str) -> float:
    """Return the learning rate or radius at update t of T updates.

    ``"as-printed"`` is SoFL's (12) and (13), start / (1 + t / (T/2)), which decreases to start / 3 for every T.
    ``"robbins-monro"`` is start / (1 + t / 60): the sum over t diverges, and the sum of the squares converges.
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
    """Train the map: for each sample, move the best matching neuron and its neighbours towards the sample.

    Parameters
    ----------
    neurons, data
        Initial neurons (rows, columns, d), and samples (n, d).
    order
        Index of the sample of each update, (T,).
    learning_rate, radius
        Values in the first update, eta_0 and sigma_0 in SoFL. The radius is in grid steps. With radius 0, only the
        winner moves.
    schedule
        See ``decayed``.
    distance
        Distance that determines the best matching neuron: ``"cosine"`` or ``"euclidean"``.

    Returns
    -------
    numpy.ndarray
        The trained neurons, (rows, columns, d).

    Notes
    -----
    SoFL (10)-(13). With the as-printed schedule, the operations agree with MiniSom 2.3.6, including the 1e-8 in the
    denominator of the cosine.
    """
    neurons = neurons.copy()
    row, column = np.arange(neurons.shape[0], dtype=float), np.arange(neurons.shape[1], dtype=float)
    for update, sample in enumerate(order):
        winner = np.argmin(_distances(neurons, data[sample], distance))
        i, j = divmod(int(winner), neurons.shape[1])
        rate, width = (decayed(start, update, len(order), schedule) for start in (learning_rate, radius))
        spread = max(2 * width * width, 1e-300)  # for radius 0, all neighbours have weight exp(-inf) = 0
        near = np.exp(-((row - row[i]) ** 2) / spread)[:, None] * np.exp(
            -((column - column[j]) ** 2) / spread
        )
        neurons += (near * rate)[..., None] * (data[sample] - neurons)
    return neurons


def best_matching_units(neurons: np.ndarray, data: np.ndarray, distance: str = "cosine") -> np.ndarray:
    """Return the row-major index of each sample's nearest neuron, (n,). In a tie, it is the first neuron."""
    return np.array([np.argmin(_distances(neurons, sample, distance)) for sample in data])


def distance_map(neurons: np.ndarray) -> np.ndarray:
    """Return the U-matrix: the mean Euclidean distance between each neuron and its neighbours, (rows, columns)."""
    rows, columns = neurons.shape[:2]
    sums, counts = np.zeros((rows, columns)), np.zeros((rows, columns))
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        neuron = np.s_[: rows - down, max(0, -right) : columns - max(0, right)]
        neighbour = np.s_[down:, max(0, right) : columns + min(0, right)]
        gaps = np.linalg.norm(neurons[neuron] - neurons[neighbour], axis=-1)
        for side in (neuron, neighbour):
            sums[side] += gaps
            counts[side] += 1
    return np.asarray(sums / np.maximum(counts, 1))


def _distances(neurons: np.ndarray, sample: np.ndarray, distance: str) -> np.ndarray:
    if distance == "euclidean":
        return np.asarray(np.linalg.norm(sample - neurons, axis=-1))
    lengths = np.linalg.norm(neurons, axis=2) * np.linalg.norm(sample)
    return np.asarray(1 - (neurons * sample).sum(axis=2) / (lengths + 1e-8))
