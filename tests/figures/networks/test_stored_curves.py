"""A figure of stored runs shows the stored values; momentum paths show the computed values."""

import numpy as np
import polars
import pytest
from drawings import drawn, line

from clusterproof.figures import momentum_paths
from clusterproof.figures.networks.cfl_mgd import STORED


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
    assert line(mnist, "printed FedBCD") == (300, 70.06)


@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_paths_are_those_of_the_recursion_and_stay_below_their_bounds(momentum):
    curvatures = np.array([1 / momentum_paths.CONDITION_NUMBER, 1.0])
    before = here = momentum_paths.START
    points = momentum_paths.path(momentum, momentum_paths.STEP_SIZE)
    for point in points:
        np.testing.assert_allclose(point, here, atol=1e-12)
        before, here = here, here - momentum_paths.STEP_SIZE * curvatures * here + momentum * (here - before)
    bound = momentum_paths.envelope(momentum, momentum_paths.STEP_SIZE)
    assert (np.linalg.norm(points, axis=1) <= bound * (1 + 1e-12)).all()
    assert bound[-1] < 0.05 * bound[0]
