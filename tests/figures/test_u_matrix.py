"""The U-matrix by brute force, and clients in the cells of their neurons."""

import numpy as np
import pytest
from drawings import computed, drawn, figure_of

from clusterproof.figures import FIGURES, style, u_matrix


def panel(start):
    return drawn("u-matrix").axes[u_matrix.STARTS.index(start)]


@pytest.mark.parametrize("start", u_matrix.STARTS)
def test_a_cell_is_the_mean_distance_to_the_neurons_around_it(start):
    neurons = computed("u-matrix")[start].neurons
    expected = np.empty((8, 8))
    for row in range(8):
        for column in range(8):
            around = [
                np.sqrt(((neurons[row, column] - neurons[i, j]) ** 2).sum())
                for i in range(8)
                for j in range(8)
                if max(abs(i - row), abs(j - column)) == 1
            ]
            expected[row, column] = sum(around) / len(around)
    drawn_cells = np.asarray(panel(start).collections[0].get_array()).reshape(8, 8)
    np.testing.assert_allclose(drawn_cells, expected, rtol=1e-7)


@pytest.mark.parametrize("start", u_matrix.STARTS)
def test_every_client_lies_in_the_cell_of_its_winner_and_wears_its_clusters_look(start):
    labels, winners = figure_of("u-matrix").task().labels, computed("u-matrix")[start].winners
    for cluster, look in enumerate(style.SOLID[:4]):
        (marks,) = [line for line in panel(start).get_lines() if line.get_gid() == f"clients {cluster}"]
        cells = np.rint(marks.get_ydata()) * 8 + np.rint(marks.get_xdata())
        np.testing.assert_array_equal(cells, winners[labels == cluster])
        assert (marks.get_color(), marks.get_marker()) == (look["color"], look["marker"])
    assert len({mark for line in panel(start).get_lines() for mark in map(tuple, line.get_xydata())}) == 60


@pytest.mark.parametrize("seed", range(2))
def test_winners_are_pure_and_a_random_start_has_fewer_of_them(seed):
    figure = FIGURES["u-matrix"](seed=seed)
    labels = figure.task().labels
    counts = {}
    for start in u_matrix.STARTS:
        winners = figure.landscape(start).winners
        assert all(len(set(labels[winners == neuron])) == 1 for neuron in winners)
        counts[start] = len(set(winners))
    assert counts["random"] < counts["sample"]
