"""Curves of networks, sweeps and tables: the stored values, and losses, medians and ranges by hand."""

from typing import Any

import numpy as np
import polars
import pytest
from drawings import SEED, drawn, line
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

from clusterproof.common import InvalidArgument
from clusterproof.experiments.sweep import Sweep
from clusterproof.experiments.tables import TABLES
from clusterproof.figures import networks
from clusterproof.figures.curves import check_rounds, draw_sweep, draw_table
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


@pytest.fixture(scope="module")
def rotated():
    """The rotated digits as the task has them, and as rows of pixels with their digits."""
    task = networks.make_task("rotations", SEED, clusters=4, clients=16, samples=90)
    held = task.partition.train
    pixels = held.pixels[held.indices].reshape(16, 90, 64) / 255
    return task, pixels, held.targets


def by_hand(pixels, targets, model):
    """Return the mean cross-entropies (m,) of a model (650,): weights (10, 64), then biases."""
    scores = pixels @ model[:640].reshape(10, 64).T + model[640:]
    right = np.take_along_axis(scores, targets[..., None], axis=-1)[..., 0]
    return (logsumexp(scores, axis=-1) - right).mean(axis=-1)


def curve(panel, gid):
    return line(panel, gid)[1]


@pytest.mark.slow(reason="trains networks for a figure")
def test_no_single_model_is_below_the_line_and_one_comes_near(rotated):
    _, pixels, targets = rotated
    radius, least = networks.one_model(SEED)
    rows, digits = pixels.reshape(-1, 64), targets.reshape(-1)
    fitted = LogisticRegression(C=1 / (1e-3 * len(rows)), tol=1e-3, max_iter=2000).fit(rows, digits)
    model = np.concatenate([fitted.coef_.ravel(), fitted.intercept_])
    found = by_hand(pixels, targets, model).mean()
    for shrunk in (1, 0.9, 0.5):
        if np.linalg.norm(shrunk * model) <= radius:
            assert by_hand(pixels, targets, shrunk * model).mean() > least
    assert least < found + 1e-3 < least + 0.03
    left = drawn("training-loss").axes[0]
    assert (curve(left, "least of one model") == least).all()
    for name in ("FedAvg", "FedBCD"):
        assert curve(left, name).min() > least
    for name in ("CFL-MGD", "IFCA"):
        assert curve(left, name)[-1] < least


@pytest.mark.slow(reason="trains networks for a figure")
def test_descent_in_the_true_clusters_descends_and_is_drawn_beside_both():
    _, losses, accuracies = drawn("training-loss").axes
    assert (np.diff(curve(losses, "true clusters")) < 0).all()
    assert curve(losses, "GL-CFL")[-1] < curve(losses, "IFCA")[-1]
    truth = curve(accuracies, "true clusters")
    assert 10 <= truth[0] + 10 <= truth[-1] <= 100


def test_a_curve_has_medians_over_seeds_and_one_without_a_measurement_is_only_named() -> None:
    plan = Sweep(
        measure=("final_error",), seeds=3, grid={"momentum": [0.0, 0.5], "algorithm": ["ifca", "cfl"]}
    )
    rows = [
        {
            "algorithm": algorithm,
            "momentum": momentum,
            "seed": seed,
            "replicate": 0,
            "round": 9,
            "final_error": (1 + momentum) * 2.0**seed if algorithm == "ifca" else None,
        }
        for algorithm in ("ifca", "cfl")
        for momentum in (0.0, 0.5)
        for seed in range(3)
    ]
    panel = draw_sweep(polars.DataFrame(rows), plan).axes[0]
    curves = {line.get_label(): line.get_xydata() for line in panel.lines}
    np.testing.assert_allclose(curves["algorithm ifca"], [[0, 2], [0.5, 3]])
    assert len(curves["algorithm cfl"]) == 0
    (path,) = [path for band in panel.collections for path in band.get_paths()]
    assert {tuple(point) for point in path.vertices} == {(0, 1), (0, 4), (0.5, 1.5), (0.5, 6)}


KIND = TABLES["cfl-mgd/table-2"]
ACCURACY = {"CFL-MGD": [0.3, 0.6], "FedAvg": [0.2, 0.5]}


def results() -> dict[int, dict[str, Any]]:
    """Metrics of two rounds, of seeds 0 and 1; seed 1 is better by a tenth."""
    return {
        seed: {
            method: {
                "round": [10, 20],
                "accuracy": [value + seed / 10 for value in values],
                "correct_model": [0.5 + seed / 2, 1.0],
            }
            for method, values in ACCURACY.items()
        }
        for seed in range(2)
    }


def test_curves_are_means_over_seeds_with_their_range() -> None:
    table = KIND.from_values({"data": "cifar10"})
    accuracy, right = draw_table(table.frame(results()), table).axes
    for method, values in ACCURACY.items():
        places, heights = line(accuracy, method)
        np.testing.assert_allclose(places, [10, 20])
        np.testing.assert_allclose(heights, [100 * value + 5 for value in values])
    bands = {band.get_gid(): band.get_paths()[0].vertices for band in accuracy.collections}
    assert {tuple(point) for point in bands["band FedAvg"].round(9)} == {
        (10, 20),
        (10, 30),
        (20, 50),
        (20, 60),
    }
    assert line(accuracy, "printed FedAvg") == (20, 69.52)  # Table 2
    np.testing.assert_allclose(line(right, "CFL-MGD")[1], [75, 100])
    assert [each.get_label() for each in right.lines] == ["CFL-MGD"], "FedAvg has one model"


def test_other_settings_than_the_papers_have_no_star() -> None:
    table = KIND.from_values({"data": "cifar10", "rounds": 20})
    figure: Any = draw_table(table.frame(results()), table)
    assert not [each for panel in figure.axes for each in panel.lines if "printed" in str(each.get_gid())]
    assert "data cifar10, rounds 20" in figure.caption
    assert "Stars" not in figure.caption


def test_one_seed_has_no_range() -> None:
    table = KIND.from_values({"data": "cifar10"})
    figure = draw_table(table.frame({0: results()[0]}), table)
    assert not figure.axes[0].collections


def test_a_table_without_numbers_by_round_is_refused_before_it_is_computed() -> None:
    with pytest.raises(InvalidArgument, match="only numbers after the last round"):
        check_rounds(TABLES["sofl/table-2"].from_values({}), "x.png")
    check_rounds(KIND.from_values({}), "x.png")
