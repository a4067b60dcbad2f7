"""Figures of clients' updates: U-matrix, elbow and cells by brute force, and matrices of cosines by linear algebra."""

import itertools
from functools import cache

import numpy as np
import pytest
from drawings import SEED, computed, drawn, figure_of
from drawings import line as line_of

from clusterproof.algorithms import FedAvg, SoFL
from clusterproof.common import Randomness, generator
from clusterproof.figures import sofl_map, style
from clusterproof.figures.similarity_matrices import SimilarityMatrices
from clusterproof.figures.sofl_map import EXACT
from clusterproof.running import run


def panel(start):
    return drawn("u-matrix").axes[sofl_map.STARTS.index(start)]


@pytest.mark.parametrize("start", sofl_map.STARTS)
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


@pytest.mark.parametrize("start", sofl_map.STARTS)
def test_every_client_lies_in_the_cell_of_its_winner_and_wears_its_clusters_look(start):
    labels, winners = figure_of("u-matrix").task().labels, computed("u-matrix")[start].winners
    for cluster, look in enumerate(style.SOLID[:4]):
        (marks,) = [line for line in panel(start).get_lines() if line.get_gid() == f"clients {cluster}"]
        cells = np.rint(marks.get_ydata()) * 8 + np.rint(marks.get_xdata())
        np.testing.assert_array_equal(cells, winners[labels == cluster])
        assert (marks.get_color(), marks.get_marker()) == (look["color"], look["marker"])
    assert len({mark for line in panel(start).get_lines() for mark in map(tuple, line.get_xydata())}) == 60


def line(panel, gid):
    return line_of(drawn("winners-elbow").axes[panel], gid)


def scatter(points):
    return ((points - points.mean(axis=0)) ** 2).sum()


def best_partitions(points):
    """Least sums of squares for 1 .. 4 groups, over every way of grouping four points."""
    best = dict.fromkeys(range(1, 5), np.inf)
    for groups in itertools.product(range(4), repeat=4):
        sums = sum(scatter(points[np.array(groups) == group]) for group in set(groups))
        best[len(set(groups))] = min(best[len(set(groups))], sums)
    return np.array(list(best.values())) / best[1]


def test_curves_without_noise_are_the_best_of_all_partitions():
    """Updates of a cluster are equal, and four neurons win."""
    task = figure_of("winners-elbow").task(EXACT)
    model = run(FedAvg(step_size=0.2, local_steps=5), task, rounds=20, seed=SEED).models[-1, 0]
    sent = (1 - 0.8**5) * (task.optima - model)  # five steps of eta = 0.2 at curvature 1
    source = generator(SEED, "figures/winners-elbow", EXACT)
    neurons, data = SoFL(step_size=0.2).train_map(sent[task.labels], source)
    neurons = neurons.reshape(25, 10)
    cosines = (neurons / np.linalg.norm(neurons, axis=1, keepdims=True)) @ data[::15].T
    for name, points in (("clients", sent), ("winners", neurons[cosines.argmax(axis=0)])):
        numbers, drawn_sums = line(1, name)
        np.testing.assert_array_equal(numbers[:4], [1, 2, 3, 4])
        np.testing.assert_allclose(drawn_sums[:4], best_partitions(points), atol=1e-9)
    assert len(line(1, "winners")[0]) == 4


@pytest.mark.parametrize("panel", [0, 1])
def test_the_elbow_is_farthest_from_the_chord_and_the_guard_finds_the_truth(panel):
    numbers, sums = line(panel, "winners")
    chord = np.array([numbers[-1] - numbers[0], sums[-1] - sums[0]])
    away = np.abs(chord[0] * (sums - sums[0]) - chord[1] * (numbers - numbers[0])) / np.linalg.norm(chord)
    (chosen,), (height,) = line(panel, "elbow")
    assert chosen == numbers[away.argmax()]
    assert height == sums[away.argmax()]
    assert line(panel, "guarded")[0] == [4]
    assert line(panel, "truth")[0].tolist() == [4, 4]


def cells(panel):
    values = np.asarray(drawn("similarity-matrices").axes[panel].collections[0].get_array())
    return values.reshape(60, -1)


@cache
def cosines_by_hand():
    """Return the gradients are affine: their values at the basis give the minimiser of their mean."""
    task = figure_of("similarity-matrices").task("fixed")
    clients, nobody = np.arange(60), np.random.default_rng(0)
    offset = task.gradients(np.zeros((60, 10)), clients, nobody)
    curved = np.stack(
        [task.gradients(np.tile(axis, (60, 1)), clients, nobody) - offset for axis in np.eye(10)], axis=-1
    )
    rest = np.linalg.solve(curved.mean(axis=0), -offset.mean(axis=0))
    gradients = curved @ rest + offset
    lengths = np.sqrt((gradients**2).sum(axis=1))
    return gradients @ gradients.T / np.outer(lengths, lengths)


def test_the_matrix_holds_the_cosines_at_the_minimiser_of_the_mean_loss():
    np.testing.assert_allclose(cells(0), cosines_by_hand(), atol=1e-9)


def test_the_caption_names_the_measured_mean_beside_the_theory():
    other = np.repeat(np.arange(4), 15)[:, None] != np.repeat(np.arange(4), 15)
    caption = drawn("similarity-matrices").caption
    caption = caption.replace("\N{MINUS SIGN}", "-")
    assert f"Mean across clusters {cosines_by_hand()[other].mean():.3f}, theory" in caption
    assert "= -0.333, on the expected losses -0.333" in caption


def scores_by_hand(seed, sign):
    """Two rounds of GL-CFL on the expected losses ||w - theta||^2 / 2 + s^2 / 2, client by client."""
    task = SimilarityMatrices(seed=seed).task("population")
    directions = Randomness.from_seed(seed, "figures/similarity-matrices").initialisation.standard_normal(
        (4, 10)
    )
    models = task.optima + 0.75 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    moves = None

    def score(client, model, sign):
        gradient = models[model] - task.optima[task.labels[client]]
        cosine = 0.0
        if moves is not None:
            cosine = sign * gradient @ moves[model] / np.linalg.norm(gradient) / np.linalg.norm(moves[model])
        return 0.5 * cosine - 0.5 * (gradient @ gradient / 2 + 0.5**2 / 2)

    for _ in range(2):
        votes = np.array([np.argmax([score(i, k, -1) for k in range(4)]) for i in range(60)])
        trained = models[votes] - 0.1 * (models[votes] - task.optima[task.labels])
        moved = np.stack([trained[votes == k].mean(axis=0) for k in range(4)])
        models, moves = moved, moved - models
    return np.array([[score(i, k, sign) for k in range(4)] for i in range(60)])


@pytest.mark.parametrize(("name", "sign"), [("descent", -1), ("as-printed", 1)])
def test_scores_are_those_of_the_algorithm_written_out(name, sign):
    for seed in range(3):
        computed = SimilarityMatrices(seed=seed).matrices("population").scores[name]
        np.testing.assert_allclose(computed, scores_by_hand(seed, sign), atol=1e-10)


def test_the_drawn_scores_have_mean_zero_and_count_what_the_caption_says():
    labels = np.repeat(np.arange(4), 15)
    rights = []
    for panel, sign in ((1, "descent"), (2, "as-printed")):
        values = cells(panel)
        np.testing.assert_allclose(values.mean(axis=1), 0, atol=1e-10)
        scores = computed("similarity-matrices")["fixed"].scores[sign]
        np.testing.assert_allclose(np.diff(values, axis=1), np.diff(scores, axis=1), atol=1e-10)
        rights.append(int((values.argmax(axis=1) == labels).sum()))
    caption = drawn("similarity-matrices").caption
    assert f"{rights[0]} of 60 clients choose their cluster's model" in caption
    assert f"w)$ {rights[1]}. Seed" in caption
    assert rights[1] < rights[0]
