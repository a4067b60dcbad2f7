"""Figures of stored runs show the stored values, ceiling and truth; momentum paths show the computed values."""

import numpy as np
import polars
import pytest
from drawings import drawn, line

from clusterproof.figures import momentum_paths
from clusterproof.figures.networks import local_data
from clusterproof.figures.networks.stored_curves import RESULTS


def test_the_median_of_three_seeds_is_drawn_and_the_ceiling_of_one_model():
    (*_, labels, _) = drawn("accuracy-sofl").axes
    frame = polars.read_parquet(RESULTS / "sofl-table-3-mnist.parquet").filter(
        (polars.col("part") == "curve") & (polars.col("column") == "label, server's model")
    )
    row = "IFCA, a group has its share of the images"
    times, middle = line(labels, row)
    for time, value in zip(times, middle, strict=True):
        seeds = frame.filter((polars.col("row") == row) & (polars.col("at") == time))["value"]
        assert len(seeds) == 3
        assert value == seeds.median()
    assert line(labels, "ceiling")[1][0] == 25  # four groups with labels of their own: one model, a quarter


def test_the_papers_numbers_and_the_truth_stand_beside_the_curves():
    mnist, _ = drawn("accuracy-cfl-mgd").axes
    assert line(mnist, "printed CFL-MGD") == (300, 96.05)  # Table 2
    assert line(mnist, "printed FedBCD") == (300, 70.06)
    accuracies, _, clusters = drawn("accuracy-fpfc").axes
    assert line(clusters, "truth")[1][0] == 4
    assert 79 < line(accuracies, "ceiling")[1][0] < 80
    assert all(line(panel, "goal")[1][0] == 0.9 for panel in drawn("purity-on-networks").axes)


def test_the_arrivals_of_the_table_are_where_its_purity_curves_cross_the_goal():
    """Two files that are stored apart: an arrival lies between the last point below the goal and the next above."""
    settings = "mnist, MLP 64-32, step 0.1, models start apart"
    table = polars.read_parquet(RESULTS / "gradient-loss-mnist-mlp.parquet")
    arrivals = table.filter(part="row", row="GL-CFL 0.2", settings=settings, column="to purity 0.9")
    known = sorted(arrivals["value"])
    times, middle = line(drawn("purity-on-networks").axes[0], f"Purity of GL-CFL 0.2: {settings}")
    first = times[middle >= 0.9][0]
    assert known[1] <= first


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


def test_every_image_is_held_once_and_no_client_has_less_than_a_tenth_of_an_equal_share():
    from sklearn.datasets import load_digits

    counts = local_data.held(3, 0.5)
    assert counts.shape == (20, 10)
    sizes = counts.sum(axis=1).reshape(4, 5)
    np.testing.assert_allclose(sizes.sum(axis=1), 360)
    assert sizes.min() >= 0.1 * 72 - 1
    published = np.bincount(load_digits().target)
    assert (counts.sum(axis=0) <= published).all()
    assert counts.sum() == 1440
