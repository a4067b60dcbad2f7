from functools import cache

import numpy as np
import pytest
from drawings import SEED, SMALL, drawn
from drawings import line as line_of

from clusterproof.algorithms import generator, run
from clusterproof.theory.bounds.audit_settings import experiment

RUNS = SMALL["error-per-round"]["REPLICATES"]


def panels():
    return drawn("error-per-round").axes


def line(panel, gid):
    return line_of(panel, gid)[1]


@cache
def trial():
    return experiment("S2", None)


@cache
def start():
    return trial().initial(generator(SEED, "figures/error-per-round", "start"), RUNS)


@cache
def trace():
    return run(trial().algorithm, trial().task, rounds=80, seed=SEED, replicates=RUNS, initial=start())


@pytest.mark.parametrize("cluster", range(4))
def test_the_median_line_is_the_median_of_the_run(cluster):
    ordered = np.sort(np.linalg.norm(trace().models - trial().task.optima, axis=-1)[:, :, cluster], axis=1)
    median = (ordered[:, RUNS // 2 - 1] + ordered[:, RUNS // 2]) / 2
    np.testing.assert_allclose(line(panels()[0], f"median {cluster}"), median, rtol=1e-7)


@pytest.mark.parametrize("cluster", range(4))
def test_the_band_holds_three_fifths_of_the_runs_in_every_round(cluster):
    band = panels()[0].collections[cluster].get_paths()[0].vertices
    errors = trace().errors[:, :, cluster]
    for t in range(1, 81):
        edges = band[np.isclose(band[:, 0], t), 1]
        inside = (errors[t] >= edges.min()) & (errors[t] <= edges.max())
        assert inside.sum() == 0.6 * RUNS


@pytest.mark.parametrize("cluster", range(4))
def test_the_noise_free_median_follows_the_recursion_of_each_eigenvector(cluster):
    """e_(t+1) = (1 + beta - l_p lambda) e_t - beta e_(t-1), written out coordinate by coordinate."""
    task, beta = trial().task, trial().algorithm.momentum
    factor = 1 + beta - task.proportions[cluster] * np.geomspace(0.1, 1, 20)
    before = now = start()[:, cluster] - task.optima[cluster]
    expected = [np.median(np.linalg.norm(now, axis=-1))]
    for _ in range(200):
        before, now = now, factor * now - beta * before
        expected.append(np.median(np.linalg.norm(now, axis=-1)))
    medians = line(panels()[1], f"median {cluster}")
    np.testing.assert_allclose(medians[:201], expected, rtol=1e-3)
    np.testing.assert_allclose(medians[:101], expected[:101], rtol=1e-7)


def test_the_floor_is_that_of_the_numbers_and_nothing_is_clipped():
    panel = panels()[1]
    spacing = np.spacing(np.sqrt(2.0))
    medians = np.stack([line(panel, f"median {cluster}") for cluster in range(4)])
    assert (medians[:, 400:] < 20 * spacing).all()
    assert (medians[:, 400:] > 0).all()
    assert panel.get_ylim()[0] < medians.min()
    assert panel.yaxis.get_transform()._clip is False  # values that are zero are left out, not lifted


def test_lemma_h_bounds_every_run_without_noise_until_the_precision_of_the_numbers():
    bound = line(panels()[1], "Lemma H")
    for cluster in range(4):
        assert (line(panels()[1], f"median {cluster}")[:300] <= bound[:300] * (1 + 1e-9)).all()
    slowest = (1 + 0.1 * np.arange(451)) * 0.9 ** np.arange(451) * (2 / (8 * np.sqrt(10)))
    # cluster of l_p = 0.1 is critically damped at mu: e_t = q^t (1 + (1 - q) t) e_0
    assert (bound >= slowest * (1 - 1e-9)).all()
    assert (bound <= slowest * 2 / np.sqrt(3) * (1 + 1e-9)).all()


def test_the_runs_stay_below_the_bounds_at_every_round():
    worst = trace().errors.max(axis=(1, 2))
    for name in ("Theorem D", "claimed"):
        assert (worst <= line(panels()[0], name) * (1 + 1e-9)).all()
    last = line(panels()[0], "Theorem D, last").item()
    assert worst[-1] <= last < min(line(panels()[0], "Theorem D")[-1], 2 * worst[-1])


def test_the_claim_of_the_paper_is_its_contraction_above_its_floor():
    times = np.arange(451)
    contraction = (1 - 0.1 / 80) ** times * (2 / (8 * np.sqrt(10)))
    np.testing.assert_allclose(line(panels()[1], "claimed"), contraction, rtol=1e-7)
    with_data = line(panels()[0], "claimed")
    np.testing.assert_allclose(with_data - with_data[-1], contraction[:81] - contraction[80], atol=1e-9)
    # the floor contains 16 kappa c_4 = 4 kappa, whatever the data
    assert with_data.min() > 40
