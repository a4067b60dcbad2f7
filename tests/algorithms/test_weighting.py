"""Samples as weights: closed forms, copies of clients, and what must not change where sizes are equal."""

import numpy as np
import pytest

from clusterproof.algorithms import (
    CFL,
    InvalidArgument,
)
from clusterproof.synthetic import QuadraticMixture, from_settings

SIZES = np.array([1, 7, 2, 5, 3, 9])


def mixture(clusters=1, sizes=SIZES, clients=6):
    drawn = QuadraticMixture.random(
        clusters=clusters, clients=clients, dimension=2, condition_number=4, spread=0.6, separation=20, seed=3
    )
    stretch = np.linspace(0.5, 1.0, clients)[:, None, None]
    return QuadraticMixture(
        hessians=stretch * drawn.hessians, centers=drawn.centers, labels=drawn.labels, client_samples=sizes
    )


def test_sizes_come_back_from_the_settings_and_bad_ones_are_refused():
    task = mixture()
    assert np.array_equal(from_settings(task.settings).client_samples, SIZES)
    assert mixture(sizes=[1, 1, 1, 1, 1, 2]).settings["client_samples"] == [1, 1, 1, 1, 1, 2]
    assert "client_samples" not in mixture(sizes=None).settings
    for sizes in ([1, 2], [0] * 6, [1.5] * 6):
        with pytest.raises(InvalidArgument) as refusal:
            mixture(sizes=sizes)
        assert refusal.value.argument == "client_samples"


@pytest.mark.parametrize(("ratio", "cut"), [(0.33, True), (0.35, False)])
def test_the_two_most_alike_across_the_cut_decide_whether_noise_explains_it(ratio, cut):
    """At 40, 20, -20 and -40 degrees the nearest across are 40 degrees apart, the farthest 80: sin 20 = 0.342."""
    angles = np.radians([40, 20, -20, -40])
    updates = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    algorithm = CFL(step_size=1.0, mean_threshold=0.9, client_threshold=0.9, noise_ratio=ratio)
    members = np.zeros(4, dtype=int)
    algorithm.split(members, np.arange(4), updates, 1.0)
    assert members.tolist() == ([0, 0, 1, 1] if cut else [0, 0, 0, 0])
