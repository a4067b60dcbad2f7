"""Cosines at a stationary point found by linear algebra, and scores of GL-CFL written out."""

from functools import cache

import numpy as np
import pytest
from drawings import computed, drawn, figure_of

from clusterproof.common import Randomness
from clusterproof.figures.similarity_matrices import SimilarityMatrices


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
