"""The bounds on drawn rounds and runs with false members, client by client from the same draws."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sides_by_hand import assert_sides

from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.papers.cfl_mgd.appendix.a1_to_a3 import a3
from clusterproof.theory.papers.cfl_mgd.appendix.a7_a8 import a8
from clusterproof.theory.papers.cfl_mgd.appendix.a11_to_a14 import a12, a13, a14
from clusterproof.theory.papers.cfl_mgd.appendix.a15_to_a17 import a17
from clusterproof.theory.papers.cfl_mgd.appendix.a33_a34 import a33_of_regressions
from clusterproof.theory.papers.cfl_mgd.appendix.rounds import simulate_round
from clusterproof.theory.papers.cfl_mgd.appendix.runs import momentum_run
from clusterproof.theory.papers.cfl_mgd.lemma_2.equations_34_to_38 import Round, equation_36

OPTIMA = np.array([[0.9, 0.1], [-0.5, 0.7], [-0.3, -0.8]])
SPREAD = np.array([np.diag([1.3, 0.4]), np.diag([0.5, 1.1]), np.diag([0.9, 0.6])])
LABELS, MU, SMOOTH, CLIENTS, ROWS = np.repeat([0, 1, 2], [9, 14, 7]), 0.4, 1.3, 30, 5
TASK = RegressionMixture(optima=OPTIMA, covariance=SPREAD, noise=1.2, labels=LABELS, samples=ROWS)
GAP = min(float(np.linalg.norm(OPTIMA[p] - OPTIMA[q])) for p, q in ((0, 1), (0, 2), (1, 2)))
FIRST = Fraction(3, 20), "random"
"""lambda, and where the models are."""


def printed_terms(spread: float, v: float, first: float, second: float) -> tuple[float, float]:
    """The terms of (36) for P = 3, with sigma^2 = ``spread``, lambda_1 and lambda_2."""
    root = math.sqrt(128 * spread * 3 / (CLIENTS * second))
    unit = MU * GAP**2 * ROWS
    return 384 * spread / (MU * GAP**2 * unit * second), v * root / (first * unit * SMOOTH)


def sigma_squared(models: np.ndarray) -> float:
    """The larger variance of a foreign client's loss at its own model and at model 1."""
    return max(float(TASK.loss_variance(models[q], p)) for p in (1, 2) for q in (0, p))


def draw(clients_of: int | None) -> tuple[np.ndarray, list[float], list[np.ndarray], list[np.ndarray]]:
    """Models, v of each cluster, and for each cluster the numbers and summed gradients of its clients in C_1."""
    one = simulate_round(TASK, "random", 6, np.random.default_rng(3), with_clients_of=clients_of)
    counts, totals = [], []
    for p in range(3):
        chosen = [[i for i in range(CLIENTS) if members[i] and LABELS[i] == p] for members in one.members]
        counts.append(np.array([len(each) for each in chosen]))
        totals.append(np.array([g[each].sum(axis=0) for g, each in zip(one.gradients, chosen, strict=True)]))
    return one.models, [math.sqrt(TASK.gradient_variance(one.models[0], p)) for p in range(3)], counts, totals


@pytest.mark.parametrize(("line", "p"), [(a3, 0), (a12, 1), (a13, 1)])
def test_the_gradients_of_one_clusters_clients_in_c_1(line: object, p: int) -> None:
    models, v, counts, totals = draw(p)
    mean = SPREAD[p] @ (models[0] - OPTIMA[p]) * (line is not a13)
    apart = np.linalg.norm(totals[p] - counts[p][:, None] * mean, axis=-1)
    terms = {"noise": np.sqrt(counts[p] / ROWS) * v[p] / 0.15}
    terms |= {"count": 3 * SMOOTH * counts[p]} if line is a13 else {}
    assert_sides(line(TASK, *FIRST, np.random.default_rng(3), 6), apart, **terms)  # type: ignore[operator]


def test_a8_and_what_false_members_add_in_a14_a17_and_36() -> None:
    models, v, counts, totals = draw(None)
    e = models[0] - OPTIMA[0]
    found = a8(TASK, Fraction(1, 100), "random", np.random.default_rng(3), 6)
    kept = (1 - 7 / 30 * MU / SMOOTH / 8) * np.linalg.norm(e)
    noise = 2 * v[0] / (0.01 * SMOOTH * math.sqrt(7 * ROWS))
    after = np.linalg.norm(e - totals[0] / (CLIENTS * SMOOTH), axis=-1)
    assert_sides(found, after, contraction=kept, noise=noise)
    assert found.failure == pytest.approx(0.01 + 2 * math.exp(-7 / 8))
    moved = np.linalg.norm(totals[1] + totals[2], axis=-1) / (CLIENTS * SMOOTH)
    count, cross = printed_terms(sigma_squared(models), max(v[1:]), 0.15, 0.15)
    assert_sides(a17(TASK, *FIRST, np.random.default_rng(3), 6), moved, count=count, cross=cross)
    stream, every = np.random.default_rng(3), np.tile(np.arange(CLIENTS), (6, 1))
    losses = TASK.losses(np.tile(models, (6, 1, 1)), every, stream)
    members = (losses.argmin(axis=-1) == 0) & (LABELS != 0)
    drawn = TASK.gradients(np.tile(models[0], (6, CLIENTS, 1)), every, stream)
    moved = np.array([np.linalg.norm(g[m].sum(axis=0)) for g, m in zip(drawn, members, strict=True)])
    spread = max(float(TASK.loss_variance(chi, p)) for chi in models for p in range(3))
    count, cross = printed_terms(spread, max(v), 0.4 / 3, 0.2)
    found = equation_36(Round(TASK, models), 0.4, 0.2, np.random.default_rng(3), 6)
    assert_sides(found, moved / (CLIENTS * SMOOTH), count=count, cross=cross)
    assert found.failure == pytest.approx(3 * 0.4 / 3 + 0.2)
    _, v, counts, totals = draw(1)
    number = counts[1] + counts[2]
    noise = max(v[1:]) * math.sqrt(3) / (0.15 * CLIENTS * math.sqrt(ROWS) * SMOOTH) * np.sqrt(number)
    moved = np.linalg.norm(totals[1] + totals[2], axis=-1) / (CLIENTS * SMOOTH)
    found = a14(TASK, *FIRST, np.random.default_rng(3), 6)
    assert_sides(found, moved, count=3 / CLIENTS * number, noise=noise)
    assert found.failure == pytest.approx(3 * 0.15)


def test_a33_on_runs_of_which_some_leave_the_basin() -> None:
    beta, t, sides = 0.7, 2, []
    run = momentum_run(TASK, beta, np.random.default_rng(4), rounds=t + 1, replicates=5).seen
    for models, chosen, buffers in zip(run.models[t], run.assignments[t], run.buffers[t], strict=True):
        inside = np.linalg.norm(models - OPTIMA, axis=-1).max() <= math.sqrt(MU / SMOOTH) * GAP / 4
        carried = np.linalg.norm(buffers[(chosen == 0) & (LABELS != 0)].sum(axis=0)) / (CLIENTS * SMOOTH)
        v = max(math.sqrt(TASK.gradient_variance(models[0], p)) for p in (1, 2))
        count, cross = printed_terms(sigma_squared(models), v * math.sqrt(t) / (1 - beta), 0.1, 0.1)
        sides.append((inside * beta * carried, beta * count, beta * cross))
    measured, counts, crosses = zip(*sides, strict=True)
    assert 0 < sum(size > 0 for size in measured) < 5
    found = a33_of_regressions(TASK, beta, t, np.random.default_rng(4), 5)
    assert_sides(found, measured, count=counts, cross=crosses)
