"""A figure of stored runs shows the stored values; momentum paths show the computed values."""

import numpy as np
import polars
import pytest
from drawings import drawn, line

from clusterproof.figures.momentum_paths import START, MomentumPaths
from clusterproof.figures.networks import STORED


def test_the_stored_curve_is_drawn_and_the_papers_numbers_stand_beside_it():
    (mnist,) = drawn("accuracy-cfl-mgd").axes
    stored = polars.read_parquet(STORED).filter(
        polars.col("round").is_not_null(), column="accuracy %", method="IFCA"
    )
    times, values = line(mnist, "IFCA")
    for time, value in zip(times, values, strict=True):
        assert value == pytest.approx(stored.filter(round=time)["value"].mean())
    assert len(times) == stored["round"].n_unique() > 2
    assert line(mnist, "printed CFL-MGD") == (300, 96.05)  # Table 2
    stars = {str(mark.get_gid()) for mark in mnist.get_children() if "printed" in str(mark.get_gid())}
    assert stars == {"printed CFL-MGD", "printed IFCA", "printed FedAvg"}, "our FedBCD has another network"


@pytest.mark.parametrize("momentum", [0.0, 0.25, 0.5])
@pytest.mark.parametrize("step_size", [1.0, 1.9, 0.25])
def test_paths_are_those_of_the_recursion_and_stay_below_their_bounds(momentum, step_size):
    """With step 1 / L gradient descent has a double root, 0; with momentum 1/4 and step 1 / 4L, the heavy ball 1/2."""
    figure = MomentumPaths(kappa=20, momentum=momentum, step_size=step_size, rounds=200)
    curvatures = np.array([1 / 20, 1.0])
    for beta, path in zip((0.0, momentum), figure.compute().values(), strict=True):
        before = here = START
        for point in path.points:
            np.testing.assert_allclose(point, here, atol=1e-12)
            before, here = here, here - step_size * curvatures * here + beta * (here - before)
        distances = np.linalg.norm(path.points, axis=1)
        assert (distances <= path.bound * (1 + 1e-9) + 1e-12).all()
        assert path.bound[-1] < 0.2 * path.bound[0]
