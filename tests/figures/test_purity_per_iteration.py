"""Purities against scikit-learn's contingency tables, medians and bands against sorted runs."""

from functools import cache

import numpy as np
import pytest
from drawings import SEED, SMALL, drawn, line
from sklearn.metrics.cluster import contingency_matrix

from clusterproof.algorithms import IFCA, GradientLoss, run
from clusterproof.figures import purity_per_iteration as figure
from clusterproof.figures.style import caption_of

ALGORITHMS = {
    "GL-CFL, descent": GradientLoss(step_size=0.1, weight=0.5),
    "GL-CFL, as printed": GradientLoss(step_size=0.1, weight=0.5, sign="as-printed"),
    "IFCA": IFCA(step_size=0.1, averaging="model"),
}


@cache
def purities(kind, name):
    """(40, runs): every round of four runs on each task."""
    columns = []
    for number in range(SMALL["purity-per-iteration"]["TASKS"]):
        task = figure.make_task(SEED, number)
        initial = figure.make_starts(SEED, number, task)[kind]
        votes = run(ALGORITHMS[name], task, rounds=40, seed=SEED, replicates=4, initial=initial).assignments
        columns += [
            [contingency_matrix(task.labels, chosen).max(axis=0).sum() / 60 for chosen in votes[:, replicate]]
            for replicate in range(4)
        ]
    return np.array(columns).T


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("kind", ["spread", "common"])
def test_lines_are_medians_and_bands_hold_three_fifths_of_the_runs(kind, name):
    panel = drawn("purity-per-iteration").axes[["spread", "common"].index(kind)]
    iterations, medians = line(panel, name)
    ordered = np.sort(purities(kind, name), axis=1)
    runs = ordered.shape[1]
    np.testing.assert_array_equal(iterations, np.arange(1, 41))
    np.testing.assert_allclose(medians, (ordered[:, runs // 2 - 1] + ordered[:, runs // 2]) / 2, rtol=1e-7)
    low, high = int(0.2 * (runs - 1)), int(0.8 * (runs - 1))
    (band,) = [each for each in panel.collections if each.get_gid() == f"band {name}"]
    corners = band.get_paths()[0].vertices
    for t in range(1, 41):
        edges = corners[np.isclose(corners[:, 0], t), 1]
        assert ordered[t - 1, low] - 1e-12 <= edges.min() <= ordered[t - 1, low + 1] + 1e-12
        assert ordered[t - 1, high] - 1e-12 <= edges.max() <= ordered[t - 1, high + 1] + 1e-12


def test_the_caption_counts_the_runs_that_hold_the_goal():
    parts = []
    for letter, kind in (("a", "spread"), ("b", "common")):
        entries = []
        for name in ALGORITHMS:
            firsts = []
            for values in purities(kind, name).T:
                held = [t for t in range(1, 37) if values[t - 1 : t + 4].min() >= 0.9]
                firsts.append(min(held, default=np.inf))
            share = 100 * np.mean(np.isfinite(firsts))
            middle = np.median(firsts)
            entries.append(f"{name} {share:.0f} % ({'never' if middle == np.inf else f'{middle:g}'})")
        parts.append(f"{letter}: " + ", ".join(entries))
    assert "; ".join(parts) in caption_of(drawn("purity-per-iteration"))
