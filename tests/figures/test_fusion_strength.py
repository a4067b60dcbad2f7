"""The window by hand, its inside by linear algebra, the convex curve by an interior-point method."""

import networkx
import numpy as np
import pytest
from drawings import drawn, figure_of, line

from clusterproof.running import adjusted_rand_index


def curve(panel, gid):
    """Strengths and values of a line."""
    return line(drawn("fusion-strength").axes[panel], gid)


def shaded(panel):
    """Ends of the shaded window."""
    (patch,) = [each for each in drawn("fusion-strength").axes[panel].patches if each.get_gid() == "window"]
    return patch.get_x(), patch.get_x() + patch.get_width()


def minimiser(task, clients):
    """Minimise the sum of some clients' losses: one linear system."""
    hessians, centers = task.hessians[clients], task.centers[clients]
    return np.linalg.solve(hessians.sum(axis=0), np.einsum("mij,mj->i", hessians, centers))


def oracle(task):
    """Return the minimiser of the own cluster of every client, (m, d)."""
    own = np.stack([minimiser(task, task.labels == cluster) for cluster in range(3)])
    return own[task.labels]


@pytest.mark.slow(reason="a second or more")
@pytest.mark.parametrize("panel", [0, 1, 2])
def test_the_window_is_that_of_the_condition(panel):
    task = figure_of("fusion-strength").task()
    best = oracle(task)
    gradients = np.einsum("mij,mj->mi", task.hessians, best - task.centers)
    least = max(
        24 / 8 * np.linalg.norm(gradients[i] - gradients[j])
        for i in range(24)
        for j in range(24)
        if task.labels[i] == task.labels[j]
    )
    apart = min(
        np.linalg.norm(best[i] - best[j])
        for i in range(24)
        for j in range(24)
        if task.labels[i] != task.labels[j]
    )
    np.testing.assert_allclose(shaded(panel), (least, apart / 3.7), rtol=1e-7)


@pytest.mark.slow(reason="a second or more")
def test_scad_is_the_oracle_inside_the_window_and_neither_below_nor_above():
    strengths, distances = curve(2, "scad")
    least, largest = shaded(2)
    inside = (least <= strengths) & (strengths < largest)
    assert inside.sum() >= 2
    assert distances[inside].max() < 1e-5
    assert distances[strengths > largest].min() > 0.1
    assert distances[strengths < least / 2].min() > 0.1
    for panel, value in ((0, 3), (1, 1)):
        np.testing.assert_array_equal(curve(panel, "scad")[1][inside], value)


@pytest.mark.parametrize("penalty", ["scad", "l1"])
def test_too_weak_leaves_nearly_all_clients_apart_and_too_strong_fuses_them(penalty):
    assert curve(0, penalty)[1][0] > 20
    assert curve(1, penalty)[1][0] < 0.1
    assert curve(0, penalty)[1][-1] == 1
    assert curve(1, penalty)[1][-1] == 0
    task = figure_of("fusion-strength").task()
    pooled = minimiser(task, np.arange(24))
    together = np.linalg.norm(oracle(task) - pooled, axis=1).max()
    assert curve(2, penalty)[1][-1] == pytest.approx(together, rel=1e-5)


@pytest.mark.parametrize("index", [1, 4, 6])
def test_the_convex_curve_is_the_solution_of_clarabel(index):
    import cvxpy

    task = figure_of("fusion-strength").task()
    strength = curve(0, "l1")[0][index]
    models = cvxpy.Variable((24, 5))
    roots = [np.linalg.cholesky(hessian).T for hessian in task.hessians]
    losses = sum(cvxpy.sum_squares(roots[i] @ (models[i] - task.centers[i])) / 2 for i in range(24))
    first, second = np.triu_indices(24, 1)
    fusion = cvxpy.sum(cvxpy.norm(models[first] - models[second], axis=1))
    cvxpy.Problem(cvxpy.Minimize(losses + strength / 24 * fusion)).solve(solver=cvxpy.CLARABEL)
    found = models.value
    away = np.linalg.norm(found - oracle(task), axis=1).max()
    assert curve(2, "l1")[1][index] == pytest.approx(away, rel=2e-3)
    close = np.linalg.norm(found[:, None] - found[None, :], axis=-1) <= 0.1
    parts = list(networkx.connected_components(networkx.from_numpy_array(close)))
    groups = np.empty(24, dtype=int)
    for number, part in enumerate(parts):
        groups[list(part)] = number
    assert curve(0, "l1")[1][index] == len(parts)
    assert curve(1, "l1")[1][index] == pytest.approx(adjusted_rand_index(groups, task.labels))
