"""Figures of networks: the stored values, and training losses by hand, against scikit-learn and below one model."""

import numpy as np
import polars
import pytest
from drawings import SEED, drawn, line
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

from clusterproof.figures import networks
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
