"""Which of its samples a client uses in each gradient step, and what distorts their images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.distortion import draw_distortions


@dataclass(frozen=True, eq=False)
class Step:
    """What a client uses in a gradient step.

    Attributes
    ----------
    samples
        Which of its samples, integers (b,).
    distortions
        What distorts their images, (b, 5); None for nothing.
    """

    samples: np.ndarray
    distortions: np.ndarray | None


def draw_steps(
    size: int, steps: int, batch_size: int, preprocessing: Preprocessing, generator: np.random.Generator
) -> list[Step]:
    """Draw the minibatches of a client with ``size`` samples.

    They go batch after batch through random orders of the data: a pass uses each sample once, its last batch may be
    smaller, and the next pass has a new order. Who has at most ``batch_size`` samples uses all of them in every step.
    """
    batches: list[np.ndarray] = []
    while len(batches) < steps:
        order = np.arange(size) if size <= batch_size else generator.permutation(size)
        batches += [order[start : start + batch_size] for start in range(0, size, batch_size)]
    return [Step(batch, draw_distortions(preprocessing, len(batch), generator)) for batch in batches[:steps]]


def groups(plans: Sequence[Sequence[Step]], most: int) -> Iterator[np.ndarray]:
    """Yield the positions of at most ``most`` participants whose batches have the same sizes, until all were given."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for position, plan in enumerate(plans):
        alike.setdefault(tuple(len(step.samples) for step in plan), []).append(position)
    for positions in alike.values():
        for first in range(0, len(positions), most):
            yield np.array(positions[first : first + most])
