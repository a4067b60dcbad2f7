"""Run an algorithm on drawn quadratics until it rests, and compare with a closed form."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.algorithms import Algorithm, Randomness, State, generator
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Sides, drawn, equal, integers, rationals, suppose

TOLERANCE = 1e-10
"""Largest allowed distance of a run's end from a closed form."""

STILL = 1e-14
"""A run rests if a round changes no array of its state by more than this, relative to the array's size."""

LONGEST = 20000
"""Largest number of rounds of a run."""

INSTANCES = 80
"""Number of tasks on which each closed form is compared."""


def rest(algorithm: Algorithm[Any], task: QuadraticMixture, initial: np.ndarray) -> State:
    """Run from starting points (P, d) until the state rests, and return the last state."""
    randomness = Randomness.from_seed(0)
    state: State = algorithm.initialise(initial, task)
    before = kept(state)
    for _ in range(LONGEST):
        state = algorithm.step(state, task, randomness)
        after = kept(state)
        if all(
            float(np.abs(new - old).max()) <= STILL * (1 + float(np.abs(new).max()))
            for new, old in zip(after, before, strict=True)
        ):
            break
        before = after
    return state


def kept(state: State) -> list[np.ndarray]:
    """Models, and the other arrays of an algorithm's state."""
    arrays = [getattr(state, name, None) for name in ("models", "personal", "buffers")]
    return [np.array(array) for array in arrays if array is not None]


def draw_task(stream: np.random.Generator, *, clusters: int = 1, fewest: int = 1) -> QuadraticMixture:
    """Draw clients with different Hessians and centres; with several clusters, the clients of each are alike.

    Eigenvalues lie in [1/4, 1]; centres are normal, and those of several clusters are far apart, so
    that the clustering is right from the start.

    Parameters
    ----------
    stream
        Generator of up to six clients a cluster, in up to four dimensions.
    clusters
        Number of clusters of equal size.
    fewest
        Smallest number of clients of a cluster.
    """
    clients, dimension = int(stream.integers(fewest, 7)), int(stream.integers(1, 5))
    count, condition = clusters * clients, float(stream.choice([1, 2, 4]))
    rotations = np.linalg.qr(stream.standard_normal((count, dimension, dimension)))[0]
    spectra = stream.uniform(1 / condition, 1, (count, dimension))
    hessians = (rotations * spectra[:, None, :]) @ np.swapaxes(rotations, -1, -2)
    labels = np.repeat(np.arange(clusters), clients)
    centers = stream.standard_normal((count, dimension))
    centers[:, 0] += 100.0 * labels
    return QuadraticMixture(
        hessians=(hessians + np.swapaxes(hessians, -1, -2)) / 2, centers=centers, labels=labels
    )


Task = Annotated[QuadraticMixture, drawn(draw_task)]
Strength = Annotated[Fraction, rationals(Fraction(1, 20), 1, 20)]
LocalSteps = Annotated[int, integers(1, 8)]
FewSteps = Annotated[int, integers(1, 4)]


def suppose_moderate(task: QuadraticMixture) -> None:
    """Suppose that runs come to rest within the rounds, at values far above rounding errors."""
    eigenvalues = np.linalg.eigvalsh(task.hessians)
    suppose(
        "the A_i have eigenvalues in [1/4, 1]",
        eigenvalues.min() >= 0.25 - 1e-12 and eigenvalues.max() <= 1 + 1e-12,
    )
    suppose("all b_i are within 1000 of 0", np.abs(task.centers).max() <= 1000)


def start_of(task: QuadraticMixture, count: int) -> np.ndarray:
    """Return the task's own starting points."""
    return task.initial_models(count, (), generator(0, "baselines", "start"))


def kept_at_rest(
    algorithm: Algorithm[Any], task: QuadraticMixture, forms: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Return the arrays of a run's state at rest, in the shapes of the closed forms (models first)."""
    state = rest(algorithm, task, start_of(task, algorithm.model_count(task)))
    return [array.reshape(form.shape) for array, form in zip(kept(state), forms, strict=False)]


def rests_at(algorithm: Algorithm[Any], task: QuadraticMixture, *forms: np.ndarray) -> Sides:
    """Conclude that the state of a run at rest equals the closed forms."""
    suppose_moderate(task)
    resting = kept_at_rest(algorithm, task, forms)
    return equal(*zip(resting, forms, strict=False), rounding=TOLERANCE)
