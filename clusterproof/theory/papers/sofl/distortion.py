"""Section 3.3, "minimum mean square distortion": the winner has the least angle, the update reduces distances."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clusterproof.theory.checker import Family, Sides, at_most, choice, integers

PAPER = Family("sofl")
SAMPLES, NEURONS = 6, 2


def draw(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Six samples and two neurons in the plane, with coordinates from 1 to 9, drawn from a number."""
    stream = np.random.default_rng(number)
    return stream.integers(1, 10, (SAMPLES, 2)).astype(float), stream.integers(1, 10, (NEURONS, 2)).astype(
        float
    )


def winners(samples: np.ndarray, neurons: np.ndarray, rule: str) -> np.ndarray:
    """Return the neuron of each sample: the nearest, or by (8) the one at the least angle; the first of ties."""
    if rule == "distance":
        return np.asarray(((samples[:, None] - neurons) ** 2).sum(axis=-1).argmin(axis=1))
    directions = neurons / np.linalg.norm(neurons, axis=1, keepdims=True)
    # rounded, so that equal angles tie
    return np.asarray((samples @ directions.T).round(12).argmax(axis=1))


def distortion(samples: np.ndarray, neurons: np.ndarray, rule: str) -> float:
    """Return the sum of squared distances of the samples from their winners."""
    return float(((samples - neurons[winners(samples, neurons, rule)]) ** 2).sum())


def moved(samples: np.ndarray, neurons: np.ndarray, rule: str, rate: float) -> np.ndarray:
    """Neurons after the mean of the update (10) over all samples, with the winner alone in the neighbourhood."""
    chosen, after = winners(samples, neurons, rule), neurons.copy()
    for neuron in range(len(neurons)):
        if (chosen == neuron).any():
            after[neuron] += rate * (samples[chosen == neuron].mean(axis=0) - neurons[neuron])
    return after


@PAPER.claim(
    "mean-square-distortion",
    label="Section 3.3, mean square distortion",
    kind="upper",
    repaired_by="sofl/mean-square-distortion-nearest",
)
def mean_square_distortion(
    number: Annotated[int, integers(0, 300)], rate: Annotated[float, choice(1.0, 0.5)]
) -> Sides:
    """Training the map goes down to a minimum of the mean square distortion.

    Hypotheses
        The winner is the neuron at the least angle (8), and the update (10) goes towards the sample; in the mean over
        the samples, with the winner alone in the neighbourhood.

    Statement
        The sum of squared distances of the samples from their winners does not rise.

    Symbols
        The rate is that of (10).

    Source
        Zhang and Qiao (2024), Section 3.3. Angles and distances have no common energy: a neuron that moves towards
        the mean of the samples at a small angle may be far from those that it then wins.

    Checked
        Six samples and two neurons in the plane.
    """
    samples, neurons = draw(number)
    after = moved(samples, neurons, "angle", rate)
    return at_most(distortion(samples, after, "angle"), before=distortion(samples, neurons, "angle"))


@PAPER.claim("mean-square-distortion-nearest", label="Section 3.3, nearest winner (ours)", kind="upper")
def mean_square_distortion_nearest(
    number: Annotated[int, integers(0, 300)], rate: Annotated[float, choice(1.0, 0.5)]
) -> Sides:
    """With the nearest neuron as the winner the mean update never raises the mean square distortion.

    Hypotheses
        As ``sofl/mean-square-distortion``, but the winner is the nearest neuron: then, with rate 1, the map has
        degenerated into k-means.

    Statement
        The sum of squared distances of the samples from their winners does not rise.

    Symbols
        As ``sofl/mean-square-distortion``.

    Source
        Ours; the step of Lloyd's algorithm, shortened by the rate.

    Checked
        As ``sofl/mean-square-distortion``.
    """
    samples, neurons = draw(number)
    after = moved(samples, neurons, "distance", rate)
    return at_most(distortion(samples, after, "distance"), before=distortion(samples, neurons, "distance"))
