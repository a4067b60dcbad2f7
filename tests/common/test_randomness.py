"""Generators of a seed and named axes: equal where all are equal, and independent otherwise."""

import itertools
import math

import numpy as np
import pytest

from clusterproof.common.randomness import Randomness, generator

DRAWS = 20_000
AXES = [(), ("task",), ("other",), (0,), (0, 0), ("task", 0), ("task", 1)]
STREAMS = {
    (seed, axes, purpose): stream
    for seed, axes in itertools.product((0, 1), AXES)
    for purpose, stream in vars(Randomness.from_seed(seed, *axes)).items()
}
DRAWN = np.array([stream.standard_normal(DRAWS) for stream in STREAMS.values()])


def test_other_seeds_axes_and_purposes_give_independent_streams() -> None:
    assert len(STREAMS) == 2 * len(AXES) * 5
    correlation = np.corrcoef(DRAWN)
    # 2415 pairs, each beyond 5 standard errors with probability 6e-7
    assert np.abs(correlation[np.triu_indices(len(STREAMS), 1)]).max() < 5 / math.sqrt(DRAWS)


@pytest.mark.parametrize("key", list(STREAMS)[::7])
def test_the_same_seed_axes_and_purpose_give_the_same_bits(
    key: tuple[int, tuple[str | int, ...], str],
) -> None:
    seed, axes, purpose = key
    drawn = DRAWN[list(STREAMS).index(key)]
    assert (getattr(Randomness.from_seed(seed, *axes), purpose).standard_normal(DRAWS) == drawn).all()
    assert (generator(seed, *axes, purpose).standard_normal(DRAWS) == drawn).all()
