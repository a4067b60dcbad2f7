"""Cells of the map against scikit-learn's index, and its line against simulated clients."""

import numpy as np
import pytest
from drawings import SEED, SMALL, drawn, figure_of, line
from scipy import stats
from sklearn.metrics import adjusted_rand_score

from clusterproof.algorithms import CFLMGD, IFCA
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture

ALGORITHMS = {"IFCA": IFCA(step_size=1.0), "CFL-MGD": CFLMGD(step_size=1.0, momentum=0.9)}


def mesh(name):
    panel = drawn("success-map").axes[list(ALGORITHMS).index(name)]
    return panel.collections[0]


def cells(name):
    return np.asarray(mesh(name).get_array()).reshape(2, 3)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize(("row", "column"), [(0, 0), (0, 1), (1, 1), (1, 2)])
def test_a_cell_is_the_share_of_runs_with_the_true_partition(name, row, column):
    corners = mesh(name).get_coordinates()
    separation = np.sqrt(corners[0, column, 0] * corners[0, column + 1, 0])
    noise = np.sqrt(corners[row, 0, 1] * corners[row + 1, 0, 1])
    corner = separation / np.sqrt(2) * np.eye(10)[:4]
    task = RegressionMixture(
        optima=corner - corner.mean(axis=0),
        covariance=np.ones(10),
        noise=noise,
        labels=np.repeat(np.arange(4), 15),
        samples=20,
    )
    assert task.separation == pytest.approx(separation)
    assert task.diameter == pytest.approx(separation)
    repetitions = SMALL["success-map"]["replicates"]
    start = task.optima + figure_of("success-map").directions()
    np.testing.assert_allclose(np.linalg.norm(start - task.optima, axis=-1), 1)
    votes = run(
        ALGORITHMS[name], task, rounds=50, seed=SEED, replicates=repetitions, initial=start
    ).assignments[-1]
    recovered = sum(adjusted_rand_score(task.labels, chosen) == 1 for chosen in votes)
    assert cells(name)[row, column] == recovered / repetitions


def test_the_line_is_where_the_law_of_f_makes_all_sixty_right_with_probability_one_half():
    for panel in drawn("success-map").axes[:2]:
        separations, noises = line(panel, "even-odds")
        ratio = separations / noises
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-7)
        gap = ratio[0] ** 2
        width = np.sqrt((2 + gap) ** 2 - 4)
        wrong = stats.f.sf((width + gap) / (width - gap), 20, 20)
        assert (1 - 3 * wrong) ** 60 == pytest.approx(0.5, rel=1e-6)
        np.testing.assert_allclose(line(panel, "basin")[0], 4)
